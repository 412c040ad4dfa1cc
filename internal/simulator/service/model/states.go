package model

import (
	"slices"
	"time"

	"github.com/openshift/assisted-service/models"
)

// The states of a cluster.
const (
	ClusterInsufficient = "insufficient"
	ClusterPendingInput = "pending-for-input"
	ClusterReady        = "ready"
	ClusterPreparing    = "preparing-for-installation"
	ClusterInstalling   = "installing"
	ClusterPendingUser  = "installing-pending-user-action"
	ClusterFinalizing   = "finalizing"
	ClusterInstalled    = "installed"
	ClusterError        = "error"
	ClusterCancelled    = "cancelled"
	ClusterAddingHosts  = "adding-hosts"
	ClusterUnmonitored  = "unmonitored"
)

// The states of a host.
const (
	HostDiscovering         = "discovering"
	HostPendingInput        = "pending-for-input"
	HostInsufficient        = "insufficient"
	HostKnown               = "known"
	HostDisconnected        = "disconnected"
	HostPreparing           = "preparing-for-installation"
	HostPrepared            = "preparing-successful"
	HostPreparationFailed   = "preparing-failed"
	HostInstalling          = "installing"
	HostInProgress          = "installing-in-progress"
	HostPendingUser         = "installing-pending-user-action"
	HostInstalled           = "installed"
	HostAdded               = "added-to-existing-cluster"
	HostError               = "error"
	HostCancelled           = "cancelled"
	hostResetting           = "resetting"
	HostResettingPending    = "resetting-pending-user-action"
	HostBinding             = "binding"
	HostUnbinding           = "unbinding"
	HostUnbindingPending    = "unbinding-pending-user-action"
	HostReclaiming          = "reclaiming"
	HostReclaimingRebooting = "reclaiming-rebooting"
	HostDiscoveringUnbound  = "discovering-unbound"
	HostInsufficientUnbound = "insufficient-unbound"
	HostKnownUnbound        = "known-unbound"
	HostDisconnectedUnbound = "disconnected-unbound"
)

// What the service says of a host's state.
const (
	InfoDiscovering       = "Waiting for host to send hardware details"
	InfoDisconnected      = "Host has stopped communicating with the installation service"
	InfoMediaDisconnected = "Unable to read from the discovery media. It was either disconnected or poor network conditions prevented it " +
		"from being read. Try using the minimal ISO option and be sure to keep the media connected until the installation is completed"
	InfoInstallFailed     = "installation command failed"
	InfoMinimumHardware   = "Host does not meet the minimum hardware requirements: "
	InfoWaitingForInput   = "Waiting for user input: "
	InfoNotInstallable    = "Host cannot be installed due to following failing validation(s): "
	InfoKnown             = "Host is ready to be installed"
	InfoPreparationFailed = "Host failed to prepare for installation due to following failing validation(s): "
	InfoPrepareOvertime   = "The host has encountered a preparation timeout, the following conditions failed: "
	InfoPrepared          = "Host finished successfully to prepare for installation"
	InfoInstallingHost    = "Installation is in progress"
	InfoClusterFailed     = "Host is part of a cluster that failed to install"
	InfoResettingPending  = "Host requires booting into the discovery image to complete resetting the installation"
	InfoStartTimedOut     = "Host failed to install due to timeout while starting installation"
	InfoStageTooLong      = "Host failed to install because its installation stage %s took longer than expected %s"
	InfoStageStuck        = "Host failed to install because its installation stage %s did not sufficiently progress in the last %s."
	InfoNotBooted         = "Host failed to boot from the installation disk within the expected time."
	InfoLostInstalling    = "Host failed to install due to timeout while connecting to host during the installation phase."
	InfoLostPreparing     = "Host failed to install due to timeout while connecting to host during the preparation phase."
	InfoRestarted         = "The host unexpectedly restarted during the installation"
	InfoRebootedDay2      = "Host has rebooted and no further updates will be posted. Please check console for progress and to possibly " +
		"approve pending CSRs"
	InfoReadyToBind      = "Host is ready to be bound to a cluster"
	InfoBinding          = "Host is waiting to be bound to the cluster"
	InfoUnbinding        = "Host is waiting to be unbound from the cluster"
	InfoReclaimRebooting = "Host is rebooting into the discovery image"
	InfoHostCancelled    = "Installation was cancelled by user"
	InfoWrongBoot        = "Expected the host to boot from disk, but it booted the installation image - please reboot and fix boot order to " +
		"boot from disk"
)

