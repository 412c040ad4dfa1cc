package service

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

type event struct {
	ClusterID  string       `json:"cluster_id,omitempty"`
	EventTime  model.Millis `json:"event_time"`
	HostID     string       `json:"host_id,omitempty"`
	InfraEnvID string       `json:"infra_env_id,omitempty"`
	Message    string       `json:"message"`
	Name       string       `json:"name,omitempty"`
	Props      string       `json:"props,omitempty"`
	Severity   string       `json:"severity"`

	metrics, hostGone bool
}

// The severities, in the order of the counting headers.
const (
	severityInfo     = "info"
	severityWarning  = "warning"
	severityError    = "error"
	severityCritical = "critical"
)

// journal is the log of events. What moves an object to another state goes through it, since that is an event too.
type journal struct {
	source *source
	events []event
}

func (j *journal) addEvent(c *model.Cluster, name, severity, format string, args ...any) {
	j.record(event{ClusterID: c.ID, Name: name, Severity: severity, Message: fmt.Sprintf(format, args...)})
}

func (j *journal) addInfraEnvEvent(e *model.InfraEnv, name, severity, format string, args ...any) {
	ev := event{InfraEnvID: e.ID, Name: name, Severity: severity, Message: fmt.Sprintf(format, args...)}
	if name == "image_info_updated" {
		ev.ClusterID = e.ClusterID
	}
	j.record(ev)
}

func (j *journal) addHostEvent(h *model.Host, name, severity, format string, args ...any) {
	j.record(event{ClusterID: h.ClusterID, HostID: h.ID, InfraEnvID: h.InfraEnvID, Name: name,
		Severity: severity, Message: fmt.Sprintf(format, args...)})
}

// measure writes a nameless event that only lists which ask for its category hold.
func (j *journal) measure(h *model.Host, what string, values map[string]any) {
	j.record(event{ClusterID: h.ClusterID, HostID: h.ID, Severity: severityInfo, Message: what, Props: model.InString(values), metrics: true})
}

// maxEvents bounds the log of a service that runs for days with many hosts.
const maxEvents = 200_000

func (j *journal) record(e event) {
	e.EventTime = model.Millis(j.source.now())
	if len(j.events) >= maxEvents {
		j.events = slices.Delete(j.events, 0, maxEvents/10)
	}
	j.events = append(j.events, e)
}

// ofCluster lists what a cluster's users see of it.
func (j *journal) ofCluster(id string) []event {
	return slices.DeleteFunc(slices.Clone(j.events), func(e event) bool { return e.ClusterID != id || e.metrics })
}

func (j *journal) markGone(hostID string) {
	for i := range j.events {
		if j.events[i].HostID == hostID {
			j.events[i].hostGone = true
		}
	}
}

type eventQuery struct {
	clusterID, infraEnvID, hostID string
	hostIDs, severities           []string
	message                       string
	categories                    []string
	deletedHosts, clusterLevel    bool
	limit, offset                 int
	descending                    bool
}

func parseEventQuery(q url.Values) (eventQuery, error) {
	e := eventQuery{
		clusterID: q.Get("cluster_id"), infraEnvID: q.Get("infra_env_id"), hostID: q.Get("host_id"),
		hostIDs: listParam(q, "host_ids"), severities: listParam(q, "severities"), message: q.Get("message"),
		categories:   listParam(q, "categories"),
		deletedHosts: q.Get("deleted_hosts") == "true", clusterLevel: q.Get("cluster_level") == "true",
		limit: -1, descending: q.Get("order") == "descending",
	}
	for name, into := range map[string]*int{"limit": &e.limit, "offset": &e.offset} {
		text := q.Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return e, wire.Malformed("%s in query must be of type int64: %q", name, text)
		}
		*into = n
	}
	for i, severity := range e.severities {
		name := fmt.Sprintf("severities.%d", i)
		if err := wire.OneOfQuery(name, severity, []string{severityInfo, severityWarning, severityError, severityCritical}); err != nil {
			return e, err
		}
	}
	return e, nil
}

func listParam(q url.Values, name string) []string {
	values := q[name]
	if len(values) == 0 {
		return nil
	}
	return slices.DeleteFunc(strings.Split(values[len(values)-1], ","), func(part string) bool { return part == "" })
}

