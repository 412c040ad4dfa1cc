package hub

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/shared/hubapi/hive"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
	"github.com/oaictl/oaictl/internal/simulator/service/request"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

type clusterInputs struct {
	name, domain string
	spec         objects.InstallSpec
	release      versions.Release
	pullSecret   string
	endpointCA   string
	consumer     string // label that becomes the cluster's tags
}

func (in *clusterInputs) params() map[string]any {
	s := &in.spec
	fields, _ := plain(s).(map[string]any)
	p := request.OfInstall(fields)
	maps.Copy(p, map[string]any{
		"name": in.name, "base_dns_domain": in.domain, "hyperthreading": hyperthreading(s),
		"api_vips": each("ip", objects.Vips(s.APIVIPs, s.APIVIP)), "ingress_vips": each("ip", objects.Vips(s.IngressVIPs, s.IngressVIP)),
		"tags":                in.consumer,
		"control_plane_count": max(s.ProvisionRequirements.ControlPlaneAgents, 1),
	})
	// What is not spoken of any more stays as it was.
	if len(s.NTPSources) > 0 {
		p["ntp_sources"] = strings.Join(s.NTPSources, ",")
	}
	if web := s.Proxy; web != nil {
		p["http_proxy"], p["https_proxy"], p["no_proxy"] = web.HTTPProxy, web.HTTPSProxy, web.NoProxy
	}
	in.addNetworks(p)
	in.addPlatform(p)
	if e := s.DiskEncryption; e != nil {
		p["disk_encryption"] = map[string]any{
			"tang_servers": e.TangServers, "enable_on": cmp.Or(e.EnableOn, "none"), "mode": cmp.Or(e.Mode, "tpmv2"),
		}
	}
	if e := s.IgnitionEndpoint; e != nil {
		p["ignition_endpoint"] = map[string]any{"url": e.URL, "ca_certificate": in.endpointCA}
	}
	return p
}

// hyperthreading is the service's word for the roles that it is switched on for. Once
// one pool is named, those that are not have it switched off. A pool that says nothing
// of it has it: the API server fills that in.
func hyperthreading(s *objects.InstallSpec) string {
	worker := slices.IndexFunc(s.Compute, func(p hive.MachinePool) bool { return p.Name == "worker" })
	if s.ControlPlane == nil && s.Arbiter == nil && worker < 0 {
		return "all"
	}
	var on []string
	add := func(pool *hive.MachinePool, word string) {
		if pool != nil && pool.Hyperthreading != "Disabled" {
			on = append(on, word)
		}
	}
	add(s.ControlPlane, "masters")
	add(s.Arbiter, "arbiters")
	if worker >= 0 {
		add(&s.Compute[worker], "workers")
	}
	if len(on) == 0 {
		return "none"
	}
	return strings.Join(on, ",")
}

func (in *clusterInputs) addNetworks(p map[string]any) {
	n := &in.spec.Networking
	if len(n.ClusterNetwork) > 0 {
		list := []any{}
		for _, c := range n.ClusterNetwork {
			entry := map[string]any{"cidr": c.CIDR}
			if c.HostPrefix != 0 {
				entry["host_prefix"] = c.HostPrefix
			}
			list = append(list, entry)
		}
		p["cluster_networks"] = list
	}
	if len(n.MachineNetwork) > 0 {
		list := []string{}
		for _, m := range n.MachineNetwork {
			list = append(list, m.CIDR)
		}
		p["machine_networks"] = each("cidr", list)
	}
	if len(n.ServiceNetwork) > 0 {
		p["service_networks"] = each("cidr", n.ServiceNetwork)
	}
	if n.NetworkType != "" {
		p["network_type"] = n.NetworkType
	}
	if b := in.spec.LoadBalancer; b != nil && b.Type != "" {
		kind := "cluster-managed"
		if b.Type == hive.LoadBalancerUserManaged {
			kind = "user-managed"
		}
		p["load_balancer"] = map[string]any{"type": kind}
	}
}

func (in *clusterInputs) addPlatform(p map[string]any) {
	s := &in.spec
	if s.Single() {
		p["high_availability_mode"], p["user_managed_networking"] = "None", true
		delete(p, "api_vips")
		delete(p, "ingress_vips")
	} else if umn := s.Networking.UserManagedNetworking; umn != nil {
		p["user_managed_networking"] = *umn
		if *umn {
			delete(p, "api_vips")
			delete(p, "ingress_vips")
		}
	}
	kind := objects.Platforms()[s.PlatformType]
	if kind == "" {
		return
	}
	platform := map[string]any{"type": kind}
	if kind == "external" && s.External != nil {
		platform["external"] = map[string]any{
			"platform_name": s.External.PlatformName, "cloud_controller_manager": s.External.CloudControllerManager,
		}
	}
	p["platform"] = platform
}

func each(field string, values []string) []any {
	list := []any{}
	for _, value := range values {
		list = append(list, map[string]any{field: value})
	}
	return list
}

func (in *clusterInputs) create() map[string]any {
	p := in.params()
	p["pull_secret"], p["openshift_version"], p["cpu_architecture"] = in.pullSecret, in.release.Version, in.release.CPUArchitecture
	if _, err := versions.Resolve(in.release.Version, in.release.CPUArchitecture); err != nil {
		p["ocp_release_image"] = in.release.URL // which the real operator has the service add to its list, by a call that is not REST
	}
	if _, said := p["user_managed_networking"]; !said {
		p["user_managed_networking"] = false // where the objects do not speak of it
	}
	maps.DeleteFunc(p, func(_ string, v any) bool { return v == "" })
	return p
}

