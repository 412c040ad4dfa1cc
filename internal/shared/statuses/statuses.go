// Package statuses translates the service's own words for states and roles into those of the vocabulary. A REST status and
// the state in a hub object's debugInfo are the same words: those of assisted-service's models.Cluster and models.Host.
package statuses

import (
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Cluster is the neutral word for a cluster's status. "insufficient" and
// "pending-for-input" depend on more than the status.
func Cluster(status string) model.ClusterState {
	switch status {
	case "insufficient":
		return model.ClusterBlocked
	case "pending-for-input":
		return model.ClusterDiscovering
	case "ready":
		return model.ClusterReady
	case "preparing-for-installation":
		return model.ClusterPreparing
	case "installing":
		return model.ClusterInstalling
	case "installing-pending-user-action":
		return model.ClusterNeedsUser
	case "finalizing":
		return model.ClusterFinalizing
	case "installed":
		return model.ClusterInstalled
	case "error":
		return model.ClusterFailed
	case "cancelled":
		return model.ClusterCancelled
	case "adding-hosts":
		return model.ClusterAddingHosts
	}
	return model.ClusterUnknown
}

// Host is the neutral word for a host's status. The states of a pool
// (…-unbound) are one: Host.Status says which of them.
func Host(status string) model.HostState {
	switch status {
	case "discovering", "": // none yet: it is registering this moment
		return model.HostDiscovering
	case "known":
		return model.HostReady
	case "insufficient", "pending-for-input":
		return model.HostBlocked
	case "disconnected":
		return model.HostDisconnected
	case "preparing-for-installation", "preparing-successful", "preparing-failed":
		return model.HostPreparing
	case "installing", "installing-in-progress":
		return model.HostInstalling
	case "installing-pending-user-action":
		return model.HostNeedsUser
	case "installed":
		return model.HostInstalled
	case "added-to-existing-cluster":
		return model.HostAdded
	case "error":
		return model.HostFailed
	case "cancelled":
		return model.HostCancelled
	case "resetting", "resetting-pending-user-action":
		return model.HostResetting
	case "binding":
		return model.HostBinding
	case "unbinding", "unbinding-pending-user-action", "reclaiming", "reclaiming-rebooting":
		return model.HostReleasing
	case "discovering-unbound", "insufficient-unbound", "known-unbound", "disconnected-unbound", "disabled-unbound":
		return model.HostUnbound
	}
	return model.HostUnknown
}

// Role is the neutral word for the service's word for a role.
func Role(word string) spec.Role {
	switch word {
	case "master", "bootstrap":
		return spec.ControlPlane
	case "worker":
		return spec.Worker
	case "arbiter":
		return spec.Arbiter
	}
	return spec.Auto
}

// RoleWord is the service's word for a role.
func RoleWord(role spec.Role) string {
	switch role {
	case spec.ControlPlane:
		return "master"
	case spec.Auto, "":
		return "auto-assign"
	}
	return string(role)
}
