package firstboot

import (
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"
)

// maxInstallConfig is the most bytes of an install-config.
const maxInstallConfig = 4 << 20

// InstallConfig is what an installation reads from an install-config.
type InstallConfig struct {
	Name, BaseDomain       string
	ControlPlane, Arbiters int // numbers of nodes
}

// ReadInstallConfig reads an install-config.
func ReadInstallConfig(text string) (InstallConfig, error) {
	if len(text) > maxInstallConfig {
		return InstallConfig{}, fmt.Errorf("the install-config has %d bytes, and %d are the most", len(text), maxInstallConfig)
	}
	type pool struct {
		Replicas int `json:"replicas"`
	}
	var parsed struct {
		BaseDomain string `json:"baseDomain"`
		Metadata   struct {
			Name string `json:"name"`
		} `json:"metadata"`
		ControlPlane pool  `json:"controlPlane"`
		Arbiter      *pool `json:"arbiter"`
	}
	// Errors of the reader may hold content: an install-config has a pull secret.
	if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
		return InstallConfig{}, errors.New("the install-config is not YAML of the expected form")
	}
	config := InstallConfig{
		Name: parsed.Metadata.Name, BaseDomain: parsed.BaseDomain, ControlPlane: parsed.ControlPlane.Replicas,
	}
	if parsed.Arbiter != nil {
		config.Arbiters = parsed.Arbiter.Replicas
	}
	if config.ControlPlane < 0 || config.Arbiters < 0 {
		return InstallConfig{}, errors.New("the install-config has a negative number of nodes")
	}
	return config, nil
}

// ReadClusterConfig reads the install-config in the ConfigMap kube-system/cluster-config-v1.
func ReadClusterConfig(manifest []byte) (InstallConfig, error) {
	if len(manifest) > maxInstallConfig {
		return InstallConfig{}, fmt.Errorf("the ConfigMap has %d bytes, and %d are the most", len(manifest), maxInstallConfig)
	}
	var configMap struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal(manifest, &configMap); err != nil {
		return InstallConfig{}, errors.New("the ConfigMap of the install-config is not YAML of the expected form")
	}
	return ReadInstallConfig(configMap.Data["install-config"])
}
