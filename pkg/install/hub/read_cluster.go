package hub

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/hive"
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
	text(s, install.SetVersion, image.version)
	text(s, install.SetReleaseImage, image.release)
	if n := set.ProvisionRequirements.ControlPlaneAgents; n > 0 {
		s[install.SetControlPlane] = install.ValueOf(n)
	}
	s[install.SetWorkers] = install.ValueOf(set.ProvisionRequirements.WorkerAgents)
	s[install.SetArbiters] = install.ValueOf(set.ProvisionRequirements.ArbiterAgents)
	text(s, install.SetSSHKeys, set.SSHPublicKey)
	networkSettings(s, wire)
	platformSettings(s, wire)
	text(s, install.SetHyperthreads, hyperthreads(set.ControlPlane, set.Arbiter, set.Compute))
	s[install.SetSchedulableCP] = install.ValueOf(set.MastersSchedulable)
	if e := set.DiskEncryption; e != nil {
		var tang []install.Tang
		if e.TangServers != "" && json.Unmarshal([]byte(e.TangServers), &tang) != nil {
			tang = nil // not readable, and so not what the file says
		}
		s[install.SetDiskEncrypt] = install.ValueOf(install.DiskEncryption{On: e.EnableOn, Mode: e.Mode, Tang: tang})
	}
	if set.IgnitionEndpoint != nil && set.IgnitionEndpoint.URL != "" {
		s[install.SetIgnEndpoint] = install.ValueOf(install.IgnitionEndpoint{URL: set.IgnitionEndpoint.URL, CA: endpointCA})
	}
	text(s, install.SetInstallConfig, notes[hubapi.AnnotationInstallConfigOverrides])
	s[install.SetIgnored] = install.ValueOf(install.IgnoredValidations{Cluster: list(notes[hubapi.AnnotationIgnoredClusterValidations]), Hosts: list(notes[hubapi.AnnotationIgnoredHostValidations])})
	tags := []string{}
	if tag := labels[hubapi.LabelConsumer]; tag != "" {
		tags = append(tags, tag)
	}
	s[install.SetTags] = install.ValueOf(tags)
	return s
}

func networkSettings(s install.Settings, wire *hive.AgentClusterInstall) {
	set, net := &wire.Spec, &wire.Spec.Networking
	text(s, install.SetNetworkType, net.NetworkType)
	s[install.SetMachineNet] = install.ValueOf(cidrs(net.MachineNetwork))
	networks := []install.ClusterNetwork{}
	for _, n := range net.ClusterNetwork {
		networks = append(networks, install.ClusterNetwork{CIDR: n.CIDR, HostPrefix: int(n.HostPrefix)})
	}
	s[install.SetClusterNet] = install.ValueOf(networks)
	s[install.SetServiceNet] = install.ValueOf(append([]string{}, net.ServiceNetwork...))
	s[install.SetAPIVIPs] = install.ValueOf(several(set.APIVIPs, set.APIVIP))
	s[install.SetIngressVIPs] = install.ValueOf(several(set.IngressVIPs, set.IngressVIP))
	balancer := spec.ClusterManaged // what the service takes where nothing is said
	if set.LoadBalancer != nil && set.LoadBalancer.Type == hive.LoadBalancerUserManaged {
		balancer = spec.UserManaged
	}
	s[install.SetLoadBalancer] = install.ValueOf(balancer)
	switch {
	case net.UserManagedNetworking != nil:
		s[install.SetUserManaged] = install.ValueOf(*net.UserManagedNetworking)
	case wire.Status.UserManagedNetworking != nil:
		s[install.SetUserManaged] = install.ValueOf(*wire.Status.UserManagedNetworking)
	}
	s[install.SetProxy] = install.ValueOf(proxyOf(set.Proxy))
	if len(set.NTPSources) > 0 {
		s[install.SetNTP] = install.ValueOf(set.NTPSources)
	}
}

func proxyOf(wire *hubapi.Proxy) install.Proxy {
	if wire == nil {
		return install.Proxy{}
	}
	return install.Proxy{HTTP: wire.HTTPProxy, HTTPS: wire.HTTPSProxy, No: wire.NoProxy}
}

func platformSettings(s install.Settings, wire *hive.AgentClusterInstall) {
	kind := platformOf(cmp.Or(wire.Spec.PlatformType, wire.Status.PlatformType))
	if kind == "" {
		return
	}
	platform := install.Platform{Type: string(kind)}
	if external := wire.Spec.External; external != nil {
		platform.ExternalName, platform.CloudControllerManager = external.PlatformName, external.CloudControllerManager
	}
	s[install.SetPlatform] = install.ValueOf(platform)
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
