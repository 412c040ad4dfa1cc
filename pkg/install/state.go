package install

import "github.com/oaictl/oaictl/internal/model"

// ClusterState is a cluster's state in neutral words, the same for a REST status and for a
// hub's conditions: Draft, Discovering, Blocked, Ready, Preparing, Installing, NeedsUser,
// Finalizing, Installed, Failed, Cancelled, AddingHosts, Unknown, and in lists Deleting.
type ClusterState = model.ClusterState

// HostState is a host's state in neutral words: Absent, Unbound, Binding, Discovering,
// Disconnected, Blocked, Ready, Preparing, Installing, NeedsUser, Resetting, Releasing,
// Installed, Added, Failed, Cancelled or Unknown.
type HostState = model.HostState

// ImageState is the state of an InfraEnv's discovery image: Pending, Ready or Failed.
type ImageState = model.ImageState

// Role is a host's part in the cluster: control-plane, worker, arbiter or auto.
type Role = model.Role
