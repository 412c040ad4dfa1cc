package agentmedia

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/shared/hubapi/hive"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/internal/shared/release"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type infraEnvManifests struct {
	files      Files
	infraEnv   *agentinstall.InfraEnv
	networks   []model.StaticNetwork
	pullSecret spec.Secret
	unused     []string
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
	s := m.infraEnv.Spec
	m.unused = unusedIn(
		files.InfraEnv, specField{"osImageVersion", s.OSImageVersion != ""}, specField{"imageType", s.ImageType != ""}, // a variable's
		specField{"ipxeScriptType", s.IPXEScriptType != ""}, specField{"agentLabels", len(s.AgentLabels) > 0},
		specField{"mirrorRegistryRef", s.MirrorRegistryRef != nil},
	)
	m.networks, err = readNetworks(files.NMStateConfig, m.infraEnv, files.InfraEnv)
	return m, err
}

// specField is a field that a hub would heed and the service on a medium cannot.
type specField struct {
	name string
	set  bool
}

// unusedIn warns of the fields of an object that are set.
func unusedIn(path string, fields ...specField) (texts []string) {
	for _, field := range fields {
		if field.set {
			texts = append(texts, fmt.Sprintf("%s: spec.%s has no effect in agent-based media", path, field.name))
		}
	}
	return texts
}

