package objects

import (
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install/internal/plane"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// infraEnvTable is what can be set on an InfraEnv: the fields of
// infra-env-create-params and infra-env-update-params, and of the InfraEnv that
// shows them. Architecture is for registration only.
func infraEnvTable() Table[InfraEnv] {
	type wire = InfraEnv
	return Table[wire]{
		text(setting.Version, "openshift_version", func(e *wire) string { return e.OpenshiftVersion }),
		text(setting.OSVersion, "openshift_version", func(e *wire) string { return e.OpenshiftVersion }),
		text(setting.Arch, "cpu_architecture", func(e *wire) string { return e.CPUArchitecture }),
		text(setting.SSHKeys, "ssh_authorized_key", func(e *wire) string { return e.SSHAuthorizedKey }),
		row(setting.Proxy, writeProxy, func(e *wire) (spec.Proxy, bool) { return proxyIn(e.Proxy), true }),
		row(setting.ExtraNTP, func(l []string) body { return body{"additional_ntp_sources": strings.Join(l, ",")} }, func(e *wire) ([]string, bool) {
			return splitList(e.AdditionalNtpSources), e.AdditionalNtpSources != ""
		}),
		row(setting.NTP, func(l []string) body { return body{"ntp_sources": strings.Join(l, ",")} }, func(e *wire) ([]string, bool) {
			return e.NtpSources, len(e.NtpSources) > 0
		}),
		text(setting.TrustBundle, "additional_trust_bundle", func(e *wire) string { return e.AdditionalTrustBundle }),
		row(setting.KernelArgs, writeKernelArguments, readKernelArguments),
		text(setting.DiscIgnition, "ignition_config_override", func(e *wire) string { return e.IgnitionConfigOverride }),
		row(setting.ImageType, func(s string) body { return body{"image_type": strings.TrimSuffix(s, "-iso") + "-iso"} }, func(e *wire) (string, bool) {
			return strings.TrimSuffix(string(value(e.Type)), "-iso"), value(e.Type) != ""
		}),
		row(setting.NetworkDelay, func(seconds int) body { return body{"network_discovery_delay_seconds": seconds} }, func(e *wire) (int, bool) {
			return e.NetworkDelay, e.NetworkDelay > 0
		}),
		row(setting.StaticNetworks, writeStaticNetworks, readStaticNetworks),
	}
}

func writeProxy(p spec.Proxy) body { return body{"proxy": proxyFields(p)} }

func proxyIn(shown *models.Proxy) spec.Proxy {
	if shown == nil {
		return spec.Proxy{}
	}
	return proxyOf(value(shown.HTTPProxy), value(shown.HTTPSProxy), value(shown.NoProxy))
}

// kernelArgument is how the service takes and shows a kernel argument; it knows
// no operation but append.
type kernelArgument struct {
	Operation string `json:"operation"`
	Value     string `json:"value"`
}

func writeKernelArguments(args []string) body {
	out := make([]kernelArgument, 0, len(args))
	for _, arg := range args {
		out = append(out, kernelArgument{Operation: "append", Value: arg})
	}
	return body{"kernel_arguments": out}
}

func readKernelArguments(e *InfraEnv) ([]string, bool) {
	args, ok := inText[[]kernelArgument](value(e.KernelArguments))
	if !ok {
		return nil, false
	}
	out := make([]string, 0, len(args))
	for _, arg := range args {
		out = append(out, arg.Value)
	}
	return out, true
}

// staticNetwork is how the service takes and shows a machine's network.
type staticNetwork struct {
	NetworkYAML string     `json:"network_yaml"`
	MACs        []macEntry `json:"mac_interface_map"`
}

type macEntry struct {
	MAC  string `json:"mac_address"`
	Name string `json:"logical_nic_name"`
}

func writeStaticNetworks(networks []setting.StaticNetwork) body {
	out := make([]staticNetwork, 0, len(networks))
	for _, n := range networks {
		entry := staticNetwork{NetworkYAML: n.YAML, MACs: []macEntry{}}
		for _, m := range n.MACs {
			entry.MACs = append(entry.MACs, macEntry{MAC: m.MAC, Name: m.Name})
		}
		out = append(out, entry)
	}
	return body{"static_network_config": out}
}

func readStaticNetworks(e *InfraEnv) ([]setting.StaticNetwork, bool) {
	networks, ok := inText[[]staticNetwork](e.StaticNetworkConfig)
	if !ok {
		return nil, false
	}
	out := make([]setting.StaticNetwork, 0, len(networks))
	for _, n := range networks {
		entry := setting.StaticNetwork{YAML: n.NetworkYAML, MACs: []spec.NIC{}}
		for _, m := range n.MACs {
			entry.MACs = append(entry.MACs, spec.NIC{MAC: strings.ToLower(m.MAC), Name: m.Name})
		}
		out = append(out, entry)
	}
	plane.SortNetworks(out)
	return out, true
}