// What the service says of a cluster's state.
const (
	InfoNotReady        = "Cluster is not ready for install"
	InfoReady           = "Cluster ready to be installed"
	InfoInputRequired   = "User input required"
	InfoPreparing       = "Preparing cluster for installation"
	InfoInstalling      = "Installation in progress"
	InfoFinalizing      = "Finalizing cluster installation"
	InfoInstalled       = "Cluster is installed"
	InfoHostsInError    = "cluster has hosts in error"
	InfoUserTimeout     = "cluster installation timed out while pending user action (a manual booting from installation disk)"
	InfoAddingHosts     = "cluster is adding hosts to existing OCP cluster"
	InfoPendingUser     = "Cluster has hosts pending user action"
	InfoReset           = "cluster was reset by user"
	InfoHostUnprepared  = "At least one host has stopped preparing for installation"
	InfoPrepareFailed   = "Cluster failed to prepare for installation"
	InfoPrepareTimedOut = "Preparing cluster for installation timeout"
	InfoFinalizeTimeout = "Cluster installation timeout while finalizing"
	InfoStageTimeout    = "Cluster finalizing stage '%s' has been timed out after timeout duration of %d minutes"
	InfoStageSlow       = "Cluster finalizing stage '%s' is taking longer than the expected duration (%d minutes). To troubleshoot use " +
		"kubeconfig or connect to any node using ssh"
	InfoCancelled      = "Installation was cancelled by user"
	InfoWorkersMissing = "Cluster is installed but some workers did not join"
	InfoDegraded       = "Cluster is installed but degraded"
)

// The kinds of clusters and hosts.
const (
	KindCluster       = "Cluster"
	KindAddHosts      = "AddHostsCluster"
	KindDisconnected  = "DisconnectedCluster"
	KindHost          = "Host"
	KindAddedHost     = "AddToExistingClusterHost"
	RoleAuto          = "auto-assign"
	RoleMaster        = "master"
	RoleWorker        = "worker"
	RoleArbiter       = "arbiter"
	RoleBootstrap     = "bootstrap"
	PlatformBaremetal = "baremetal"
	PlatformNone      = "none"
)

// OneOf reports whether a state is one of those.
func OneOf(state string, states ...string) bool { return slices.Contains(states, state) }

// HostUnbound tells the states of a host that belongs to no cluster.
func HostUnbound(state string) bool {
	return OneOf(state, HostDiscoveringUnbound, HostInsufficientUnbound, HostKnownUnbound, HostDisconnectedUnbound)
}

// HostEvaluated tells the states in which the monitor judges a host anew.
func HostEvaluated(state string) bool {
	return OneOf(state, HostDiscovering, HostPendingInput, HostInsufficient, HostKnown, HostDisconnected,
		HostPreparationFailed) || HostUnbound(state)
}

// HostChangeable tells the states in which a user may change a host.
func HostChangeable(state string) bool { return OneOf(state, HostChangeableStates()...) }

// HostChangeableStates are the states in which a user may change a host.
func HostChangeableStates() []string {
	return []string{HostDiscovering, HostKnown, HostDisconnected, HostInsufficient, HostPendingInput, HostBinding,
		HostKnownUnbound, HostDisconnectedUnbound, HostDiscoveringUnbound, HostInsufficientUnbound}
}

// The stages of a host's installation.
const (
	StageStarting      = "Starting installation"
	StageInstalling    = "Installing"
	StageWriting       = "Writing image to disk"
	StageCopying       = "Copying registry data to disk"
	StageControlPlane  = "Waiting for control plane"
	StageBootkube      = "Waiting for bootkube"
	StageController    = "Waiting for controller"
	StageRebooting     = "Rebooting"
	StageIgnition      = "Waiting for ignition"
	StageConfiguring   = "Configuring"
	StageJoined        = "Joined"
	StageDone          = "Done"
	StageFailed        = "Failed"
	FinalizingDone     = "Done"
	FinalizingOperator = "Waiting for cluster operators"
)

