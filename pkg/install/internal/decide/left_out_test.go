package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestHostsThatAreLeftOut are removed from the cluster before it is installed, once there is no other blocker, and what
// is wrong with each is reported.
func TestHostsThatAreLeftOut(t *testing.T) {
	lacksMemory := model.Validation{ID: "has-memory-for-role", Category: "hardware", Status: "failure",
		Message: "Require at least 8 GiB RAM, found only 4 GiB"}
	notReady := model.Validation{ID: "all-hosts-are-ready-to-install", Category: "hosts-data", Status: "failure",
		Message: "The cluster has hosts that are not ready to install."}
	blocked := func(w *decidetest.World, h *model.Host) {
		h.State, h.Status, h.Validations = model.HostBlocked, "insufficient", []model.Validation{lacksMemory}
	}
	for name, test := range map[string]struct {
		pool    bool
		arrange func(w *decidetest.World, h *model.Host)
		action  model.Kind // "" for none
		says    string     // the warning
	}{
		"it fails a check": {false, blocked, model.RemoveHost, "worker-1: Require at least 8 GiB RAM"},
		"it does not answer": {false, func(w *decidetest.World, h *model.Host) {
			h.State, h.Status = model.HostDisconnected, "disconnected"
		}, model.RemoveHost, "does not answer"},
		"it has not sent its inventory": {false, func(w *decidetest.World, h *model.Host) {
			h.State, h.Status, h.Inventory = model.HostDiscovering, "discovering", model.Inventory{}
		}, model.RemoveHost, "is discovering"},
		"it is of a pool": {true, blocked, model.ReturnHost, "worker-1: Require at least 8 GiB RAM"},
		"the start is held": {false, func(w *decidetest.World, h *model.Host) {
			blocked(w, h)
			w.Desired.Spec.Spec.Hold = true
		}, "", "worker-1: Require at least 8 GiB RAM"},
		"another host is not ready": {false, func(w *decidetest.World, h *model.Host) {
			blocked(w, h)
			other := w.Host("host-worker-0")
			other.State, other.Status = model.HostDisconnected, "disconnected"
		}, "", "worker-1: Require at least 8 GiB RAM"},
		"it has become ready": {false, func(*decidetest.World, *model.Host) {}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := decidetest.WithOwn(decidetest.Sample(3, 2), map[string]string{"worker-0": "w-0", "worker-1": "w-1"})
			if test.pool {
				c = decidetest.WithReserved(decidetest.Sample(3, 2), "worker-1")
			}
			w := decidetest.ReadyWorld(t, c)
			out := *c.Host("worker-1")
			without, one := *c, 1
			without.Spec.Hosts = slices.DeleteFunc(slices.Clone(c.Spec.Hosts), func(h spec.Host) bool { return h.Name == "worker-1" })
			without.Spec.Topology.Workers = &one
			w.Desired = &model.Desired{Spec: &without, Options: model.Options{LeftOut: []spec.Host{out}}}
			w.Observed.Cluster.Settings[model.SettingWorkers] = model.ValueOf(1)
			w.Observed.Cluster.State, w.Observed.Cluster.Validations = model.ClusterBlocked, []model.Validation{notReady}
			h := w.Host("host-worker-1")
			test.arrange(w, h)
			plan := w.Decide()
			if decidetest.HasKind(plan, model.StartInstall) {
				t.Fatal("it is installed, too")
			}
			var did, said []string
			for _, a := range plan.Actions {
				did = append(did, fmt.Sprint(a.Scope, " ", a.Kind, " ", a.Target))
				check.Contains(t, a.Reason, test.says, "the reason is")
			}
			for _, x := range plan.Warnings {
				if x.Reason == model.ReasonLeftOut {
					said = append(said, fmt.Sprint(x.Scope, " ", x.Message))
				}
			}
			var want []string
			if test.action != "" {
				want = append(want, "host/worker-1 "+string(test.action)+" host-worker-1")
			}
			if !slices.Equal(did, want) || decidetest.HasReason(plan, "UnknownHost") {
				t.Errorf("actions %q, want %q; blockers %+v", did, want, plan.Blockers)
			}
			if (test.says == "") != (len(said) == 0) || test.says != "" && !strings.Contains(said[0], test.says) {
				t.Errorf("it is told %q, want %q", said, test.says)
			}
			if test.says != "" && decide.NewSnapshot(w.Desired, &w.Observed).Hosts()[4].Host != h {
				t.Error("nobody knows which host it is")
			}
			if test.action == "" {
				return
			}
			if test.pool {
				h.State, h.Status, h.ClusterID = model.HostReleasing, "unbinding", ""
			} else {
				w.Observed.Hosts = slices.DeleteFunc(w.Observed.Hosts, func(o model.Host) bool { return o.ID == h.ID })
			}
			w.Observed.Cluster.State, w.Observed.Cluster.Validations = model.ClusterReady, nil
			plan = w.Decide()
			if !decidetest.HasKind(plan, model.StartInstall) || len(plan.Actions) != 1 ||
				plan.Actions[0].Settings[model.SettingWorkers] != model.ValueOf(1) {
				t.Errorf("without it: %v, blockers %+v, waits %+v", decidetest.Keys(plan.Actions), plan.Blockers, plan.Waits)
			}
		})
	}
}
