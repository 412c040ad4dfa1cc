//go:build linux

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/openshift/assisted-service/models"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/escape"
)

// installConfig is the part of an install-config that is read.
type installConfig struct {
	Platform map[string]json.RawMessage `json:"platform"`
}

type vCenters struct {
	VCenters []struct {
		Server   string `json:"server"`
		User     string `json:"user"`
		Password string `json:"password"`
	} `json:"vcenters"`
}

// vCenter is the first vCenter of an install-config.
func (i *installConfig) vCenter() (server, user, password string) {
	var of vCenters
	if json.Unmarshal(i.Platform["vsphere"], &of) != nil || len(of.VCenters) == 0 {
		return "", "", ""
	}
	first := of.VCenters[0]
	return first.Server, first.User, first.Password
}

// ownConfig is the install-config that the cluster has.
func (c *Controller) ownConfig(ctx context.Context) (installConfig, error) {
	const space, name, key = "kube-system", "cluster-config-v1", "install-config"
	data, err := c.Cluster.ConfigMap(ctx, space, name)
	if err != nil {
		return installConfig{}, err
	}
	var config installConfig
	if err := yaml.Unmarshal([]byte(data[key]), &config); err != nil {
		return installConfig{}, fmt.Errorf("read %s of the ConfigMap %s/%s: it is not YAML of the expected form", key, space, name)
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
		return !agentBased || !atLeast(c.Config.Version, 4, 15) || !c.hasCredentials(ctx, cluster)
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
		server, _, _ := config.vCenter()
		return isReal(server, "vcenterplaceholder")
	}
	var overrides installConfig
	if json.Unmarshal([]byte(cluster.InstallConfigOverrides), &overrides) != nil {
		return false
	}
	server, user, password := overrides.vCenter()
	return isReal(server, "vcenterplaceholder") && isReal(user, "usernameplaceholder") && isReal(password, "passwordplaceholder")
}

func isReal(text, placeholder string) bool { return text != "" && text != placeholder }

// atLeast reports whether a version such as 4.15.3-rc.1 is of this minor version or a later one.
func atLeast(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	hasMajor, err := strconv.Atoi(parts[0])
	if err != nil {
		return false
	}
	digits, _, _ := strings.Cut(parts[1], "-")
	hasMinor, err := strconv.Atoi(digits)
	if err != nil {
		return false
	}
	return hasMajor > major || hasMajor == major && hasMinor >= minor
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
