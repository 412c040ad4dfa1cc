// Package condition tells the conditions of a hub's objects from what the service says.
package condition

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

// The values of a condition's status.
const (
	True    = "True"
	False   = "False"
	Unknown = "Unknown"
)

// Condition is one entry of status.conditions, which all kinds spell alike.
type Condition struct {
	Type, Status, Reason, Message string
}

// outcome is how a condition is in some states, which are separated by |; without any, in all of them.
type outcome struct{ states, status, reason, message string }

// inState is a condition by the first of its outcomes that is for a state.
func inState(kind, state string, all ...outcome) Condition {
	i := slices.IndexFunc(all, func(o outcome) bool { return o.states == "" || slices.Contains(strings.Split(o.states, "|"), state) })
	return Condition{kind, all[i].status, all[i].reason, all[i].message}
}

func unrecognised(state string) outcome {
	return outcome{"", Unknown, "UnknownStatus", "The installation status is currently not recognized: " + state}
}

// Set merges conditions into those of an object. What is unchanged
// keeps its times; a change of status moves lastTransitionTime. With heartbeat
// they also carry lastProbeTime, which moves at any change, as Hive's contract
// has it.
func Set(have []any, want []Condition, now time.Time, heartbeat bool) []any {
	have = slices.Clone(have)
	stamp := now.UTC().Format(time.RFC3339)
	for _, w := range want {
		at := slices.IndexFunc(have, func(c any) bool {
			m, _ := c.(map[string]any)
			return m["type"] == w.Type
		})
		entry := map[string]any{"type": w.Type, "status": w.Status, "reason": w.Reason}
		if w.Message != "" {
			entry["message"] = w.Message
		}
		if at < 0 {
			at, have = len(have), append(have, map[string]any{})
		}
		old := have[at].(map[string]any)
		message, _ := old["message"].(string)
		if old["status"] == w.Status && old["reason"] == w.Reason && message == w.Message {
			continue
		}
		entry["lastTransitionTime"] = old["lastTransitionTime"]
		if old["status"] != w.Status || old["reason"] != w.Reason && heartbeat {
			entry["lastTransitionTime"] = stamp
		}
		if heartbeat {
			entry["lastProbeTime"] = stamp
		}
		have[at] = entry
	}
	return have
}

// complaints are the messages of what does not succeed, by the names of their categories.
func complaints(checks map[string][]assisted.Check) string {
	var said []string
	for _, category := range slices.Sorted(maps.Keys(checks)) {
		for _, c := range checks[category] {
			if c.Status != "success" && c.Status != "disabled" {
				said = append(said, c.Message)
			}
		}
	}
	return strings.Join(said, ",")
}

// SpecSynced says how the last transfer of a spec ended.
func SpecSynced(err error, good string) Condition {
	switch {
	case err == nil:
		return Condition{"SpecSynced", True, "SyncOK", good}
	case assisted.IsInput(err):
		return Condition{"SpecSynced", False, "InputError", "The Spec could not be synced due to an input error: " + err.Error()}
	}
	return Condition{"SpecSynced", False, "BackendError", "The Spec could not be synced due to backend error: " + err.Error()}
}

// find gives a condition of an object as it is written; nil where there is none.
func find(o *objects.Object, kind string) map[string]any {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list {
		if m, ok := c.(map[string]any); ok && m["type"] == kind {
			return m
		}
	}
	return nil
}

// Of reads a condition of an object; a zero one where there is none.
func Of(o *objects.Object, kind string) Condition {
	text := func(name string) string { s, _ := find(o, kind)[name].(string); return s }
	return Condition{text("type"), text("status"), text("reason"), text("message")}
}

// Since is when the status of a condition changed last.
func Since(o *objects.Object, kind string) any { return find(o, kind)["lastTransitionTime"] }

// ClusterView is what the conditions of an AgentClusterInstall are derived from.
type ClusterView struct {
	State, Info string
	Checks      map[string][]assisted.Check
	Held        bool   // holdInstallation
	Preparation string // last-installation-preparation: not_started, success, failed
	Trouble     string // why the last preparation failed

	Want       objects.Counts // provisionRequirements
	Registered objects.Counts
	Approved   int
	Unsynced   int
}

