package hub

import "fmt"

// counts are numbers of hosts by role.
type counts struct{ masters, arbiters, workers int }

func (c counts) sum() int { return c.masters + c.arbiters + c.workers }

// clusterView is what the conditions of an AgentClusterInstall are derived from.
type clusterView struct {
	state, info string
	checks      map[string][]check
	held        bool   // holdInstallation
	preparation string // last-installation-preparation: not_started, success, failed
	trouble     string // why the last preparation failed

	want       counts // provisionRequirements
	registered counts
	approved   int
	unsynced   int
}

// startable tells whether a cluster that is ready may be started: the counts
// are exact, every host is approved, and every Agent's spec is applied.
func (v *clusterView) startable() bool {
	return v.state == "ready" && v.counted() && v.unsynced == 0 && v.approved == v.want.sum()
}

func (v *clusterView) counted() bool { return v.registered == v.want }

// conditions are those of an AgentClusterInstall with a cluster behind it, in
// the order in which the service writes them, but for SpecSynced.
func (v *clusterView) conditions() []condition {
	return []condition{v.requirements(), v.validated(), v.completed(), v.failed(), v.stopped(), v.prepared()}
}

func (v *clusterView) requirements() condition {
	c := condition{Type: "RequirementsMet", Status: no}
	switch v.state {
	case "insufficient", "pending-for-input":
		c.Reason, c.Message = "ClusterNotReady", "The cluster is not ready to begin the installation"
	case "ready":
		v.readiness(&c)
	case "preparing-for-installation", "installing", "installing-pending-user-action", "finalizing", "adding-hosts":
		c.Status, c.Reason, c.Message = yes, "ClusterAlreadyInstalling", "The cluster requirements are met"
	case "installed", "error":
		c.Status, c.Reason, c.Message = yes, "ClusterInstallationStopped", "The cluster installation stopped"
	default:
		c.Status, c.Reason, c.Message = unknown, "UnknownStatus", unrecognised(v.state)
	}
	return c
}

// readiness says what keeps a ready cluster from being started, first things first.
func (v *clusterView) readiness(c *condition) {
	switch {
	case !v.counted():
		c.Reason = "InsufficientAgents"
		c.Message = fmt.Sprintf("The cluster currently requires exactly %d master agents, %d arbiter agents and %d worker agents, "+
			"but currently registered %d master agents, %d arbiter agents and %d worker agents",
			v.want.masters, v.want.arbiters, v.want.workers, v.registered.masters, v.registered.arbiters, v.registered.workers)
	case v.unsynced > 0:
		c.Reason, c.Message = "UnsyncedAgents", fmt.Sprintf("The cluster currently has %d agents with spec error", v.unsynced)
	case v.approved != v.want.sum():
		c.Reason = "UnapprovedAgents"
		c.Message = fmt.Sprintf("The installation is pending on the approval of %d agents", v.want.sum()-v.approved)
	default:
		c.Status, c.Reason, c.Message = yes, "ClusterIsReady", "The cluster is ready to begin the installation"
	}
}

func (v *clusterView) validated() condition {
	c := condition{Type: "Validated", Status: no}
	switch {
	case v.state == "insufficient":
		c.Reason, c.Message = "ValidationsFailing", "The cluster's validations are failing: "+complaints(v.checks)
	case v.state == "pending-for-input":
		c.Reason, c.Message = "ValidationsUserPending", "The cluster's validations are pending for user: "+complaints(v.checks)
	case v.state == "adding-hosts":
		c.Status, c.Reason, c.Message = yes, "ValidationsPassing", "The cluster's validations are passing"
	case v.checks == nil:
		c.Status, c.Reason, c.Message = unknown, "ValidationsUnknown", "The cluster's validations have not yet been calculated"
	default:
		c.Status, c.Reason, c.Message = yes, "ValidationsPassing", "The cluster's validations are passing"
	}
	return c
}

func (v *clusterView) completed() condition {
	c := condition{Type: "Completed", Status: no}
	switch v.state {
	case "installed", "adding-hosts":
		c.Status, c.Reason, c.Message = yes, "InstallationCompleted", "The installation has completed: "+v.info
	case "error":
		c.Reason, c.Message = "InstallationFailed", "The installation has failed: "+v.info
	case "insufficient", "pending-for-input", "ready":
		c.Reason, c.Message = "InstallationNotStarted", "The installation has not yet started"
		if v.state == "ready" && v.held {
			c.Reason, c.Message = "InstallationOnHold", "The installation is on hold. To unhold set holdInstallation to false"
		}
	case "preparing-for-installation", "installing", "installing-pending-user-action", "finalizing":
		c.Reason, c.Message = "InstallationInProgress", "The installation is in progress: "+v.info
	default:
		c.Status, c.Reason, c.Message = unknown, "UnknownStatus", unrecognised(v.state)
	}
	return c
}

func (v *clusterView) failed() condition {
	if v.state == "error" {
		return condition{"Failed", yes, "InstallationFailed", "The installation failed: " + v.info}
	}
	return condition{"Failed", no, "InstallationNotFailed", "The installation has not failed"}
}

func (v *clusterView) stopped() condition {
	switch v.state {
	case "error":
		return condition{"Stopped", yes, "InstallationFailed", "The installation has stopped due to error"}
	case "cancelled":
		return condition{"Stopped", yes, "InstallationCancelled", "The installation has stopped because it was cancelled"}
	case "installed", "adding-hosts":
		return condition{"Stopped", yes, "InstallationCompleted", "The installation has stopped because it completed successfully"}
	}
	return condition{"Stopped", no, "InstallationNotStopped", "The installation is waiting to start or in progress"}
}

func (v *clusterView) prepared() condition {
	c := condition{Type: "LastInstallationPreparationFailed", Status: no}
	switch v.preparation {
	case "failed":
		c.Status, c.Reason, c.Message = yes, "The last installation preparation failed", v.trouble
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

// noCluster are the conditions of an AgentClusterInstall without a cluster.
func noCluster() []condition {
	var all []condition
	for _, kind := range []string{"RequirementsMet", "Validated", "Completed", "Failed", "Stopped"} {
		all = append(all, condition{kind, unknown, "NotAvailable", "Information not available"})
	}
	return all
}
