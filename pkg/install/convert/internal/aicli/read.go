// Package aicli reads the parameters of aicli.
package aicli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/fields"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type reader struct{ *fields.Reader }

// Read reads aicli's parameters. A key that it does not know it passes on, or
// drops, without a word; here each is told. name is that of the cluster where they
// do not say it.
func Read(s *fields.Reader, in *input.Input, name string) {
	r := &reader{s}
	r.Nowhere = "neither oaictl nor aicli knows it"
	r.BareRedfish = true
	if len(in.Docs) != 1 {
		r.Problem(in.Path, 0, 0, "", fmt.Sprintf("there are %d documents, and parameters stand in one", len(in.Docs)),
			"merge them as aicli does, the later over the earlier")
		return
	}
	n := in.Docs[0].Root
	r.cluster(n, name)
	r.networks(n)
	r.proxy(n)
	r.encryption(n)
	r.image(n)
	r.contents(n)
	for _, host := range r.ListOf(n.Get("hosts")) {
		r.host(n, host)
	}
	for _, config := range r.ListOf(n.Get("static_network_config")) {
		r.network(config)
	}
	r.disk(n.Get("sno_disk"))
	r.flow(n)
	r.RestOfFiles(in)
}

func (r *reader) cluster(n *input.Node, name string) {
	c := r.Cluster
	r.Fields(n, fields.Parameters, fields.NoHost)
	if c.Metadata.Name == "" {
		c.Metadata.Name = name
	}
	version := r.OneWord(n, "openshift_version", "version")
	c.Spec.OpenShift.Version = r.Scalar(version)
	r.From("spec.openshift.version", version)
	r.topology(n)
	r.platform(n.Get("platform"))
	r.list("metadata.tags", &c.Metadata.Tags, n.Get("tags"))
	r.ignored(n.Get("ignore_validations"))
	for _, bundle := range r.ListOf(n.Get("operator_bundles")) {
		id := bundle
		if bundle.Kind == input.MapNode {
			id = input.First(bundle, "id", "name")
		}
		r.From(fmt.Sprintf("spec.bundles[%d]", len(c.Spec.Bundles)), bundle)
		c.Spec.Bundles = append(c.Spec.Bundles, spec.Bundle{ID: r.Text(id)})
	}
}

// list carries over a list, or words with commas between them.
func (r *reader) list(field string, to *[]string, n *input.Node) {
	if n != nil {
		*to = r.commaList(n)
		r.From(field, n)
	}
}

func (r *reader) commaList(n *input.Node) []string {
	if n == nil || n.Kind == input.ListNode {
		return r.Texts(n)
	}
	return append([]string{}, clustersettings.Commas(r.Scalar(n))...)
}

func (r *reader) topology(n *input.Node) {
	t := &r.Cluster.Spec.Topology
	if count := n.Get("control_plane_count"); count != nil {
		t.ControlPlane = r.Number(count)
		r.From("spec.topology.controlPlane", count)
	}
	single := false
	for _, at := range []*input.Node{n.Get("sno"), n.Get("high_availability_mode")} {
		if at == nil {
			continue
		}
		if at.Key == "sno" {
			single = input.IsTrue(r.Boolean(at)) || single
		} else {
			single = r.Scalar(at) == "None" || single
		}
		r.From("spec.topology", at)
	}
	if single && t.ControlPlane == nil {
		t.ControlPlane, t.Workers = new(1), new(0)
	}
}

func (r *reader) platform(n *input.Node) {
	if n == nil {
		return
	}
	p := &r.Cluster.Spec.Platform
	r.From("spec.platform", n)
	if n.Kind != input.MapNode {
		p.Type = spec.PlatformType(r.Text(n))
		return
	}
	p.Type = spec.PlatformType(r.Text(n.Get("type")))
	if external := r.MapOf(n.Get("external")); external != nil {
		p.External = &spec.ExternalPlatform{}
		r.Set("spec.platform.external.name", external.Get("platform_name"))
		r.Set("spec.platform.external.cloudControllerManager", external.Get("cloud_controller_manager"))
	}
}

