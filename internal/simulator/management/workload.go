package management

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/live"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// Workload is a cluster that is being installed on the machines, or was, and is played on an API server.
type Workload struct {
	*workloads

	id, name string
	kube     *rest.Config
	gate     *gate
	view     *view // of the API server that it shares; nil for one of its own

	setUp  sync.Mutex // held while it is set up
	state  sync.Mutex
	played *spoke.Spoke      // nil before its first machine boots what was installed
	is     string            // what it calls itself
	labels map[string]string // nodes that have still to be labelled, by the ids of their hosts
	alive  int               // machines that run what was installed
	stop   func()            // ends its operators
}

// How often the service is asked for a cluster.
const (
	followEvery = 20 * time.Second
	followSoon  = 700 * time.Millisecond // real time
	// sharedLease is the least real time between two signs of life of a node among many.
	sharedLease = 20 * time.Second
)

// Config is an administrator's of the API server that the cluster is played on, whether its gate is open or not.
func (c *Workload) Config() *rest.Config { return rest.CopyConfig(c.kube) }

// Played is the cluster as it is played; nil before its first machine boots what was installed.
func (c *Workload) Played() *spoke.Spoke {
	c.state.Lock()
	defer c.state.Unlock()
	return c.played
}

// Shut breaks the connections to the API server, and refuses new ones until Open is called.
func (c *Workload) Shut() { c.gate.lead("") }

// Open lets clients in again.
func (c *Workload) Open() error {
	if c.view != nil {
		c.gate.lead(c.view.address)
		return nil
	}
	address, err := addressOf(c.kube)
	if err == nil {
		c.gate.lead(address)
	}
	return err
}

func (c *Workload) openshiftID() string {
	c.state.Lock()
	defer c.state.Unlock()
	return c.is
}

type cluster struct {
	Name            string    `json:"name"`
	Domain          string    `json:"base_dns_domain"`
	Status          string    `json:"status"`
	Version         string    `json:"openshift_version"`
	OpenshiftID     string    `json:"openshift_cluster_id"`
	Arch            string    `json:"cpu_architecture"`
	APIVIPs         []address `json:"api_vips"`
	IngressVIPs     []address `json:"ingress_vips"`
	ClusterNetworks []struct {
		CIDR   string `json:"cidr"`
		Prefix int    `json:"host_prefix"`
	} `json:"cluster_networks"`
	ServiceNetworks []network `json:"service_networks"`
	MachineNetworks []network `json:"machine_networks"`
	Platform        struct {
		Type string `json:"type"`
	} `json:"platform"`
	Operators []struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	} `json:"monitored_operators"`
	Hosts []record `json:"hosts"`
}

type (
	address struct {
		IP string `json:"ip"`
	}
	network struct {
		CIDR string `json:"cidr"`
	}
	// record is the service's record of a host.
	record struct {
		ID         string `json:"id"`
		Role       string `json:"role"`
		Hostname   string `json:"requested_hostname"`
		Inventory  string `json:"inventory"`
		NodeLabels string `json:"node_labels"`
		Ignition   string `json:"ignition_config_overrides"`
	}
)

func (c *Workload) read(ctx context.Context, query string) (*cluster, error) {
	var said cluster
	return &said, c.service.Do(ctx, "GET", "/v2/clusters/"+c.id+query, nil, &said)
}

// join is a machine of the cluster, from the start of its kubelet to its end.
func (c *Workload) join(ctx context.Context, j host.Joining) error {
	played, err := c.ensure(ctx)
	if err != nil {
		return err
	}
	labels, err := c.kubeletLabels(ctx, j)
	if err != nil {
		return err
	}
	c.count(1)
	defer c.count(-1)
	c.state.Lock()
	c.labels[j.Machine.UUID] = strings.ToLower(j.Hostname)
	c.state.Unlock()
	machine := spoke.Machine{
		Hostname: j.Hostname, Role: j.Role, Pool: j.Pool, Addresses: j.Machine.Addresses(), UUID: j.Machine.UUID, Installation: j.Installation,
		Labels: labels, Became: j.Became,
	}
	if c.view != nil {
		machine.Cluster = c.id
	}
	return played.Join(ctx, machine)
}