// update are the parameters in which a cluster differs from what its objects
// ask for; empty where there are none. Both are compared as JSON prints them,
// and of the cluster only what the objects speak of.
func (in *clusterInputs) update(now map[string]any) map[string]any {
	want := in.params()
	delete(want, "high_availability_mode") // is not to be changed
	changed := map[string]any{}
	for name, value := range want {
		if !hasAll(plain(value), now[name]) {
			changed[name] = value
		}
	}
	// The service works out a single machine network by itself, and refuses to be told.
	if in.spec.Networking.UserManagedNetworking == nil || !*in.spec.Networking.UserManagedNetworking {
		if len(in.spec.Networking.MachineNetwork) == 1 &&
			(in.spec.LoadBalancer == nil || in.spec.LoadBalancer.Type != hive.LoadBalancerUserManaged) {
			delete(changed, "machine_networks")
		}
	}
	// A proxy that is not spoken of any more goes along with the next change.
	if len(changed) > 0 && in.spec.Proxy == nil {
		for _, field := range []string{"http_proxy", "https_proxy", "no_proxy"} {
			if now[field] != nil && now[field] != "" {
				changed[field] = ""
			}
		}
	}
	// Asking for one of the two changes the other.
	if _, moved := changed["platform"]; moved {
		if umn, said := want["user_managed_networking"]; said {
			changed["user_managed_networking"] = umn
		}
	}
	return changed
}

func plain(value any) any {
	var out any
	if json.Unmarshal([]byte(objects.ToJSON(value)), &out) != nil {
		return nil
	}
	return out
}

// hasAll reports whether have says all of want: empty texts count as absent, and maps may say more.
func hasAll(want, have any) bool {
	switch w := want.(type) {
	case map[string]any:
		h, _ := have.(map[string]any)
		for name, value := range w {
			if !hasAll(value, h[name]) {
				return false
			}
		}
		return true
	case []any:
		h, _ := have.([]any)
		return slices.EqualFunc(w, h, hasAll)
	case string:
		h, _ := have.(string)
		return w == h
	case bool:
		h, _ := have.(bool)
		return w == h
	}
	return reflect.DeepEqual(want, have)
}

func arch(s *agentinstall.InfraEnvSpec) string {
	switch s.CPUArchitecture {
	case "":
		return "x86_64"
	case "aarch64":
		return "arm64"
	}
	return s.CPUArchitecture
}

// imageType is what the operator's service makes where nothing is said.
func imageType(s *agentinstall.InfraEnvSpec) string {
	if s.ImageType == "" {
		return "minimal-iso"
	}
	return s.ImageType
}

type infraEnvInputs struct {
	name, clusterID string
	spec            agentinstall.InfraEnvSpec
	pullSecret      string
	static          []*models.HostStaticNetworkConfig
}

func (in *infraEnvInputs) params() map[string]any {
	s := &in.spec
	kernel := []any{}
	for _, a := range s.KernelArguments {
		kernel = append(kernel, map[string]any{"operation": a.Operation, "value": a.Value})
	}
	p := map[string]any{
		"pull_secret": in.pullSecret, "ssh_authorized_key": s.SSHAuthorizedKey, "image_type": imageType(s),
		"ignition_config_override": s.IgnitionConfigOverride, "kernel_arguments": kernel,
		"additional_trust_bundle": s.AdditionalTrustBundle, "static_network_config": append([]*models.HostStaticNetworkConfig{}, in.static...),
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

func proxy(s *agentinstall.InfraEnvSpec) map[string]any {
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

// staticHosts reads the networks of the hosts that an InfraEnv selects. An empty selector selects none.
func (h *hub) staticHosts(space string, selector *metav1.LabelSelector) ([]*models.HostStaticNetworkConfig, error) {
	if !selects(selector) {
		return nil, nil
	}
	match, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, assisted.InputFault("invalid label selector for NMStateConfig: %v", err)
	}
	var hosts []*models.HostStaticNetworkConfig
	for _, o := range h.store.list(hubapi.KindNMStateConfig, space) {
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

func selects(selector *metav1.LabelSelector) bool {
	return selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) > 0
}

func staticOf(o *apiobject.Object) (*models.HostStaticNetworkConfig, error) {
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
		return nil, assisted.InputFault("invalid NMStateConfig %s: %v", o.GetName(), err)
	}
	host := &models.HostStaticNetworkConfig{}
	for _, nic := range spec.Interfaces {
		host.MacInterfaceMap = append(host.MacInterfaceMap, &models.MacInterfaceMapItems0{LogicalNicName: nic.Name, MacAddress: nic.MAC})
	}
	slices.SortFunc(
		host.MacInterfaceMap, func(a, b *models.MacInterfaceMapItems0) int { return cmp.Compare(a.LogicalNicName, b.LogicalNicName) },
	)
	text, err := yaml.Marshal(fields["config"])
	if err != nil {
		return nil, assisted.InputFault("invalid NMStateConfig %s: %v", o.GetName(), err)
	}
	host.NetworkYaml = string(text)
	return host, nil
}
