//go:build linux

package controller

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/shared/escape"
)

// workerPool is the MachineConfigPool that is paused while workers get another role.
const workerPool = "worker"

// labelStep is a Node that is to have labels.
type labelStep struct {
	node   string
	labels map[string]string // those that it lacks or has with another value; empty if there are none
}

// planLabels says which Nodes have or get the labels of their hosts. Nodes that are not ready are left for later.
func planLabels(hosts []host, nodes []kube.Node) (steps []labelStep, err error) {
	var errs []error
	for i := range nodes {
		node := &nodes[i]
		h := hostOf(node, hosts)
		if h == nil || !node.Ready() {
			continue
		}
		wanted := map[string]string{}
		if err := json.Unmarshal([]byte(h.NodeLabels), &wanted); err != nil {
			errs = append(errs, errors.New(escape.Sprintf("read node_labels of the host %s: %s", h.name, err)))
			continue
		}
		step := labelStep{node: node.Name, labels: map[string]string{}}
		for name, value := range wanted {
			if has, found := node.Labels[name]; !found || has != value {
				step.labels[name] = value
			}
		}
		steps = append(steps, step)
	}
	return steps, errors.Join(errs...)
}

// pausesWorkers reports whether a worker gets into another pool: the pool of workers is paused until it has its labels.
func pausesWorkers(hosts []host) bool {
	for i := range hosts {
		if hosts[i].Role == models.HostRoleWorker && hosts[i].MachineConfigPoolName != "" {
			return true
		}
	}
	return false
}

// labelNodes gives Nodes the labels that the service has for their hosts.
func (c *Controller) labelNodes(ctx context.Context) {
	c.ends("labelling nodes", c.wait(ctx, waiting{"the labels of all nodes", generalInterval, longest}, c.lookAtLabels))
}

func (c *Controller) lookAtLabels(ctx context.Context) error {
	all, err := c.hosts(ctx, models.HostStatusDisabled, models.HostStatusError)
	if err != nil {
		return err
	}
	var hosts []host
	for _, h := range all {
		if h.NodeLabels != "" {
			hosts = append(hosts, h)
		}
	}
	if len(hosts) == 0 {
		return nil
	}
	pauses := pausesWorkers(hosts)
	if pauses {
		if err := c.Cluster.PausePool(ctx, workerPool, true); err != nil {
			return err
		}
	}
	nodes, err := c.Cluster.Nodes(ctx)
	if err != nil {
		return err
	}
	steps, err := planLabels(hosts, nodes)
	errs := []error{err}
	done := 0
	for _, step := range steps {
		if len(step.labels) > 0 {
			if err := c.Cluster.LabelNode(ctx, step.node, step.labels); err != nil {
				errs = append(errs, err)
				continue
			}
			c.Log.Info("labelled a node", word("node", step.node))
		}
		done++
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if done < len(hosts) {
		return missing("%d of %d hosts have a ready node with its labels", done, len(hosts))
	}
	if pauses {
		return c.Cluster.PausePool(ctx, workerPool, false)
	}
	return nil
}
