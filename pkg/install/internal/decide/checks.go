package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/diskhints"
	"github.com/oaictl/oaictl/internal/shared/explain"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/internal/diagnose"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// checks says what the failing checks of the service come from, and who can cure that.
type checks struct {
	*collector
	spec       *spec.Cluster
	name       string
	since      map[string]time.Time // a check has had its status
	now        time.Time
	cluster    *model.Cluster
	only       string
	explains   bool
	roster     *roster
	attendance *attendance
}

// explain makes few causes of the failing checks of hosts, and of a cluster unless that is nil.
func (c *checks) explain(hosts []*model.Host, cluster *model.Cluster) diagnose.Report {
	ignored := c.spec.Spec.IgnoreValidations
	in := diagnose.Input{
		Registered: len(hosts), Expected: c.attendance.counts().total(),
		Roles:          diagnose.Roles{Wanted: c.attendance.counts().controlPlane},
		IgnoredCluster: ignored.Cluster, IgnoredHosts: ignored.Hosts,
		Checks: make([]diagnose.Check, 0, openChecks(hosts)),
	}
	if cluster != nil {
		in.Checks = c.failing(in.Checks, explain.SubjectCluster, nil, cluster.Validations)
	}
	for _, h := range hosts {
		switch h.Role {
		case spec.ControlPlane:
			in.Roles.ControlPlane++
		case spec.Worker:
			in.Roles.Worker++
		case spec.Arbiter:
			in.Roles.Arbiter++
		default:
			in.Roles.Auto++
		}
		in.Checks = c.failing(in.Checks, explain.SubjectHost, h, h.Validations)
	}
	return diagnose.Explain(in)
}

// openChecks counts, to make room at once, what does not pass of many hosts.
func openChecks(hosts []*model.Host) int {
	n := 0
	for _, h := range hosts {
		for i := range h.Validations {
			if !h.Validations[i].Passes() {
				n++
			}
		}
	}
	return n
}

// usableDisk is the check of a host that says of its disks only that they have reasons.
const usableDisk = "has-min-valid-disks"

func (c *checks) failing(to []diagnose.Check, subject explain.Subject, h *model.Host, list []model.Validation) []diagnose.Check {
	name, id := "", ""
	if h != nil {
		name, id = c.roster.Call(h), h.ID
	}
	for i := range list {
		v := &list[i]
		if v.Passes() {
			continue
		}
		message := v.Message
		if h != nil && v.ID == usableDisk {
			message = strings.Join(append([]string{message}, diskhints.Reasons(h.Inventory.Disks)...), "; ")
		}
		to = append(to, diagnose.Check{
			Subject: subject, Host: name, ID: v.ID, Category: v.Category, Status: v.Status, Message: message,
			Seen: c.evaluationsOf(id, v),
		})
	}
	return to
}

// evaluation is how often the service, and the agents it asks, come to a new result. Reading more often than that shows
// nothing new about a check.
const evaluation = 20 * time.Second

// evaluationsOf is in how many evaluations in a row a check has had its status. Without
// memory it has had it for long.
func (c *checks) evaluationsOf(hostID string, v *model.Validation) int {
	if c.since == nil {
		return diagnose.Settled
	}
	since, known := c.since[v.Key(hostID)]
	if !known {
		return 1
	}
	return 1 + int(c.now.Sub(since)/evaluation)
}

// ofCluster explains the validations that block the install.
func (c *checks) ofCluster() {
	ready := c.cluster.State == model.ClusterReady
	if ready && !c.explains {
		return
	}
	// What is wrong with hosts that are left out may be why something of the cluster fails.
	report := c.explain(slices.Concat(c.roster.Part, c.roster.leftOut), c.cluster)
	if ready { // what fails now did not hold it up
		report.Causes, report.Waits = nil, nil
	}
	c.report(report)
}

// report makes a blocker of each cause that blocks, a wait of each cause that passes, and keeps apart the causes that
// hold nothing up.
func (c *checks) report(report diagnose.Report) {
	if c.only != "" {
		report = report.Of(c.only)
	}
	for _, cause := range report.Causes {
		if !c.silent(cause) && !c.differ(cause) {
			c.block(c.blocker(cause))
		}
	}
	for _, cause := range report.Waits {
		if cause.Pass == diagnose.PassHosts || c.silent(cause) || c.differ(cause) {
			continue // the hosts themselves are named
		}
		c.wait(model.Wait{Key: causeKey(cause), Scope: causeScope(cause), For: "the service: " + causeText(cause), Who: model.WhoService})
	}
	for _, cause := range report.Warnings {
		c.plan.Checks = append(c.plan.Checks, model.Warning{
			Key: causeKey(cause), Scope: causeScope(cause), Reason: cause.ID, Message: causeText(cause), Next: c.advice(cause.Remedy, cause.Hosts),
		})
	}
}

