package spoke

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// Cluster is an OpenShift cluster as its installation left it.
type Cluster struct {
	// Name and BaseDomain make its DNS names: api.NAME.DOMAIN.
	Name, BaseDomain string
	// ID is its ClusterVersion's clusterID, a UUID; empty makes one of its name.
	ID string
	// Version is its release, 4.20.33 if empty.
	Version string
	// Arch is of its nodes, in the words of cluster.yaml: x86_64 if empty.
	Arch string
	// Platform is what its machines are to it; None if empty.
	Platform Platform
	// MachineAPI says that machines are objects to it: Machine, MachineSet and BareMetalHost.
	MachineAPI bool
	// APIVIPs and IngressVIPs are its virtual addresses, one of each family.
	APIVIPs, IngressVIPs []string
	// ClusterNetworks are those of pods, 10.128.0.0/14 if there is none.
	ClusterNetworks []ClusterNetwork
	// ServiceNetworks and MachineNetworks are CIDRs; 172.30.0.0/16 is the services' if there is none.
	ServiceNetworks, MachineNetworks []string
	// ControlPlane and Workers are its nodes. Without workers the control plane runs workloads.
	ControlPlane, Workers []Node
	// Arbiters are nodes that run etcd and no control plane.
	Arbiters []Node
	// Pools are the MachineConfigPools beside master and worker, and what is special about any.
	Pools []Pool
	// Joining says that the cluster is being installed: its nodes are those that Join brings, and
	// the ones here only say how many there will be. It is complete once Installed says so.
	Joining bool
	// Updates are the releases that it may be updated to, in the order of their versions.
	Updates []Update
	// PullSecret is the JSON of its global pull secret; empty makes one that opens nothing.
	PullSecret string
}

// Platform is a platform's type as an Infrastructure has it.
type Platform string

// The platforms that are played.
const (
	None      Platform = "None"
	BareMetal Platform = "BareMetal"
	External  Platform = "External"
)

// ClusterNetwork is a network of pods, with the length of the part that each node gets.
type ClusterNetwork struct {
	CIDR       string
	HostPrefix int
}

// Node is a node that the cluster was installed with.
type Node struct {
	Name      string
	Addresses []netip.Addr
	// UUID is its machine's; empty makes one of its name.
	UUID string
	// Labels are those that were put on it later.
	Labels map[string]string
}

// Pool is a MachineConfigPool.
type Pool struct {
	// Name is master, worker, or a role whose label (node-role.kubernetes.io/NAME) puts workers into it.
	Name string
	// FIPS, TPM and Tang are what its rendered config says: FIPS mode, and disks that are
	// encrypted by the machine's TPM 2 or these servers.
	FIPS, TPM bool
	Tang      []Tang
}

// Update is a release that a cluster may be updated to.
type Update struct {
	Version, Image string
	// Channels are those that have it.
	Channels []string
}

// Tang is a server that disks are encrypted by.
type Tang struct{ URL, Thumbprint string }

const (
	master = "master"
	worker = "worker"
)

