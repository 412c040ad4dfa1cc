// Package model is the vocabulary of installations: what is desired ([Desired]), what was observed ([Observed]), what
// is to be done ([Plan]), what a loop remembers ([Memory]), what is reported ([Event]) and how things fail ([Fault]),
// with the constants of each state. It decides nothing and sends no request: see package install for both.
package model

// ClusterState is a cluster's state in neutral words: the same for a REST
// status and for a hub's conditions.
type ClusterState string

// The neutral states of a cluster. A day-1 cluster that is AddingHosts has
// reached Installed.
const (
	ClusterDraft       ClusterState = "Draft"       // exists, nothing evaluated yet
	ClusterDiscovering ClusterState = "Discovering" // waits for hosts or for input that hosts bring
	ClusterBlocked     ClusterState = "Blocked"     // validations fail
	ClusterReady       ClusterState = "Ready"       // may be installed
	ClusterPreparing   ClusterState = "Preparing"   // the service prepares the installation
	ClusterInstalling  ClusterState = "Installing"
	ClusterNeedsUser   ClusterState = "NeedsUser" // a person must act at a machine
	ClusterFinalizing  ClusterState = "Finalizing"
	ClusterInstalled   ClusterState = "Installed"
	ClusterFailed      ClusterState = "Failed"
	ClusterCancelled   ClusterState = "Cancelled"
	ClusterAddingHosts ClusterState = "AddingHosts"
	ClusterUnknown     ClusterState = "Unknown" // a status that oaictl does not know; ends the run
	// ClusterDeleting is how a hub lists a cluster that is on its way out. Only lists know it.
	ClusterDeleting ClusterState = "Deleting"
)

// HostState is a host's state in neutral words.
type HostState string

// The neutral states of a host.
const (
	HostAbsent       HostState = "Absent" // named by the file, never seen by the service
	HostUnbound      HostState = "Unbound"
	HostBinding      HostState = "Binding"
	HostDiscovering  HostState = "Discovering"
	HostDisconnected HostState = "Disconnected"
	HostBlocked      HostState = "Blocked"
	HostReady        HostState = "Ready"
	HostPreparing    HostState = "Preparing"
	HostInstalling   HostState = "Installing"
	HostNeedsUser    HostState = "NeedsUser"
	HostResetting    HostState = "Resetting"
	HostReleasing    HostState = "Releasing"
	HostInstalled    HostState = "Installed"
	HostAdded        HostState = "Added"
	HostFailed       HostState = "Failed"
	HostCancelled    HostState = "Cancelled"
	HostUnknown      HostState = "Unknown" // a status that oaictl does not know; a warning
)

// ImageState is the state of an InfraEnv's discovery image.
type ImageState string

// The states of a discovery image.
const (
	ImagePending ImageState = "Pending"
	ImageReady   ImageState = "Ready"
	ImageFailed  ImageState = "Failed"
)

// BeforeInstall says whether the install has not been started yet, so that
// the cluster and its hosts may still be changed.
func (s ClusterState) BeforeInstall() bool {
	switch s {
	case ClusterDraft, ClusterDiscovering, ClusterBlocked, ClusterReady:
		return true
	}
	return false
}

// Running says whether an install is under way.
func (s ClusterState) Running() bool {
	switch s {
	case ClusterPreparing, ClusterInstalling, ClusterNeedsUser, ClusterFinalizing:
		return true
	}
	return false
}

// Installed says whether the day-1 install has succeeded.
func (s ClusterState) Installed() bool {
	return s == ClusterInstalled || s == ClusterAddingHosts
}

// Stopped says whether the install has failed or was cancelled.
func (s ClusterState) Stopped() bool { return s == ClusterFailed || s == ClusterCancelled }
