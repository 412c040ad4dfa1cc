package catalogue

import "slices"

// Path is a way through an installation: the stages that a host goes through
// depend on its part in it.
type Path string

// The paths of hosts. The bootstrap host is the control plane host that the
// others start from; the service chooses it.
const (
	PathBootstrap    Path = "bootstrap"
	PathControlPlane Path = "control-plane" // and arbiters
	PathWorker       Path = "worker"
	PathSingleNode   Path = "single-node"
	PathAdded        Path = "added" // to a running cluster, as far as the REST service follows it
)

// The stages of a host's installation, in the service's words.
const (
	starting       = "Starting installation"
	installing     = "Installing"
	writing        = "Writing image to disk"
	copying        = "Copying registry data to disk"
	controlPlane   = "Waiting for control plane"
	bootkube       = "Waiting for bootkube"
	controller     = "Waiting for controller"
	rebooting      = "Rebooting"
	ignition       = "Waiting for ignition"
	configuring    = "Configuring"
	joined         = "Joined"
	done           = "Done"
	failed         = "Failed"
	clusterOps     = "Waiting for cluster operators"
	routerCA       = "Adding router ca"
	olmManifests   = "Applying olm manifests"
	olmCSVInit     = "Waiting for olm operators csv initialization"
	olmCSV         = "Waiting for olm operators csv"
	olmSetupJobs   = "Waiting for OLM operator setup jobs"
	finalizingDone = "Done"
)

// Stages are the stages of a path in their order. Copying registry data to
// disk is on most paths and is passed over at once where there is no registry
// on the discovery image.
func Stages(path Path) []StageEntry {
	var found []StageEntry
	for _, name := range stageNames(path) {
		if s, ok := Stage(name); ok {
			found = append(found, s)
		}
	}
	return found
}

// FinalizingStages are the stages of finalizing in their order.
func FinalizingStages() []StageEntry {
	var found []StageEntry
	for _, name := range []string{clusterOps, routerCA, olmManifests, olmCSVInit, olmCSV, olmSetupJobs, finalizingDone} {
		if s, ok := FinalizingStage(name); ok {
			found = append(found, s)
		}
	}
	return found
}

func stageNames(path Path) []string {
	switch path {
	case PathBootstrap:
		return []string{starting, installing, writing, copying, controlPlane, bootkube, controller, rebooting, configuring, joined, done}
	case PathControlPlane:
		return []string{starting, installing, writing, copying, rebooting, configuring, joined, done}
	case PathWorker:
		return []string{starting, installing, writing, controlPlane, rebooting, ignition, configuring, joined, done}
	case PathSingleNode:
		return []string{starting, installing, bootkube, writing, copying, rebooting, joined, done}
	case PathAdded:
		return []string{starting, installing, writing, controlPlane, rebooting, done}
	}
	return nil
}

// pathsOf are the paths on which a stage lies.
func pathsOf(stage string) []Path {
	var paths []Path
	for _, path := range []Path{PathBootstrap, PathControlPlane, PathWorker, PathSingleNode, PathAdded} {
		if slices.Contains(stageNames(path), stage) {
			paths = append(paths, path)
		}
	}
	return paths
}
