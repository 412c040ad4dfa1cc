package create

import (
	"context"
	"strings"

	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// hostFlags are one host that is added, without a file.
type hostFlags struct {
	flags                                 *pflag.FlagSet
	Cluster, MAC, Serial, UUID            string
	BMC, BMCUser, BMCPassword, Disk, Role string
	Arch, Hostname, Pool, ProviderID, IP  string
	Gateway, DNS                          string
	BMCInsecure                           bool
	Labels                                map[string]string
	Taints                                []string
}

// hostFlag is a flag, and the field of a file of kind Nodes that it sets.
type hostFlag struct {
	name, field, usage string
	into               *string
}

func (h *hostFlags) texts() []hostFlag {
	const host = "spec.hosts[0]."
	return []hostFlag{
		{"cluster", "spec.cluster", "add one host to the cluster `NAME` or ID, which the flags below describe, instead of -f", &h.Cluster},
		{"mac", host + "match.mac", "`MAC` address of one of its interfaces", &h.MAC},
		{"serial", host + "match.serial", "`SERIAL` number of the machine", &h.Serial},
		{"uuid", host + "match.uuid", "`UUID` of the machine", &h.UUID},
		{"hostname", host + "hostname", "`HOSTNAME`, where it is not the name", &h.Hostname},
		{"role", host + "role", "`control-plane|worker|arbiter`", &h.Role},
		{"arch", host + "arch", "CPU `ARCH` of the host, where the cluster's are several", &h.Arch},
		{"disk", host + "disk.hints", "`DISK` to install on: its path, or what it has to be like, such as wwn=0x5000c500a0b1c2d3", &h.Disk},
		{"pool", host + "machineConfigPool", "machine config pool `NAME`, if not that of the role", &h.Pool},
		{"provider-id", host + "providerID", "`ID` of the node for Cluster API", &h.ProviderID},
		{"ip", host + "net.ip", "static `ADDRESS` with its prefix length, such as 192.168.10.11/24", &h.IP},
		{"gateway", host + "net.gateway", "`ADDRESS` of the gateway, with --ip", &h.Gateway},
		{"dns", host + "net.dns", "`ADDRESS` of the DNS server, with --ip", &h.DNS},
		{"bmc", host + "bmc.address", "`ADDRESS` of the host's management controller, through which it is booted", &h.BMC},
		{"bmc-user", host + "bmc.credentials.username", "`USER` of the management controller", &h.BMCUser},
		{"bmc-password-file", host + "bmc.credentials.password", "`FILE` with the password of the management controller", &h.BMCPassword},
	}
}

func (h *hostFlags) declare(flags *pflag.FlagSet) {
	h.flags = flags
	for _, f := range h.texts() {
		flags.StringVar(f.into, f.name, "", f.usage)
	}
	flags.Lookup("name").Usage = "`NAME` of the host, with --cluster; of the cluster, for a file in another format that has none"
	flags.Lookup("pull-secret").Usage = "`FILE` with the pull secret, for a file in another format that has none, or with --cluster where a " +
		"new discovery image is made"
	flags.BoolVar(&h.BMCInsecure, "bmc-insecure", false, "do not verify the management controller's certificate")
	flags.StringToStringVar(&h.Labels, "label", nil, "label of the node, `KEY=VALUE` (repeat it for more)")
	flags.StringSliceVar(&h.Taints, "taint", nil, "taint of the node, `KEY[=VALUE]:EFFECT` (repeat it for more)")
}

// given names the flags of a host that were given.
func (h *hostFlags) given() []string {
	var names []string
	for _, f := range h.texts() {
		if h.flags.Changed(f.name) {
			names = append(names, "--"+f.name)
		}
	}
	for _, name := range []string{"bmc-insecure", "label", "taint"} {
		if h.flags.Changed(name) {
			names = append(names, "--"+name)
		}
	}
	return names
}

// nodes are what the flags say, checked as a file is. Problems are reported by the flags.
func (h *hostFlags) nodes(ctx context.Context, a *app.App, shared app.Foreign) (*spec.Cluster, error) {
	host := spec.Host{
		Name: shared.Name, Role: spec.Role(h.Role), Arch: spec.Arch(h.Arch), Hostname: h.Hostname, Labels: h.Labels, MachineConfigPool: h.Pool,
		ProviderID: h.ProviderID,
		Match:      spec.Match{MAC: h.MAC, Serial: h.Serial, UUID: h.UUID},
	}
	if h.Disk != "" {
		if err := host.Disk.Hints.Set(h.Disk); err != nil {
			return nil, app.Usagef("--disk %q: %v", h.Disk, err)
		}
	}
	for _, text := range h.Taints {
		var taint spec.Taint
		if err := taint.Set(text); err != nil {
			return nil, app.Usagef("--taint %q: %v", text, err)
		}
		host.Taints = append(host.Taints, taint)
	}
	if h.IP != "" || h.Gateway != "" || h.DNS != "" {
		host.Net = &spec.HostNet{IP: h.IP, Gateway: h.Gateway}
		if h.DNS != "" {
			host.Net.DNS = strings.Split(h.DNS, ",")
		}
	}
	if h.BMC != "" || h.BMCUser != "" || h.BMCPassword != "" || h.BMCInsecure {
		host.BMC = &spec.BMC{Address: h.BMC, Insecure: h.BMCInsecure}
		if h.BMCUser != "" || h.BMCPassword != "" {
			host.BMC.Credentials = spec.Credentials{Username: h.BMCUser, Password: &spec.Source{File: h.BMCPassword}}
		}
	}
	n := &spec.Nodes{Spec: spec.NodesSpec{Cluster: h.Cluster, Hosts: []spec.Host{host}}}
	if shared.PullSecret != "" {
		n.Spec.PullSecret = spec.Source{File: shared.PullSecret}
	}
	words := map[string]string{
		"spec.hosts[0].name": "--name", "spec.pullSecret": "--pull-secret", "spec.hosts[0].labels": "--label", "spec.hosts[0].taints": "--taint",
		"spec.hosts[0].match": "--mac", "spec.hosts[0].bmc": "--bmc",
	}
	for _, f := range h.texts() {
		words[f.field] = "--" + f.name
	}
	return a.ResolveNodes(ctx, n, words)
}
