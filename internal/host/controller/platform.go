//go:build linux

package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/openshift/assisted-service/models"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/host/cloud"
	"github.com/oaictl/oaictl/internal/shared/escape"
)

// ownConfig is the install-config that the cluster has.
func (c *Controller) ownConfig(ctx context.Context) (cloud.InstallConfig, error) {
	const space, name, key = "kube-system", "cluster-config-v1", "install-config"
	data, err := c.Cluster.ConfigMap(ctx, space, name)
	if err != nil {
		return cloud.InstallConfig{}, err
	}
	var config cloud.InstallConfig
	if err := yaml.Unmarshal([]byte(data[key]), &config); err != nil {
		return cloud.InstallConfig{}, fmt.Errorf("read %s of the ConfigMap %s/%s: it is not YAML of the expected form", key, space, name)
	}
	return config, nil
}

// installedPlatform is the platform as the cluster has it.
func (c *Controller) installedPlatform(ctx context.Context) (models.PlatformType, error) {
	config, err := c.ownConfig(ctx)
	if err != nil {
		return "", err
	}
	for _, platform := range slices.Sorted(maps.Keys(config.Platform)) {
		return models.PlatformType(platform), nil
	}
	return "", errNoPlatform
}

// removesTaint reports whether nodes wait for a cloud provider that cannot log in, since the installation has placeholders for
// its credentials. The controller then removes the taint.
func (c *Controller) removesTaint(ctx context.Context, platform models.PlatformType, cluster *models.Cluster, agentBased bool) bool {
	switch platform {
	case models.PlatformTypeNutanix:
		return true
	case models.PlatformTypeVsphere:
		return !agentBased || !cloud.AtLeast(c.Config.Version, 4, 15) || !c.hasCredentials(ctx, cluster)
	}
	return false
}

// hasCredentials reports whether the cluster has credentials of vSphere that are no placeholders.
func (c *Controller) hasCredentials(ctx context.Context, cluster *models.Cluster) bool {
	if cluster == nil {
		config, err := c.ownConfig(ctx)
		if err != nil {
			c.Log.Warn("could not read whether the cluster has credentials of vSphere", said(err))
			return false
		}
		return config.VCenter().HasServer()
	}
	return cloud.HasCredentials(cluster.InstallConfigOverrides)
}

// The values of the invoker in the ConfigMap of the installer.
const (
	invokerService = "assisted-service"
	invokerAgent   = "agent-installer"
)

// invoker says what started the installation. It is the service where that cannot be read.
func (c *Controller) invoker(ctx context.Context) string {
	const space, name, key = "openshift-config", "openshift-install-manifests", "invoker"
	data, err := c.Cluster.ConfigMap(ctx, space, name)
	if err != nil {
		c.Log.Warn("could not read what started the installation, so it is taken to be "+invokerService, said(err))
		return invokerService
	}
	c.Log.Info("what started the installation: " + escape.Word(data[key]))
	return data[key]
}
