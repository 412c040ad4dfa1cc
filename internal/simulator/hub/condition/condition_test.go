package condition

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

// outline is a list of conditions as "type status reason".
func outline(list []Condition) map[string]string {
	out := map[string]string{}
	for _, c := range list {
		out[c.Type] = c.Status + " " + c.Reason
	}
	return out
}

// TestConditionsAlways has every condition have a status, and an outcome in every state.
func TestConditionsAlways(t *testing.T) {
	for _, k := range slices.Concat(kinds().Cluster, kinds().Agent) {
		for _, o := range k.Outcomes {
			if !slices.Contains([]string{True, False, Unknown}, o.Status) || o.Reason == "" {
				t.Errorf("%s: status %q, reason %q", k.Type, o.Status, o.Reason)
			}
		}
		if last := k.Outcomes[len(k.Outcomes)-1]; last.When != "" || len(last.States) > 0 {
			t.Errorf("%s: the last outcome is not for all states: %+v", k.Type, last)
		}
	}
}

// TestClusterConditions has one row for each state of a cluster.
func TestClusterConditions(t *testing.T) {
	const (
		notStarted = "False InstallationNotStarted"
		notFailed  = "False InstallationNotFailed"
		notStopped = "False InstallationNotStopped"
		passing    = "True ValidationsPassing"
		running    = "False InstallationInProgress"
		never      = "False Cluster preparation has never been performed for this cluster"
	)
	checks := map[string][]assisted.Check{"network": {{ID: "api-vips-defined", Status: "failure", Message: "no VIP"}}}
	three := objects.Counts{Masters: 3}
	for name, row := range map[string]struct {
		view                                                             ClusterView
		validated, requirements, completed, failed, stopped, preparation string
	}{
		"insufficient": {ClusterView{State: "insufficient", Checks: checks}, "False ValidationsFailing", "False ClusterNotReady", notStarted, notFailed, notStopped, never},
		"pending":      {ClusterView{State: "pending-for-input", Checks: checks}, "False ValidationsUserPending", "False ClusterNotReady", notStarted, notFailed, notStopped, never},
		"ready, a host too few": {ClusterView{State: "ready", Checks: checks, Want: three, Registered: objects.Counts{Masters: 2}, Approved: 2},
			passing, "False InsufficientAgents", notStarted, notFailed, notStopped, never},
		"ready, a host too many": {ClusterView{State: "ready", Checks: checks, Want: three, Registered: objects.Counts{Masters: 3, Workers: 1}, Approved: 4},
			passing, "False InsufficientAgents", notStarted, notFailed, notStopped, never},
		"ready, unsynced before unapproved": {ClusterView{State: "ready", Checks: checks, Want: three, Registered: three, Unsynced: 1, Approved: 2},
			passing, "False UnsyncedAgents", notStarted, notFailed, notStopped, never},
		"ready, unapproved": {ClusterView{State: "ready", Checks: checks, Want: three, Registered: three, Approved: 2},
			passing, "False UnapprovedAgents", notStarted, notFailed, notStopped, never},
		"ready, on hold": {ClusterView{State: "ready", Checks: checks, Want: three, Registered: three, Approved: 3, Held: true},
			passing, "True ClusterIsReady", "False InstallationOnHold", notFailed, notStopped, never},
		"ready, after a failed preparation": {ClusterView{State: "ready", Checks: checks, Want: three, Registered: three, Approved: 3, Preparation: "failed"},
			passing, "True ClusterIsReady", notStarted, notFailed, notStopped, "True The last installation preparation failed"},
		"preparing":    {ClusterView{State: "preparing-for-installation", Checks: checks}, passing, "True ClusterAlreadyInstalling", running, notFailed, notStopped, never},
		"installing":   {ClusterView{State: "installing", Checks: checks, Preparation: "success"}, passing, "True ClusterAlreadyInstalling", running, notFailed, notStopped, "False There is no failing prior preparation attempt"},
		"pending user": {ClusterView{State: "installing-pending-user-action", Checks: checks}, passing, "True ClusterAlreadyInstalling", running, notFailed, notStopped, never},
		"finalizing":   {ClusterView{State: "finalizing", Checks: checks}, passing, "True ClusterAlreadyInstalling", running, notFailed, notStopped, never},
		"installed": {ClusterView{State: "installed", Checks: checks}, passing, "True ClusterInstallationStopped", "True InstallationCompleted", notFailed,
			"True InstallationCompleted", never},
		"adding hosts": {ClusterView{State: "adding-hosts", Checks: checks}, passing, "True ClusterAlreadyInstalling", "True InstallationCompleted", notFailed,
			"True InstallationCompleted", never},
		"error": {ClusterView{State: "error", Checks: checks}, passing, "True ClusterInstallationStopped", "False InstallationFailed", "True InstallationFailed",
			"True InstallationFailed", never},
		"cancelled": {ClusterView{State: "cancelled", Checks: checks}, passing, "Unknown UnknownStatus", "Unknown UnknownStatus", notFailed,
			"True InstallationCancelled", never},
	} {
		want := map[string]string{
			"Validated": row.validated, "RequirementsMet": row.requirements, "Completed": row.completed, "Failed": row.failed,
			"Stopped": row.stopped, "LastInstallationPreparationFailed": row.preparation,
		}
		if diff := cmp.Diff(want, outline(row.view.Conditions())); diff != "" {
			t.Errorf("%s: -want +have\n%s", name, diff)
		}
	}
}

