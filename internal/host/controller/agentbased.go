//go:build linux

package controller

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/kube"
)

// agentBasedReady is how long the service of the agent-based installer is waited for: it runs in the same network, and is gone
// after the machine on which it runs has rebooted.
const agentBasedReady = 5 * time.Minute

const (
	operatorManifests = "olm-operator-manifests"
	// lateManifests is how long operators may take after the cluster has its version.
	lateManifests = time.Hour
)

// runAgentBased is the controller of the agent-based installer. Only the API server says when the installation is complete.
func (c *Controller) runAgentBased(ctx context.Context) error {
	if c.Config.ControlPlanes == 1 {
		c.Log.Info("the service of this single node has ended with its reboot, so it is not asked")
		c.start(ctx, "applying manifests", c.applyFromCluster)
		return c.awaitAgentBased(ctx, 0)
	}
	cluster, err := c.becomeReady(ctx, agentBasedReady)
	platform := platformOf(cluster)
	if err != nil {
		c.Log.Warn("the service does not answer, so the cluster alone is read", said(err))
		if platform, err = c.installedPlatform(ctx); err != nil {
			c.Log.Warn("could not read the platform", said(err))
		}
	} else {
		c.readKubeconfig(ctx)
	}
	c.initializes = c.removesTaint(ctx, platform, cluster, true)
	c.start(ctx, "following nodes", c.followNodes)
	c.start(ctx, "applying manifests", c.applyFromCluster)
	c.startCommon(ctx, platform)
	return c.awaitAgentBased(ctx, c.Config.ControlPlanes)
}

// readKubeconfig reads the kubeconfig of the administrator, which is needed after the service has gone.
func (c *Controller) readKubeconfig(ctx context.Context) {
	err := c.look(ctx, func(ctx context.Context) error {
		_, err := c.administrator(ctx)
		return err
	})
	if err != nil {
		c.Log.Warn("could not read the kubeconfig of the administrator yet", said(err))
	}
}

// awaitAgentBased waits for the end of the installation, and then some time for the operators that get manifests. The original
// does not wait for those, and an operator that OLM installs late never gets its manifests.
func (c *Controller) awaitAgentBased(ctx context.Context, nodes int) error {
	if err := c.awaitVersion(ctx, nodes); err != nil {
		return err
	}
	err := c.wait(ctx, waiting{"the manifests of operators to be applied", generalInterval, lateManifests}, func(ctx context.Context) error {
		select {
		case <-c.applied:
			return nil
		default:
		}
		_, err := c.Cluster.ConfigMap(ctx, c.Config.Namespace, operatorManifests)
		if kube.NotFound(err) {
			return nil
		}
		return errors.Join(err, missing("they are not applied yet"))
	})
	if err != nil && ctx.Err() == nil {
		c.Log.Error("the cluster is installed, but operators did not get their manifests", said(err))
		return nil
	}
	return err
}

// awaitVersion waits until the cluster is of its version, and has as many control plane nodes as expected. The node on which
// the service ran comes last, and its requests for certificates are approved until then.
func (c *Controller) awaitVersion(ctx context.Context, nodes int) error {
	return c.wait(ctx, waiting{"the cluster version and all control plane nodes", progressInterval, longest}, func(ctx context.Context) error {
		if c.initializes {
			c.initializeNodes(ctx)
		}
		version, err := c.Cluster.ClusterVersion(ctx)
		if err != nil {
			return err
		}
		if !version.Available() {
			return missing("the cluster version is not available yet")
		}
		if nodes == 0 {
			return nil
		}
		all, err := c.Cluster.Nodes(ctx)
		if err != nil {
			return err
		}
		joined := 0
		for i := range all {
			if all[i].HasRole("master") {
				joined++
			}
		}
		if joined < nodes {
			return missing("%d of %d control plane nodes have joined", joined, nodes)
		}
		return nil
	})
}

// initializeNodes removes the taint of all nodes that wait for a cloud provider.
func (c *Controller) initializeNodes(ctx context.Context) {
	nodes, err := c.Cluster.Nodes(ctx)
	if err != nil {
		c.Log.Error("could not list nodes", said(err))
		return
	}
	for _, node := range nodes {
		if err := c.Cluster.InitializeNode(ctx, node); err != nil {
			c.Log.Error("could not initialize a node", word("node", node.Name), said(err))
		}
	}
}

// applyFromCluster applies the manifests that the service has left in a ConfigMap.
func (c *Controller) applyFromCluster(ctx context.Context) {
	defer close(c.applied)
	err := c.wait(ctx, waiting{"the manifests of operators to be applied", generalInterval, longest}, func(ctx context.Context) error {
		data, err := c.Cluster.ConfigMap(ctx, c.Config.Namespace, operatorManifests)
		if kube.Forbidden(err) {
			return &lastError{err}
		}
		if err != nil {
			return err
		}
		operators, manifests, err := readOperators(data)
		if err != nil {
			return err
		}
		if len(manifests) == 0 {
			return nil
		}
		admin, err := c.administrator(ctx)
		if err != nil {
			return err
		}
		return c.applyManifests(ctx, admin, operators, manifests)
	})
	c.ends("applying manifests", err)
}

// platformOf is the platform as the service has it.
func platformOf(cluster *models.Cluster) models.PlatformType {
	if cluster == nil || cluster.Platform == nil {
		return ""
	}
	return value(cluster.Platform.Type)
}

// errNoPlatform is the error of an install-config without a platform.
var errNoPlatform = errors.New("the install-config of the cluster has no platform")

// logPlatform logs what the rest depends on.
func (c *Controller) logPlatform(platform models.PlatformType) {
	c.Log.Info("the cluster", slog.String("platform", string(platform)), slog.Bool("initializes nodes", c.initializes))
}