// ignored carries over which validations are ignored: all, or by their ids.
func (r *reader) ignored(n *input.Node) {
	to := &r.Cluster.Spec.IgnoreValidations
	switch {
	case n == nil:
	case n.Kind == input.BoolNode:
		if input.IsTrue(r.Boolean(n)) {
			to.Cluster, to.Hosts = []string{"all"}, []string{"all"}
		}
	case n.Kind == input.MapNode:
		r.Ignored("spec.ignoreValidations.cluster", &to.Cluster, input.First(n, "cluster_validation_ids", "ignored_cluster_validations"))
		r.Ignored("spec.ignoreValidations.hosts", &to.Hosts, input.First(n, "host_validation_ids", "ignored_host_validations"))
	default:
		list := r.commaList(n)
		to.Cluster, to.Hosts = list, list
	}
	r.From("spec.ignoreValidations", n)
}

func (r *reader) networks(n *input.Node) {
	net := &r.Cluster.Spec.Network
	r.vips("spec.network.vips.api", &net.VIPs.API, n, "api_vips", "api_vip", "api_ip")
	r.vips("spec.network.vips.ingress", &net.VIPs.Ingress, n, "ingress_vips", "ingress_vip", "ingress_ip")
	r.CIDRs("spec.network.machine", &net.Machine, n.Get("machine_networks"))
	r.CIDRs("spec.network.service", &net.Service, n.Get("service_networks"))
	if one := n.Get("service_network_cidr"); one != nil && net.Service == nil {
		net.Service = []string{r.Text(one)}
		r.From("spec.network.service", one)
	}
	for i, item := range r.ListOf(n.Get("cluster_networks")) {
		field := fmt.Sprintf("spec.network.cluster[%d]", i)
		var network spec.ClusterNetwork
		r.SetIn(field+".cidr", &network.CIDR, item.Get("cidr"))
		r.SetIn(field+".hostPrefix", &network.HostPrefix, item.Get("host_prefix"))
		net.Cluster = append(net.Cluster, network)
	}
	if one := n.Get("cluster_network_cidr"); one != nil && net.Cluster == nil {
		network := spec.ClusterNetwork{CIDR: r.Text(one)}
		r.SetIn("spec.network.cluster[0].hostPrefix", &network.HostPrefix, n.Get("cluster_network_host_prefix"))
		net.Cluster = []spec.ClusterNetwork{network}
		r.From("spec.network.cluster", one)
	}
	if balancer := n.Get("load_balancer"); balancer != nil {
		kind := balancer
		if balancer.Kind == input.MapNode {
			kind = balancer.Get("type")
		}
		r.Set("spec.network.loadBalancer", kind)
	}
	r.list("spec.network.defaults.ntp", &net.Defaults.NTP, r.OneWord(n, "additional_ntp_sources", "additional_ntp_source"))
	r.list("spec.network.ntp", &net.NTP, n.Get("ntp_sources"))
}

func (r *reader) vips(field string, to *[]string, n *input.Node, keys ...string) {
	at := r.OneWord(n, keys...)
	if at == nil {
		return
	}
	r.From(field, at)
	if at.Kind != input.ListNode {
		*to = []string{r.Text(at)}
		return
	}
	for i, item := range at.Items() {
		if item.Kind == input.MapNode {
			item = item.Get("ip")
		}
		*to = append(*to, r.Text(item))
		r.From(fmt.Sprintf("%s[%d]", field, i), item)
	}
}