// complete fills in what was left out, and refuses what cannot be.
func (c Cluster) complete() (Cluster, error) {
	switch {
	case c.Name == "" || c.BaseDomain == "":
		return c, errors.New("it needs a name and a base domain")
	case len(c.ControlPlane) == 0:
		return c, errors.New("it needs control plane nodes")
	}
	c.ID = cmp.Or(c.ID, idOf(c.domain()))
	if _, err := uuid.Parse(c.ID); err != nil {
		return c, fmt.Errorf("its id %q is no UUID", c.ID)
	}
	c.Version, c.Arch, c.Platform = cmp.Or(c.Version, "4.20.33"), cmp.Or(c.Arch, "x86_64"), cmp.Or(c.Platform, None)
	if len(c.ClusterNetworks) == 0 {
		c.ClusterNetworks = []ClusterNetwork{{CIDR: "10.128.0.0/14", HostPrefix: 23}}
	}
	if len(c.ServiceNetworks) == 0 {
		c.ServiceNetworks = []string{"172.30.0.0/16"}
	}
	if _, err := c.minor(); err != nil {
		return c, err
	}
	c.ControlPlane = slices.Clone(c.ControlPlane)
	c.Workers = slices.Clone(c.Workers)
	c.Arbiters = slices.Clone(c.Arbiters)
	c.Pools = slices.Clone(c.Pools)
	for _, nodes := range c.nodes() {
		for i := range nodes {
			if nodes[i].Name == "" || len(nodes[i].Addresses) == 0 {
				return c, fmt.Errorf("node %q needs a name and an address", nodes[i].Name)
			}
			nodes[i].UUID = cmp.Or(nodes[i].UUID, idOf(nodes[i].Name))
		}
	}
	for i, name := range []string{master, worker, RoleArbiter} {
		if name == RoleArbiter && len(c.Arbiters) == 0 {
			continue
		}
		if !slices.ContainsFunc(c.Pools, func(p Pool) bool { return p.Name == name }) {
			c.Pools = slices.Insert(c.Pools, i, Pool{Name: name})
		}
	}
	return c, nil
}

// nodes are all that the cluster was installed with, by their roles.
func (c *Cluster) nodes() map[string][]Node {
	return map[string][]Node{RoleControlPlane: c.ControlPlane, RoleWorker: c.Workers, RoleArbiter: c.Arbiters}
}

func (c *Cluster) members() []Node { return slices.Concat(c.ControlPlane, c.Arbiters) }

func idOf(name string) string { return uuid.NewSHA1(uuid.NameSpaceDNS, []byte(name)).String() }

func (c *Cluster) domain() string { return c.Name + "." + c.BaseDomain }

// infraName is what the cluster's machines are named by: its name and five characters.
func (c *Cluster) infraName() string { return c.Name + "-" + digest(c.ID)[:5] }

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

func (c *Cluster) minor() (int, error) {
	parts := strings.Split(c.Version, ".")
	if len(parts) < 3 {
		return 0, fmt.Errorf("version %q is none like 4.20.33", c.Version)
	}
	minor, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0, fmt.Errorf("version %q is none like 4.20.33: %w", c.Version, err)
	}
	return minor, nil
}

// KubernetesOf is the version of Kubernetes of a release.
func KubernetesOf(version string) string {
	parts := strings.Split(version, ".")
	if len(parts) < 3 {
		return "v1.0.0"
	}
	minor, _ := strconv.Atoi(parts[1]) // complete has looked
	patch, _, _ := strings.Cut(parts[2], "-")
	return fmt.Sprintf("v1.%d.%s", minor+13, patch)
}

// KubeletOf is the version that the kubelets of a release report: that of Kubernetes with the commit it was built of, as
// v1.33.5+6ec2f6f.
func KubeletOf(version string) string {
	const length = 7
	return KubernetesOf(version) + "+" + digest("kubernetes " + version)[:length]
}

func machineArch(arch string) string {
	if arch == "x86_64" {
		return "amd64"
	}
	return arch
}

// compact reports whether the control plane runs workloads.
func (c *Cluster) compact() bool { return len(c.Workers) == 0 }

// rendered is the name of a pool's rendered config, as the installation left it.
func (c *Cluster) rendered(pool string) string { return c.renderedOf(pool, c.Version) }

// renderedOf is the name of the config that a release renders for a pool.
func (c *Cluster) renderedOf(pool, version string) string {
	return "rendered-" + pool + "-" + digest(c.ID+version+pool)
}

func (c *Cluster) imageOf(version string) string {
	for _, u := range c.Updates {
		if u.Version == version && u.Image != "" {
			return u.Image
		}
	}
	return "quay.io/openshift-release-dev/ocp-release@sha256:" + digest(version) + digest(version+c.Arch)
}