// kubeletLabels are those that the machine's installed system gives its kubelet, by what was laid over its Ignition.
func (c *Workload) kubeletLabels(ctx context.Context, j host.Joining) (map[string]string, error) {
	var hosts []record
	if err := c.service.Do(ctx, "GET", "/v2/clusters/"+j.ClusterID+"/hosts?with-inventory=false", nil, &hosts); err != nil {
		return nil, fmt.Errorf("read the Ignition of %s: %w", j.Hostname, err)
	}
	at := slices.IndexFunc(hosts, func(h record) bool { return h.ID == j.Machine.UUID })
	if at < 0 || hosts[at].Ignition == "" {
		return nil, nil
	}
	labels, err := live.KubeletLabelsIn(j.MetaData, []byte(hosts[at].Ignition))
	if err != nil {
		return nil, fmt.Errorf("read the labels of the kubelet on %s: %w", j.Hostname, err)
	}
	return labels, nil
}

func (c *Workload) count(more int) {
	c.state.Lock()
	defer c.state.Unlock()
	c.alive += more
}

// ensure sets the cluster up for the first machine that joins, and lets clients in.
func (c *Workload) ensure(ctx context.Context) (*spoke.Spoke, error) {
	c.setUp.Lock()
	defer c.setUp.Unlock()
	if played := c.Played(); played != nil {
		return played, nil
	}
	defer clock.Freeze(c.config.Clock)()
	said, err := c.read(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("read the cluster that it joins: %w", err)
	}
	var played *spoke.Spoke
	if c.view != nil {
		played, err = c.sharedSpoke(ctx, said.Version)
	} else {
		played, err = c.play(ctx, said)
	}
	if err != nil {
		return nil, err
	}
	if err := c.Open(); err != nil {
		return nil, err
	}
	c.state.Lock()
	defer c.state.Unlock()
	c.played, c.is = played, said.OpenshiftID
	c.logf("%s answers at %s", c.name, c.gate.URL())
	return played, nil
}

func (c *Workload) play(ctx context.Context, said *cluster) (*spoke.Spoke, error) {
	played, err := spoke.New(spoke.Config{
		Kube: c.kube, Clock: c.config.Clock, Stamps: clock.Real(), Cluster: said.played(),
		Logf: func(format string, args ...any) { c.logf(c.name+": "+format, args...) },
	})
	if err != nil {
		return nil, err
	}
	if err := played.SetUp(ctx); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(c.ctx)
	var operators sync.WaitGroup
	operators.Go(func() { _ = played.Run(running) }) // which ends with its context
	c.stop = func() { stop(); operators.Wait() }
	return played, nil
}

// played is the cluster as its installation will leave it.
func (said *cluster) played() spoke.Cluster {
	c := spoke.Cluster{
		Name: said.Name, BaseDomain: said.Domain, ID: said.OpenshiftID, Version: said.Version, Arch: said.Arch, Platform: spoke.None,
		Joining: true,
		Updates: updatesOf(said.Version),
	}
	for platform, word := range map[spoke.Platform]string{spoke.BareMetal: "baremetal", spoke.External: "external"} {
		if said.Platform.Type == word {
			c.Platform = platform
		}
	}
	for _, vip := range said.APIVIPs {
		c.APIVIPs = append(c.APIVIPs, vip.IP)
	}
	for _, vip := range said.IngressVIPs {
		c.IngressVIPs = append(c.IngressVIPs, vip.IP)
	}
	for _, n := range said.ClusterNetworks {
		c.ClusterNetworks = append(c.ClusterNetworks, spoke.ClusterNetwork{CIDR: n.CIDR, HostPrefix: n.Prefix})
	}
	for _, n := range said.ServiceNetworks {
		c.ServiceNetworks = append(c.ServiceNetworks, n.CIDR)
	}
	for _, n := range said.MachineNetworks {
		c.MachineNetworks = append(c.MachineNetworks, n.CIDR)
	}
	for _, h := range said.Hosts {
		node := spoke.Node{Name: strings.ToLower(h.Hostname), Addresses: h.addresses(), UUID: h.ID}
		switch h.Role {
		case "master", "bootstrap":
			c.ControlPlane = append(c.ControlPlane, node)
		case "arbiter":
			c.Arbiters = append(c.Arbiters, node)
		default:
			c.Workers = append(c.Workers, node)
		}
	}
	return c
}

// addresses are those that a host's agent has told.
func (h *record) addresses() []netip.Addr {
	var inventory struct {
		Hostname   string
		Interfaces []struct {
			V4 []string `json:"ipv4_addresses"`
			V6 []string `json:"ipv6_addresses"`
		}
	}
	if json.Unmarshal([]byte(h.Inventory), &inventory) != nil {
		return unused()
	}
	var all []netip.Addr
	for _, nic := range inventory.Interfaces {
		for _, text := range append(nic.V4, nic.V6...) {
			if prefix, err := netip.ParsePrefix(text); err == nil {
				all = append(all, prefix.Addr())
			}
		}
	}
	if all == nil {
		return unused()
	}
	return all
}

