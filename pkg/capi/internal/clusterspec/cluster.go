package clusterspec

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/fieldmap"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// placeholderPullSecret is taken where no pull secret is named: OKD's images need none, and the service
// wants one.
const placeholderPullSecret = `{"auths":{"placeholder.invalid":{"auth":"cGxhY2Vob2xkZXI6cGxhY2Vob2xkZXI="}}}`

// NameOf is what the cluster of a control plane is called in DNS, and by the service.
func NameOf(cluster string, plane *controlplanev1.OpenshiftAssistedControlPlane) string {
	return cmp.Or(plane.Spec.Config.ClusterName, cluster)
}

func nameOf(c *Cluster) string { return NameOf(c.Name, c.ControlPlane) }

// cluster is the cluster without its hosts.
func (s *Source) cluster(ctx context.Context, c *Cluster, p participants) (*spec.Cluster, error) {
	config := &c.ControlPlane.Spec.Config
	out := &spec.Cluster{APIVersion: spec.APIVersion, Kind: spec.Kind, Metadata: spec.Metadata{Name: nameOf(c)}}
	fieldmap.Copy(out, config)
	to := &out.Spec
	to.OpenShift.Version, to.OpenShift.Arch = strings.TrimPrefix(c.ControlPlane.Spec.DistributionVersion, "v"), archOf(c)
	if config.ImageSetRef != nil {
		to.OpenShift.ImageSet = config.ImageSetRef.Name
	}
	to.Topology.ControlPlane, to.Topology.Workers, to.Topology.Arbiters = &p.controlPlane, &p.workers, &p.arbiters
	to.Hold = p.hold
	to.SSHKeys = sshKeys(config.SSHAuthorizedKey)
	network(to, c)
	platform(to, config)
	var err error
	if to.PullSecret, err = s.pullSecret(ctx, c.Namespace, config.PullSecretRef); err != nil {
		return nil, fmt.Errorf("spec.config.pullSecretRef: %w", err)
	}
	if to.Operators, err = operators(config.Operators); err != nil {
		return nil, err
	}
	if to.DiskEncryption, err = encryption(config.DiskEncryption); err != nil {
		return nil, err
	}
	if to.Overrides.InstallConfig, err = installConfig(c.ControlPlane, to); err != nil {
		return nil, err
	}
	if to.Manifests, err = s.manifests(ctx, c); err != nil {
		return nil, err
	}
	if err := s.registry(ctx, c, &to.Registry); err != nil {
		return nil, err
	}
	return out, s.ignitionEndpoint(ctx, c, to)
}

// archOf is the architecture of the cluster: the one in the object, else that of its machines, else multi where they
// are of several.
func archOf(c *Cluster) spec.Arch {
	if said := c.ControlPlane.Spec.Config.CPUArchitecture; said != "" {
		return arch(said)
	}
	var all []spec.Arch
	if own := c.ControlPlane.Spec.OpenshiftAssistedConfigSpec.CPUArchitecture; own != "" {
		all = append(all, arch(own))
	}
	for _, m := range c.Machines {
		if m.Config != nil && m.Config.Spec.CPUArchitecture != "" {
			all = append(all, arch(m.Config.Spec.CPUArchitecture))
		}
	}
	slices.Sort(all)
	switch all = slices.Compact(all); len(all) {
	case 0:
		return ""
	case 1:
		return all[0]
	}
	return spec.Multi
}

// hostArch is the architecture of a Machine of a cluster of several: the one that its config says. In any other cluster
// it is "", which is that of the cluster.
func hostArch(c *Cluster, m Machine) spec.Arch {
	if m.Config == nil || archOf(c) != spec.Multi {
		return ""
	}
	return arch(m.Config.Spec.CPUArchitecture)
}

// arch is an architecture in the words of cluster.yaml.
func arch(word string) spec.Arch {
	_, spellings := spec.Words(spec.Arch(""))
	if known, is := spellings[strings.ToLower(word)]; is {
		return spec.Arch(known)
	}
	return spec.Arch(word)
}

func sshKeys(text string) []spec.PublicSource {
	var keys []spec.PublicSource
	for line := range strings.SplitSeq(text, "\n") {
		if key := strings.TrimSpace(line); key != "" {
			keys = append(keys, spec.PublicSource{Inline: key})
		}
	}
	return keys
}

// defaultHostPrefix is the part of an IPv4 pod network that each node gets.
const defaultHostPrefix = 23

// network are the pod and service networks: where the control plane says none, those of the Cluster.
func network(to *spec.ClusterSpec, c *Cluster) {
	n := &to.Network
	if n.Cluster == nil {
		for _, cidr := range c.Spec.ClusterNetwork.Pods.CIDRBlocks {
			entry := spec.ClusterNetwork{CIDR: cidr}
			if !strings.Contains(cidr, ":") {
				entry.HostPrefix = defaultHostPrefix
			}
			n.Cluster = append(n.Cluster, entry)
		}
	}
	if n.Service == nil {
		n.Service = c.Spec.ClusterNetwork.Services.CIDRBlocks
	}
}

