package hub

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/hive"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/internal/shared/statuses"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// grace is how long an input error may be one of order: what it refers to may be made yet.
const grace = 15 * time.Second

// stateOf is the neutral word for an AgentClusterInstall: how an install ends is
// read from its conditions, and only how far it is from the service's own word.
// imported says that the cluster was installed by something else.
func stateOf(made *hive.AgentClusterInstall, imported bool) model.ClusterState {
	conditions, word := made.Status.Conditions, kube.DebugOf(made).State
	done, stop := find(conditions, hubapi.ConditionCompleted), find(conditions, hubapi.ConditionStopped)
	state := statuses.Cluster(word)
	switch {
	case find(conditions, hubapi.ConditionFailed).isTrue(),
		stop.isTrue() && stop.Reason == hubapi.ReasonInstallationFailed,
		done.isFalse() && done.Reason == hubapi.ReasonInstallationFailed:
		return model.ClusterFailed
	case stop.isTrue() && stop.Reason == hubapi.ReasonInstallationCancelled:
		return model.ClusterCancelled
	case done.isTrue() && done.Reason == hubapi.ReasonInstallationCompleted:
		switch {
		case !imported && !hasPassword(made.Spec.ClusterMetadata):
			return model.ClusterFinalizing // its results are a moment away
		case state == model.ClusterAddingHosts:
			return model.ClusterAddingHosts
		}
		return model.ClusterInstalled
	case word == "":
		return model.ClusterDraft
	}
	switch state { // ends that the conditions do not say yet
	case model.ClusterInstalled, model.ClusterAddingHosts:
		return model.ClusterFinalizing
	case model.ClusterFailed, model.ClusterCancelled:
		return model.ClusterInstalling
	}
	return state
}

// refused is what the service refuses in an object, "" if nothing. It is standing once only a change of the input
// helps: a fault of the service itself is tried again, and one about what was written just now may pass. That is
// decided by when the input was written, and not by the date of the condition, which the service may renew.
func refused(u *unstructured.Unstructured, conditions []hubapi.Condition, now time.Time) (text string, standing bool) {
	c := find(conditions, hubapi.ConditionSpecSynced)
	if !c.isFalse() {
		return "", false
	}
	text = cmp.Or(strings.TrimSpace(c.Message), c.Reason)
	since := kube.InputChanged(u)
	if since.IsZero() {
		since = c.since()
	}
	return text, c.Reason == hubapi.ReasonInputError && !now.Before(since.Add(grace))
}

func latest(conditions []hubapi.Condition, kinds ...string) time.Time {
	var at time.Time
	for _, kind := range kinds {
		if c := find(conditions, kind); c.since().After(at) {
			at = c.since()
		}
	}
	return at
}

func preparationOf(conditions []hubapi.Condition) model.Preparation {
	c := find(conditions, hubapi.ConditionPreparationFailed)
	switch {
	case c.Type == "":
		return model.Preparation{}
	case c.isTrue():
		out := model.Preparation{Status: "failed", Reason: cmp.Or(c.Message, c.Reason)}
		if !c.since().IsZero() {
			out.FailedAt = []time.Time{c.since()}
		}
		return out
	case c.Reason == hubapi.ReasonPreparationPending:
		return model.Preparation{Status: "not_started"}
	}
	return model.Preparation{Status: "success"}
}

func moment(at *metav1.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return at.Time
}

// condition is one of an object's, the zero one where it does not stand there.
type condition struct{ hubapi.Condition }

func find(conditions []hubapi.Condition, kind string) condition {
	if c := hubapi.FindCondition(conditions, kind); c != nil {
		found := condition{*c}
		found.Message = redact.Text(found.Message)
		return found
	}
	return condition{}
}

func (c condition) isTrue() bool     { return c.Status == metav1.ConditionTrue }
func (c condition) isFalse() bool    { return c.Status == metav1.ConditionFalse }
func (c condition) since() time.Time { return c.LastTransitionTime.Time }