// AllStages lists every word that a host may report.
func AllStages() []string {
	return []string{StageStarting, StageControlPlane, StageBootkube, StageController, StageInstalling, StageWriting,
		StageCopying, StageRebooting, StageIgnition, StageConfiguring, StageJoined, StageDone, StageFailed}
}

// RoleStages is the ordered list of a host's stages; empty while its role is open. Of a host that
// is added to an installed cluster, a service that is no hub's knows nothing after the reboot.
func RoleStages(h *Host, single, kubeAPI bool) []string {
	stages := []string{}
	switch added := h.Kind == KindAddedHost; {
	case !added && h.Bootstrap && single:
		stages = []string{StageStarting, StageInstalling, StageBootkube, StageWriting, StageCopying, StageRebooting,
			StageJoined, StageDone}
	case !added && h.Bootstrap:
		stages = []string{StageStarting, StageInstalling, StageWriting, StageCopying, StageControlPlane, StageBootkube,
			StageController, StageRebooting, StageConfiguring, StageJoined, StageDone}
	case OneOf(h.Role, RoleMaster, RoleArbiter):
		stages = []string{StageStarting, StageInstalling, StageWriting, StageCopying, StageRebooting, StageConfiguring,
			StageJoined, StageDone}
	case h.Role == RoleWorker:
		stages = []string{StageStarting, StageInstalling, StageWriting, StageControlPlane, StageRebooting, StageIgnition,
			StageConfiguring, StageJoined, StageDone}
	}
	if h.Kind == KindAddedHost && !kubeAPI {
		return stages[:slices.Index(stages, StageRebooting)+1]
	}
	return stages
}

// StageTimeout is how long the service gives a host for a stage.
func StageTimeout(stage string, single bool) time.Duration {
	switch stage {
	case StageStarting, StageWriting:
		return 30 * time.Minute
	case StageCopying:
		return 90 * time.Minute
	case StageRebooting:
		if single {
			return 80 * time.Minute
		}
		return 40 * time.Minute
	case StageIgnition:
		return 24 * time.Hour
	}
	return time.Hour
}

// FinalizingStage is a stage of the controller with how long the service gives it, as it
// does unless it was set up with soft time limits. One that is about the operators on top
// has at least what these ask for. What is optional does not fail an installation.
type FinalizingStage struct {
	Name          string
	limit         time.Duration
	olm, Optional bool
}

func finalizingStages() []FinalizingStage {
	return []FinalizingStage{
		{Name: FinalizingOperator, limit: 10 * time.Hour},
		{Name: "Adding router ca", limit: 70 * time.Minute},
		{Name: "Applying olm manifests", limit: 10 * time.Minute, Optional: true},
		{Name: "Waiting for olm operators csv initialization", limit: 70 * time.Minute, olm: true, Optional: true},
		{Name: "Waiting for olm operators csv", limit: 70 * time.Minute, olm: true, Optional: true},
		{Name: "Waiting for OLM operator setup jobs", limit: 10 * time.Minute, olm: true},
		{Name: FinalizingDone, limit: 70 * time.Minute},
	}
}

// FinalizingStage is the stage that the controller has reported, and its time.
func (c *Cluster) FinalizingStage() (stage FinalizingStage, limit time.Duration) {
	at := FinalizingIndex(string(c.Progress.FinalizingStage))
	if at < 0 {
		return FinalizingStage{}, 0
	}
	stage = finalizingStages()[at]
	limit = stage.limit
	for _, o := range c.MonitoredOperators {
		if stage.olm && o.OperatorType == models.OperatorTypeOlm {
			limit = max(limit, time.Duration(o.TimeoutSeconds)*time.Second)
		}
	}
	return stage, limit
}

// FinalizingIndex is the place of a stage of the controller; -1 for an unknown one.
func FinalizingIndex(name string) int {
	return slices.IndexFunc(finalizingStages(), func(f FinalizingStage) bool { return f.Name == name })
}
