package objects

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/statuses"
	"github.com/oaictl/oaictl/pkg/install/internal/planeshared"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// hostTable is what can be set on a host: the fields of host-update-params, and
// of the host that shows them. Installer arguments and Ignition have requests
// of their own; fencing needs secrets that no setting carries (see fencing).
func hostTable() Table[Host] {
	type wire = Host
	return Table[wire]{
		row(model.SettingRole, func(r spec.Role) body { return body{"host_role": statuses.RoleWord(r)} }, func(h *wire) (spec.Role, bool) {
			return statuses.Role(string(h.Role)), true
		}),
		text(model.SettingHostname, "host_name", hostname),
		row(model.SettingDisk, func(id string) body {
			return body{"disks_selected_config": []body{{"id": id, "role": "install"}}}
		}, func(h *wire) (string, bool) { return h.InstallationDiskID, h.InstallationDiskID != "" }),
		row(model.SettingKeepDisks, func(ids []string) body { return body{"disks_skip_formatting": SkipFormatting(ids, true)} },
			func(h *wire) ([]string, bool) {
				return append([]string{}, splitList(h.SkipFormattingDisks)...), true
			}),
		row(model.SettingLabels, writeLabels, func(h *wire) (map[string]string, bool) {
			labels, ok := inText[map[string]string](h.NodeLabels)
			return labels, ok
		}),
		text(model.SettingPool, "machine_config_pool_name", func(h *wire) string { return h.MachineConfigPoolName }),
		row(model.SettingInstallerArgs, func([]string) body { return nil },
			func(h *wire) ([]string, bool) { return inText[[]string](h.InstallerArgs) }),
		text(model.SettingIgnition, "", func(h *wire) string { return h.IgnitionConfigOverrides }),
		text(model.SettingFencing, "", func(h *wire) string { return h.FencingCredentials.Address }),
		row(model.SettingEndpointToken, func(string) body { return nil },
			func(h *wire) (string, bool) { return "set", h.IgnitionEndpointTokenSet }),
		row(model.SettingEndpointHeaders, writeHeaders, func(*wire) (map[string]string, bool) { return nil, false }),
		row(model.SettingHostExtra, func(extra map[string]any) body { return extra }, func(*wire) (map[string]any, bool) { return nil, false }),
	}
}

// hostname is the name that was asked for. Before its first inventory a host is
// called by its id, which is no name.
func hostname(h *Host) string {
	if h.RequestedHostname == value(h.ID).String() {
		return ""
	}
	return h.RequestedHostname
}

// SkipFormatting are entries that switch the formatting of disks off or on again.
func SkipFormatting(ids []string, skip bool) []body {
	out := make([]body, 0, len(ids))
	for _, id := range ids {
		out = append(out, body{"disk_id": id, "skip_formatting": skip})
	}
	return out
}

func writeHeaders(headers map[string]string) body {
	return body{"ignition_endpoint_http_headers": entries(headers)}
}

func writeLabels(labels map[string]string) body { return body{"node_labels": entries(labels)} }

// entries are keys and values as the API has them in a list, by the keys.
func entries(of map[string]string) []body {
	out := make([]body, 0, len(of))
	for _, key := range slices.Sorted(maps.Keys(of)) {
		out = append(out, body{"key": key, "value": of[key]})
	}
	return out
}

// Fencing are the credentials by which a machine is powered off by its peer.
func Fencing(host *spec.Host, address string) (body, error) {
	asked := *host
	asked.Fencing = cmp.Or(host.Fencing, &spec.Fencing{})
	f := asked.FencedBy()
	user, password, ok := f.Credentials.Login()
	if !ok {
		return nil, fmt.Errorf("host %s has neither fencing.credentials nor bmc.credentials", host.Name)
	}
	if address = cmp.Or(address, f.Address); address == "" {
		return nil, fmt.Errorf("host %s has no fencing.address", host.Name)
	}
	out := body{"address": address, "username": user, "password": password.Reveal()}
	switch {
	case f.Insecure == nil && host.BMC == nil: // the service's own
	case f.Insecure != nil && *f.Insecure:
		out["certificate_verification"] = "Disabled"
	default:
		out["certificate_verification"] = "Enabled"
	}
	return out, nil
}

// infraEnvTable is what can be set on an InfraEnv: the fields of
// infra-env-create-params and infra-env-update-params, and of the InfraEnv that
// shows them. Architecture is for registration only.
func infraEnvTable() Table[InfraEnv] {
	type wire = InfraEnv
	return Table[wire]{
		text(model.SettingVersion, "openshift_version", func(e *wire) string { return e.OpenshiftVersion }),
		text(model.SettingOSVersion, "openshift_version", func(e *wire) string { return e.OpenshiftVersion }),
		text(model.SettingArch, "cpu_architecture", func(e *wire) string { return e.CPUArchitecture }),
		text(model.SettingSSHKeys, "ssh_authorized_key", func(e *wire) string { return e.SSHAuthorizedKey }),
		row(model.SettingProxy, func(p spec.Proxy) body { return body{"proxy": proxyFields(p)} },
			func(e *wire) (spec.Proxy, bool) { return proxyIn(e.Proxy), true }),
		row(model.SettingExtraNTP, func(l []string) body { return body{"additional_ntp_sources": strings.Join(l, ",")} },
			func(e *wire) ([]string, bool) {
				return splitList(e.AdditionalNtpSources), e.AdditionalNtpSources != ""
			}),
		row(model.SettingNTP, func(l []string) body { return body{"ntp_sources": strings.Join(l, ",")} }, func(e *wire) ([]string, bool) {
			return e.NtpSources, len(e.NtpSources) > 0
		}),
		text(model.SettingTrustBundle, "additional_trust_bundle", func(e *wire) string { return e.AdditionalTrustBundle }),
		row(model.SettingKernelArguments, writeKernelArguments, readKernelArguments),
		text(model.SettingDiscoveryIgnition, "ignition_config_override", func(e *wire) string { return e.IgnitionConfigOverride }),
		row(model.SettingImageType, func(s string) body { return body{"image_type": strings.TrimSuffix(s, "-iso") + "-iso"} },
			func(e *wire) (string, bool) {
				return strings.TrimSuffix(string(value(e.Type)), "-iso"), value(e.Type) != ""
			}),
		row(model.SettingNetworkDelay, func(seconds int) body { return body{"network_discovery_delay_seconds": seconds} },
			func(e *wire) (int, bool) {
				return e.NetworkDelay, e.NetworkDelay > 0
			}),
		row(model.SettingStaticNetworks, writeStaticNetworks, readStaticNetworks),
	}
}

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

func writeStaticNetworks(networks []model.StaticNetwork) body {
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

func readStaticNetworks(e *InfraEnv) ([]model.StaticNetwork, bool) {
	networks, ok := inText[[]staticNetwork](e.StaticNetworkConfig)
	if !ok {
		return nil, false
	}
	out := make([]model.StaticNetwork, 0, len(networks))
	for _, n := range networks {
		entry := model.StaticNetwork{YAML: n.NetworkYAML, MACs: []spec.NIC{}}
		for _, m := range n.MACs {
			entry.MACs = append(entry.MACs, spec.NIC{MAC: strings.ToLower(m.MAC), Name: m.Name})
		}
		out = append(out, entry)
	}
	planeshared.SortNetworks(out)
	return out, true
}