// metadataComplete reports whether all is there by which Hive takes a cluster for installed.
func metadataComplete(m *hive.ClusterMetadata) bool {
	return hasPassword(m) && m.ClusterID != "" && m.InfraID != "" && m.AdminKubeconfigSecretRef.Name != ""
}

func hasPassword(m *hive.ClusterMetadata) bool {
	return m != nil && m.AdminPasswordSecretRef != nil && m.AdminPasswordSecretRef.Name != ""
}

// clusterMemory is what is remembered of a cluster. Losing it costs a repeated read at most.
type clusterMemory struct {
	mu         sync.Mutex
	state      model.ClusterState
	started    time.Time            // of the install
	failed     []time.Time          // preparations that failed, oldest first
	unprepared map[string]string    // why hosts could not prepare: their Agents say so for some seconds
	booted     map[string]time.Time // when a machine was last seen to begin anew: its Agent stays the same
	before     map[string]model.HostState
	ca         map[string]string // certificates by the id of their Secret

	hosts readings[model.Host]
	envs  readings[model.InfraEnv]
	texts *hubapi.Texts // of what was read
}

func newClusterMemory(texts *hubapi.Texts) *clusterMemory {
	return &clusterMemory{
		texts: texts, unprepared: map[string]string{}, booted: map[string]time.Time{}, before: map[string]model.HostState{},
		ca: map[string]string{},
	}
}

func (p *Plane) memoryOf(id string) *clusterMemory {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.memories[id] == nil {
		p.memories[id] = newClusterMemory(&p.api.Texts)
	}
	return p.memories[id]
}

// forget drops what is remembered of a cluster that is not there.
func (p *Plane) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.memories, id)
}

// forgetCertificates has certificates read anew: their Secrets are not watched.
func (c *clusterMemory) forgetCertificates() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.ca)
}

func beforeInstall(state model.ClusterState) bool {
	switch state {
	case model.ClusterDraft, model.ClusterDiscovering, model.ClusterBlocked, model.ClusterReady:
		return true
	}
	return false
}

// update learns from an observation what the objects do not keep, and adds what was learned.
func (c *clusterMemory) update(o *model.Observed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := o.Cluster
	if now.Preparation.Status == "failed" {
		for _, at := range now.Preparation.FailedAt {
			if !slices.ContainsFunc(c.failed, at.Equal) {
				c.failed = append(c.failed, at)
			}
		}
	}
	if c.state == model.ClusterPreparing && beforeInstall(now.State) &&
		!slices.ContainsFunc(now.Preparation.FailedAt, func(at time.Time) bool { return o.At.Sub(at) < time.Minute }) {
		c.failed = append(c.failed, o.At) // the condition is about files, and names no hosts
	}
	for i := range o.Hosts {
		switch h := &o.Hosts[i]; h.Status {
		case "preparing-failed":
			c.unprepared[h.ID] = h.StatusInfo
		case "preparing-successful":
			delete(c.unprepared, h.ID)
		}
	}
	if now.State == model.ClusterInstalling {
		c.failed = nil // what was prepared then was no failure
		clear(c.unprepared)
	}
	now.Preparation.FailedAt, now.Preparation.Hosts = slices.Clone(c.failed), maps.Clone(c.unprepared)
	switch {
	case beforeInstall(now.State):
		c.started = time.Time{}
	case c.started.IsZero():
		c.started = now.InstallStarted
	}
	if now.InstallStarted.IsZero() || !c.started.IsZero() && c.started.Before(now.InstallStarted) {
		now.InstallStarted = c.started
	}
	c.state = now.State
	for i := range o.Hosts {
		h := &o.Hosts[i]
		if was, known := c.before[h.ID]; known && was != h.State && h.State == model.HostDiscovering {
			c.booted[h.ID] = h.Since
		}
		c.before[h.ID] = h.State
		if at := c.booted[h.ID]; at.After(h.Registered) {
			h.Registered = at
		}
	}
}