// reportOf reports what fails of one host, or because of it.
func (c *checks) reportOf(h *model.Host) {
	alone, of := *c, *c.roster
	of.Part, of.leftOut = []*model.Host{h}, nil
	alone.roster, alone.only = &of, of.Call(h)
	alone.report(alone.explain(of.Part, c.cluster))
}

// silent reports whether a cause is already reported elsewhere: a cause that concerns only hosts that do not answer or
// are left out, or the cause that not all hosts are ready.
func (c *checks) silent(cause diagnose.Cause) bool {
	if len(cause.Hosts) == 0 {
		return cause.ID == diagnose.AllHosts && len(c.roster.leftOut) > 0
	}
	for _, name := range cause.Hosts {
		named := func(h *model.Host) bool { return c.roster.Call(h) == name }
		mute := func(h *model.Host) bool { return named(h) && h.State == model.HostDisconnected }
		if !slices.ContainsFunc(c.roster.Part, mute) && !slices.ContainsFunc(c.roster.leftOut, named) {
			return false
		}
	}
	return true
}

// reasonNetworks is the reason of the blocker that the file names virtual addresses, or of a single
// node a machine network, that lie in no network of the hosts.
const reasonNetworks = "VIPOutsideHostNetworks"

// ofNetworks reports whether a validation fails where the virtual addresses are in no network of a host: the service
// takes the machine network from the host whose network has them.
func ofNetworks(validation string) bool {
	switch validation {
	case "machine-cidr-defined", "machine-cidr-equals-to-calculated-cidr", "belongs-to-machine-cidr", "api-vips-valid", "ingress-vips-valid":
		return true
	}
	return false
}

// differ reports whether a cause follows from networks that differ, which are reported in terms of the file.
func (c *checks) differ(cause diagnose.Cause) bool {
	told := func(b model.Blocker) bool { return b.Reason == reasonNetworks }
	return ofNetworks(cause.ID) && slices.ContainsFunc(c.plan.Blockers, told)
}

// ReasonValidation is the reason of blockers that are failing checks.
const ReasonValidation = "ValidationFails"

func (c *checks) blocker(cause diagnose.Cause) model.Blocker {
	b := model.Blocker{
		Key: causeKey(cause), Scope: causeScope(cause), Reason: ReasonValidation,
		Message: causeText(cause), Field: cause.Field, Hosts: cause.Hosts, Cure: model.CurePerson,
		Validations: []string{cause.ID}, Usual: cause.Usual, Check: c.advice(cause.Check, cause.Hosts), Certain: cause.ID == explain.SpecSynced,
		Remedy: c.advice(cmp.Or(cause.Remedy, model.Command("explain validation", cause.ID)), cause.Hosts),
	}
	if cause.Cure == explain.CureFile {
		b.Cure = model.CureFile
	}
	for _, m := range cause.Messages[min(1, len(cause.Messages)):] {
		b.Says = append(b.Says, ofHosts(m.Hosts, m.Text))
	}
	for _, m := range cause.Holds[min(1, len(cause.Holds)):] {
		b.Says = append(b.Says, ofHosts(m.Hosts, m.Text))
	}
	for _, ref := range cause.Consequences {
		b.Validations = append(b.Validations, ref.ID)
		b.Follows = append(b.Follows, ref.String())
	}
	return b
}

// advice is a text of the catalogue with the names of what it is about.
func (c *checks) advice(text model.Advice, hosts []string) model.Advice {
	return explain.Fill(text, explain.Names{Cluster: c.name, Hosts: hosts})
}

func causeKey(cause diagnose.Cause) string {
	return "validation/" + string(cause.Subject) + "/" + cause.ID
}

func causeScope(cause diagnose.Cause) model.Scope {
	if len(cause.Hosts) == 1 {
		return model.ScopeHost.Of(cause.Hosts[0])
	}
	return model.ScopeCluster
}

// causeText is a cause in one sentence: what the service says, and about which hosts.
func causeText(cause diagnose.Cause) string {
	text := cmp.Or(cause.Meaning, cause.Title, cause.ID)
	if len(cause.Messages) > 0 {
		text = cause.Messages[0].Text
	}
	text = ofHosts(cause.Hosts, text)
	if len(cause.Holds) > 0 {
		text += "; hence " + ofHosts(cause.Holds[0].Hosts, cause.Holds[0].Text)
	}
	return text
}

// ofHosts puts a text about hosts into one line.
func ofHosts(hosts []string, text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(hosts) == 0 {
		return text
	}
	return fmt.Sprintf("%s: %s", listtext.ListText(hosts), text)
}
