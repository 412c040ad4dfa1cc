package condition

import (
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
)

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