// platform is the one in the object. Without one, virtual addresses make it baremetal, and their absence none, as
// earlier providers did.
func platform(to *spec.ClusterSpec, config *controlplanev1.OpenshiftAssistedControlPlaneConfigSpec) {
	switch config.Platform.Type {
	case controlplanev1.BareMetalPlatform:
		to.Platform.Type = spec.BareMetal
	case controlplanev1.NonePlatform:
		to.Platform.Type = spec.NoneType
	case "":
		to.Platform.Type = spec.NoneType
		if len(config.APIVIPs) > 0 && len(config.IngressVIPs) > 0 {
			to.Platform.Type = spec.BareMetal
		}
	default:
		to.Platform.Type = spec.PlatformType(strings.ToLower(string(config.Platform.Type)))
	}
}

func operators(list []controlplanev1.Operator) ([]spec.Operator, error) {
	var out []spec.Operator
	for i, o := range list {
		operator := spec.Operator{Name: o.Name}
		if o.Properties != "" {
			if err := json.Unmarshal([]byte(o.Properties), &operator.Properties); err != nil {
				return nil, fmt.Errorf("spec.config.operators[%d].properties is not a JSON object: %w", i, err)
			}
		}
		out = append(out, operator)
	}
	return out, nil
}

func encryption(d *controlplanev1.DiskEncryption) (*spec.DiskEncryption, error) {
	if d == nil || d.EnableOn == "" || d.EnableOn == "none" {
		return nil, nil
	}
	out := &spec.DiskEncryption{Mode: spec.TPM, On: clustersettings.RolesOf(string(d.EnableOn))}
	if d.Mode == "tang" {
		out.Mode = spec.EncryptionMode("tang")
	}
	if d.TangServers != "" {
		if err := json.Unmarshal([]byte(d.TangServers), &out.Tang); err != nil {
			return nil, fmt.Errorf("spec.config.diskEncryption.tangServers is not a JSON list: %w", err)
		}
	}
	return out, nil
}

// capabilities of a cluster on bare metal if they are not set: Cluster API manages the machines, so that the cluster's
// own Machine API is left out.
func bareMetalCapabilities() []string {
	return []string{"baremetal", "Console", "Insights", "OperatorLifecycleManager", "Ingress", "marketplace", "NodeTuning",
		"DeploymentConfig"}
}

// installConfig are the fields of install-config.yaml that are overridden: capabilities, and over them
// what the annotation and the field say.
func installConfig(controlPlane *controlplanev1.OpenshiftAssistedControlPlane, to *spec.ClusterSpec) (map[string]any, error) {
	overrides := map[string]any{}
	wanted := controlPlane.Spec.Config.Capabilities
	onMetal := to.Platform.Type == spec.BareMetal
	baseline, additional := wanted.BaselineCapability, wanted.AdditionalEnabledCapabilities
	if baseline == "" && onMetal {
		baseline = "None"
	}
	if onMetal {
		additional = append(bareMetalCapabilities(), additional...)
		additional = slices.DeleteFunc(additional, func(name string) bool { return name == "MachineAPI" })
	}
	if baseline != "" || len(additional) > 0 {
		capabilities := map[string]any{}
		if baseline != "" {
			capabilities["baselineCapabilitySet"] = baseline
		}
		seen := map[string]bool{}
		var names []any
		for _, name := range additional {
			if !seen[name] {
				seen[name], names = true, append(names, name)
			}
		}
		if len(names) > 0 {
			capabilities["additionalEnabledCapabilities"] = names
		}
		overrides["capabilities"] = capabilities
	}
	for _, from := range []struct{ where, text string }{
		{"the annotation " + controlplanev1.InstallConfigOverrideAnnotation,
			controlPlane.Annotations[controlplanev1.InstallConfigOverrideAnnotation]},
		{"spec.config.installConfigOverrides", controlPlane.Spec.Config.InstallConfigOverrides},
	} {
		if from.text == "" {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal([]byte(from.text), &fields); err != nil {
			return nil, fmt.Errorf("%s is no JSON object: %w", from.where, err)
		}
		merge(overrides, fields)
	}
	if len(overrides) == 0 {
		return nil, nil
	}
	return overrides, nil
}

// merge puts fields over others, deeply; lists are replaced.
func merge(into, from map[string]any) {
	for key, value := range from {
		below, is := value.(map[string]any)
		have, there := into[key].(map[string]any)
		if is && there {
			merge(have, below)
			continue
		}
		into[key] = value
	}
}

// pullSecret is the Secret that is referred to. A hub reads it by itself.
func (s *Source) pullSecret(ctx context.Context, namespace string, ref *corev1.LocalObjectReference) (spec.Source, error) {
	if ref == nil || ref.Name == "" {
		return spec.NewSecret(placeholderPullSecret).Source(), nil
	}
	if s.Hub {
		return spec.Source{SecretRef: &spec.SecretRef{Name: ref.Name}}, nil
	}
	text, err := s.secret(ctx, namespace, ref.Name, corev1.DockerConfigJsonKey)
	return spec.NewSecret(text).Source(), err
}

// secret reads a key of a Secret.
func (s *Source) secret(ctx context.Context, namespace, name, key string) (string, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := s.Live.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
		return "", fmt.Errorf("read Secret %s: %w", name, err)
	}
	data, there := secret.Data[key]
	if !there {
		return "", fmt.Errorf("the Secret %s has no key %s", name, key)
	}
	return string(data), nil
}
