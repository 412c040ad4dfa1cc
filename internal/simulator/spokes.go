package simulator

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
	"github.com/oaictl/oaictl/internal/simulator/versions"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// SpokeOf is the cluster of a file as its installation leaves it, without the named hosts, which join it
// later. An imported cluster gets a control plane of three nodes that the file does not have, and none of the
// hosts of the file. The seed decides the machines.
func SpokeOf(c *spec.Cluster, seed int64, without ...string) (spoke.Cluster, error) {
	release, err := versions.Resolve(cmp.Or(c.Spec.OpenShift.Version, "4.20"), "")
	if err != nil {
		return spoke.Cluster{}, fmt.Errorf("find the release of the installed cluster: %w", err)
	}
	installed := spoke.Cluster{
		Name: c.Metadata.Name, BaseDomain: c.Spec.BaseDomain, Version: release.Version, Arch: string(c.Spec.OpenShift.Arch),
		APIVIPs: c.Spec.Network.VIPs.API, IngressVIPs: c.Spec.Network.VIPs.Ingress,
		ServiceNetworks: c.Spec.Network.Service, MachineNetworks: c.Spec.Network.Machine,
		PullSecret: c.PullSecret().Reveal(), Pools: poolsOf(c), Platform: spoke.None,
	}
	if installed.Arch == string(spec.Multi) {
		installed.Arch = ""
	}
	if c.Imported() {
		installed.ID = c.Spec.Import.ClusterID
	}
	switch {
	case c.Imported() && !c.Present("spec.platform.type"): // the default of an imported cluster
	case c.Spec.Platform.Type == spec.BareMetal:
		installed.Platform, installed.MachineAPI = spoke.BareMetal, true
	case c.Spec.Platform.Type == spec.External:
		installed.Platform = spoke.External
	}
	for _, n := range c.Spec.Network.Cluster {
		installed.ClusterNetworks = append(
			installed.ClusterNetworks, spoke.ClusterNetwork{CIDR: n.CIDR, HostPrefix: cmp.Or(n.HostPrefix, defaultPrefix(n.CIDR))},
		)
	}
	return installed, addNodes(&installed, c, uint64(seed), without)
}

// defaultPrefix is the length of the part of a network of pods that each node gets.
func defaultPrefix(cidr string) int {
	if prefix, err := netip.ParsePrefix(cidr); err == nil && prefix.Addr().Is6() {
		return 64
	}
	return 23
}

func addNodes(cluster *spoke.Cluster, c *spec.Cluster, seed uint64, without []string) error {
	all, err := machinesOf(c, seed)
	if err != nil {
		return fmt.Errorf("make the nodes of the installed cluster: %w", err)
	}
	if c.Imported() {
		return addUnknown(cluster, c, seed, len(all))
	}
	roles := rolesOf(c, all)
	for _, m := range installed(c, slices.Clone(all)) {
		node := spoke.Node{Name: m.Name, Addresses: m.Addresses(), UUID: m.UUID}
		switch {
		case slices.Contains(without, m.Name):
		case roles[m.Name] == spec.ControlPlane:
			cluster.ControlPlane = append(cluster.ControlPlane, node)
		case roles[m.Name] == spec.Arbiter:
			cluster.Arbiters = append(cluster.Arbiters, node)
		default:
			cluster.Workers = append(cluster.Workers, node)
		}
	}
	return nil
}

// rolesOf are the roles of machines, where the first of those that may be anything make up the control plane.
func rolesOf(c *spec.Cluster, machines []host.Machine) map[string]spec.Role {
	roles, left := map[string]spec.Role{}, c.ControlPlaneCount()
	for i := range machines {
		role := spec.Auto
		if h := c.Host(machines[i].Name); h != nil && h.Role != "" {
			role = h.Role
		}
		if role == spec.ControlPlane {
			left--
		}
		roles[machines[i].Name] = role
	}
	for i := range machines {
		if name := machines[i].Name; roles[name] == spec.Auto {
			roles[name] = spec.Worker
			if left > 0 {
				roles[name] = spec.ControlPlane
			}
			left--
		}
	}
	return roles
}

// addUnknown adds the control plane of a cluster of which a file names none, beside the file's machines.
func addUnknown(cluster *spoke.Cluster, c *spec.Cluster, seed uint64, others int) error {
	const usual = 3
	network, err := networkOf(c)
	if err != nil {
		return err
	}
	for i := range usual {
		m, err := host.NewMachine(seed, others+i, network)
		if err != nil {
			return fmt.Errorf("make the nodes of the installed cluster: %w", err)
		}
		cluster.ControlPlane = append(
			cluster.ControlPlane, spoke.Node{Name: fmt.Sprintf("control-plane-%d", i), Addresses: m.Addresses(), UUID: m.UUID},
		)
	}
	return nil
}

// poolsOf are the pools of a file's cluster with configs that matter on day 2.
func poolsOf(c *spec.Cluster) []spoke.Pool {
	var pools []spoke.Pool
	for role, name := range map[spec.Role]string{spec.ControlPlane: "master", spec.Worker: "worker", spec.Arbiter: "arbiter"} {
		pool := spoke.Pool{Name: name, FIPS: c.Spec.FIPS != nil && *c.Spec.FIPS}
		if e := c.Spec.DiskEncryption; e != nil && (len(e.On) == 0 || slices.Contains(e.On, spec.AllRoles) || slices.Contains(
			e.On, string(role),
		)) {
			pool.TPM = e.Mode == spec.TPM
			for _, server := range e.Tang {
				pool.Tang = append(pool.Tang, spoke.Tang{URL: server.URL, Thumbprint: server.Thumbprint})
			}
		}
		if role != spec.Arbiter || c.ArbiterCount() > 0 {
			pools = append(pools, pool)
		}
	}
	slices.SortFunc(pools, func(a, b spoke.Pool) int { return cmp.Compare(a.Name, b.Name) })
	return pools
}

// JoinSpoke has machines that are added to an installed cluster join one that is played,
// for BootConfig.Joins.
func JoinSpoke(s *spoke.Spoke) func(context.Context, host.Joining) error {
	return func(ctx context.Context, j host.Joining) error {
		return s.Join(ctx, spoke.Machine{
			Hostname: j.Hostname, Role: j.Role, Pool: j.Pool, Addresses: j.Machine.Addresses(), UUID: j.Machine.UUID, Installation: j.Installation,
			Became: j.Became,
		})
	}
}
