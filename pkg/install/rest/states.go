package rest

import "github.com/oaictl/oaictl/pkg/install"

// clusterState is the neutral word for a cluster's REST status. "insufficient"
// and "pending-for-input" depend on more than the status; see refine.
func clusterState(status string) install.ClusterState {
	switch status {
	case "insufficient":
		return install.ClusterBlocked
	case "pending-for-input":
		return install.ClusterDiscovering
	case "ready":
		return install.ClusterReady
	case "preparing-for-installation":
		return install.ClusterPreparing
	case "installing":
		return install.ClusterInstalling
	case "installing-pending-user-action":
		return install.ClusterNeedsUser
	case "finalizing":
		return install.ClusterFinalizing
	case "installed":
		return install.ClusterInstalled
	case "error":
		return install.ClusterFailed
	case "cancelled":
		return install.ClusterCancelled
	case "adding-hosts":
		return install.ClusterAddingHosts
	}
	return install.ClusterUnknown
}

// refine tells apart what the service calls insufficient: a cluster that was
// never evaluated is a draft, one whose hosts are still to come or still being
// discovered waits for them, and only then do its validations count.
func refine(state install.ClusterState, validations []install.Validation, hosts []install.Host) install.ClusterState {
	if state != install.ClusterBlocked {
		return state
	}
	if len(validations) == 0 {
		return install.ClusterDraft
	}
	for i := range hosts {
		switch hosts[i].State {
		case install.HostDiscovering, install.HostBinding, install.HostUnbound:
		default:
			return state
		}
	}
	return install.ClusterDiscovering
}

// hostState is the neutral word for a host's REST status. The states of a pool
// (…-unbound) are one: Host.Status says which of them.
func hostState(status string) install.HostState {
	switch status {
	case "discovering", "": // none yet: it is registering this moment
		return install.HostDiscovering
	case "known":
		return install.HostReady
	case "insufficient", "pending-for-input":
		return install.HostBlocked
	case "disconnected":
		return install.HostDisconnected
	case "preparing-for-installation", "preparing-successful", "preparing-failed":
		return install.HostPreparing
	case "installing", "installing-in-progress":
		return install.HostInstalling
	case "installing-pending-user-action":
		return install.HostNeedsUser
	case "installed":
		return install.HostInstalled
	case "added-to-existing-cluster":
		return install.HostAdded
	case "error":
		return install.HostFailed
	case "cancelled":
		return install.HostCancelled
	case "resetting", "resetting-pending-user-action":
		return install.HostResetting
	case "binding":
		return install.HostBinding
	case "unbinding", "unbinding-pending-user-action", "reclaiming", "reclaiming-rebooting":
		return install.HostReleasing
	case "discovering-unbound", "insufficient-unbound", "known-unbound", "disconnected-unbound", "disabled-unbound":
		return install.HostUnbound
	}
	return install.HostUnknown
}

// hostRole is the neutral word for a REST role.
func hostRole(role string) install.Role {
	switch role {
	case "master", "bootstrap":
		return install.RoleControlPlane
	case "worker":
		return install.RoleWorker
	case "arbiter":
		return install.RoleArbiter
	}
	return install.RoleAuto
}

// restRole is the service's word for a role.
func restRole(role install.Role) string {
	switch role {
	case install.RoleControlPlane:
		return "master"
	case install.RoleAuto, "":
		return "auto-assign"
	}
	return string(role)
}

// handsOutNoIngress says whether the first kubeconfig and the password exist in
// a status: from the moment that the install runs. They may be there in a
// failed or cancelled install too, but need not.
func handsOutNoIngress(status string) bool {
	switch status {
	case "installing", "installing-pending-user-action", "finalizing", "installed", "adding-hosts":
		return true
	}
	return false
}