// TestAgentConditions has one row for each state of a host.
func TestAgentConditions(t *testing.T) {
	const (
		connected  = "True AgentIsConnected"
		bound      = "True Bound"
		unbound    = "False Unbound"
		notReady   = "False AgentNotReady"
		notStarted = "False InstallationNotStarted"
		passing    = "True ValidationsPassing"
		installing = "True AgentAlreadyInstalling"
		running    = "False InstallationInProgress"
		odd        = "Unknown UnknownStatus"
	)
	checks := map[string][]assisted.Check{"hardware": {{ID: "has-min-memory", Status: "failure", Message: "too little"}}}
	for state, row := range map[string]struct{ connected, requirements, validated, installed, bound string }{
		"discovering":                    {connected, notReady, "Unknown ValidationsUnknown", notStarted, bound},
		"discovering-unbound":            {connected, notReady, "Unknown ValidationsUnknown", notStarted, unbound},
		"insufficient":                   {connected, notReady, "False ValidationsFailing", notStarted, bound},
		"insufficient-unbound":           {connected, notReady, "False ValidationsFailing", notStarted, unbound},
		"pending-for-input":              {connected, notReady, "False ValidationsUserPending", notStarted, bound},
		"disconnected":                   {"False AgentIsDisconnected", notReady, passing, notStarted, bound},
		"disconnected-unbound":           {"False AgentIsDisconnected", notReady, passing, notStarted, unbound},
		"known":                          {connected, "False AgentIsNotApproved", passing, notStarted, bound},
		"known-unbound":                  {connected, "False AgentIsNotApproved", passing, notStarted, unbound},
		"preparing-for-installation":     {connected, installing, passing, running, bound},
		"preparing-successful":           {connected, installing, passing, running, bound},
		"preparing-failed":               {connected, odd, passing, odd, bound},
		"installing":                     {connected, installing, passing, running, bound},
		"installing-in-progress":         {connected, installing, passing, running, bound},
		"installing-pending-user-action": {connected, installing, passing, running, bound},
		"installed":                      {connected, "True AgentInstallationStopped", passing, "True InstallationCompleted", bound},
		"added-to-existing-cluster":      {connected, "True AgentInstallationStopped", passing, "True InstallationCompleted", bound},
		"error":                          {connected, "True AgentInstallationStopped", passing, "False InstallationFailed", bound},
		"cancelled":                      {connected, odd, passing, odd, bound},
		"resetting":                      {connected, odd, passing, odd, bound},
		"binding":                        {connected, "False Binding", "False Binding", "False Binding", "False Binding"},
		"unbinding":                      {connected, "False Unbinding", "False Unbinding", "False Unbinding", "False Unbinding"},
		"unbinding-pending-user-action":  {connected, "False Unbinding", "False Unbinding", "False Unbinding", "False UnbindingPendingUserAction"},
	} {
		view := AgentView{State: state, Checks: checks}
		want := map[string]string{"Connected": row.connected, "RequirementsMet": row.requirements, "Validated": row.validated, "Installed": row.installed, "Bound": row.bound}
		if diff := cmp.Diff(want, outline(view.Conditions())); diff != "" {
			t.Errorf("%s: -want +have\n%s", state, diff)
		}
	}
	known := AgentView{State: "known", Checks: checks, Approved: true}
	if have := outline(known.Conditions())["RequirementsMet"]; have != "True AgentIsReady" {
		t.Errorf("a known and approved host has %s", have)
	}
}

// TestSetConditions keeps what did not change, and moves only the times that have to.
func TestSetConditions(t *testing.T) {
	start := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	list := Set(nil, []Condition{{"A", True, "X", ""}, {"B", False, "Y", "why"}}, start, true)
	again := Set(list, []Condition{{"B", False, "Y", "why"}}, start.Add(time.Hour), true)
	if diff := cmp.Diff(list, again); diff != "" {
		t.Errorf("a repeated condition changes: %s", diff)
	}
	other := Set(list, []Condition{{"B", False, "Y", "why not"}}, start.Add(time.Hour), true)[1].(map[string]any)
	if other["lastTransitionTime"] != "2026-11-21T03:00:00Z" || other["lastProbeTime"] != "2026-11-21T04:00:00Z" || other["message"] != "why not" {
		t.Errorf("a new message gives %v", other)
	}
	moved := Set(list, []Condition{{"B", True, "Z", ""}}, start.Add(time.Hour), false)[1].(map[string]any)
	if moved["lastTransitionTime"] != "2026-11-21T04:00:00Z" || moved["lastProbeTime"] != nil {
		t.Errorf("a new status gives %v", moved)
	}
}
