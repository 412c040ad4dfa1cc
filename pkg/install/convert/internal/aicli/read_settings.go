package aicli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/settings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// proxy carries a proxy over: one for all, or one for each scheme.
func (r *reader) proxy(n *source.Node) {
	to := &r.Cluster.Spec.Proxy
	r.ProxyURL("spec.proxy.http", &to.HTTP, n.Get("http_proxy"))
	r.ProxyURL("spec.proxy.https", &to.HTTPS, n.Get("https_proxy"))
	r.NoProxy(r.oneWord(n, "no_proxy", "noproxy"))
	p := n.Get("proxy")
	switch {
	case p == nil:
	case p.Kind == source.MapNode:
		r.ProxyURL("spec.proxy.http", &to.HTTP, p.Get("http_proxy"))
		r.ProxyURL("spec.proxy.https", &to.HTTPS, p.Get("https_proxy"))
		r.NoProxy(p.Get("no_proxy"))
	default:
		r.ProxyURL("spec.proxy.http", &to.HTTP, p)
		to.HTTPS = cmp.Or(to.HTTPS, to.HTTP)
	}
}

func (r *reader) encryption(n *source.Node) {
	roles := spec.RoleSet{}
	for _, key := range []struct {
		name string
		role string
	}{{"tpm", spec.AllRoles}, {"tpm_ctlplanes", string(spec.ControlPlane)}, {"tpm_masters", string(spec.ControlPlane)}, {"tpm_workers", string(spec.Worker)}} {
		at := n.Get(key.name)
		if source.IsTrue(r.Boolean(at)) && !slices.Contains(roles, spec.AllRoles) && !slices.Contains(roles, key.role) {
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
		if on := whole.Get("enable_on"); on != nil {
			d.On = settings.RoleSet(r.Text(on))
		}
		d.Mode = spec.EncryptionMode(strings.Replace(r.Text(whole.Get("mode")), "tpmv2", "tpm", 1))
		r.Tang(r.Embed(whole.Get("tang_servers")))
		if d.Mode == "" && d.On[0] == spec.NoRoles {
			r.Cluster.Spec.DiskEncryption = nil
		}
	}
}

func (r *reader) image(n *source.Node) {
	r.ImageType(n.Get("image_type"))
	image, minimal := &r.Cluster.Spec.Boot.Image, n.Get("minimal")
	switch small := source.IsTrue(r.Boolean(minimal)); {
	case *image != "" && small != (*image == spec.ImageMinimal) && minimal != nil:
		minimal.Taken = false
		r.Second("spec.boot.image", minimal)
	case small:
		*image = spec.ImageMinimal
		r.From("spec.boot.image", minimal)
	}
	r.DiscoveryIgnition(n.Get("ignition_config_override"))
	if file := n.Get("discovery_ignition_file"); file != nil {
		if name := r.beside(file, ""); name != "" && r.Cluster.Spec.Discovery.Ignition == nil {
			r.Cluster.Spec.Discovery.Ignition = &spec.Document{File: name}
			r.From("spec.discovery.ignition", file)
		}
	}
	arguments := n.Get("kernel_arguments")
	if arguments != nil && arguments.Kind == source.TextNode && strings.HasPrefix(strings.TrimSpace(arguments.Text), "[") {
		arguments = r.Embed(arguments)
	}
	r.KernelArguments(arguments)
	r.NetworkDelay(n.Get("network_discovery_delay_seconds"))
}

// flow takes what tells aicli what to do, rather than what a cluster is.
func (r *reader) flow(n *source.Node) {
	for _, key := range []string{"bmc_user", "bmc_password", "role"} {
		r.Lose(n.Get(key), "is for hosts that say nothing of their own, and there is none")
	}
	r.Means(n.Get("rendezvous_ip"), "says on which machine the service of an image runs: oaictl installs with a service that runs elsewhere")
	if len(r.Cluster.Spec.Registry.Mirrors) > 0 {
		for _, key := range []string{"registry_url", "disconnected_url"} {
			r.Means(n.Get(key), "is where mirrors are that nothing names: those that installconfig names win")
		}
	}
	r.MeansIf(n.Get("infraenv"), "is the default", "true", "True")
	r.MeansIf(n.Get("day2"), "is the default", "false", "False")
	r.MeansIf(n.Get("password"), "is the default", "false", "False")
	for key, why := range map[string]string{
		"infraenv":             "oaictl names its own images after the cluster; for one that exists write spec.infraEnv.ref",
		"day2":                 "machines are added to a cluster that is there with oaictl's own verb",
		"password":             "sets a user with a password that everybody knows: log in with a key of spec.sshKeys",
		"download_iso_cmd":     "is a command for a shell, which is not run from a file",
		"download_iso_path":    "is where an image is downloaded to: ask oaictl for the image",
		"iso_url":              "is where machines boot from: oaictl asks the service",
		"hosts_number":         "is how many machines are waited for: name them in spec.hosts, or count them in spec.topology",
		"bmc_reset":            "oaictl resets a BMC only when it is told to",
		"registry_url":         "says not what is mirrored: write spec.registry.mirrors",
		"disconnected_url":     "says not what is mirrored: write spec.registry.mirrors",
		"ignition_version":     "Ignition says its version itself",
		"cluster_id":           "belongs to a cluster that is there",
		"api_vip_dns_name":     "belongs to a cluster that is installed already",
		"api_vip_dnsname":      "belongs to a cluster that is installed already",
		"api_vips_dnsname":     "belongs to a cluster that is installed already",
		"onprem_ip":            "says where the service is: tell oaictl with its own flags",
		"onprem_version":       "says which service is started: oaictl starts none",
		"persistent":           "says how the service is started: oaictl starts none",
		"restart_policy":       "says how the service is started: oaictl starts none",
		"okd":                  "says how the service is started: oaictl starts none",
		"keep":                 "says how the service is stopped: oaictl stops none",
		"AI_URL":               "says where the service is: tell oaictl with its own flags",
		"AI_OFFLINETOKEN":      "is a secret of the service's: tell oaictl with its own flags",
		"AI_TOKEN":             "is a secret of the service's: tell oaictl with its own flags",
		"static_network_paths": "names files with networks: write them as spec.hosts[].net.nmstate",
	} {
		r.Lose(n.Get(key), why)
	}
}
