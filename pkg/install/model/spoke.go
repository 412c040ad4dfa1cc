package model

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Spoke is the installed cluster, as its own API server shows it. Its times are on the
// service's clock: ages are right even where the clocks differ.
type Spoke struct {
	// Trouble says why the rest is not known, or is what was seen before; "" where it is as
	// it stands. TroubleKind classes it, and Since is when it began.
	Trouble     string
	TroubleKind TroubleKind
	Since       time.Time
	// From says where the kubeconfig is from that the cluster is reached with.
	From string
	// ID is what the cluster calls itself (ClusterVersion.spec.clusterID), "" where it does not say.
	ID string
	// API is the address of its API server, as the cluster has it.
	API string
	// Version is the release that the cluster runs, "" where it is no OpenShift.
	Version string
	// VIPs are its virtual addresses, Networks those of its pods and services.
	VIPs     []netip.Addr
	Networks []netip.Prefix
	// ConfigServer is where its machines fetch their first config.
	ConfigServer ConfigServer
	// MachineAPI says that the cluster looks after its nodes by Machines.
	MachineAPI bool
	// Nodes are by name, and so are Pools and Operators.
	Nodes     []Node
	Pools     []Pool
	Operators []ClusterOperator
	// Machines, MachineSets and BareMetalHosts are those of the Machine API, by name.
	Machines       []Machine
	MachineSets    []MachineSet
	BareMetalHosts []BareMetalHost
	// Requests are the requests of kubelets for certificates, by age.
	Requests []CertificateRequest
	// Etcd is read where members of it come or go, or Options.WatchEtcd asks for it.
	Etcd *Etcd
	// What follows is read only where nodes are removed: Drains are of those nodes.
	Drains  []NodeDrain
	Volumes []LocalVolume
	Routers []Router
}

// Identity is what an installed cluster calls itself, by its id and its API's address, beside
// what the service knows it by: the id, else its name with its domain. They are the same, but
// for upper case, where it is the cluster that is meant.
func (c *Cluster) Identity(id, api, fullName string) (is, means string) {
	if c.OpenShiftID != "" {
		return id, c.OpenShiftID
	}
	return apiHost(api), "api." + fullName
}

// APIHost is the host name in the address of the cluster's API server.
func (s *Spoke) APIHost() string { return apiHost(s.API) }

func apiHost(api string) string {
	_, rest, _ := strings.Cut(api, "://")
	host, _, _ := strings.Cut(rest, ":")
	host, _, _ = strings.Cut(host, "/")
	return host
}

// Node is a Node of the installed cluster.
type Node struct {
	Name       string
	UID        string
	Created    time.Time
	Deleting   bool
	Cordoned   bool   // unschedulable
	Leaving    bool   // oaictl has begun to remove it
	Returns    string // id of the host that it is, and that goes back to its pool before it; "" for none
	SystemUUID string
	Ready      bool
	ReadySince time.Time // when Ready became what it is
	// Reason and Message are those of its condition Ready where it is not.
	Reason, Message string
	Roles           []string
	Labels          map[string]string
	Taints          []spec.Taint
	ProviderID      string
	Addresses       []netip.Addr
	Version         string // of the kubelet
	Config          NodeConfig
	Machine         string   // that it is of, by its annotation; "" for none
	Finalizers      []string // what has to be done before it is gone
}

// NodeConfig is how far the machine config operator has brought a node.
type NodeConfig struct {
	Current, Desired string // rendered configs
	State            string // Done, Working, Degraded
	Reason           string // of Degraded
}

// Done reports whether the node has the config that it is to have.
func (c NodeConfig) Done() bool {
	return c.State == "Done" && c.Current == c.Desired && c.Current != ""
}

// Pool is a machine config pool.
type Pool struct {
	Name     string
	Paused   bool
	Degraded bool
	Updating bool
	Message  string            // why it is degraded
	Labels   map[string]string // by which it chooses its nodes
	Config   string            // the rendered config that its machines are to have
	Served   string            // the rendered config that a new machine is given
	Machines int64             // how many it has
	Updated  int64             // how many of them have its config
	// Encryption is how the config that a new machine is given encrypts disks; nil: not at all, as
	// far as is known.
	Encryption *DiskEncryption
}

// DiskEncryption is what unlocks the disks of a pool's machines.
type DiskEncryption struct {
	TPM  bool     // of version 2.0
	Tang []string // URLs of servers
	Pins []string // others, that Clevis knows by these names
}

// ClusterOperator is one of the operators that the installed cluster consists of.
type ClusterOperator struct {
	Name      string
	Available bool
	Degraded  bool
	Message   string // why it is degraded or not available
}

// Well reports whether the operator is available and not degraded.
func (o *ClusterOperator) Well() bool { return o.Available && !o.Degraded }

// Machine is a Machine of the installed cluster, in the namespace openshift-machine-api.
type Machine struct {
	Name, UID     string
	Phase         string // Running, Deleting, Failed, ...
	Error         string // why it failed, "" where it has not
	Node          string // "" where it has none
	MachineSet    string // "" where none made it
	BareMetalHost string // name, "" where it has none
	ControlPlane  bool
	Deleting      bool
	ToBeDeleted   bool   // marked as the first that its MachineSet gives up
	Removes       string // the node for whose removal oaictl has marked it
	Addresses     []netip.Addr
	// Elsewhere says that something other than the Machine API's controllers looks after it.
	Elsewhere bool
	// Hooks are what holds its deletion up, as NAME of OWNER.
	Hooks []string
}

// MachineSet keeps a number of Machines.
type MachineSet struct {
	Name, UID string
	Version   string // of the object, as its API server counts
	Replicas  int
	Policy    string // which Machine it gives up first
	// Lowered are the uids of the Machines for which oaictl has lowered it, each by one.
	Lowered []string
	// FollowsHosts says that it has as many as there are BareMetalHosts for it. It takes
	// no other number.
	FollowsHosts bool
}

// BareMetalHost is a machine that the installed cluster itself looks after.
type BareMetalHost struct {
	Name, UID string
	Removes   string // the node for whose removal oaictl has marked it
	State     string // of its provisioning
	PoweredOn bool
	Consumer  string // the Machine that has it
	MAC       string // that it boots from
	BMC       string // address, "" where it has none
	External  bool   // installed before the operator saw it
	Deleting  bool
	// MACs and Addresses are those of its network cards, as its inspection found them.
	MACs      []string
	Addresses []netip.Addr
}

// HostOfMetal is the BareMetalHost of that name, or nil.
func (s *Spoke) HostOfMetal(name string) *BareMetalHost {
	i := slices.IndexFunc(s.BareMetalHosts, func(h BareMetalHost) bool { return h.Name == name })
	if i < 0 {
		return nil
	}
	return &s.BareMetalHosts[i]
}

// NodeByName is the node of a host with that hostname, or of that name, or nil.
func (s *Spoke) NodeByName(hostname string) *Node {
	name := NodeName(hostname)
	for i := range s.Nodes {
		if s.Nodes[i].Name == name {
			return &s.Nodes[i]
		}
	}
	return nil
}

// Pool is the machine config pool of that name, or nil.
func (s *Spoke) Pool(name string) *Pool {
	if i := slices.IndexFunc(s.Pools, func(p Pool) bool { return p.Name == name }); i >= 0 {
		return &s.Pools[i]
	}
	return nil
}
