package inmedia

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/hubobjects"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type infraEnvManifests struct {
	files      Files
	infraEnv   *agentinstall.InfraEnv
	networks   []setting.StaticNetwork
	pullSecret spec.Secret
	// unused are fields that stand there and go nowhere.
	unused []string
}

func readInfraEnvManifests(files Files) (*infraEnvManifests, error) {
	m := &infraEnvManifests{files: files}
	var err, other error
	m.infraEnv, err = object[agentinstall.InfraEnv](files.InfraEnv, hubapi.KindInfraEnv)
	m.pullSecret, other = readPullSecret(files.PullSecret)
	if err := files.elsewhere(err, other); err != nil {
		return nil, err
	}
	if m.infraEnv.Name == "" {
		return nil, badFile(files.InfraEnv, errors.New("metadata.name is missing"))
	}
	m.noteUnused()
	m.networks, err = readNetworks(files.NMStateConfig, m.infraEnv, files.InfraEnv)
	return m, err
}

// noteUnused notes what a hub would heed: this service has no Agents, and knows no
// ConfigMaps. Of the type of image, a variable of the medium says which.
func (m *infraEnvManifests) noteUnused() {
	s := m.infraEnv.Spec
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"osImageVersion", s.OSImageVersion != ""},
		{"imageType", s.ImageType != ""},
		{"ipxeScriptType", s.IPXEScriptType != ""},
		{"agentLabels", len(s.AgentLabels) > 0},
		{"mirrorRegistryRef", s.MirrorRegistryRef != nil},
	} {
		if field.set {
			m.unused = append(m.unused, noEffect(m.files.InfraEnv, field.name))
		}
	}
}

// readNetworks reads the static networks, none where there is no file of them.
// Their labels have to be those that the InfraEnv selects by: on a hub, one that
// has others would be left out, and its host would boot without a network.
func readNetworks(path string, env *agentinstall.InfraEnv, envPath string) ([]setting.StaticNetwork, error) {
	docs, err := optional(path)
	if err != nil {
		return nil, err
	}
	var networks []setting.StaticNetwork
	for _, doc := range docs {
		var config agentinstall.NMStateConfig
		if err := doc.known(doc.object(hubapi.KindNMStateConfig, &config)); err != nil {
			return nil, err
		}
		if err := selects(env, &config, envPath); err != nil {
			return nil, badFile(path, fmt.Errorf("%sNMStateConfig %s: %w", doc.place("metadata.labels"), config.Name, err))
		}
		network, err := networkOf(&config)
		if err != nil {
			return nil, badFile(path, fmt.Errorf("%sNMStateConfig %s: %w", doc.place("spec"), config.Name, err))
		}
		networks = append(networks, network)
	}
	return networks, nil
}

func selects(env *agentinstall.InfraEnv, config *agentinstall.NMStateConfig, envPath string) error {
	selector := env.Spec.NMStateConfigLabelSelector
	switch {
	case selector == nil || len(selector.MatchLabels) == 0:
		return fmt.Errorf("%s has no spec.nmStateConfigLabelSelector.matchLabels to select it by", envPath)
	case len(config.Labels) == 0:
		return fmt.Errorf("it has no metadata.labels; %s selects by %v", envPath, selector.MatchLabels)
	case !maps.Equal(selector.MatchLabels, config.Labels):
		return fmt.Errorf("its metadata.labels %v are not those that %s selects by, %v", config.Labels, envPath, selector.MatchLabels)
	}
	return nil
}

func networkOf(config *agentinstall.NMStateConfig) (setting.StaticNetwork, error) {
	if len(config.Spec.Interfaces) == 0 {
		return setting.StaticNetwork{}, errors.New("spec.interfaces is missing, so that nothing tells its host")
	}
	if len(config.Spec.Config) == 0 {
		return setting.StaticNetwork{}, errors.New("spec.config is missing")
	}
	text, err := yaml.Marshal(config.Spec.Config)
	if err != nil {
		return setting.StaticNetwork{}, fmt.Errorf("write spec.config: %w", err)
	}
	network := setting.StaticNetwork{YAML: string(text), MACs: []spec.NIC{}}
	for _, nic := range config.Spec.Interfaces {
		network.MACs = append(network.MACs, spec.NIC{MAC: nic.MACAddress, Name: nic.Name})
	}
	return network, nil
}

// desired carries what the service plane takes from a cluster.yaml beside an
// action's settings.
func (m *infraEnvManifests) desired() *install.Desired {
	c := &spec.Cluster{}
	c.Metadata.Name = m.infraEnv.Name
	c.Spec.PullSecret = spec.SourceOf(m.pullSecret)
	return &install.Desired{Spec: c}
}

// settings are the fields of the InfraEnv, all but its name and pull secret. The
// manifest names no version of it, and so none is sent: the service takes the live
// image that it has.
func (m *infraEnvManifests) settings(imageType string) (install.Settings, error) {
	s, err := said(hubobjects.InfraEnvTable(), m.infraEnv)
	if err != nil {
		return nil, badFile(m.files.InfraEnv, err)
	}
	for _, ofHub := range []install.Setting{setting.OSVersion, setting.ImageType, setting.AgentLabels, setting.NodeLabels, setting.Ironic, setting.IPXE} {
		delete(s, ofHub)
	}
	put(s, setting.ImageType, strings.TrimSuffix(imageType, "-iso"))
	if len(m.networks) > 0 {
		s[setting.StaticNetworks] = setting.ValueOf(m.networks)
	}
	return s, nil
}
