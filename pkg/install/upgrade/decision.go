package upgrade

import (
	"errors"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// The reasons of decisions. They are stable, and CamelCase as the reasons of conditions are.
const (
	// Without a verdict.
	reasonNotWanted    = "UpgradeNotWanted"
	reasonNotInstalled = "ClusterNotInstalled"
	// The cluster is asked, or was.
	reasonRequesting = "UpgradeRequesting"
	reasonRequested  = "UpgradeRequested"
	// The cluster is on its way, or was.
	reasonInProgress = "UpgradeInProgress"
	reasonFailed     = "UpgradeFailed"
	reasonDone       = "UpgradeCompleted"

	// All others: what the cluster is asked for is blocked.

	// reasonInvalidVersion: what is wanted is no version.
	reasonInvalidVersion = "InvalidVersion"
	// reasonDowngradeRefused: the cluster runs, or is on its way to, a newer version.
	reasonDowngradeRefused = "DowngradeRefused"
	// reasonMinorSkipped: the wanted version is more than one minor version away.
	reasonMinorSkipped = "MinorVersionSkipped"
	// reasonOtherUpdate: the cluster is on its way to another version.
	reasonOtherUpdate = "OtherUpdateInProgress"
	// reasonNotAvailable: the cluster is not available.
	reasonNotAvailable = "ClusterNotAvailable"
	// reasonFailing: the cluster fails, without being on its way to the wanted version.
	reasonFailing = "ClusterFailing"
	// reasonOperatorBehind: the operator has not read the newest spec of the ClusterVersion.
	reasonOperatorBehind = "OperatorBehind"
	// reasonAdminAckRequired: gates are to be acknowledged.
	reasonAdminAckRequired = "AdminAckRequired"
	// reasonNotUpgradeable: the cluster says that it cannot take the next minor version.
	reasonNotUpgradeable = "NotUpgradeable"
	// reasonVersionUnavailable: the update graph has no update to the wanted version.
	reasonVersionUnavailable = "VersionNotAvailable"
	// reasonChannel: the cluster's channel does not have the wanted minor version.
	reasonChannel = "ChannelMismatch"
	// reasonNotRetrieved: the cluster could not ask for the update graph.
	reasonNotRetrieved = "UpdatesNotRetrieved"
	// reasonNotRecommended: the update has risks for this cluster.
	reasonNotRecommended = "UpgradeNotRecommended"
	// reasonImageUnavailable: the release image is not known, or is given without its digest.
	reasonImageUnavailable = "UpgradeImageUnavailable"
	// reasonRefused: the cluster refuses the update that it was asked for.
	reasonRefused = "UpgradeRefused"
)

// Decision is what follows from how a cluster stands, and from what it is to run.
type Decision struct {
	// Verdict is model.VerdictInstalled where the cluster runs the wanted version, and model.VerdictFailed where its update
	// has failed for some time. model.VerdictWaiting: the cluster was asked, or is on its way. model.VerdictWorking: Write
	// asks it for something. model.VerdictBlocked: the wanted version cannot be had now. It is "" where no version is
	// wanted, or the cluster is not installed.
	Verdict model.Verdict
	// Reason is one CamelCase word, which does not change. Message is a sentence for a person.
	Reason, Message string
	// Passes says that what blocks passes by itself.
	Passes bool
	// Percent is how much of the update is applied, nil where that is not known.
	Percent *int32
	// Asks is the update that Write asks for, nil for none. Its Image is "" where it is not known.
	Asks *Update
	// Notes are what a person should know, and nothing waits for: paused and degraded pools, nodes that stay behind, a
	// request of another version.
	Notes []string

	// lagging are the nodes whose kubelet is older than the control plane's.
	lagging []string
	request *writeRequest
}

// Fault is why the cluster does not come to the wanted version, nil while it may.
func (d *Decision) Fault(cluster string) error {
	code := model.CodeInput
	switch {
	case d.Verdict == model.VerdictFailed, d.Reason == reasonRefused:
		code = model.CodeFailed
	case d.Reason == reasonNotInstalled, d.Reason == reasonOtherUpdate, d.Reason == reasonOperatorBehind, d.Reason == reasonNotRetrieved:
		code = model.CodeFailure
	case d.Verdict != model.VerdictBlocked:
		return nil
	case d.Reason == reasonInvalidVersion:
		code = model.CodeUsage
	case d.Reason == reasonVersionUnavailable, d.Reason == reasonChannel:
		code = model.CodeNotFound
	}
	why := strings.ToLower(d.Message[:1]) + d.Message[1:]
	return &model.Fault{Code: code, Op: "upgrade", On: cluster, Permanent: true, Err: errors.New(why)}
}

// writeRequest is one write, of the one field that is set.
type writeRequest struct {
	// Channel becomes that of the ClusterVersion.
	Channel string
	// Acknowledge are added to the ConfigMap admin-acks.
	Acknowledge []string
	// Update becomes the desiredUpdate of the ClusterVersion.
	Update *updateRequest

	// resourceVersion is that of the ClusterVersion that was decided on.
	resourceVersion string
}

// updateRequest is an update to ask for.
type updateRequest struct {
	Version string
	// Image is set where the graph does not say it, or the caller has named it.
	Image string
	Force bool
}
