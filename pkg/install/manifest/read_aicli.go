package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// aicli reads aicli's parameters. A key that it does not know it passes on, or
// drops, without a word; here each is told.
func (r *reader) aicli(in *input, name string) {
	r.nowhere = "neither oaictl nor aicli knows it"
	r.bareRedfish = true
	if len(in.docs) != 1 {
		r.problem(in.path, 0, 0, "", fmt.Sprintf("there are %d documents, and parameters stand in one", len(in.docs)), "merge them as aicli does, the later over the earlier")
		return
	}
	n := in.docs[0].root
	r.aicliCluster(n, name)
	r.aicliNetworks(n)
	r.aicliProxy(n)
	r.aicliEncryption(n)
	r.aicliImage(n)
	r.aicliContents(n)
	for _, host := range r.listOf(n.get("hosts")) {
		r.aicliHost(n, host)
	}
	for _, config := range r.listOf(n.get("static_network_config")) {
		r.aicliNetwork(config)
	}
	r.aicliDisk(n.get("sno_disk"))
	r.aicliFlow(n)
	r.restOfFiles(in)
}

func (r *reader) aicliCluster(n *node, name string) {
	c := r.cluster
	setText(r, "metadata.name", &c.Metadata.Name, r.oneWord(n, "name", "cluster"))
	if c.Metadata.Name == "" {
		c.Metadata.Name = name
	}
	setText(r, "spec.baseDomain", &c.Spec.BaseDomain, r.oneWord(n, "base_dns_domain", "domain"))
	version := r.oneWord(n, "openshift_version", "version")
	c.Spec.OpenShift.Version = r.scalar(version)
	r.from("spec.openshift.version", version)
	setText(r, "spec.openshift.releaseImage", &c.Spec.OpenShift.ReleaseImage, n.get("ocp_release_image"))
	if arch := n.get("cpu_architecture"); arch != nil {
		c.Spec.OpenShift.Arch = archOf(r.text(arch))
		r.from("spec.openshift.arch", arch)
	}
	r.aicliTopology(n)
	r.aicliPlatform(n.get("platform"))
	r.setBool("spec.schedulableControlPlane", &c.Spec.SchedulableControlPlane, n.get("schedulable_masters"))
	if roles := n.get("hyperthreading"); roles != nil {
		c.Spec.Hyperthreading = roleSet(r.text(roles))
		r.from("spec.hyperthreading", roles)
	}
	r.setBool("spec.fips", &c.Spec.FIPS, n.get("fips"))
	if tags := n.get("tags"); tags != nil {
		c.Metadata.Tags = r.commaList(tags)
		r.from("metadata.tags", tags)
	}
	r.aicliIgnored(n.get("ignore_validations"))
	r.operators(n.get("olm_operators"))
	for _, bundle := range r.listOf(n.get("operator_bundles")) {
		id := bundle
		if bundle.kind == mapNode {
			id = first(bundle, "id", "name")
		}
		r.from(fmt.Sprintf("spec.bundles[%d]", len(c.Spec.Bundles)), bundle)
		c.Spec.Bundles = append(c.Spec.Bundles, spec.Bundle{ID: r.text(id)})
	}
}

// oneWord is the first of some keys that is there. The others are words for the
// same, of which one is enough.
func (r *reader) oneWord(n *node, keys ...string) *node {
	chosen := first(n, keys...)
	for _, key := range keys {
		other := n.get(key)
		if other == nil || other == chosen {
			continue
		}
		if equalJSON(other.plain(), chosen.plain()) {
			r.means(other, "says what "+chosen.key+" does")
		}
		r.lose(other, "is another word for "+chosen.key+", which is taken")
	}
	return chosen
}

