package hub

import (
	"encoding/json"
	"fmt"
	"maps"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

func arch(s *objects.InfraEnvSpec) string {
	switch s.CPUArchitecture {
	case "":
		return "x86_64"
	case "aarch64":
		return "arm64"
	}
	return s.CPUArchitecture
}

// imageType is what the operator's service makes where nothing is said.
func imageType(s *objects.InfraEnvSpec) string {
	if s.ImageType == "" {
		return "minimal-iso"
	}
	return s.ImageType
}

type infraEnvInputs struct {
	name, clusterID string
	spec            objects.InfraEnvSpec
	pullSecret      string
	static          []staticHost
}

type staticHost struct {
	NetworkYAML string    `json:"network_yaml"`
	Map         []nicName `json:"mac_interface_map"`
}

type nicName struct {
	Logical string `json:"logical_nic_name"`
	MAC     string `json:"mac_address"`
}

func (in *infraEnvInputs) params() map[string]any {
	s := &in.spec
	kernel := []any{}
	for _, a := range s.KernelArguments {
		kernel = append(kernel, map[string]any{"operation": a.Operation, "value": a.Value})
	}
	static := in.static
	if static == nil {
		static = []staticHost{}
	}
	p := map[string]any{
		"pull_secret": in.pullSecret, "ssh_authorized_key": s.SSHAuthorizedKey, "image_type": imageType(s),
		"ignition_config_override": s.IgnitionConfigOverride, "kernel_arguments": kernel,
		"additional_trust_bundle": s.AdditionalTrustBundle, "static_network_config": static,
	}
	// What is not spoken of any more stays as it was, as do single fields of a proxy.
	if s.Proxy != nil {
		proxy := proxy(s)
		maps.DeleteFunc(proxy, func(_ string, value any) bool { return value == "" })
		p["proxy"] = proxy
	}
	if len(s.AdditionalNTPSources) > 0 {
		p["additional_ntp_sources"] = strings.Join(s.AdditionalNTPSources, ",")
	}
	if len(s.NTPSources) > 0 {
		p["ntp_sources"] = strings.Join(s.NTPSources, ",")
	}
	if s.NetworkDiscoveryDelaySeconds != nil {
		p["network_discovery_delay_seconds"] = *s.NetworkDiscoveryDelaySeconds
	}
	if s.OSImageVersion != "" {
		p["openshift_version"] = s.OSImageVersion
	}
	return p
}

func proxy(s *objects.InfraEnvSpec) map[string]any {
	return map[string]any{"http_proxy": s.Proxy.HTTPProxy, "https_proxy": s.Proxy.HTTPSProxy, "no_proxy": s.Proxy.NoProxy}
}

func (in *infraEnvInputs) create() map[string]any {
	p := in.params()
	p["name"], p["cpu_architecture"] = in.name, arch(&in.spec)
	if in.clusterID != "" {
		p["cluster_id"] = in.clusterID
	}
	if in.spec.Proxy != nil {
		p["proxy"] = proxy(&in.spec)
	}
	for _, optional := range []string{"ignition_config_override", "additional_trust_bundle", "ssh_authorized_key"} {
		if p[optional] == "" {
			delete(p, optional)
		}
	}
	return p
}

// print tells whether an image has to be made anew.
func (in *infraEnvInputs) print() (string, error) {
	data, err := json.Marshal(in.params())
	if err != nil {
		return "", fmt.Errorf("write the parameters of infra-env %s: %w", in.name, err)
	}
	return fingerprint(map[string]string{"": string(data)}), nil
}

// staticHosts reads the networks of the hosts that an InfraEnv selects. An empty selector selects none.
func (h *hub) staticHosts(space string, selector *metav1.LabelSelector) ([]staticHost, error) {
	if !selects(selector) {
		return nil, nil
	}
	match, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, assisted.InputFault("invalid label selector for NMStateConfig: %v", err)
	}
	var hosts []staticHost
	for _, o := range h.store.list(objects.KindNMState, space) {
		if !match.Matches(labels.Set(o.GetLabels())) || o.GetDeletionTimestamp() != nil {
			continue
		}
		host, err := staticOf(o)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}

// selects tells whether a selector can select anything.
func selects(selector *metav1.LabelSelector) bool {
	return selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) > 0
}

func staticOf(o *objects.Object) (staticHost, error) {
	var host staticHost
	var spec struct {
		Interfaces []struct {
			Name string `json:"name"`
			MAC  string `json:"macAddress"`
		} `json:"interfaces"`
	}
	fields, _, err := unstructured.NestedMap(o.Object, "spec")
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &spec)
	}
	if err != nil {
		return host, assisted.InputFault("invalid NMStateConfig %s: %v", o.GetName(), err)
	}
	for _, nic := range spec.Interfaces {
		host.Map = append(host.Map, nicName{nic.Name, nic.MAC})
	}
	sort.Slice(host.Map, func(i, j int) bool { return host.Map[i].Logical < host.Map[j].Logical })
	text, err := yaml.Marshal(fields["config"])
	if err != nil {
		return host, assisted.InputFault("invalid NMStateConfig %s: %v", o.GetName(), err)
	}
	host.NetworkYAML = string(text)
	return host, nil
}

func convert(o *objects.Object, into any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		return fmt.Errorf("read %s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
	}
	return nil
}

func convertMap(fields map[string]any, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(fields, into)
}
