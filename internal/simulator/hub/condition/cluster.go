package condition

import (
	"fmt"

	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

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

// Startable tells whether a cluster that is ready may be started: the counts
// are exact, every host is approved, and every Agent's spec is applied.
func (v *ClusterView) Startable() bool {
	return v.State == "ready" && v.counted() && v.Unsynced == 0 && v.Approved == v.Want.Sum()
}

func (v *ClusterView) counted() bool { return v.Registered == v.Want }

// Conditions are those of an AgentClusterInstall with a cluster behind it, in
// the order in which the service writes them, but for SpecSynced.
func (v *ClusterView) Conditions() []Condition {
	return []Condition{v.requirements(), v.validated(), v.completed(), v.failed(), v.stopped(), v.prepared()}
}

func (v *ClusterView) requirements() Condition {
	c := Condition{Type: "RequirementsMet", Status: False}
	switch v.State {
	case "insufficient", "pending-for-input":
		c.Reason, c.Message = "ClusterNotReady", "The cluster is not ready to begin the installation"
	case "ready":
		v.readiness(&c)
	case "preparing-for-installation", "installing", "installing-pending-user-action", "finalizing", "adding-hosts":
		c.Status, c.Reason, c.Message = True, "ClusterAlreadyInstalling", "The cluster requirements are met"
	case "installed", "error":
		c.Status, c.Reason, c.Message = True, "ClusterInstallationStopped", "The cluster installation stopped"
	default:
		c.Status, c.Reason, c.Message = Unknown, "UnknownStatus", unrecognised(v.State)
	}
	return c
}

// readiness says what keeps a ready cluster from being started, first things first.
func (v *ClusterView) readiness(c *Condition) {
	switch {
	case !v.counted():
		c.Reason = "InsufficientAgents"
		c.Message = fmt.Sprintf("The cluster currently requires exactly %d master agents, %d arbiter agents and %d worker agents, "+
			"but currently registered %d master agents, %d arbiter agents and %d worker agents",
			v.Want.Masters, v.Want.Arbiters, v.Want.Workers, v.Registered.Masters, v.Registered.Arbiters, v.Registered.Workers)
	case v.Unsynced > 0:
		c.Reason, c.Message = "UnsyncedAgents", fmt.Sprintf("The cluster currently has %d agents with spec error", v.Unsynced)
	case v.Approved != v.Want.Sum():
		c.Reason = "UnapprovedAgents"
		c.Message = fmt.Sprintf("The installation is pending on the approval of %d agents", v.Want.Sum()-v.Approved)
	default:
		c.Status, c.Reason, c.Message = True, "ClusterIsReady", "The cluster is ready to begin the installation"
	}
}

func (v *ClusterView) validated() Condition {
	c := Condition{Type: "Validated", Status: False}
	switch {
	case v.State == "insufficient":
		c.Reason, c.Message = "ValidationsFailing", "The cluster's validations are failing: "+complaints(v.Checks)
	case v.State == "pending-for-input":
		c.Reason, c.Message = "ValidationsUserPending", "The cluster's validations are pending for user: "+complaints(v.Checks)
	case v.State == "adding-hosts":
		c.Status, c.Reason, c.Message = True, "ValidationsPassing", "The cluster's validations are passing"
	case v.Checks == nil:
		c.Status, c.Reason, c.Message = Unknown, "ValidationsUnknown", "The cluster's validations have not yet been calculated"
	default:
		c.Status, c.Reason, c.Message = True, "ValidationsPassing", "The cluster's validations are passing"
	}
	return c
}

func (v *ClusterView) completed() Condition {
	c := Condition{Type: "Completed", Status: False}
	switch v.State {
	case "installed", "adding-hosts":
		c.Status, c.Reason, c.Message = True, "InstallationCompleted", "The installation has completed: "+v.Info
	case "error":
		c.Reason, c.Message = "InstallationFailed", "The installation has failed: "+v.Info
	case "insufficient", "pending-for-input", "ready":
		c.Reason, c.Message = "InstallationNotStarted", "The installation has not yet started"
		if v.State == "ready" && v.Held {
			c.Reason, c.Message = "InstallationOnHold", "The installation is on hold. To unhold set holdInstallation to false"
		}
	case "preparing-for-installation", "installing", "installing-pending-user-action", "finalizing":
		c.Reason, c.Message = "InstallationInProgress", "The installation is in progress: "+v.Info
	default:
		c.Status, c.Reason, c.Message = Unknown, "UnknownStatus", unrecognised(v.State)
	}
	return c
}

func (v *ClusterView) failed() Condition {
	if v.State == "error" {
		return Condition{"Failed", True, "InstallationFailed", "The installation failed: " + v.Info}
	}
	return Condition{"Failed", False, "InstallationNotFailed", "The installation has not failed"}
}

func (v *ClusterView) stopped() Condition {
	switch v.State {
	case "error":
		return Condition{"Stopped", True, "InstallationFailed", "The installation has stopped due to error"}
	case "cancelled":
		return Condition{"Stopped", True, "InstallationCancelled", "The installation has stopped because it was cancelled"}
	case "installed", "adding-hosts":
		return Condition{"Stopped", True, "InstallationCompleted", "The installation has stopped because it completed successfully"}
	}
	return Condition{"Stopped", False, "InstallationNotStopped", "The installation is waiting to start or in progress"}
}

func (v *ClusterView) prepared() Condition {
	c := Condition{Type: "LastInstallationPreparationFailed", Status: False}
	switch v.Preparation {
	case "failed":
		c.Status, c.Reason, c.Message = True, "The last installation preparation failed", v.Trouble
	case "success":
		c.Reason = "There is no failing prior preparation attempt"
	default:
		c.Reason = "Cluster preparation has never been performed for this cluster"
	}
	return c
}

func unrecognised(state string) string {
	return "The installation status is currently not recognized: " + state
}

// NoCluster are the conditions of an AgentClusterInstall without a cluster.
func NoCluster() []Condition {
	var all []Condition
	for _, kind := range []string{"RequirementsMet", "Validated", "Completed", "Failed", "Stopped"} {
		all = append(all, Condition{kind, Unknown, "NotAvailable", "Information not available"})
	}
	return all
}