func (r *reader) proxy(n *input.Node) {
	to := &r.Cluster.Spec.Proxy
	r.ProxyURL("spec.proxy.http", &to.HTTP, n.Get("http_proxy"))
	r.ProxyURL("spec.proxy.https", &to.HTTPS, n.Get("https_proxy"))
	r.NoProxy(r.OneWord(n, "no_proxy", "noproxy"))
	p := n.Get("proxy")
	switch {
	case p == nil:
	case p.Kind == input.MapNode:
		r.ProxyURL("spec.proxy.http", &to.HTTP, p.Get("http_proxy"))
		r.ProxyURL("spec.proxy.https", &to.HTTPS, p.Get("https_proxy"))
		r.NoProxy(p.Get("no_proxy"))
	default:
		r.ProxyURL("spec.proxy.http", &to.HTTP, p)
		to.HTTPS = cmp.Or(to.HTTPS, to.HTTP)
	}
}

func (r *reader) encryption(n *input.Node) {
	roles := spec.RoleSet{}
	for _, key := range []struct {
		name string
		role string
	}{{"tpm", spec.AllRoles}, {"tpm_ctlplanes", string(spec.ControlPlane)}, {"tpm_masters", string(spec.ControlPlane)},
		{"tpm_workers", string(spec.Worker)}} {
		at := n.Get(key.name)
		if input.IsTrue(r.Boolean(at)) && !slices.Contains(roles, spec.AllRoles) && !slices.Contains(roles, key.role) {
			roles = append(roles, key.role)
			r.From("spec.diskEncryption", at)
		}
	}
	if len(roles) > 0 {
		r.Cluster.Spec.DiskEncryption = &spec.DiskEncryption{Mode: spec.TPM, On: roles}
	}
	if servers := n.Get("tang_servers"); servers != nil {
		if r.Cluster.Spec.DiskEncryption == nil {
			r.Cluster.Spec.DiskEncryption = &spec.DiskEncryption{}
		}
		r.Cluster.Spec.DiskEncryption.Mode = spec.Tang
		r.From("spec.diskEncryption", servers)
		r.Tang(r.Embed(servers))
	}
	if whole := r.MapOf(n.Get("disk_encryption")); whole != nil && r.Cluster.Spec.DiskEncryption == nil {
		d := &spec.DiskEncryption{On: spec.RoleSet{spec.NoRoles}}
		r.Cluster.Spec.DiskEncryption = d
		r.From("spec.diskEncryption", whole)
		if on := r.Text(whole.Get("enable_on")); on != "" {
			d.On = clustersettings.RolesOf(on)
		}
		d.Mode = clustersettings.CanonicalWord[spec.EncryptionMode](r.Text(whole.Get("mode")))
		r.Tang(r.Embed(whole.Get("tang_servers")))
		if d.Mode == "" && d.On[0] == spec.NoRoles {
			r.Cluster.Spec.DiskEncryption = nil
		}
	}
}

func (r *reader) image(n *input.Node) {
	image, minimal := &r.Cluster.Spec.Boot.Image, n.Get("minimal")
	switch small := input.IsTrue(r.Boolean(minimal)); {
	case *image != "" && small != (*image == spec.ImageMinimal) && minimal != nil:
		minimal.Taken = false
		r.Second("spec.boot.image", minimal)
	case small:
		*image = spec.ImageMinimal
		r.From("spec.boot.image", minimal)
	}
	if file := n.Get("discovery_ignition_file"); file != nil {
		if name := r.beside(file, ""); name != "" && r.Cluster.Spec.Discovery.Ignition == nil {
			r.Cluster.Spec.Discovery.Ignition = &spec.Document{File: name}
			r.From("spec.discovery.ignition", file)
		}
	}
	arguments := n.Get("kernel_arguments")
	if arguments != nil && arguments.Kind == input.TextNode && strings.HasPrefix(strings.TrimSpace(arguments.Text), "[") {
		arguments = r.Embed(arguments)
	}
	r.KernelArguments(arguments)
}

func (r *reader) flow(n *input.Node) {
	if len(r.Cluster.Spec.Registry.Mirrors) > 0 {
		for _, key := range []string{"registry_url", "disconnected_url"} {
			r.Means(n.Get(key), "is where mirrors are that nothing names: those that installconfig names win")
		}
	}
	r.Keys(n, "aicli")
}
