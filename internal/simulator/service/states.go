package service

import "slices"

// The states of a cluster.
const (
	clusterInsufficient = "insufficient"
	clusterPendingInput = "pending-for-input"
	clusterReady        = "ready"
	clusterPreparing    = "preparing-for-installation"
	clusterInstalling   = "installing"
	clusterPendingUser  = "installing-pending-user-action"
	clusterFinalizing   = "finalizing"
	clusterInstalled    = "installed"
	clusterError        = "error"
	clusterCancelled    = "cancelled"
	clusterAddingHosts  = "adding-hosts"
	clusterUnmonitored  = "unmonitored"
)

// The states of a host.
const (
	hostDiscovering         = "discovering"
	hostPendingInput        = "pending-for-input"
	hostInsufficient        = "insufficient"
	hostKnown               = "known"
	hostDisconnected        = "disconnected"
	hostPreparing           = "preparing-for-installation"
	hostPrepared            = "preparing-successful"
	hostPreparationFailed   = "preparing-failed"
	hostInstalling          = "installing"
	hostInProgress          = "installing-in-progress"
	hostPendingUser         = "installing-pending-user-action"
	hostInstalled           = "installed"
	hostAdded               = "added-to-existing-cluster"
	hostError               = "error"
	hostCancelled           = "cancelled"
	hostResetting           = "resetting"
	hostResettingPending    = "resetting-pending-user-action"
	hostBinding             = "binding"
	hostUnbinding           = "unbinding"
	hostUnbindingPending    = "unbinding-pending-user-action"
	hostReclaiming          = "reclaiming"
	hostDiscoveringUnbound  = "discovering-unbound"
	hostInsufficientUnbound = "insufficient-unbound"
	hostKnownUnbound        = "known-unbound"
	hostDisconnectedUnbound = "disconnected-unbound"
)

// What the service says of a host's state.
const (
	infoDiscovering       = "Waiting for host to send hardware details"
	infoDisconnected      = "Host has stopped communicating with the installation service"
	infoMediaDisconnected = "Unable to read from the discovery media. It was either disconnected or poor network conditions prevented it from being read. Try using the minimal ISO option and be sure to keep the media connected until the installation is completed"
	infoMinimumHardware   = "Host does not meet the minimum hardware requirements: "
	infoWaitingForInput   = "Waiting for user input: "
	infoNotInstallable    = "Host cannot be installed due to following failing validation(s): "
	infoKnown             = "Host is ready to be installed"
	infoPreparationFailed = "Host failed to prepare for installation due to following failing validation(s): "
	infoPrepareOvertime   = "The host has encountered a preparation timeout, the following conditions failed: "
	infoPrepared          = "Host finished successfully to prepare for installation"
	infoInstallingHost    = "Installation is in progress"
	infoClusterFailed     = "Host is part of a cluster that failed to install"
	infoResettingPending  = "Host requires booting into the discovery image to complete resetting the installation"
	infoStartTimedOut     = "Host failed to install due to timeout while starting installation"
	infoStageTooLong      = "Host failed to install because its installation stage %s took longer than expected %s"
	infoStageStuck        = "Host failed to install because its installation stage %s did not sufficiently progress in the last %s."
	infoNotBooted         = "Host failed to boot from the installation disk within the expected time."
	infoLostInstalling    = "Host failed to install due to timeout while connecting to host during the installation phase."
	infoLostPreparing     = "Host failed to install due to timeout while connecting to host during the preparation phase."
	infoRestarted         = "The host unexpectedly restarted during the installation"
	infoRebootedDay2      = "Host has rebooted and no further updates will be posted. Please check console for progress and to possibly approve pending CSRs"
	infoReadyToBind       = "Host is ready to be bound to a cluster"
	infoBinding           = "Host is waiting to be bound to the cluster"
	infoUnbinding         = "Host is waiting to be unbound from the cluster"
	infoHostCancelled     = "Installation was cancelled by user"
	infoWrongBoot         = "Expected the host to boot from disk, but it booted the installation image - please reboot and fix boot order to boot from disk"
)

// What the service says of a cluster's state.
const (
	infoNotReady        = "Cluster is not ready for install"
	infoReady           = "Cluster ready to be installed"
	infoInputRequired   = "User input required"
	infoPreparing       = "Preparing cluster for installation"
	infoInstalling      = "Installation in progress"
	infoFinalizing      = "Finalizing cluster installation"
	infoInstalled       = "Cluster is installed"
	infoHostsInError    = "cluster has hosts in error"
	infoUserTimeout     = "cluster installation timed out while pending user action (a manual booting from installation disk)"
	infoAddingHosts     = "cluster is adding hosts to existing OCP cluster"
	infoPendingUser     = "Cluster has hosts pending user action"
	infoReset           = "cluster was reset by user"
	infoHostUnprepared  = "At least one host has stopped preparing for installation"
	infoPrepareFailed   = "Cluster failed to prepare for installation"
	infoPrepareTimedOut = "Preparing cluster for installation timeout"
	infoFinalizeTimeout = "Cluster installation timeout while finalizing"
	infoStageTimeout    = "Cluster finalizing stage '%s' has been timed out after timeout duration of %d minutes"
	infoStageSlow       = "Cluster finalizing stage '%s' is taking longer than the expected duration (%d minutes). To troubleshoot use kubeconfig or connect to any node using ssh"
	infoCancelled       = "Installation was cancelled by user"
	infoWorkersMissing  = "Cluster is installed but some workers did not join"
	infoDegraded        = "Cluster is installed but degraded"
)

// The kinds of clusters and hosts.
const (
	kindCluster       = "Cluster"
	kindAddHosts      = "AddHostsCluster"
	kindDisconnected  = "DisconnectedCluster"
	kindHost          = "Host"
	kindAddedHost     = "AddToExistingClusterHost"
	roleAuto          = "auto-assign"
	roleMaster        = "master"
	roleWorker        = "worker"
	roleArbiter       = "arbiter"
	roleBootstrap     = "bootstrap"
	platformBaremetal = "baremetal"
	platformNone      = "none"
)

func oneOf(state string, states ...string) bool { return slices.Contains(states, state) }

// hostUnbound tells the states of a host that belongs to no cluster.
func hostUnbound(state string) bool {
	return oneOf(state, hostDiscoveringUnbound, hostInsufficientUnbound, hostKnownUnbound, hostDisconnectedUnbound)
}

// hostEvaluated tells the states in which the monitor judges a host anew.
func hostEvaluated(state string) bool {
	return oneOf(state, hostDiscovering, hostPendingInput, hostInsufficient, hostKnown, hostDisconnected,
		hostPreparationFailed) || hostUnbound(state)
}

// hostChangeable tells the states in which a user may change a host.
func hostChangeable(state string) bool {
	return oneOf(state, hostChangeableStates()...)
}

func hostChangeableStates() []string {
	return []string{hostDiscovering, hostKnown, hostDisconnected, hostInsufficient, hostPendingInput, hostBinding,
		hostKnownUnbound, hostDisconnectedUnbound, hostDiscoveringUnbound, hostInsufficientUnbound}
}
