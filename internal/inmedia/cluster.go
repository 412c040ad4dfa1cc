package inmedia

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/hive"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/release"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// clusterManifests are the objects on the medium that make a cluster.
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
	s, from := install.Settings{}, m.install.Spec
	put(s, setting.Version, info.Version)
	put(s, setting.Arch, info.Architecture())
	put(s, setting.ReleaseImage, strings.TrimSpace(m.imageSet.Spec.ReleaseImage))
	put(s, setting.SSHKeys, strings.TrimSpace(from.SSHPublicKey))
	if n := from.ProvisionRequirements.ControlPlaneAgents; n > 0 {
		s[setting.ControlPlane] = setting.ValueOf(n)
	}
	putNetworking(s, from.Networking)
	err := errors.Join(
		putVIPs(s, setting.APIVIPs, "spec.apiVIP", from.APIVIP, from.APIVIPs),
		putVIPs(s, setting.IngressVIPs, "spec.ingressVIP", from.IngressVIP, from.IngressVIPs),
		putPlatform(s, from), putLoadBalancer(s, from.LoadBalancer), putEncryption(s, from.DiskEncryption),
	)
	put(s, setting.Hyperthreads, hyperthreading(from))
	if from.MastersSchedulable {
		s[setting.SchedulableCP] = setting.ValueOf(true)
	}
	if from.Proxy != nil {
		s[setting.Proxy] = setting.ValueOf(proxyOf(from.Proxy))
	}
	if len(from.NTPSources) > 0 {
		s[setting.NTP] = setting.ValueOf(from.NTPSources)
	}
	if m.operators != nil {
		s[setting.Operators] = setting.ValueOf(m.operators)
	}
	if err != nil {
		return nil, badFile(m.files.AgentClusterInstall, err)
	}
	return s, nil
}

func put(s install.Settings, key install.Setting, text string) {
	if text != "" {
		s[key] = setting.ValueOf(text)
	}
}

func putNetworking(s install.Settings, n hive.Networking) {
	put(s, setting.NetworkType, n.NetworkType)
	if len(n.MachineNetwork) > 0 {
		var cidrs []string
		for _, network := range n.MachineNetwork {
			cidrs = append(cidrs, network.CIDR)
		}
		s[setting.MachineNet] = setting.ValueOf(cidrs)
	}
	if len(n.ClusterNetwork) > 0 {
		var networks []setting.ClusterNetwork
		for _, network := range n.ClusterNetwork {
			networks = append(networks, setting.ClusterNetwork{CIDR: network.CIDR, HostPrefix: int(network.HostPrefix)})
		}
		s[setting.ClusterNet] = setting.ValueOf(networks)
	}
	if len(n.ServiceNetwork) > 0 {
		s[setting.ServiceNet] = setting.ValueOf(n.ServiceNetwork)
	}
	if n.UserManagedNetworking != nil {
		s[setting.UserManaged] = setting.ValueOf(*n.UserManagedNetworking)
	}
}

// putVIPs takes the older form of one address into the list.
func putVIPs(s install.Settings, key install.Setting, field, one string, all []string) error {
	if one != "" && len(all) == 0 {
		all = []string{one}
	}
	if one != "" && all[0] != one {
		return fmt.Errorf("%s is %s and the first of %ss is %s; they have to be the same", field, one, field, all[0])
	}
	if len(all) > 0 {
		s[key] = setting.ValueOf(all)
	}
	return nil
}

// hyperthreading is the service's word for the roles that use it, "" where no
// machine pool says anything. A role that says nothing does.
func hyperthreading(s hive.AgentClusterInstallSpec) string {
	said := false
	uses := func(pool *hive.MachinePool) bool {
		if pool != nil && pool.Hyperthreading != "" {
			said = true
			return !strings.EqualFold(pool.Hyperthreading, "Disabled")
		}
		return true
	}
	var workers *hive.MachinePool
	if i := slices.IndexFunc(s.Compute, func(p hive.MachinePool) bool { return p.Name == "worker" || p.Name == "" }); i >= 0 {
		workers = &s.Compute[i]
	}
	arbiters := s.Arbiter != nil || s.ProvisionRequirements.ArbiterAgents > 0
	var words []string
	for _, role := range []struct {
		word string
		uses bool
	}{{"masters", uses(s.ControlPlane)}, {"arbiters", uses(s.Arbiter) && arbiters}, {"workers", uses(workers)}} {
		if role.uses {
			words = append(words, role.word)
		}
	}
	switch {
	case !said:
		return ""
	case len(words) == 0:
		return "none"
	case len(words) == 3 || len(words) == 2 && !arbiters:
		return "all"
	}
	return strings.Join(words, ",")
}

func putPlatform(s install.Settings, from hive.AgentClusterInstallSpec) error {
	if from.PlatformType == "" {
		return nil
	}
	types := map[string]string{
		hive.PlatformBareMetal: "baremetal", hive.PlatformNone: "none", hive.PlatformVSphere: "vsphere",
		hive.PlatformNutanix: "nutanix", hive.PlatformExternal: "external",
	}
	platform := setting.PlatformValue{Type: types[from.PlatformType]}
	if platform.Type == "" {
		return fmt.Errorf("spec.platformType is %q, and not BareMetal, None, VSphere, Nutanix or External", from.PlatformType)
	}
	if from.External != nil {
		platform.ExternalName, platform.CloudControllerManager = from.External.PlatformName, from.External.CloudControllerManager
	}
	s[setting.Platform] = setting.ValueOf(platform)
	return nil
}

func putLoadBalancer(s install.Settings, from *hive.LoadBalancer) error {
	if from == nil || from.Type == "" {
		return nil
	}
	types := map[string]string{hive.LoadBalancerClusterManaged: "cluster-managed", hive.LoadBalancerUserManaged: "user-managed"}
	if types[from.Type] == "" {
		return fmt.Errorf("spec.loadBalancer.type is %q, and not ClusterManaged or UserManaged", from.Type)
	}
	put(s, setting.LoadBalancer, types[from.Type])
	return nil
}

func putEncryption(s install.Settings, from *hive.DiskEncryption) error {
	if from == nil {
		return nil
	}
	value := setting.DiskEncryption{On: from.EnableOn, Mode: from.Mode}
	if from.TangServers != "" {
		if err := json.Unmarshal([]byte(from.TangServers), &value.Tang); err != nil {
			return errors.New("spec.diskEncryption.tangServers is not a JSON list of {url, thumbprint}")
		}
	}
	s[setting.DiskEncrypt] = setting.ValueOf(value)
	return nil
}

func proxyOf(p *hubapi.Proxy) setting.ProxyValue {
	return setting.ProxyValue{HTTP: p.HTTPProxy, HTTPS: p.HTTPSProxy, No: p.NoProxy}
}

// operator is an entry of the file of operators.
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
