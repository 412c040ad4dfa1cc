package model

// The tables from the words of the service to the neutral ones. A REST status
// and the state in a hub object's debugInfo are the same words: those of
// assisted-service's models.Cluster and models.Host.

// ClusterStateOf is the neutral word for a cluster's status. "insufficient" and
// "pending-for-input" depend on more than the status.
func ClusterStateOf(status string) ClusterState {
	switch status {
	case "insufficient":
		return ClusterBlocked
	case "pending-for-input":
		return ClusterDiscovering
	case "ready":
		return ClusterReady
	case "preparing-for-installation":
		return ClusterPreparing
	case "installing":
		return ClusterInstalling
	case "installing-pending-user-action":
		return ClusterNeedsUser
	case "finalizing":
		return ClusterFinalizing
	case "installed":
		return ClusterInstalled
	case "error":
		return ClusterFailed
	case "cancelled":
		return ClusterCancelled
	case "adding-hosts":
		return ClusterAddingHosts
	}
	return ClusterUnknown
}

// HostStateOf is the neutral word for a host's status. The states of a pool
// (…-unbound) are one: Host.Status says which of them.
func HostStateOf(status string) HostState {
	switch status {
	case "discovering", "": // none yet: it is registering this moment
		return HostDiscovering
	case "known":
		return HostReady
	case "insufficient", "pending-for-input":
		return HostBlocked
	case "disconnected":
		return HostDisconnected
	case "preparing-for-installation", "preparing-successful", "preparing-failed":
		return HostPreparing
	case "installing", "installing-in-progress":
		return HostInstalling
	case "installing-pending-user-action":
		return HostNeedsUser
	case "installed":
		return HostInstalled
	case "added-to-existing-cluster":
		return HostAdded
	case "error":
		return HostFailed
	case "cancelled":
		return HostCancelled
	case "resetting", "resetting-pending-user-action":
		return HostResetting
	case "binding":
		return HostBinding
	case "unbinding", "unbinding-pending-user-action", "reclaiming", "reclaiming-rebooting":
		return HostReleasing
	case "discovering-unbound", "insufficient-unbound", "known-unbound", "disconnected-unbound", "disabled-unbound":
		return HostUnbound
	}
	return HostUnknown
}

// RoleOf is the neutral word for the service's word for a role.
func RoleOf(word string) Role {
	switch word {
	case "master", "bootstrap":
		return RoleControlPlane
	case "worker":
		return RoleWorker
	case "arbiter":
		return RoleArbiter
	}
	return RoleAuto
}

// RoleWord is the service's word for a role.
func RoleWord(role Role) string {
	switch role {
	case RoleControlPlane:
		return "master"
	case RoleAuto, "":
		return "auto-assign"
	}
	return string(role)
}
