// Package csr judges the certificate requests of kubelets: a pure function of the requests, the hosts of the file and
// what the cluster has, which reads no clock and makes no network call.
//
// A client certificate makes a machine a Node, and every machine that has the bootstrapper's token may ask for one
// under any name. The name alone proves nothing. A request is approved only if it fits a host that the file names and
// the service has just installed, if nothing else in the cluster has that name, and once for an installation. With a
// serving certificate, a Node is trusted as each name and address in it. It is approved for names and addresses that
// are known to belong to that host, and to no other.
//
// Nothing is ever denied: a request that is refused stays pending, since another approver
// or a person may know more.
package csr

import (
	"net/netip"
	"time"
)

// ApprovedReason is the reason of the condition by which oaictl approves a request.
const ApprovedReason = "ApprovedByOaictl"

// Host is a host of the cluster, as the service records it.
type Host struct {
	// Name is what the file calls it; it is shown, and nothing is compared with it.
	Name string
	// Hostname is as the service records it. Its Node is called [model.NodeName] of that.
	Hostname string
	// Names are further DNS names of it.
	Names []string
	// Addresses are those of its inventory, and its static ones. The host itself reports
	// its inventory.
	Addresses []netip.Addr
	// Allowed are addresses that a person has said are this host's.
	Allowed []netip.Addr
	// Named reports that the file names it. Requests of others are never approved; their
	// names and addresses are only kept from being claimed.
	Named bool
	// Unasked reports that the caller does not ask about this host, though the file names it: it was added long ago, or
	// the command is about other hosts. None of its requests is approved either.
	Unasked bool
	// Installed reports that it is rebooting, joined or added, by the service's record,
	// for this cluster.
	Installed bool
	// Rebooted is when this installation's reboot began, by the service's clock. At zero
	// nothing proves that a request is of this installation, and none is approved.
	Rebooted time.Time
	// Joined reports that the service has seen it as a Node of this installation: no client
	// request of it is approved any more. Approved requests, which the cluster keeps for an
	// hour, Judge finds by itself.
	Joined bool
}

// Node is a Node of the cluster, in any state.
type Node struct {
	Name      string
	Created   time.Time
	Addresses []netip.Addr
}

// Cluster is what requests are compared with.
type Cluster struct {
	// Hosts are all that the service knows of the cluster, named by the file or not.
	Hosts []Host
	Nodes []Node
	// VIPs are the virtual addresses of the API and of ingress; none where a host's own
	// address serves for them.
	VIPs []netip.Addr
	// Networks are those of pods and services.
	Networks []netip.Prefix
}
