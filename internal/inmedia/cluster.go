package inmedia

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/hive"
	"github.com/oaictl/oaictl/internal/hubobjects"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/release"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type clusterManifests struct {
	files      Files
	deployment *hive.ClusterDeployment
	install    *hive.AgentClusterInstall
	imageSet   *hive.ClusterImageSet
	pullSecret spec.Secret
	operators  []setting.OperatorChoice // nil: the medium says nothing of operators
	// unused are fields that stand there and go nowhere.
	unused []string
}

func readClusterManifests(files Files) (*clusterManifests, error) {
	m := &clusterManifests{files: files}
	var unknown []string
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	var err error
	m.deployment, unknown, err = looseObject[hive.ClusterDeployment](files.ClusterDeployment, hubapi.KindClusterDeployment)
	note(err)
	m.install, err = object[hive.AgentClusterInstall](files.AgentClusterInstall, hubapi.KindAgentClusterInstall)
	note(err)
	m.imageSet, err = object[hive.ClusterImageSet](files.ClusterImageSet, hubapi.KindClusterImageSet)
	note(err)
	m.pullSecret, err = readPullSecret(files.PullSecret)
	note(err)
	m.operators, err = readOperators(files.Operators)
	note(err)
	if err := files.elsewhere(errs...); err != nil {
		return nil, err
	}
	for _, field := range unknown {
		m.unused = append(m.unused, files.ClusterDeployment+": "+field)
	}
	m.noteUnused()
	return m, m.check()
}

// noteUnused notes what a hub would heed and this service cannot: it knows no
// ConfigMaps, and these media start the installation by themselves.
func (m *clusterManifests) noteUnused() {
	s := m.install.Spec
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"holdInstallation", s.HoldInstallation},
		{"manifestsConfigMapRefs", len(s.ManifestsConfigMapRefs) > 0 || s.ManifestsConfigMapRef != nil},
		{"ignitionEndpoint", s.IgnitionEndpoint != nil},
		{"mirrorRegistryRef", s.MirrorRegistryRef != nil},
	} {
		if field.set {
			m.unused = append(m.unused, noEffect(m.files.AgentClusterInstall, field.name))
		}
	}
}

// noEffect warns of a field of a spec that goes nowhere.
func noEffect(path, field string) string {
	return fmt.Sprintf("%s: spec.%s has no effect in agent-based media", path, field)
}

func (m *clusterManifests) check() error {
	if m.name() == "" {
		return badFile(m.files.ClusterDeployment, errors.New("spec.clusterName is missing"))
	}
	if strings.TrimSpace(m.imageSet.Spec.ReleaseImage) == "" {
		return badFile(m.files.ClusterImageSet, errors.New("spec.releaseImage is missing"))
	}
	return nil
}

func (m *clusterManifests) name() string { return m.deployment.Spec.ClusterName }

// overrides are the install-config overrides, "" where nothing is said of them.
func (m *clusterManifests) overrides() (string, error) {
	text := strings.TrimSpace(m.install.Annotations[hubapi.AnnotationInstallConfigOverrides])
	var object map[string]any
	if text != "" && json.Unmarshal([]byte(text), &object) != nil {
		return "", badFile(m.files.AgentClusterInstall, fmt.Errorf("the annotation %s is not a JSON object", hubapi.AnnotationInstallConfigOverrides))
	}
	return text, nil
}

// desired carries what the service plane takes from a cluster.yaml beside an
// action's settings.
func (m *clusterManifests) desired() *install.Desired {
	c := &spec.Cluster{}
	c.Metadata.Name = m.name()
	c.Spec.BaseDomain = m.deployment.Spec.BaseDomain
	c.Spec.PullSecret = spec.SourceOf(m.pullSecret)
	if consumer := m.install.Labels[hubapi.LabelConsumer]; consumer != "" {
		c.Metadata.Tags = []string{consumer}
	}
	return &install.Desired{Spec: c}
}

// settings are the fields of the cluster, all but its name, domain and pull
// secret.
func (m *clusterManifests) settings(info release.Info) (install.Settings, error) {
	m.poolsUnsaid()
	s, err := said(hubobjects.InstallTable(), m.install)
	if err != nil {
		return nil, badFile(m.files.AgentClusterInstall, err)
	}
	for _, elsewhere := range []install.Setting{
		setting.Workers, setting.Arbiters, setting.Tags, setting.Ignored, setting.IgnEndpoint, setting.InstallConfig,
	} {
		delete(s, elsewhere) // counted, noted as unused, or a request of its own
	}
	put(s, setting.Version, info.Version)
	put(s, setting.Arch, info.Architecture())
	put(s, setting.ReleaseImage, strings.TrimSpace(m.imageSet.Spec.ReleaseImage))
	if m.operators != nil {
		s[setting.Operators] = setting.ValueOf(m.operators)
	}
	return s, nil
}

// poolsUnsaid has the pools that say nothing of hyperthreading go without: the default
// that they would have is an API server's.
func (m *clusterManifests) poolsUnsaid() {
	s := &m.install.Spec
	unsaid := func(pool *hive.MachinePool) {
		if pool != nil && pool.Hyperthreading == "" {
			pool.Hyperthreading = "Disabled"
		}
	}
	unsaid(s.ControlPlane)
	unsaid(s.Arbiter)
	for i := range s.Compute {
		unsaid(&s.Compute[i])
	}
}

// said are the settings that an object on the medium names. Texts end where their last
// line does.
func said(table hubobjects.Table, object any) (install.Settings, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("read the fields: %w", err)
	}
	s, err := table.Said(fields)
	if keys, has := s[setting.SSHKeys]; has {
		s[setting.SSHKeys] = setting.ValueOf(strings.TrimSpace(keys.Text()))
	}
	return s, err
}

func put(s install.Settings, key install.Setting, text string) {
	if text != "" {
		s[key] = setting.ValueOf(text)
	}
}

type operator struct {
	Name       string `json:"name"`
	Properties string `json:"properties,omitempty"`
}

// readOperators reads the operators to install with the cluster; nil where there
// is no file of them.
func readOperators(path string) ([]setting.OperatorChoice, error) {
	docs, err := optional(path)
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	var list []operator
	if err := docs[0].strict(&list); err != nil {
		return nil, err
	}
	choices := []setting.OperatorChoice{}
	for i, o := range list {
		if o.Name == "" {
			return nil, badFile(path, fmt.Errorf("%soperator number %d has no name", docs[0].place(fmt.Sprintf("[%d]", i)), i+1))
		}
		choices = append(choices, setting.OperatorChoice{Name: o.Name, Properties: o.Properties})
	}
	return choices, nil
}