// readNetworks reads the static networks, if any. Their labels have to be those that
// the InfraEnv selects by: a hub would leave others out, and their hosts would boot
// without a network.
func readNetworks(path string, env *agentinstall.InfraEnv, envPath string) ([]model.StaticNetwork, error) {
	docs, err := optional(path)
	if err != nil {
		return nil, err
	}
	var networks []model.StaticNetwork
	for _, doc := range docs {
		var config agentinstall.NMStateConfig
		if err := doc.known(doc.object(hubapi.KindNMStateConfig, &config)); err != nil {
			return nil, err
		}
		if err := selects(env, &config, envPath); err != nil {
			return nil, badFile(path, fmt.Errorf("%sNMStateConfig %s: %w", doc.at("metadata.labels"), config.Name, err))
		}
		network, err := networkOf(&config)
		if err != nil {
			return nil, badFile(path, fmt.Errorf("%sNMStateConfig %s: %w", doc.at("spec"), config.Name, err))
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

func networkOf(config *agentinstall.NMStateConfig) (network model.StaticNetwork, err error) {
	var networks []model.StaticNetwork
	read, err := said(hubobjects.NMStateConfigTable(), config)
	if err == nil {
		err = read[model.SettingStaticNetworks].Decode(&networks)
	}
	switch {
	case len(config.Spec.Interfaces) == 0:
		return network, errors.New("spec.interfaces is missing, so its host is not known")
	case len(config.Spec.Config) == 0:
		return network, errors.New("spec.config is missing")
	case err != nil:
		return network, err
	}
	text, err := yaml.JSONToYAML([]byte(networks[0].YAML))
	return model.StaticNetwork{YAML: string(text), MACs: networks[0].MACs}, err
}

// desired is what the service plane needs beside an action's settings.
func (m *infraEnvManifests) desired() *model.Desired {
	c := &spec.Cluster{}
	c.Metadata.Name = m.infraEnv.Name
	c.Spec.PullSecret = m.pullSecret.Source()
	return &model.Desired{Spec: c}
}

// settings are the fields of the InfraEnv but its name and pull secret. No version is
// sent: the service takes the live image that it has.
func (m *infraEnvManifests) settings(imageType string) (model.Settings, error) {
	s, err := said(hubobjects.InfraEnvTable(), m.infraEnv)
	if err != nil {
		return nil, badFile(m.files.InfraEnv, err)
	}
	for _, ofHub := range []model.Setting{model.SettingOSVersion, model.SettingImageType, model.SettingAgentLabels, model.SettingNodeLabels,
		model.SettingIronic, model.SettingIPXE} {
		delete(s, ofHub)
	}
	put(s, model.SettingImageType, strings.TrimSuffix(imageType, "-iso"))
	if len(m.networks) > 0 {
		s[model.SettingStaticNetworks] = model.ValueOf(m.networks)
	}
	return s, nil
}

type clusterManifests struct {
	files      Files
	deployment *hive.ClusterDeployment
	install    *hive.AgentClusterInstall
	imageSet   *hive.ClusterImageSet
	pullSecret spec.Secret
	operators  []spec.Operator // nil: the medium says nothing of operators
	// unused are fields that stand there and go nowhere.
	unused []string
}

func readClusterManifests(files Files) (*clusterManifests, error) {
	m := &clusterManifests{files: files}
	var unknown []string
	var errs [5]error
	m.deployment, unknown, errs[0] = looseObject[hive.ClusterDeployment](files.ClusterDeployment, hubapi.KindClusterDeployment)
	m.install, errs[1] = object[hive.AgentClusterInstall](files.AgentClusterInstall, hubapi.KindAgentClusterInstall)
	m.imageSet, errs[2] = object[hive.ClusterImageSet](files.ClusterImageSet, hubapi.KindClusterImageSet)
	m.pullSecret, errs[3] = readPullSecret(files.PullSecret)
	m.operators, errs[4] = readOperators(files.Operators)
	if err := files.elsewhere(errs[:]...); err != nil {
		return nil, err
	}
	for _, field := range unknown {
		m.unused = append(m.unused, files.ClusterDeployment+": "+field)
	}
	s := m.install.Spec
	m.unused = append(m.unused, unusedIn(
		files.AgentClusterInstall, specField{"holdInstallation", s.HoldInstallation},
		specField{"manifestsConfigMapRefs", len(s.ManifestsConfigMapRefs) > 0 || s.ManifestsConfigMapRef != nil},
		specField{"ignitionEndpoint", s.IgnitionEndpoint != nil}, specField{"mirrorRegistryRef", s.MirrorRegistryRef != nil},
	)...)
	if m.name() == "" {
		return nil, badFile(files.ClusterDeployment, errors.New("spec.clusterName is missing"))
	}
	if strings.TrimSpace(m.imageSet.Spec.ReleaseImage) == "" {
		return nil, badFile(files.ClusterImageSet, errors.New("spec.releaseImage is missing"))
	}
	return m, nil
}

func (m *clusterManifests) name() string { return m.deployment.Spec.ClusterName }

func (m *clusterManifests) overrides() (string, error) {
	text := strings.TrimSpace(m.install.Annotations[hubapi.AnnotationInstallConfigOverrides])
	var object map[string]any
	if text != "" && json.Unmarshal([]byte(text), &object) != nil {
		return "", badFile(m.files.AgentClusterInstall, fmt.Errorf("the annotation %s is not a JSON object",
			hubapi.AnnotationInstallConfigOverrides))
	}
	return text, nil
}

// desired carries what the service plane takes from a cluster.yaml beside an
// action's settings.
func (m *clusterManifests) desired() *model.Desired {
	c := &spec.Cluster{}
	c.Metadata.Name = m.name()
	c.Spec.BaseDomain = m.deployment.Spec.BaseDomain
	c.Spec.PullSecret = m.pullSecret.Source()
	if consumer := m.install.Labels[hubapi.LabelConsumer]; consumer != "" {
		c.Metadata.Tags = []string{consumer}
	}
	return &model.Desired{Spec: c}
}

// settings are the fields of the cluster but its name, domain and pull secret.
func (m *clusterManifests) settings(info release.Info) (model.Settings, error) {
	m.poolsUnsaid()
	s, err := said(hubobjects.InstallTable(), m.install)
	if err != nil {
		return nil, badFile(m.files.AgentClusterInstall, err)
	}
	for _, elsewhere := range []model.Setting{
		model.SettingWorkers, model.SettingArbiters, model.SettingTags, model.SettingIgnoredValidations, model.SettingIgnitionEndpoint,
		model.SettingInstallConfigOverrides,
	} {
		delete(s, elsewhere) // counted, reported as unused, or a request of its own
	}
	put(s, model.SettingVersion, info.Version)
	put(s, model.SettingArch, info.Architecture())
	put(s, model.SettingReleaseImage, strings.TrimSpace(m.imageSet.Spec.ReleaseImage))
	if m.operators != nil {
		s[model.SettingOperators] = model.ValueOf(m.operators)
	}
	return s, nil
}

// poolsUnsaid disables hyperthreading where a pool does not name it: only an API server
// would fill in the default.
func (m *clusterManifests) poolsUnsaid() {
	s := &m.install.Spec
	pools := []*hive.MachinePool{s.ControlPlane, s.Arbiter}
	for i := range s.Compute {
		pools = append(pools, &s.Compute[i])
	}
	for _, pool := range pools {
		if pool != nil {
			pool.Hyperthreading = cmp.Or(pool.Hyperthreading, "Disabled")
		}
	}
}

// said are the settings that an object names.
func said(table hubobjects.Table, object any) (model.Settings, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("read the fields: %w", err)
	}
	s, err := table.ReadSettings(fields)
	if keys, has := s[model.SettingSSHKeys]; has {
		s[model.SettingSSHKeys] = model.ValueOf(strings.TrimSpace(keys.Text()))
	}
	return s, err
}

func put(s model.Settings, key model.Setting, text string) {
	if text != "" {
		s[key] = model.ValueOf(text)
	}
}

// readOperators reads the operators to install; nil without a file of them.
func readOperators(path string) ([]spec.Operator, error) {
	docs, err := optional(path)
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	var list []struct {
		Name       string `json:"name"`
		Properties string `json:"properties,omitempty"`
	}
	if err := docs[0].strict(&list); err != nil {
		return nil, err
	}
	operators := []spec.Operator{}
	for i, o := range list {
		if o.Name == "" {
			return nil, badFile(path, fmt.Errorf("%soperator number %d has no name", docs[0].at(fmt.Sprintf("[%d]", i)), i+1))
		}
		operators = append(operators, spec.Operator{Name: o.Name, Properties: clustersettings.PropertiesOf(o.Properties)})
	}
	return operators, nil
}
