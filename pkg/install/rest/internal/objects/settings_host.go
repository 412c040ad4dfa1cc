package objects

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/internal/vocab"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// hostTable is what can be set on a host: the fields of host-update-params, and
// of the host that shows them. Installer arguments and Ignition have requests
// of their own; fencing needs secrets that no setting carries (see fencing).
func hostTable() Table[Host] {
	type wire = Host
	return Table[wire]{
		row(setting.Role, func(r install.Role) body { return body{"host_role": vocab.RoleWord(r)} }, func(h *wire) (install.Role, bool) {
			return vocab.RoleOf(string(h.Role)), true
		}),
		text(setting.Hostname, "host_name", hostname),
		row(setting.Disk, func(id string) body {
			return body{"disks_selected_config": []body{{"id": id, "role": "install"}}}
		}, func(h *wire) (string, bool) { return h.InstallationDiskID, h.InstallationDiskID != "" }),
		row(setting.KeepDisks, func(ids []string) body { return body{"disks_skip_formatting": SkipFormatting(ids, true)} }, func(h *wire) ([]string, bool) {
			return append([]string{}, splitList(h.SkipFormattingDisks)...), true
		}),
		row(setting.Labels, writeLabels, func(h *wire) (map[string]string, bool) {
			labels, ok := inText[map[string]string](h.NodeLabels)
			return labels, ok
		}),
		text(setting.Pool, "machine_config_pool_name", func(h *wire) string { return h.MachineConfigPoolName }),
		row(setting.Args, func([]string) body { return nil }, func(h *wire) ([]string, bool) { return inText[[]string](h.InstallerArgs) }),
		text(setting.Ignition, "", func(h *wire) string { return h.IgnitionConfigOverrides }),
		text(setting.Fencing, "", func(h *wire) string { return h.FencingCredentials.Address }),
		row(setting.EndpointToken, func(string) body { return nil }, func(h *wire) (string, bool) { return "set", h.IgnitionEndpointTokenSet }),
		row(setting.EndpointHeaders, writeHeaders, func(*wire) (map[string]string, bool) { return nil, false }),
		row(setting.HostExtra, func(extra map[string]any) body { return extra }, func(*wire) (map[string]any, bool) { return nil, false }),
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

// writeHeaders are what the host sends to the Ignition endpoint.
func writeHeaders(headers map[string]string) body {
	out := make([]body, 0, len(headers))
	for _, key := range slices.Sorted(maps.Keys(headers)) {
		out = append(out, body{"key": key, "value": headers[key]})
	}
	return body{"ignition_endpoint_http_headers": out}
}

func writeLabels(labels map[string]string) body {
	out := make([]body, 0, len(labels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, body{"key": key, "value": labels[key]})
	}
	return body{"node_labels": out}
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