// unused is the address of a node that only counts.
func unused() []netip.Addr { return []netip.Addr{netip.IPv4Unspecified()} }

// updatesOf are the releases that a version may be updated to: those of its minor version, and the newest of the next.
func updatesOf(version string) []spoke.Update {
	number, err := versions.ParseNumber(version)
	if err != nil {
		return nil
	}
	updates := []spoke.Update{{Version: version}}
	for patch := number.Patch + 1; ; patch++ {
		release, err := versions.Resolve(fmt.Sprintf("%d.%d.%d", number.Major, number.Minor, patch), "")
		if err != nil {
			break
		}
		updates = append(updates, spoke.Update{Version: release.Version, Image: release.URL})
	}
	next := fmt.Sprintf("%d.%d", number.Major, number.Minor+1)
	if release, err := versions.Resolve(next, ""); err == nil && release.SupportLevel != "beta" {
		updates = append(updates, spoke.Update{Version: release.Version, Image: release.URL, Channels: []string{"stable-" + next}})
	}
	return updates
}

// follow does for the cluster what its installation does inside, and takes it away once the
// service does not know it any more, and none of its machines runs.
func (c *Workload) follow(ctx context.Context) {
	over := false
	for {
		pause := followEvery
		if over {
			pause *= 10
		}
		if real := c.config.Clock.Wall(pause); real < followSoon {
			pause = time.Duration(float64(pause) * float64(followSoon) / float64(real))
		}
		if c.config.Clock.Sleep(ctx, pause) != nil {
			return
		}
		said, err := c.read(ctx, "?exclude-hosts=true")
		switch {
		case assisted.IsGone(err):
			if c.isDead() {
				c.end(ctx)
				return
			}
			over = true // it runs on without the service's record of it
			continue
		case err != nil:
			if ctx.Err() == nil {
				c.logf("%s: %v", c.name, err)
			}
			continue
		}
		played := c.Played()
		if played == nil {
			continue
		}
		if err := c.label(ctx, played); err != nil && ctx.Err() == nil {
			c.logf("%s: %v", c.name, err)
		}
		if !over && said.applied() {
			if err := played.Installed(ctx); err != nil {
				c.logf("%v", err)
				continue
			}
			over = true
		}
	}
}

// applied reports whether the cluster has come to its version, by the installation's controller.
func (said *cluster) applied() bool {
	if said.Status == "installed" || said.Status == "adding-hosts" {
		return true
	}
	for _, o := range said.Operators {
		if o.Name == "cvo" && o.Status == "available" {
			return said.Status == "finalizing"
		}
	}
	return false
}

// label puts the labels of hosts on their nodes, as the controller of an installation does, and
// that of a hub for hosts that are added.
func (c *Workload) label(ctx context.Context, played *spoke.Spoke) error {
	c.state.Lock()
	waiting := len(c.labels)
	c.state.Unlock()
	if waiting == 0 {
		return nil
	}
	var hosts []record
	if err := c.service.Do(ctx, "GET", "/v2/clusters/"+c.id+"/hosts?with-inventory=false", nil, &hosts); err != nil {
		return err
	}
	for _, h := range hosts {
		c.state.Lock()
		name, waits := c.labels[h.ID]
		c.state.Unlock()
		if !waits {
			continue
		}
		var labels map[string]string
		if h.NodeLabels != "" {
			if err := json.Unmarshal([]byte(h.NodeLabels), &labels); err != nil {
				return fmt.Errorf("read the labels of %s: %w", name, err)
			}
		}
		there, err := played.Label(ctx, name, labels)
		if err != nil {
			return err
		}
		if there {
			c.state.Lock()
			delete(c.labels, h.ID)
			c.state.Unlock()
		}
	}
	return nil
}

// close refuses all further connections.
func (c *Workload) close() error {
	err := c.gate.close()
	if c.view != nil {
		err = errors.Join(err, c.view.close())
	}
	return err
}

// isDead reports whether none of the cluster's machines runs what was installed.
func (c *Workload) isDead() bool {
	c.state.Lock()
	defer c.state.Unlock()
	return c.alive == 0
}

// end takes the cluster away.
func (c *Workload) end(ctx context.Context) {
	c.logf("%s is deleted", c.name)
	if err := c.close(); err != nil {
		c.logf("%s: %v", c.name, err)
	}
	if played := c.Played(); played != nil && c.view == nil {
		c.stop()
		if err := played.Clear(ctx); err != nil {
			c.logf("%s: %v", c.name, err)
			return // the nodes of another cluster cannot be played there
		}
	}
	c.forget(c)
}
