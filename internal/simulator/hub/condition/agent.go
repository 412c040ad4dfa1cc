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

// The three texts that stand in several conditions of a host that changes its
// cluster.
const (
	bindingText   = "The agent is currently binding to a cluster deployment"
	unbindingText = "The agent is currently unbinding from a cluster deployment"
	userText      = "The agent is currently unbinding; Pending host reboot from infraenv image"
)

// between gives the condition of a host that is on its way to a cluster or back.
func (v *AgentView) between(kind string) (Condition, bool) {
	switch v.State {
	case "binding":
		return Condition{kind, False, "Binding", bindingText}, true
	case "unbinding", "unbinding-pending-user-action":
		return Condition{kind, False, "Unbinding", unbindingText}, true
	}
	return Condition{}, false
}

// Conditions are those of an Agent, in the order in which the service writes
// them, but for SpecSynced.
func (v *AgentView) Conditions() []Condition {
	return []Condition{v.connected(), v.requirements(), v.validated(), v.installed(), v.bound()}
}

func (v *AgentView) connected() Condition {
	if v.plain() == "disconnected" {
		return Condition{"Connected", False, "AgentIsDisconnected", "The agent has not contacted the installation service in some time, user action should be taken"}
	}
	return Condition{"Connected", True, "AgentIsConnected", "The agent's connection to the installation service is unimpaired"}
}

// plain is the state without what says that there is no cluster.
func (v *AgentView) plain() string { return strings.TrimSuffix(v.State, "-unbound") }

func (v *AgentView) requirements() Condition {
	if c, ok := v.between("RequirementsMet"); ok {
		return c
	}
	c := Condition{Type: "RequirementsMet", Status: False}
	switch v.plain() {
	case "known":
		c.Status, c.Reason, c.Message = True, "AgentIsReady", "The agent is ready to begin the installation"
		if !v.Approved {
			c.Status, c.Reason, c.Message = False, "AgentIsNotApproved", "The agent is not approved"
		}
	case "discovering", "insufficient", "disconnected", "pending-for-input":
		c.Reason, c.Message = "AgentNotReady", "The agent is not ready to begin the installation"
	case "preparing-for-installation", "preparing-successful", "installing", "installing-in-progress", "installing-pending-user-action":
		c.Status, c.Reason, c.Message = True, "AgentAlreadyInstalling", "Installation already started and is in progress"
	case "installed", "error", "added-to-existing-cluster":
		c.Status, c.Reason, c.Message = True, "AgentInstallationStopped", "The agent installation stopped"
	default:
		c.Status, c.Reason, c.Message = Unknown, "UnknownStatus", unrecognised(v.State)
	}
	return c
}

func (v *AgentView) validated() Condition {
	if c, ok := v.between("Validated"); ok {
		return c
	}
	c := Condition{Type: "Validated", Status: False}
	switch {
	case v.Checks == nil:
		c.Status, c.Reason, c.Message = Unknown, "ValidationsUnknown", "The agent's validations have not yet been calculated"
	case v.plain() == "insufficient":
		c.Reason, c.Message = "ValidationsFailing", "The agent's validations are failing: "+complaints(v.Checks)
	case v.State == "pending-for-input":
		c.Reason, c.Message = "ValidationsUserPending", "The agent's validations are pending for user: "+complaints(v.Checks)
	case v.plain() == "discovering":
		c.Status, c.Reason, c.Message = Unknown, "ValidationsUnknown", "The agent's validations have not yet been calculated"
	default:
		c.Status, c.Reason, c.Message = True, "ValidationsPassing", "The agent's validations are passing"
	}
	return c
}

func (v *AgentView) installed() Condition {
	if c, ok := v.between("Installed"); ok {
		return c
	}
	c := Condition{Type: "Installed", Status: False}
	switch v.plain() {
	case "installed", "added-to-existing-cluster":
		c.Status, c.Reason, c.Message = True, "InstallationCompleted", "The installation has completed: "+v.Info
	case "error":
		c.Reason, c.Message = "InstallationFailed", "The installation has failed: "+v.Info
	case "discovering", "insufficient", "disconnected", "pending-for-input", "known":
		c.Reason, c.Message = "InstallationNotStarted", "The installation has not yet started"
	case "preparing-for-installation", "preparing-successful", "installing", "installing-in-progress", "installing-pending-user-action":
		c.Reason, c.Message = "InstallationInProgress", "The installation is in progress: "+v.Info
	default:
		c.Status, c.Reason, c.Message = Unknown, "UnknownStatus", unrecognised(v.State)
	}
	return c
}

func (v *AgentView) bound() Condition {
	switch {
	case strings.HasSuffix(v.State, "-unbound"):
		return Condition{"Bound", False, "Unbound", "The agent is not bound to any cluster deployment"}
	case v.State == "binding":
		return Condition{"Bound", False, "Binding", bindingText}
	case v.State == "unbinding":
		return Condition{"Bound", False, "Unbinding", unbindingText}
	case v.State == "unbinding-pending-user-action":
		return Condition{"Bound", False, "UnbindingPendingUserAction", userText}
	}
	return Condition{"Bound", True, "Bound", "The agent is bound to a cluster deployment"}
}
