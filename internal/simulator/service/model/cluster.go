package model

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Cluster is what the service keeps of a cluster: what it prints, and what it
// does not.
type Cluster struct {
	PrintedCluster
	PullSecret string
	UISettings string
	// Hosts are the hosts bound to the cluster, in the order in which they came.
	Hosts []*Host
	// Deleted are those that were, by infra-env id/host id, as they were then.
	Deleted map[string]*Host
	// Manifests are the user's and the service's own, by folder/name.
	Manifests map[string]Manifest
	// Objects are the files made when the installation starts, by file name.
	Objects map[string][]byte
	Logs    map[string][]byte
	// Credentials is made when the installation starts.
	Credentials *Credentials
	IngressCert string
	// PreparedAt is when the preparation began whose files are still being made.
	PreparedAt time.Time
	Checks     Checks
	Groups     Majority
	Collisions map[string][]string
	Reached    Reachability // what groups and collisions were computed from
	// Before is the cluster as the tick that is running found it.
	Before struct {
		State      string
		Groups     Majority
		Collisions map[string][]string
		Searched   bool // for collisions
		Machine    []MachineNetwork
	}
	// Uses are the features that the cluster makes use of, by name, and
	// OperatorUses those of them that are operators.
	Uses         map[string]FeatureUse
	OperatorUses map[string]bool
}

// Manifest is a file that goes into the cluster.
type Manifest struct {
	Content []byte
	System  bool
}

// Credentials are a cluster's keys: its own certificate authority, an
// administrator's certificate, and the console password.
type Credentials struct {
	CA, Cert, Key []byte // PEM
	Password      string
}

// FeatureUse is one entry of feature_usage.
type FeatureUse struct {
	Data map[string]any `json:"data,omitempty"`
	ID   string         `json:"id"`
	Name string         `json:"name"`
}

// IsSingle tells a single node.
func (c *Cluster) IsSingle() bool { return c.ControlPlaneCount == 1 }

// IsDay2 tells a cluster that is installed and takes more hosts.
func (c *Cluster) IsDay2() bool { return c.Kind == KindAddHosts }

// UserManaged says that the user brings load balancer and DNS.
func (c *Cluster) UserManaged() bool {
	return c.UserManagedNetworking != nil && *c.UserManagedNetworking
}

// UserBalanced says that the user brings the load balancer alone.
func (c *Cluster) UserBalanced() bool {
	return c.LoadBalancer != nil && c.LoadBalancer.Type == "user-managed"
}

// PlatformType is the type of the platform; empty where none is chosen.
func (c *Cluster) PlatformType() string {
	if c.Platform == nil {
		return ""
	}
	return c.Platform.Type
}

// AllocatesVips tells whether the virtual addresses are leased by DHCP.
func (c *Cluster) AllocatesVips() bool { return c.VipDHCPAllocation != nil && *c.VipDHCPAllocation }

// VipAt is the virtual address that decides on the machine network at a place.
func (c *Cluster) VipAt(i int) string {
	for _, list := range [][]VIP{c.APIVips, c.IngressVips} {
		if i < len(list) && list[i].IP != "" {
			return list[i].IP
		}
	}
	return ""
}

// CIDRs are the networks of each kind.
func (c *Cluster) CIDRs() (machine, clusterNets, services []string) {
	for _, n := range c.MachineNetworks {
		machine = append(machine, n.CIDR)
	}
	for _, n := range c.ClusterNetworks {
		clusterNets = append(clusterNets, n.CIDR)
	}
	for _, n := range c.ServiceNetworks {
		services = append(services, n.CIDR)
	}
	return machine, clusterNets, services
}

// HasOperator tells whether the cluster will have an operator.
func (c *Cluster) HasOperator(name string) bool {
	return slices.ContainsFunc(c.MonitoredOperators, func(o Operator) bool { return o.Name == name })
}

// OperatorNames lists the OLM operators that the cluster will have.
func (c *Cluster) OperatorNames() []string {
	var names []string
	for _, o := range c.MonitoredOperators {
		if o.OperatorType == "olm" {
			names = append(names, o.Name)
		}
	}
	return names
}

// Hostnames counts the cluster's hosts by name.
func (c *Cluster) Hostnames() map[string]int {
	names := make(map[string]int, len(c.Hosts))
	for _, h := range c.Hosts {
		names[h.Name()]++
	}
	return names
}

// InfraEnvs lists the infra-envs that the cluster's machines came from.
func (c *Cluster) InfraEnvs() []*InfraEnv {
	var list []*InfraEnv
	for _, h := range c.Hosts {
		if !slices.Contains(list, h.InfraEnv) {
			list = append(list, h.InfraEnv)
		}
	}
	return list
}

// RecordUse notes that the cluster makes use of a feature, or no longer does.
func (c *Cluster) RecordUse(on bool, name string, data map[string]any) {
	uses := maps.Clone(c.Uses) // what was printed may still be read
	if uses == nil {
		uses = map[string]FeatureUse{}
	}
	delete(uses, name)
	if on {
		id := strings.ToUpper(strings.NewReplacer(" ", "_", ".", "").Replace(name))
		uses[name] = FeatureUse{data, id, name}
	}
	c.Uses, c.FeatureUsage = uses, InString(uses)
}

// MakesUseOf tells whether the cluster was said to make use of a feature.
func (c *Cluster) MakesUseOf(name string) bool {
	_, used := c.Uses[name]
	return used
}

// ResetRoles takes back the roles that were suggested to the cluster's hosts.
func (c *Cluster) ResetRoles() {
	for _, h := range c.Hosts {
		if h.RoleOpen() {
			h.SuggestedRole = RoleAuto
		}
	}
}
