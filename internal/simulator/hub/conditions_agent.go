package hub

import "strings"

// agentView is what the conditions of an Agent are derived from.
type agentView struct {
	state, info string
	checks      map[string][]check
	approved    bool
}

// The three texts that stand in several conditions of a host that changes its
// cluster.
const (
	bindingText   = "The agent is currently binding to a cluster deployment"
	unbindingText = "The agent is currently unbinding from a cluster deployment"
	userText      = "The agent is currently unbinding; Pending host reboot from infraenv image"
)

// between gives the condition of a host that is on its way to a cluster or back.
func (v *agentView) between(kind string) (condition, bool) {
	switch v.state {
	case "binding":
		return condition{kind, no, "Binding", bindingText}, true
	case "unbinding", "unbinding-pending-user-action":
		return condition{kind, no, "Unbinding", unbindingText}, true
	}
	return condition{}, false
}

// conditions are those of an Agent, in the order in which the service writes
// them, but for SpecSynced.
func (v *agentView) conditions() []condition {
	return []condition{v.connected(), v.requirements(), v.validated(), v.installed(), v.bound()}
}

func (v *agentView) connected() condition {
	if v.plain() == "disconnected" {
		return condition{"Connected", no, "AgentIsDisconnected", "The agent has not contacted the installation service in some time, user action should be taken"}
	}
	return condition{"Connected", yes, "AgentIsConnected", "The agent's connection to the installation service is unimpaired"}
}

// plain is the state without what says that there is no cluster.
func (v *agentView) plain() string { return strings.TrimSuffix(v.state, "-unbound") }

func (v *agentView) requirements() condition {
	if c, ok := v.between("RequirementsMet"); ok {
		return c
	}
	c := condition{Type: "RequirementsMet", Status: no}
	switch v.plain() {
	case "known":
		c.Status, c.Reason, c.Message = yes, "AgentIsReady", "The agent is ready to begin the installation"
		if !v.approved {
			c.Status, c.Reason, c.Message = no, "AgentIsNotApproved", "The agent is not approved"
		}
	case "discovering", "insufficient", "disconnected", "pending-for-input":
		c.Reason, c.Message = "AgentNotReady", "The agent is not ready to begin the installation"
	case "preparing-for-installation", "preparing-successful", "installing", "installing-in-progress", "installing-pending-user-action":
		c.Status, c.Reason, c.Message = yes, "AgentAlreadyInstalling", "Installation already started and is in progress"
	case "installed", "error", "added-to-existing-cluster":
		c.Status, c.Reason, c.Message = yes, "AgentInstallationStopped", "The agent installation stopped"
	default:
		c.Status, c.Reason, c.Message = unknown, "UnknownStatus", unrecognised(v.state)
	}
	return c
}

func (v *agentView) validated() condition {
	if c, ok := v.between("Validated"); ok {
		return c
	}
	c := condition{Type: "Validated", Status: no}
	switch {
	case v.checks == nil:
		c.Status, c.Reason, c.Message = unknown, "ValidationsUnknown", "The agent's validations have not yet been calculated"
	case v.plain() == "insufficient":
		c.Reason, c.Message = "ValidationsFailing", "The agent's validations are failing: "+complaints(v.checks)
	case v.state == "pending-for-input":
		c.Reason, c.Message = "ValidationsUserPending", "The agent's validations are pending for user: "+complaints(v.checks)
	case v.plain() == "discovering":
		c.Status, c.Reason, c.Message = unknown, "ValidationsUnknown", "The agent's validations have not yet been calculated"
	default:
		c.Status, c.Reason, c.Message = yes, "ValidationsPassing", "The agent's validations are passing"
	}
	return c
}

func (v *agentView) installed() condition {
	if c, ok := v.between("Installed"); ok {
		return c
	}
	c := condition{Type: "Installed", Status: no}
	switch v.plain() {
	case "installed", "added-to-existing-cluster":
		c.Status, c.Reason, c.Message = yes, "InstallationCompleted", "The installation has completed: "+v.info
	case "error":
		c.Reason, c.Message = "InstallationFailed", "The installation has failed: "+v.info
	case "discovering", "insufficient", "disconnected", "pending-for-input", "known":
		c.Reason, c.Message = "InstallationNotStarted", "The installation has not yet started"
	case "preparing-for-installation", "preparing-successful", "installing", "installing-in-progress", "installing-pending-user-action":
		c.Reason, c.Message = "InstallationInProgress", "The installation is in progress: "+v.info
	default:
		c.Status, c.Reason, c.Message = unknown, "UnknownStatus", unrecognised(v.state)
	}
	return c
}

func (v *agentView) bound() condition {
	switch {
	case strings.HasSuffix(v.state, "-unbound"):
		return condition{"Bound", no, "Unbound", "The agent is not bound to any cluster deployment"}
	case v.state == "binding":
		return condition{"Bound", no, "Binding", bindingText}
	case v.state == "unbinding":
		return condition{"Bound", no, "Unbinding", unbindingText}
	case v.state == "unbinding-pending-user-action":
		return condition{"Bound", no, "UnbindingPendingUserAction", userText}
	}
	return condition{"Bound", yes, "Bound", "The agent is bound to a cluster deployment"}
}