// Startable tells of a ready cluster whether counts are exact, hosts approved and Agents' specs applied.
func (v *ClusterView) Startable() bool {
	return v.State == "ready" && v.counted() && v.Unsynced == 0 && v.Approved == v.Want.Sum()
}

func (v *ClusterView) counted() bool { return v.Registered == v.Want }

// Conditions are an AgentClusterInstall's, in the order in which the service writes them.
func (v *ClusterView) Conditions() []Condition {
	return []Condition{
		v.requirements(), v.validated(), v.completed(),
		inState("Failed", v.State,
			outcome{"error", True, "InstallationFailed", "The installation failed: " + v.Info},
			outcome{"", False, "InstallationNotFailed", "The installation has not failed"}),
		inState("Stopped", v.State,
			outcome{"error", True, "InstallationFailed", "The installation has stopped due to error"},
			outcome{"cancelled", True, "InstallationCancelled", "The installation has stopped because it was cancelled"},
			outcome{"installed|adding-hosts", True, "InstallationCompleted", "The installation has stopped because it completed successfully"},
			outcome{"", False, "InstallationNotStopped", "The installation is waiting to start or in progress"}),
		inState("LastInstallationPreparationFailed", v.Preparation,
			outcome{"failed", True, "The last installation preparation failed", v.Trouble},
			outcome{"success", False, "There is no failing prior preparation attempt", ""},
			outcome{"", False, "Cluster preparation has never been performed for this cluster", ""}),
	}
}

func (v *ClusterView) requirements() Condition {
	return inState("RequirementsMet", v.State,
		outcome{"insufficient|pending-for-input", False, "ClusterNotReady", "The cluster is not ready to begin the installation"},
		v.readiness(),
		outcome{"preparing-for-installation|installing|installing-pending-user-action|finalizing|adding-hosts", True, "ClusterAlreadyInstalling", "The cluster requirements are met"},
		outcome{"installed|error", True, "ClusterInstallationStopped", "The cluster installation stopped"},
		unrecognised(v.State))
}

// readiness says what keeps a ready cluster from being started, first things first.
func (v *ClusterView) readiness() outcome {
	switch {
	case !v.counted():
		return outcome{"ready", False, "InsufficientAgents",
			fmt.Sprintf("The cluster currently requires exactly %d master agents, %d arbiter agents and %d worker agents, "+
				"but currently registered %d master agents, %d arbiter agents and %d worker agents",
				v.Want.Masters, v.Want.Arbiters, v.Want.Workers, v.Registered.Masters, v.Registered.Arbiters, v.Registered.Workers)}
	case v.Unsynced > 0:
		return outcome{"ready", False, "UnsyncedAgents", fmt.Sprintf("The cluster currently has %d agents with spec error", v.Unsynced)}
	case v.Approved != v.Want.Sum():
		return outcome{"ready", False, "UnapprovedAgents", fmt.Sprintf("The installation is pending on the approval of %d agents", v.Want.Sum()-v.Approved)}
	}
	return outcome{"ready", True, "ClusterIsReady", "The cluster is ready to begin the installation"}
}

func (v *ClusterView) validated() Condition {
	rest := outcome{"", True, "ValidationsPassing", "The cluster's validations are passing"}
	if v.Checks == nil && v.State != "adding-hosts" {
		rest = outcome{"", Unknown, "ValidationsUnknown", "The cluster's validations have not yet been calculated"}
	}
	return inState("Validated", v.State,
		outcome{"insufficient", False, "ValidationsFailing", "The cluster's validations are failing: " + complaints(v.Checks)},
		outcome{"pending-for-input", False, "ValidationsUserPending", "The cluster's validations are pending for user: " + complaints(v.Checks)}, rest)
}

func (v *ClusterView) completed() Condition {
	if v.State == "ready" && v.Held {
		return Condition{"Completed", False, "InstallationOnHold", "The installation is on hold. To unhold set holdInstallation to false"}
	}
	return inState("Completed", v.State,
		outcome{"installed|adding-hosts", True, "InstallationCompleted", "The installation has completed: " + v.Info},
		outcome{"error", False, "InstallationFailed", "The installation has failed: " + v.Info},
		outcome{"insufficient|pending-for-input|ready", False, "InstallationNotStarted", "The installation has not yet started"},
		outcome{"preparing-for-installation|installing|installing-pending-user-action|finalizing", False, "InstallationInProgress", "The installation is in progress: " + v.Info},
		unrecognised(v.State))
}

