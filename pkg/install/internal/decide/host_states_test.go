package decide_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestHostsThatCannotTakePart before the install: each is named.
func TestHostsThatCannotTakePart(t *testing.T) {
	for _, test := range []struct {
		state   model.HostState
		status  string
		reason  string // of the blocker, or
		waitFor string
	}{
		{model.HostFailed, "error", "LeftFromEarlierInstall", ""},
		{model.HostCancelled, "cancelled", "LeftFromEarlierInstall", ""},
		{model.HostInstalled, "installed", "LeftFromEarlierInstall", ""},
		{model.HostAdded, "added-to-existing-cluster", "LeftFromEarlierInstall", ""},
		{model.HostReleasing, "unbinding-pending-user-action", "BootDiscoveryImage", ""},
		{model.HostResetting, "resetting-pending-user-action", "BootDiscoveryImage", ""},
		{model.HostNeedsUser, "installing-pending-user-action", "BootedDiscoveryImage", ""},
		{model.HostDisconnected, "disconnected", "HostDisconnected", ""},
		{model.HostUnbound, "disconnected-unbound", "HostDisconnected", ""},
		{model.HostUnbound, "insufficient-unbound", "", "to pass the checks"},
		{model.HostUnbound, "discovering-unbound", "", "to be discovered"},
		{model.HostBinding, "binding", "BindingTakesLong", ""},
		{model.HostPreparing, "preparing-for-installation", "", "to be ready"},
		{model.HostInstalling, "installing", "", "to be ready"},
		{model.HostUnknown, "levitating", "", `"levitating"`},
	} {
		w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
		h := &w.Observed.Hosts[1]
		h.State, h.Status, h.Since = test.state, test.status, w.Observed.At.Add(-time.Hour)
		plan := w.Decide()
		if decidetest.HasKind(plan, model.StartInstall) {
			t.Errorf("%s: the install is started", test.status)
		}
		if test.reason != "" && !decidetest.HasReason(plan, test.reason) {
			t.Errorf("%s: blockers %+v; want %s", test.status, plan.Blockers, test.reason)
		}
		if test.waitFor != "" && !slices.ContainsFunc(plan.Waits,
			func(x model.Wait) bool { return strings.Contains(x.For, test.waitFor) }) {
			t.Errorf("%s: waits %+v; want %q", test.status, plan.Waits, test.waitFor)
		}
		// A machine that no file named is no different where it may take part.
		w.Desired.Spec.Spec.Hosts, w.Desired.Spec.Spec.AcceptUnknownHosts = nil, true
		if test.state == model.HostUnbound || test.state == model.HostReleasing {
			continue
		}
		if plan := w.Decide(); decidetest.HasKind(plan, model.StartInstall) || len(plan.Blockers)+len(plan.Waits) == 0 {
			t.Errorf("%s, unnamed: actions %v, and nobody is told why", test.status, decidetest.Keys(plan.Actions))
		}
	}
}

// TestHostsWithoutAClusterAreExplained: a host that leaves a cluster whose record is gone is explained, too.
func TestHostsWithoutAClusterAreExplained(t *testing.T) {
	for _, state := range []model.HostState{model.HostReleasing, model.HostResetting, model.HostUnbound, model.HostInstalled, model.HostUnknown} {
		w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
		h := &w.Observed.Hosts[1]
		h.State, h.Status, h.Since = state, "resetting-pending-user-action", w.Observed.At.Add(-time.Hour)
		w.Observed.Cluster = nil
		for _, host := range []string{"", h.ID} {
			if plan := decide.Explain(w.Desired, &w.Observed, host); len(plan.Actions) > 0 {
				t.Errorf("%s: %q has the actions %v", state, host, decidetest.Keys(plan.Actions))
			}
		}
	}
}
