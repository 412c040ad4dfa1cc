package aicli

import (
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
)

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