// scope reports whether the event is about what was asked for, before severities and paging.
func (q eventQuery) scope(e *event) bool {
	switch {
	case q.clusterID != "":
		if e.ClusterID != q.clusterID {
			return false
		}
	case q.infraEnvID != "":
		if e.InfraEnvID != q.infraEnvID {
			return false
		}
	case q.hostID != "" && e.hostGone:
		return false
	}
	return q.category(e) && q.host(e) && strings.Contains(strings.ToLower(e.Message), strings.ToLower(q.message))
}

func (q eventQuery) category(e *event) bool {
	if len(q.categories) == 0 {
		return !e.metrics
	}
	kind := "user"
	if e.metrics {
		kind = "metrics"
	}
	return slices.Contains(q.categories, kind)
}

func (q eventQuery) host(e *event) bool {
	switch {
	case q.hostID != "":
		return e.HostID == q.hostID
	case len(q.hostIDs) > 0 || q.deletedHosts || q.clusterLevel:
		return slices.Contains(q.hostIDs, e.HostID) && e.HostID != "" ||
			q.deletedHosts && e.hostGone || q.clusterLevel && e.HostID == ""
	}
	return true
}

func (j *journal) listEvents(c *wire.Call) (wire.Reply, error) {
	q, err := parseEventQuery(c.URL.Query())
	if err != nil {
		return wire.Reply{}, err
	}
	counts := map[string]int{}
	var found []event
	for i := range j.events {
		e := &j.events[i]
		if !q.scope(e) {
			continue
		}
		counts[e.Severity]++
		if len(q.severities) == 0 || slices.Contains(q.severities, e.Severity) {
			found = append(found, *e)
		}
	}
	total := len(found)
	if q.clusterID == "" && q.infraEnvID == "" && q.hostID == "" {
		total = 0
	}
	if q.clusterID == "" {
		clear(counts)
	}
	if q.descending {
		slices.Reverse(found)
	}
	found = found[min(max(q.offset, 0), len(found)):]
	if q.limit >= 0 {
		found = found[:min(q.limit, len(found))]
	}
	if found == nil {
		found = []event{}
	}
	return wire.Reply{Status: http.StatusOK, Body: found, Header: map[string]string{
		"Event-Count":             strconv.Itoa(total),
		"Severity-Count-Info":     strconv.Itoa(counts[severityInfo]),
		"Severity-Count-Warning":  strconv.Itoa(counts[severityWarning]),
		"Severity-Count-Error":    strconv.Itoa(counts[severityError]),
		"Severity-Count-Critical": strconv.Itoa(counts[severityCritical]),
	}}, nil
}

func (j *journal) triggerEvent(c *wire.Call) (wire.Reply, error) {
	p := wire.TypedBody[models.Event](c)
	e := event{Name: p.Name, Message: *p.Message, Severity: *p.Severity, Props: p.Props, metrics: p.Category == models.EventCategoryMetrics}
	for id, into := range map[*strfmt.UUID]*string{p.ClusterID: &e.ClusterID, p.HostID: &e.HostID, p.InfraEnvID: &e.InfraEnvID} {
		if id != nil {
			*into = id.String()
		}
	}
	j.record(e)
	return wire.Reply{Status: http.StatusCreated}, nil
}

func (j *journal) awaitReset(h *model.Host) {
	j.setHost(h, model.HostResettingPending, model.InfoResettingPending)
	j.addHostEvent(h, "host_installation_reset", severityInfo, "Installation reset for host %s", h.Name())
}

// setCluster moves a cluster to a state; event and time are written only for a new one.
func (j *journal) setCluster(c *model.Cluster, state, info string) {
	c.StatusInfo = info
	c.UpdatedAt = model.Micros(j.source.now())
	if c.Status == state {
		return
	}
	c.Status, c.StatusUpdatedAt = state, model.Millis(j.source.now())
	j.addEvent(c, "cluster_status_updated", severityInfo, "Updated status of the cluster to %s", state)
}

func (j *journal) setHost(h *model.Host, state, info string) {
	old := h.State
	h.Info = info
	if old == state {
		return
	}
	now := j.source.now()
	h.State, h.StatusUpdatedAt, h.UpdatedAt = state, model.Millis(now), model.Micros(now)
	severity := severityInfo
	switch state {
	case model.HostError:
		severity = severityError
	case model.HostDisconnected, model.HostInsufficient, model.HostDisconnectedUnbound, model.HostPendingUser:
		severity = severityWarning
	}
	j.addHostEvent(h, "host_status_updated", severity, "Host %s: updated status from %s to %s (%s)", h.Name(), old, state, info)
}
