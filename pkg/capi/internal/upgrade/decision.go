package upgrade

// Phase is where an upgrade stands.
type Phase string

// The phases.
const (
	// Idle: no version is wanted, or the cluster is not installed.
	Idle Phase = "Idle"
	// Blocked: the wanted version cannot be had now; Reason and Message say why, and what to do.
	Blocked Phase = "Blocked"
	// Requesting: Request is to be written.
	Requesting Phase = "Requesting"
	// Requested: the cluster was asked, and has not begun.
	Requested Phase = "Requested"
	// Progressing: the cluster is on its way to the wanted version.
	Progressing Phase = "Progressing"
	// Failed: on its way it fails, and has for some time.
	Failed Phase = "Failed"
	// Done: the cluster runs the wanted version.
	Done Phase = "Done"
)

// Reasons of decisions. They are stable, and CamelCase as the reasons of conditions are.
const (
	// Idle.
	ReasonNotWanted    = "UpgradeNotWanted"
	ReasonNotInstalled = "ClusterNotInstalled"
	// Requesting, Requested.
	ReasonRequesting = "UpgradeRequesting"
	ReasonRequested  = "UpgradeRequested"
	// Progressing, Failed, Done.
	ReasonInProgress = "UpgradeInProgress"
	ReasonFailed     = "UpgradeFailed"
	ReasonDone       = "UpgradeCompleted"

	// All others: Blocked.

	// ReasonInvalidVersion: what is wanted is no version.
	ReasonInvalidVersion = "InvalidVersion"
	// ReasonDowngradeRefused: the cluster runs, or is on its way to, a newer version.
	ReasonDowngradeRefused = "DowngradeRefused"
	// ReasonMinorSkipped: the wanted version is more than one minor version away.
	ReasonMinorSkipped = "MinorVersionSkipped"
	// ReasonOtherUpdate: the cluster is on its way to another version.
	ReasonOtherUpdate = "OtherUpdateInProgress"
	// ReasonNotAvailable: the cluster is not available.
	ReasonNotAvailable = "ClusterNotAvailable"
	// ReasonFailing: the cluster fails, without being on its way to the wanted version.
	ReasonFailing = "ClusterFailing"
	// ReasonOperatorBehind: the operator has not read the newest spec of the ClusterVersion.
	ReasonOperatorBehind = "OperatorBehind"
	// ReasonAdminAckRequired: gates are to be acknowledged.
	ReasonAdminAckRequired = "AdminAckRequired"
	// ReasonNotUpgradeable: the cluster says that it cannot take the next minor version.
	ReasonNotUpgradeable = "NotUpgradeable"
	// ReasonVersionUnavailable: the update graph has no update to the wanted version.
	ReasonVersionUnavailable = "VersionNotAvailable"
	// ReasonChannel: the cluster's channel does not have the wanted minor version.
	ReasonChannel = "ChannelMismatch"
	// ReasonNotRetrieved: the cluster could not ask for the update graph.
	ReasonNotRetrieved = "UpdatesNotRetrieved"
	// ReasonNotRecommended: the update has risks for this cluster.
	ReasonNotRecommended = "UpgradeNotRecommended"
	// ReasonImageUnavailable: the release image is not known, or is given without its digest.
	ReasonImageUnavailable = "UpgradeImageUnavailable"
	// ReasonRefused: the cluster refuses the update that it was asked for.
	ReasonRefused = "UpgradeRefused"
)

// Decision is what follows from a State and a Want.
type Decision struct {
	Phase Phase
	// Reason is one of the constants above, Message a sentence for a person.
	Reason, Message string
	// Percent is how much of the update is applied, nil where that is not known.
	Percent *int32
	// Request is what is to be written now, nil for nothing.
	Request *Request
	// Notes are what somebody should know, and nothing waits for: paused and degraded pools, nodes
	// that stay behind, an annotation without effect.
	Notes []string
	// Lagging are the nodes whose kubelet is older than the control plane's.
	Lagging []string
}

// Request is one write, of the one field that is set.
type Request struct {
	// Channel becomes that of the ClusterVersion.
	Channel string
	// Acknowledge are added to the ConfigMap admin-acks.
	Acknowledge []string
	// Update becomes the desiredUpdate of the ClusterVersion.
	Update *UpdateRequest

	// resourceVersion is that of the ClusterVersion that was decided on.
	resourceVersion string
}

// UpdateRequest is an update to ask for.
type UpdateRequest struct {
	Version string
	// Image is set where the graph does not say it, or somebody has named it.
	Image string
	Force bool
}
