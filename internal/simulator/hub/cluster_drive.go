package hub

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/condition"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

// startPause is the least time between two attempts to start an installation:
// the service tries again by itself where a preparation fails.
const startPause = 10 * time.Second

// drive does what the service does of its own accord: starts a cluster that is
// ready, publishes its credentials, and makes an installed one take more hosts.
func (h *hub) drive(ctx context.Context, m *clusterMemory, p *pair, fault error) error {
	switch m.rest.Status {
	case "ready":
		if fault == nil {
			return h.start(ctx, m, p)
		}
	case "installing", "installing-pending-user-action", "finalizing":
		return h.publish(ctx, m, p, false)
	case "installed":
		if err := h.publish(ctx, m, p, true); err != nil {
			return err
		}
		if p.deploy.IsInstalled() || condition.ReasonOf(p.aci, "Completed") == "InstallationCompleted" {
			return h.takeHosts(ctx, m, p)
		}
		h.queue.add(p.key) // as soon as the status says that it is installed
	}
	return nil
}

func (h *hub) view(m *clusterMemory, p *pair) *condition.ClusterView {
	v := &condition.ClusterView{
		State: m.rest.Status, Info: m.rest.StatusInfo, Checks: assisted.ChecksOf(m.rest.ValidationsInfo),
		Held: p.install.HoldInstallation, Want: p.install.Wanted(),
	}
	if v.State == "adding-hosts" {
		v.Info = "Cluster is installed"
	}
	if m.rest.Preparation != nil {
		v.Preparation, v.Trouble = m.rest.Preparation.Status, m.rest.Preparation.Reason
	}
	for _, host := range h.hosts {
		if host.ClusterID == m.id {
			h.count(v, host)
		}
	}
	if m.stall.stands(h.config.Trouble.UnsyncedAgents, v, p) {
		v.Unsynced = v.Want.Sum()
	}
	return v
}

// count adds a host to what is there. One without an Agent yet is registered, and not
// approved. Only an Agent that says that its spec was not taken is unsynced, and not one of
// which nothing is said yet.
func (h *hub) count(v *condition.ClusterView, host *assisted.Host) {
	switch host.EffectiveRole() {
	case "master":
		v.Registered.Masters++
	case "arbiter":
		v.Registered.Arbiters++
	default:
		v.Registered.Workers++
	}
	agent := h.agentOf(host)
	if agent == nil {
		return
	}
	if approved, _, _ := unstructured.NestedBool(agent.Object, "spec", "approved"); approved {
		v.Approved++
	}
	if statusOfCondition(agent, "SpecSynced") == condition.False {
		v.Unsynced++
	}
}

// stall is the service's habit to take Agents for unsynced that are not, until
// it has a reason to look at the AgentClusterInstall again. It begins when nothing
// holds the cluster any more, so that taking a hold back does not end it.
type stall struct {
	began string // what the AgentClusterInstall said when it began
	over  bool
}

func (s *stall) stands(wanted bool, v *condition.ClusterView, p *pair) bool {
	if !wanted || s.over || v.Held || !v.Startable() {
		return false
	}
	now := fmt.Sprint(p.aci.GetAnnotations(), p.aci.GetLabels(), p.aci.Object["spec"])
	if s.began == "" {
		s.began = now
	}
	s.over = s.began != now
	return !s.over
}

// start installs a cluster whose hosts are all there and approved, unless
// somebody holds it.
func (h *hub) start(ctx context.Context, m *clusterMemory, p *pair) error {
	held := p.install.HoldInstallation || p.cd.GetAnnotations()[hubapi.AnnotationReconcilePause] == yesText
	if held || !h.view(m, p).Startable() {
		return nil
	}
	if since := h.clock.Now().Sub(m.tried); since < startPause {
		h.later(p.key, startPause-since)
		return nil
	}
	if behind, err := h.behind(ctx, m); behind || err != nil {
		h.later(p.key, time.Second)
		return err
	}
	m.tried = h.clock.Now()
	if err := h.backend.Do(ctx, "POST", "/v2/clusters/"+m.id+"/actions/install", nil, nil); err != nil {
		h.logf("%s cannot be started: %v", p.key, err)
		h.later(p.key, startPause)
		return h.readCluster(ctx, m)
	}
	h.logf("%s is started", p.key)
	return h.readCluster(ctx, m)
}

// behind tells whether some Agents of a cluster say what the service was not told yet.
// The controllers of a service pass that on within moments; here the clock may run so fast
// that moments are minutes.
func (h *hub) behind(ctx context.Context, m *clusterMemory) (bool, error) {
	found := false
	for _, host := range h.hosts {
		seen := h.agentOf(host)
		if host.ClusterID != m.id || seen == nil {
			continue
		}
		agent, err := h.store.live(ctx, objects.KindAgent, seen.GetNamespace(), seen.GetName())
		if err != nil {
			return false, err
		}
		found = found || agent.GetGeneration() != h.passed[host.ID]
	}
	return found, nil
}

func (h *hub) takeHosts(ctx context.Context, m *clusterMemory, p *pair) error {
	if err := h.backend.Do(ctx, "POST", "/v2/clusters/"+m.id+"/actions/allow-add-hosts", nil, nil); err != nil {
		return err
	}
	h.logf("%s takes more hosts", p.key)
	return h.readCluster(ctx, m)
}
