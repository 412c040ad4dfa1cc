package hub

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/hive"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// clusterSettings are what an AgentClusterInstall holds, by the fields of
// cluster.yaml that they come from: the other way round than the objects are
// made. Whatever a webhook or a controller fills in is among them too, and does
// no harm: only what the file says is compared. notes are the object's
// annotations, labels its labels, image the release that it refers to.
func clusterSettings(wire *hive.AgentClusterInstall, notes, labels map[string]string, image imageSetRecord, endpointCA string) install.Settings {
	s := install.Settings{}
	set := &wire.Spec
	text(s, setting.Version, image.version)
	text(s, setting.ReleaseImage, image.release)
	if n := set.ProvisionRequirements.ControlPlaneAgents; n > 0 {
		s[setting.ControlPlane] = setting.ValueOf(n)
	}
	s[setting.Workers] = setting.ValueOf(set.ProvisionRequirements.WorkerAgents)
	s[setting.Arbiters] = setting.ValueOf(set.ProvisionRequirements.ArbiterAgents)
	text(s, setting.SSHKeys, set.SSHPublicKey)
	networkSettings(s, wire)
	platformSettings(s, wire)
	text(s, setting.Hyperthreads, hyperthreads(set.ControlPlane, set.Arbiter, set.Compute))
	s[setting.SchedulableCP] = setting.ValueOf(set.MastersSchedulable)
	if e := set.DiskEncryption; e != nil {
		var tang []setting.Tang
		if e.TangServers != "" && json.Unmarshal([]byte(e.TangServers), &tang) != nil {
			tang = nil // not readable, and so not what the file says
		}
		s[setting.DiskEncrypt] = setting.ValueOf(setting.DiskEncryption{On: e.EnableOn, Mode: e.Mode, Tang: tang})
	}
	if set.IgnitionEndpoint != nil && set.IgnitionEndpoint.URL != "" {
		s[setting.IgnEndpoint] = setting.ValueOf(setting.IgnitionEndpoint{URL: set.IgnitionEndpoint.URL, CA: endpointCA})
	}
	text(s, setting.InstallConfig, notes[hubapi.AnnotationInstallConfigOverrides])
	s[setting.Ignored] = setting.ValueOf(setting.IgnoredValidations{Cluster: list(notes[hubapi.AnnotationIgnoredClusterValidations]), Hosts: list(notes[hubapi.AnnotationIgnoredHostValidations])})
	tags := []string{}
	if tag := labels[hubapi.LabelConsumer]; tag != "" {
		tags = append(tags, tag)
	}
	s[setting.Tags] = setting.ValueOf(tags)
	return s
}

func networkSettings(s install.Settings, wire *hive.AgentClusterInstall) {
	set, net := &wire.Spec, &wire.Spec.Networking
	text(s, setting.NetworkType, net.NetworkType)
	s[setting.MachineNet] = setting.ValueOf(cidrs(net.MachineNetwork))
	networks := []setting.ClusterNetwork{}
	for _, n := range net.ClusterNetwork {
		networks = append(networks, setting.ClusterNetwork{CIDR: n.CIDR, HostPrefix: int(n.HostPrefix)})
	}
	s[setting.ClusterNet] = setting.ValueOf(networks)
	s[setting.ServiceNet] = setting.ValueOf(append([]string{}, net.ServiceNetwork...))
	s[setting.APIVIPs] = setting.ValueOf(several(set.APIVIPs, set.APIVIP))
	s[setting.IngressVIPs] = setting.ValueOf(several(set.IngressVIPs, set.IngressVIP))
	balancer := spec.ClusterManaged // what the service takes where nothing is said
	if set.LoadBalancer != nil && set.LoadBalancer.Type == hive.LoadBalancerUserManaged {
		balancer = spec.UserManaged
	}
	s[setting.LoadBalancer] = setting.ValueOf(balancer)
	switch {
	case net.UserManagedNetworking != nil:
		s[setting.UserManaged] = setting.ValueOf(*net.UserManagedNetworking)
	case wire.Status.UserManagedNetworking != nil:
		s[setting.UserManaged] = setting.ValueOf(*wire.Status.UserManagedNetworking)
	}
	s[setting.Proxy] = setting.ValueOf(proxyOf(set.Proxy))
	if len(set.NTPSources) > 0 {
		s[setting.NTP] = setting.ValueOf(set.NTPSources)
	}
}

func proxyOf(wire *hubapi.Proxy) setting.ProxyValue {
	if wire == nil {
		return setting.ProxyValue{}
	}
	return setting.ProxyValue{HTTP: wire.HTTPProxy, HTTPS: wire.HTTPSProxy, No: wire.NoProxy}
}

func platformSettings(s install.Settings, wire *hive.AgentClusterInstall) {
	kind := platformOf(cmp.Or(wire.Spec.PlatformType, wire.Status.PlatformType))
	if kind == "" {
		return
	}
	platform := setting.PlatformValue{Type: string(kind)}
	if external := wire.Spec.External; external != nil {
		platform.ExternalName, platform.CloudControllerManager = external.PlatformName, external.CloudControllerManager
	}
	s[setting.Platform] = setting.ValueOf(platform)
}

// platformOf is a platform in the words of cluster.yaml.
func platformOf(word string) spec.PlatformType {
	switch word {
	case hive.PlatformBareMetal:
		return spec.BareMetal
	case hive.PlatformNone:
		return spec.NoneType
	case hive.PlatformVSphere:
		return spec.VSphere
	case hive.PlatformNutanix:
		return spec.Nutanix
	case hive.PlatformExternal:
		return spec.External
	}
	return ""
}

// hyperthreads are the roles with hyperthreading, in the service's words; ""
// where no pool says anything of it. The role of a pool that is not there has
// what the others have.
func hyperthreads(controlPlane, arbiter *hive.MachinePool, compute []hive.MachinePool) string {
	roles, all, said := spec.RoleSet{}, true, false
	note := func(p *hive.MachinePool, role spec.Role) {
		if p == nil || p.Hyperthreading == "" {
			return
		}
		said = true
		if p.Hyperthreading == "Enabled" {
			roles = append(roles, string(role))
		} else {
			all = false
		}
	}
	note(controlPlane, spec.ControlPlane)
	note(arbiter, spec.Arbiter)
	for i := range compute {
		note(&compute[i], spec.Worker)
	}
	switch {
	case !said:
		return ""
	case len(roles) == 0:
		return spec.NoRoles
	case all:
		return spec.AllRoles
	}
	return roles.ServiceWords()
}

func cidrs(networks []hive.MachineNetwork) []string {
	out := make([]string, 0, len(networks))
	for _, n := range networks {
		out = append(out, n.CIDR)
	}
	return out
}

// several are values that also have an older field for one.
func several(values []string, one string) []string {
	if len(values) == 0 && one != "" {
		return []string{one}
	}
	return append([]string{}, values...)
}

// list is a text with commas taken apart.
func list(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
