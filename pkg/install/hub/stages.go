package hub

import (
	"slices"

	"github.com/oaictl/oaictl/internal/hubapi/hive"
	"github.com/oaictl/oaictl/pkg/install"
)

// lonelyStages are the stages of the only node of a cluster, which is its own
// bootstrap.
func lonelyStages() []string {
	return []string{
		"Starting installation", "Installing", "Waiting for bootkube", "Writing image to disk", "Copying registry data to disk",
		"Rebooting", "Joined", "Done",
	}
}

// setLonelyStages gives the only node of a cluster its stages. The service lists
// stages by role and may name those of a bootstrap among several nodes, which are
// others and in another order.
func setLonelyStages(made *hive.AgentClusterInstall, hosts []install.Host) {
	if need := made.Spec.ProvisionRequirements; need.ControlPlaneAgents != 1 || need.WorkerAgents != 0 {
		return
	}
	for i := range hosts {
		if progress := &hosts[i].Progress; hosts[i].Bootstrap && slices.Contains(lonelyStages(), progress.Stage) {
			progress.Stages = lonelyStages()
		}
	}
}