// NoCluster are the conditions of an AgentClusterInstall without a cluster.
func NoCluster() []Condition {
	var all []Condition
	for _, kind := range []string{"RequirementsMet", "Validated", "Completed", "Failed", "Stopped"} {
		all = append(all, Condition{kind, Unknown, "NotAvailable", "Information not available"})
	}
	return all
}

// AgentView is what the conditions of an Agent are derived from.
type AgentView struct {
	State, Info string
	Checks      map[string][]assisted.Check
	Approved    bool
}

// Texts that stand in several conditions.
const (
	bindingText   = "The agent is currently binding to a cluster deployment"
	unbindingText = "The agent is currently unbinding from a cluster deployment"
	uncheckedText = "The agent's validations have not yet been calculated"
	beingPrepared = "preparing-for-installation|preparing-successful|installing|installing-in-progress|installing-pending-user-action"
)

// outcomes are those of a host that is on its way to a cluster or back, and others.
func outcomes(others ...outcome) []outcome {
	return append([]outcome{
		{"binding", False, "Binding", bindingText},
		{"unbinding|unbinding-pending-user-action", False, "Unbinding", unbindingText},
	}, others...)
}

// Conditions are those of an Agent, in the order in which the service writes them, but for SpecSynced.
func (v *AgentView) Conditions() []Condition {
	state := strings.TrimSuffix(v.State, "-unbound")
	return []Condition{
		inState("Connected", state,
			outcome{"disconnected", False, "AgentIsDisconnected", "The agent has not contacted the installation service in some time, user action should be taken"},
			outcome{"", True, "AgentIsConnected", "The agent's connection to the installation service is unimpaired"}),
		v.requirements(state), v.validated(state),
		inState("Installed", state, outcomes(
			outcome{"installed|added-to-existing-cluster", True, "InstallationCompleted", "The installation has completed: " + v.Info},
			outcome{"error", False, "InstallationFailed", "The installation has failed: " + v.Info},
			outcome{"discovering|insufficient|disconnected|pending-for-input|known", False, "InstallationNotStarted", "The installation has not yet started"},
			outcome{beingPrepared, False, "InstallationInProgress", "The installation is in progress: " + v.Info},
			unrecognised(v.State))...),
		v.bound(),
	}
}

func (v *AgentView) requirements(state string) Condition {
	if state == "known" && !v.Approved {
		return Condition{"RequirementsMet", False, "AgentIsNotApproved", "The agent is not approved"}
	}
	return inState("RequirementsMet", state, outcomes(
		outcome{"known", True, "AgentIsReady", "The agent is ready to begin the installation"},
		outcome{"discovering|insufficient|disconnected|pending-for-input", False, "AgentNotReady", "The agent is not ready to begin the installation"},
		outcome{beingPrepared, True, "AgentAlreadyInstalling", "Installation already started and is in progress"},
		outcome{"installed|error|added-to-existing-cluster", True, "AgentInstallationStopped", "The agent installation stopped"},
		unrecognised(v.State))...)
}

func (v *AgentView) validated(state string) Condition {
	all := outcomes(
		outcome{"insufficient", False, "ValidationsFailing", "The agent's validations are failing: " + complaints(v.Checks)},
		outcome{"pending-for-input", False, "ValidationsUserPending", "The agent's validations are pending for user: " + complaints(v.Checks)},
		outcome{"discovering", Unknown, "ValidationsUnknown", uncheckedText},
		outcome{"", True, "ValidationsPassing", "The agent's validations are passing"})
	if v.Checks == nil {
		all = outcomes(outcome{"", Unknown, "ValidationsUnknown", uncheckedText})
	}
	return inState("Validated", state, all...)
}

func (v *AgentView) bound() Condition {
	if strings.HasSuffix(v.State, "-unbound") {
		return Condition{"Bound", False, "Unbound", "The agent is not bound to any cluster deployment"}
	}
	return inState("Bound", v.State,
		outcome{"binding", False, "Binding", bindingText},
		outcome{"unbinding", False, "Unbinding", unbindingText},
		outcome{"unbinding-pending-user-action", False, "UnbindingPendingUserAction", "The agent is currently unbinding; Pending host reboot from infraenv image"},
		outcome{"", True, "Bound", "The agent is bound to a cluster deployment"})
}
