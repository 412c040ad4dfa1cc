//go:build linux

package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/host/mcslog"
)

// nodeStep is what is done about a Node: in this order, and no further if something fails.
type nodeStep struct {
	node       *kube.Node
	host       *host
	joined     bool // the service is to know that it joined
	initialize bool // it does not wait for a cloud provider any more
	done       bool // the service is to know that it is ready
}

// planNodes says what is to be done about Nodes of hosts that are not installed yet, and which Nodes are of no such host.
func planNodes(hosts []host, nodes []kube.Node, initializes bool) (steps []nodeStep, unknown []string) {
	for i := range nodes {
		node := &nodes[i]
		h := hostOf(node, hosts)
		switch {
		case h == nil:
			unknown = append(unknown, node.Name)
			continue
		case h.has(models.HostStatusInstalled):
			continue
		}
		ready := node.Ready()
		step := nodeStep{
			node: node, host: h,
			joined:     slices.Contains([]models.HostStage{models.HostStageConfiguring, models.HostStageRebooting}, h.stage()),
			initialize: !ready && initializes && node.Uninitialized(),
			done:       ready && h.stage() != models.HostStageDone,
		}
		if step.joined || step.initialize || step.done {
			steps = append(steps, step)
		}
	}
	return steps, unknown
}

// ended reports whether no host is to become a node any more: all are installed, or the rest is in error.
func ended(hosts []host) (why string, ended bool) {
	left := slices.DeleteFunc(slices.Clone(hosts), func(h host) bool { return h.has(models.HostStatusInstalled) })
	if len(left) == 0 {
		return "all hosts are installed", true
	}
	if !slices.ContainsFunc(left, func(h host) bool { return !h.has(models.HostStatusError) }) {
		return fmt.Sprintf("the remaining hosts, %d, are in error", len(left)), true
	}
	return "", false
}

// followNodes reports to the service which hosts have joined and are ready, and approves requests for certificates
// meanwhile.
func (c *Controller) followNodes(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	approving := c.beside(ctx, "approving certificate requests", c.approveRequests)
	defer func() { cancel(); approving() }()
	err := c.wait(ctx, waiting{"all hosts to become nodes", generalInterval, longest}, c.lookAtNodes)
	c.ends("following nodes", err)
}

// lookAtNodes returns no error once no host is to become a node any more.
func (c *Controller) lookAtNodes(ctx context.Context) error {
	hosts, err := c.hosts(ctx, models.HostStatusDisabled)
	if err != nil {
		return err
	}
	if why, ended := ended(hosts); ended {
		c.Log.Info("done waiting for nodes", slog.String("reason", why))
		return nil
	}
	nodes, err := c.Cluster.Nodes(ctx)
	if err != nil {
		return err
	}
	steps, unknown := planNodes(hosts, nodes, c.initializes)
	for _, name := range unknown {
		c.Log.Warn("the service has no host for this node", word("node", name))
	}
	for _, step := range steps {
		if err := c.doNode(ctx, step); err != nil {
			c.Log.Error("could not update a node", word("node", step.node.Name), said(err))
		}
	}
	if hosts, err = c.hosts(ctx, models.HostStatusDisabled); err != nil {
		return err
	}
	c.reportConfiguring(ctx, hosts)
	return missing("the service does not have all of %d hosts as installed yet", len(hosts))
}

func (c *Controller) doNode(ctx context.Context, step nodeStep) error {
	report := func(stage models.HostStage) error {
		c.Log.Info("a host reached a stage", word("node", step.node.Name), slog.String("host", step.host.ID.String()),
			word("uuid", step.node.Status.NodeInfo.SystemUUID), slog.String("stage", string(stage)))
		return c.Service.Progress(ctx, step.host.InfraEnvID, *step.host.ID, stage, "")
	}
	if step.joined {
		if err := report(models.HostStageJoined); err != nil {
			return err
		}
	}
	if step.initialize {
		if err := c.Cluster.InitializeNode(ctx, *step.node); err != nil {
			return err
		}
	}
	if !step.done {
		return nil
	}
	if err := report(models.HostStageDone); err != nil {
		return err
	}
	c.countReboots(step.node.Name, step.host)
	return nil
}

const (
	configServerSpace = "openshift-machine-config-operator"
	configServerSince = 5 * time.Minute
	configServerLimit = 8 << 20 // bytes of the log of one pod
)

// reportConfiguring reports the hosts that have fetched their Ignition config from the machine config server.
func (c *Controller) reportConfiguring(ctx context.Context, hosts []host) {
	fetched, err := c.fetched(ctx)
	if err != nil {
		c.Log.Warn("could not find out which hosts have fetched their Ignition config", said(err))
		return
	}
	for _, h := range planConfiguring(hosts, fetched) {
		c.Log.Info("a host has fetched its Ignition config", word("host", h.name), slog.String("id", h.ID.String()))
		if err := c.Service.Progress(ctx, h.InfraEnvID, *h.ID, models.HostStageConfiguring, ""); err != nil {
			c.Log.Error("could not report a stage", word("host", h.name), said(err))
		}
	}
}

// planConfiguring are the hosts that are to have the stage Configuring.
func planConfiguring(hosts []host, fetched map[netip.Addr]bool) []host {
	var configuring []host
	for _, h := range hosts {
		later := slices.Contains([]models.HostStage{models.HostStageConfiguring, models.HostStageJoined, models.HostStageDone}, h.stage())
		if !later && slices.ContainsFunc(h.addresses, func(a netip.Addr) bool { return fetched[a] }) {
			configuring = append(configuring, h)
		}
	}
	return configuring
}

// fetched are the addresses that have fetched an Ignition config lately.
func (c *Controller) fetched(ctx context.Context) (map[netip.Addr]bool, error) {
	pods, err := c.Cluster.Pods(ctx, configServerSpace, map[string]string{"k8s-app": "machine-config-server"}, "")
	if err != nil {
		return nil, err
	}
	all, errs := map[netip.Addr]bool{}, []error{}
	for _, pod := range pods {
		log, err := c.Cluster.PodLog(ctx, configServerSpace, pod.Name, configServerSince, configServerLimit)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for line := range strings.Lines(string(log)) {
			if address := mcslog.Address(line); address.IsValid() {
				all[address] = true
			}
		}
	}
	if len(errs) > 0 && len(errs) == len(pods) {
		return nil, errors.Join(errs...)
	}
	return all, nil
}