// commaList takes a list, or a text with commas.
func (r *reader) commaList(n *node) []string {
	if n == nil || n.kind == listNode {
		return r.texts(n)
	}
	list := []string{}
	for part := range strings.SplitSeq(r.scalar(n), ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

func (r *reader) aicliTopology(n *node) {
	t := &r.cluster.Spec.Topology
	if count := n.get("control_plane_count"); count != nil {
		t.ControlPlane = r.number(count)
		r.from("spec.topology.controlPlane", count)
	}
	single := false
	for _, at := range []*node{n.get("sno"), n.get("high_availability_mode")} {
		if at == nil {
			continue
		}
		if at.key == "sno" {
			single = isTrue(r.boolean(at)) || single
		} else {
			single = r.scalar(at) == "None" || single
		}
		r.from("spec.topology", at)
	}
	if single && t.ControlPlane == nil {
		one, none := 1, 0
		t.ControlPlane, t.Workers = &one, &none
	}
}

func (r *reader) aicliPlatform(n *node) {
	if n == nil {
		return
	}
	p := &r.cluster.Spec.Platform
	r.from("spec.platform", n)
	if n.kind != mapNode {
		p.Type = spec.PlatformType(r.text(n))
		return
	}
	p.Type = spec.PlatformType(r.text(n.get("type")))
	if external := r.mapOf(n.get("external")); external != nil {
		p.External = &spec.ExternalPlatform{}
		setText(r, "spec.platform.external.name", &p.External.Name, external.get("platform_name"))
		setText(r, "spec.platform.external.cloudControllerManager", &p.External.CloudControllerManager, external.get("cloud_controller_manager"))
	}
}

// aicliIgnored carries over which validations are ignored: all of them, or by
// their ids.
func (r *reader) aicliIgnored(n *node) {
	to := &r.cluster.Spec.IgnoreValidations
	switch {
	case n == nil:
	case n.kind == boolNode:
		if isTrue(r.boolean(n)) {
			to.Cluster, to.Hosts = []string{"all"}, []string{"all"}
		}
	case n.kind == mapNode:
		r.ignored("spec.ignoreValidations.cluster", &to.Cluster, first(n, "cluster_validation_ids", "ignored_cluster_validations"))
		r.ignored("spec.ignoreValidations.hosts", &to.Hosts, first(n, "host_validation_ids", "ignored_host_validations"))
	default:
		list := r.commaList(n)
		to.Cluster, to.Hosts = list, list
	}
	r.from("spec.ignoreValidations", n)
}

func (r *reader) aicliNetworks(n *node) {
	net := &r.cluster.Spec.Network
	r.aicliVIPs("spec.network.vips.api", &net.VIPs.API, n, "api_vips", "api_vip", "api_ip")
	r.aicliVIPs("spec.network.vips.ingress", &net.VIPs.Ingress, n, "ingress_vips", "ingress_vip", "ingress_ip")
	r.meansIf(n.get("vip_dhcp_allocation"), "is the default", "false", "False")
	r.lose(n.get("vip_dhcp_allocation"), "the service gives out no virtual addresses any more: write spec.network.vips")
	r.cidrs("spec.network.machine", &net.Machine, n.get("machine_networks"))
	r.cidrs("spec.network.service", &net.Service, n.get("service_networks"))
	if one := n.get("service_network_cidr"); one != nil && net.Service == nil {
		net.Service = []string{r.text(one)}
		r.from("spec.network.service", one)
	}
	for i, item := range r.listOf(n.get("cluster_networks")) {
		field := fmt.Sprintf("spec.network.cluster[%d]", i)
		var network spec.ClusterNetwork
		setText(r, field+".cidr", &network.CIDR, item.get("cidr"))
		r.setNumber(field+".hostPrefix", &network.HostPrefix, item.get("host_prefix"))
		net.Cluster = append(net.Cluster, network)
	}
	if one := n.get("cluster_network_cidr"); one != nil && net.Cluster == nil {
		network := spec.ClusterNetwork{CIDR: r.text(one)}
		r.setNumber("spec.network.cluster[0].hostPrefix", &network.HostPrefix, n.get("cluster_network_host_prefix"))
		net.Cluster = []spec.ClusterNetwork{network}
		r.from("spec.network.cluster", one)
	}
	setText(r, "spec.network.type", &net.Type, n.get("network_type"))
	r.setBool("spec.network.userManaged", &net.UserManaged, n.get("user_managed_networking"))
	if balancer := n.get("load_balancer"); balancer != nil {
		kind := balancer
		if balancer.kind == mapNode {
			kind = balancer.get("type")
		}
		setText(r, "spec.network.loadBalancer", &net.LoadBalancer, kind)
	}
	r.setNumber("spec.network.mtu", &net.MTU, n.get("mtu"))
	if ntp := r.oneWord(n, "additional_ntp_sources", "additional_ntp_source"); ntp != nil {
		net.Defaults.NTP = r.commaList(ntp)
		r.from("spec.network.defaults.ntp", ntp)
	}
	if ntp := n.get("ntp_sources"); ntp != nil {
		net.NTP = r.commaList(ntp)
		r.from("spec.network.ntp", ntp)
	}
}

// aicliVIPs carries virtual addresses over: texts, or maps with an ip.
func (r *reader) aicliVIPs(field string, to *[]string, n *node, keys ...string) {
	at := r.oneWord(n, keys...)
	if at == nil {
		return
	}
	r.from(field, at)
	if at.kind != listNode {
		*to = []string{r.text(at)}
		return
	}
	for i, item := range at.items() {
		if item.kind == mapNode {
			item = item.get("ip")
		}
		*to = append(*to, r.text(item))
		r.from(fmt.Sprintf("%s[%d]", field, i), item)
	}
}

// aicliProxy carries a proxy over: one for all, or one for each scheme.
func (r *reader) aicliProxy(n *node) {
	to := &r.cluster.Spec.Proxy
	r.proxyURL("spec.proxy.http", &to.HTTP, n.get("http_proxy"))
	r.proxyURL("spec.proxy.https", &to.HTTPS, n.get("https_proxy"))
	r.noProxy(r.oneWord(n, "no_proxy", "noproxy"))
	p := n.get("proxy")
	switch {
	case p == nil:
	case p.kind == mapNode:
		r.proxyURL("spec.proxy.http", &to.HTTP, p.get("http_proxy"))
		r.proxyURL("spec.proxy.https", &to.HTTPS, p.get("https_proxy"))
		r.noProxy(p.get("no_proxy"))
	default:
		r.proxyURL("spec.proxy.http", &to.HTTP, p)
		to.HTTPS = cmp.Or(to.HTTPS, to.HTTP)
	}
}

func (r *reader) aicliEncryption(n *node) {
	roles := spec.RoleSet{}
	for _, key := range []struct {
		name string
		role string
	}{{"tpm", spec.AllRoles}, {"tpm_ctlplanes", string(spec.ControlPlane)}, {"tpm_masters", string(spec.ControlPlane)}, {"tpm_workers", string(spec.Worker)}} {
		at := n.get(key.name)
		if isTrue(r.boolean(at)) && !slices.Contains(roles, spec.AllRoles) && !slices.Contains(roles, key.role) {
			roles = append(roles, key.role)
			r.from("spec.diskEncryption", at)
		}
	}
	if len(roles) > 0 {
		r.cluster.Spec.DiskEncryption = &spec.DiskEncryption{Mode: spec.TPM, On: roles}
	}
	if servers := n.get("tang_servers"); servers != nil {
		if r.cluster.Spec.DiskEncryption == nil {
			r.cluster.Spec.DiskEncryption = &spec.DiskEncryption{}
		}
		r.cluster.Spec.DiskEncryption.Mode = spec.Tang
		r.from("spec.diskEncryption", servers)
		r.tang(r.embed(servers))
	}
	if whole := r.mapOf(n.get("disk_encryption")); whole != nil && r.cluster.Spec.DiskEncryption == nil {
		d := &spec.DiskEncryption{On: spec.RoleSet{spec.NoRoles}}
		r.cluster.Spec.DiskEncryption = d
		r.from("spec.diskEncryption", whole)
		if on := whole.get("enable_on"); on != nil {
			d.On = roleSet(r.text(on))
		}
		d.Mode = spec.EncryptionMode(strings.Replace(r.text(whole.get("mode")), "tpmv2", "tpm", 1))
		r.tang(r.embed(whole.get("tang_servers")))
		if d.Mode == "" && d.On[0] == spec.NoRoles {
			r.cluster.Spec.DiskEncryption = nil
		}
	}
}

func (r *reader) aicliImage(n *node) {
	r.imageType(n.get("image_type"))
	image, minimal := &r.cluster.Spec.Boot.Image, n.get("minimal")
	switch small := isTrue(r.boolean(minimal)); {
	case *image != "" && small != (*image == spec.ImageMinimal) && minimal != nil:
		minimal.taken = false
		r.second("spec.boot.image", minimal)
	case small:
		*image = spec.ImageMinimal
		r.from("spec.boot.image", minimal)
	}
	r.discoveryIgnition(n.get("ignition_config_override"))
	if file := n.get("discovery_ignition_file"); file != nil {
		if name := r.beside(file, ""); name != "" && r.cluster.Spec.Discovery.Ignition == nil {
			r.cluster.Spec.Discovery.Ignition = &spec.Document{File: name}
			r.from("spec.discovery.ignition", file)
		}
	}
	arguments := n.get("kernel_arguments")
	if arguments != nil && arguments.kind == textNode && strings.HasPrefix(strings.TrimSpace(arguments.text), "[") {
		arguments = r.embed(arguments)
	}
	r.kernelArguments(arguments)
	r.networkDelay(n.get("network_discovery_delay_seconds"))
}
