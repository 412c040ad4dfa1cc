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
