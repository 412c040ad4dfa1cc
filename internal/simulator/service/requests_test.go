package service

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// ask is a bad or unusual request and what the service says to it.
type ask struct {
	name         string // as in the recordings, for the comparison with them
	method, path string // in the path, C is the cluster, E the infra-env, H the first host
	body         any
	status       int
	reason       string
}

// uuids in answers are compared as such.
var uuidLike = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

func sameReason(a, b string) bool {
	return uuidLike.ReplaceAllString(a, "ID") == uuidLike.ReplaceAllString(b, "ID")
}

func vips(api, ingress []string, more fields) fields {
	f := fields{"api_vips": addresses(api), "ingress_vips": addresses(ingress)}
	for k, v := range more {
		f[k] = v
	}
	return f
}

func addresses(list []string) []fields {
	out := []fields{}
	for _, ip := range list {
		out = append(out, fields{"ip": ip})
	}
	return out
}

func one4(api, ingress string) fields { return vips([]string{api}, []string{ingress}, nil) }

// registrations are bodies of POST clusters, over a minimal good one; a nil
// value takes a field away.
func registrations() []ask {
	const (
		format  = " Name must start and end with either a letter or number and consist of lower-case letters, numbers, and hyphens. Subdomains in cluster names are only valid with none platform."
		dns     = " domain name is not valid. Must match regex [^([a-z\\d]([\\-]*[a-z\\d]+)*\\.)+[a-z\\d]+([\\-]*[a-z\\d]+)+$], be no more than 255 characters, and not be in dotted decimal format (##.##.##.##)"
		topo    = "there should be 2-5 dedicated control plane nodes for high availability mode Full in openshift version 4.19 or newer"
		tags    = " Tags should be a comma-separated list (e.g. tag1,tag2,tag3). Each tag can consist of the following characters: Alphanumeric (aA-zZ, 0-9), underscore (_) and white-spaces."
		subnets = `cluster_networks.0.cidr in body should match '^(?:(?:(?:[0-9]{1,3}\.){3}[0-9]{1,3}\/(?:(?:[0-9])|(?:[1-2][0-9])|(?:3[0-2])))|(?:(?:[0-9a-fA-F]*:[0-9a-fA-F]*){2,})/(?:(?:[0-9])|(?:[1-9][0-9])|(?:1[0-1][0-9])|(?:12[0-8])))$'`
		two     = "192.168.127.6"
		vip     = "192.168.127.5"
	)
	platform := func(kind string) fields { return fields{"type": kind} }
	return []ask{
		{name: "minimal", body: fields{}},
		{name: "bad name", body: fields{"name": "Bad_Name"}, status: 400, reason: "Cluster name format is not valid: 'Bad_Name'." + format},
		{name: "long name", body: fields{"name": strings.Repeat("a", 60)}, status: 400, reason: "name in body should be at most 54 chars long"},
		{name: "no ps", body: fields{"pull_secret": nil}, status: 400, reason: "pull_secret in body is required"},
		{name: "ps garbage", body: fields{"pull_secret": "nope"}, status: 400, reason: "pull secret for new cluster is invalid: pull secret must be a well-formed JSON"},
		{name: "ps without quay", body: fields{"pull_secret": `{"auths":{"cloud.openshift.com":{"auth":"dXNlcjpwYXNzd29yZA=="}}}`}},
		{name: "unknown field", body: fields{"bogus": 1}, status: 400, reason: `parsing newClusterParams body from "" failed, because json: unknown field "bogus"`},
		{name: "ver missing", body: fields{"openshift_version": "4.99"}, status: 400, reason: "Openshift version 4.99 for CPU architecture x86_64 is not supported: no release image found for openshiftVersion: '4.99' and CPU architecture 'x86_64'"},
		{name: "ver full", body: fields{"openshift_version": "4.21.28"}},
		{name: "ver multi", body: fields{"openshift_version": "4.21-multi", "cpu_architecture": "multi"}},
		{name: "arm", body: fields{"cpu_architecture": "arm64"}},
		{name: "aarch64", body: fields{"cpu_architecture": "aarch64"}, status: 400, reason: "Requested CPU architecture aarch64 is not available"},
		{name: "release image", body: fields{"ocp_release_image": "quay.io/openshift-release-dev/ocp-release:4.20.33-x86_64"}},
		{name: "release custom", body: fields{"ocp_release_image": "example.com/foo/ocp:4.21.7-x86_64"}, status: 400, reason: "failed to get release image by URL example.com/foo/ocp:4.21.7-x86_64 during cluster registration: error occurred while trying to retrieve release image with url 'example.com/foo/ocp:4.21.7-x86_64' from the db: record not found"},
		{name: "bad ssh", body: fields{"ssh_public_key": "nope"}, status: 400, reason: "SSH key: nope does not match any supported type: ssh-rsa, ssh-ed25519, ecdsa-[VARIANT]"},
		{name: "bad dns", body: fields{"base_dns_domain": "a"}, status: 400, reason: "DNS format mismatch: a" + dns},
		{name: "bad dns2", body: fields{"base_dns_domain": "-bad.com"}, status: 400, reason: "DNS format mismatch: -bad.com" + dns},
		{name: "same vips", body: one4(vip, vip), status: 400, reason: "1 error occurred:\n\t* The IP address \"192.168.127.5\" appears both in apiVIPs and ingressVIPs\n\n"},
		{name: "only api", body: vips([]string{vip}, nil, nil), status: 400, reason: "1 error occurred:\n\t* configuration must include the same number of apiVIPs (got 1) and ingressVIPs (got 0)\n\n"},
		{name: "two v4 vips", body: vips([]string{vip, "192.168.127.7"}, []string{two, "192.168.127.8"}, nil), status: 400, reason: "dual-stack apiVIPs must include exactly one IPv6 address"},
		{name: "dual vips no mn", body: vips([]string{vip, "1001:db8::5"}, []string{two, "1001:db8::6"}, nil)},
		{name: "dual vips", body: vips([]string{vip, "1001:db8::5"}, []string{two, "1001:db8::6"}, fields{"machine_networks": []fields{{"cidr": "192.168.127.0/24"}, {"cidr": "1001:db8::/120"}}})},
		{name: "vips outside mn", body: vips([]string{vip}, []string{two}, fields{"machine_networks": []fields{{"cidr": "10.0.0.0/24"}}}), status: 400, reason: "1 error occurred:\n\t* api-vip <192.168.127.5> does not belong to machine-network-cidr <10.0.0.0/24>\n\n"},
		{name: "vips + mn", body: vips([]string{vip}, []string{two}, fields{"machine_networks": []fields{{"cidr": "192.168.127.0/24"}}})},
		{name: "dhcp", body: fields{"vip_dhcp_allocation": true}},
		{name: "dhcp+vip", body: vips([]string{vip}, []string{two}, fields{"vip_dhcp_allocation": true}), status: 400, reason: "Setting API VIPs is forbidden when cluster is in vip-dhcp-allocation mode"},
		{name: "umn baremetal", body: fields{"user_managed_networking": true}},
		{name: "umn explicit bm", body: fields{"user_managed_networking": true, "platform": platform("baremetal")}, status: 400, reason: "Can't set baremetal platform with user-managed-networking enabled"},
		{name: "none", body: fields{"platform": platform("none")}},
		{name: "none+umn false", body: fields{"platform": platform("none"), "user_managed_networking": false}, status: 400, reason: "Can't set none platform with user-managed-networking disabled"},
		{name: "umn+vips", body: vips([]string{vip}, []string{two}, fields{"user_managed_networking": true}), status: 400, reason: "API VIPs cannot be set with User Managed Networking"},
		{name: "sno", body: fields{"control_plane_count": 1}},
		{name: "sno ha none", body: fields{"high_availability_mode": "None"}},
		{name: "sno vips", body: vips([]string{vip}, []string{two}, fields{"control_plane_count": 1})},
		{name: "sno bm", body: fields{"control_plane_count": 1, "platform": platform("baremetal")}, status: 400, reason: "Can't set baremetal platform on single node OpenShift"},
		{name: "cp 0", body: fields{"control_plane_count": 0}, status: 400, reason: topo},
		{name: "cp 2", body: fields{"control_plane_count": 2}},
		{name: "cp 4", body: fields{"control_plane_count": 4}},
		{name: "cp 5", body: fields{"control_plane_count": 5}},
		{name: "cp 6", body: fields{"control_plane_count": 6}, status: 400, reason: topo},
		{name: "cp4 4.17", body: fields{"control_plane_count": 4, "openshift_version": "4.19"}},
		{name: "cp vs ha", body: fields{"control_plane_count": 3, "high_availability_mode": "None"}, status: 400, reason: "single-node clusters must have a single control plane node"},
		{name: "nutanix", body: fields{"platform": platform("nutanix")}},
		{name: "vsphere", body: fields{"platform": platform("vsphere")}},
		{name: "external", body: fields{"platform": fields{"type": "external", "external": fields{"platform_name": "oci", "cloud_controller_manager": "External"}}}},
		{name: "external noname", body: fields{"platform": platform("external")}, status: 400, reason: "External setting must be set when using platform type external"},
		{name: "lb user", body: fields{"load_balancer": fields{"type": "user-managed"}}},
		{name: "sdn", body: fields{"network_type": "OpenShiftSDN"}, status: 400, reason: "Openshift version 4.21.28 is not supported for OpenShiftSDN NetworkType"},
		{name: "cilium", body: fields{"network_type": "Cilium"}},
		{name: "bad cidr", body: fields{"cluster_networks": []fields{{"cidr": "nope", "host_prefix": 23}}}, status: 400, reason: subnets},
		{name: "overlap", body: fields{"service_networks": []fields{{"cidr": "10.128.0.0/16"}}}},
		{name: "bad prefix", body: fields{"cluster_networks": []fields{{"cidr": "10.128.0.0/14", "host_prefix": 30}}}},
		{name: "proxy bad", body: fields{"http_proxy": "foo"}, status: 400, reason: "Failed to validate HTTP Proxy: Proxy URL format is not valid: 'foo'"},
		{name: "proxy", body: fields{"http_proxy": "http://1.1.1.1:80"}},
		{name: "proxy with an exception twice", body: fields{"http_proxy": "http://1.1.1.1:80", "no_proxy": "a.com,a.com"}, status: 400, reason: "duplicate no_proxy entry defined: a.com"},
		{name: "exceptions beside all", body: fields{"http_proxy": "http://1.1.1.1:80", "no_proxy": "a b,*"}},
		{name: "time source in upper case", body: fields{"additional_ntp_source": "NTP.example.com"}, status: 400, reason: "Invalid NTP source: NTP.example.com"},
		{name: "time source with a long name", body: fields{"additional_ntp_source": strings.Repeat("a", 60) + ".com"}, status: 400, reason: "Invalid NTP source: " + strings.Repeat("a", 60) + ".com"},
		{name: "domain like an address", body: fields{"base_dns_domain": "1.2.3.4.com"}, status: 400, reason: `DNS format mismatch: 1.2.3.4.com domain name is not valid. Must match regex [^([a-z\d]([\-]*[a-z\d]+)*\.)+[a-z\d]+([\-]*[a-z\d]+)+$], be no more than 255 characters, and not be in dotted decimal format (##.##.##.##)`},
		{name: "ntp bad", body: fields{"additional_ntp_source": "bad host!"}, status: 400, reason: "Invalid NTP source: bad host!"},
		{name: "both kinds of time sources", body: fields{"additional_ntp_source": "10.1.1.1", "ntp_sources": "10.1.1.2"}, status: 400, reason: "ntp_sources and additional_ntp_source are mutually exclusive"},
		{name: "diskenc", body: fields{"disk_encryption": fields{"enable_on": "all", "mode": "tpmv2"}}},
		{name: "diskenc bad", body: fields{"disk_encryption": fields{"enable_on": "all", "mode": "tang"}}, status: 400, reason: "Setting Tang mode but tang_servers isn't set"},
		{name: "olm", body: fields{"olm_operators": []fields{{"name": "lvm"}}}},
		{name: "olm bad", body: fields{"olm_operators": []fields{{"name": "zzz"}}}, status: 400, reason: "operator zzz isn't supported"},
		{name: "bundle", body: fields{"operator_bundles": []fields{{"id": "virtualization"}}}},
		{name: "tags", body: fields{"tags": "a,b c"}},
		{name: "tags bad", body: fields{"tags": "a!!,b"}, status: 400, reason: "Invalid format for Tags: a!!,b." + tags},
		{name: "dup name", body: fields{}},
	}
}

func TestRegistrations(t *testing.T) {
	b := newBench(t, nil)
	for _, tc := range registrations() {
		t.Run(tc.name, func(t *testing.T) {
			params := fields{"name": "p", "openshift_version": "4.21", "pull_secret": pullSecret}
			for k, v := range tc.body.(fields) {
				params[k] = v
				if v == nil {
					delete(params, k)
				}
			}
			expect(t, tc, b.call("POST", "/clusters", params))
		})
	}
}

func expect(t *testing.T, tc ask, a answer) {
	t.Helper()
	if tc.status == 0 {
		if a.status >= 300 {
			t.Errorf("%d %s, want success", a.status, a.reason())
		}
		return
	}
	if a.status != tc.status || !sameReason(a.reason(), tc.reason) {
		t.Errorf("%d %q\nwant %d %q", a.status, a.reason(), tc.status, tc.reason)
	}
}

// conversation is a sequence of requests to a cluster with four machines, each
// building on those before it.
func conversation() []ask {
	patch := func(name string, body fields, status int, reason string) ask {
		return ask{name, "PATCH", "H", body, status, reason}
	}
	cluster := func(name string, body fields, status int, reason string) ask {
		return ask{name, "PATCH", "C", body, status, reason}
	}
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	manifest := func(name, folder, file, content string, status int, reason string) ask {
		return ask{name, "POST", "C/manifests", fields{"folder": folder, "file_name": file, "content": content}, status, reason}
	}
	const id = "00000000-0000-4000-8000-000000000001"
	disk := func(ids ...string) fields {
		list := []fields{}
		for _, d := range ids {
			list = append(list, fields{"id": d, "role": "install"})
		}
		return fields{"disks_selected_config": list}
	}
	skip := func(d string, on bool) fields {
		return fields{"disks_skip_formatting": []fields{{"disk_id": d, "skip_formatting": on}}}
	}
	return []ask{
		patch("role w", fields{"host_role": "worker"}, 0, ""),
		patch("role m", fields{"host_role": "master"}, 0, ""),
		patch("role boot", fields{"host_role": "bootstrap"}, 400, "host_role in body should be one of [auto-assign master arbiter worker]"),
		patch("role arb", fields{"host_role": "arbiter"}, 0, ""),
		patch("role auto", fields{"host_role": "auto-assign"}, 0, ""),
		patch("name", fields{"host_name": "new-name.example.com"}, 0, ""),
		patch("name bad", fields{"host_name": "Bad_Name"}, 400, "Hostname does not pass required regex validation: ^[a-z0-9][a-z0-9-]{0,62}(?:[.][a-z0-9-]{1,63})*$. Hostname: Bad_Name"),
		patch("name localhost", fields{"host_name": "localhost"}, 400, "The host name localhost is forbidden"),
		patch("", fields{"host_name": strings.Repeat("a", 60) + ".com"}, 400, "hostname is too long, must be 63 characters or less. Hostname: "+strings.Repeat("a", 60)+".com has 64 characters"),
		patch("name dup", fields{"host_name": "host-1"}, 0, ""),
		patch("name back", fields{"host_name": "host-0"}, 0, ""),
		patch("disk", disk("/dev/disk/by-id/b"), 0, ""),
		patch("disk bad", disk("/dev/nope"), 409, "Requested installation disk is not part of the host's valid disks"),
		patch("disk two", disk("/dev/disk/by-id/a", "/dev/disk/by-id/b"), 409, "duplicate setting of installation path by the user"),
		patch("disk path", disk("/dev/sdb"), 0, ""),
		patch("skip", skip("/dev/disk/by-id/c", true), 0, ""),
		patch("skip unset", skip("/dev/disk/by-id/c", false), 0, ""),
		patch("", skip("nope", true), 400, "Disk identifier nope doesn't match any disk in the inventory, it cannot be skipped. Inventory disk identifiers are: /dev/disk/by-id/a, /dev/disk/by-id/b, /dev/disk/by-id/c"),
		patch("mcp", fields{"machine_config_pool_name": "infra"}, 0, ""),
		patch("labels", fields{"node_labels": []fields{{"key": "a/b", "value": "c"}}}, 0, ""),
		patch("labels bad", fields{"node_labels": []fields{{"key": "a b", "value": "c"}}}, 400, `node_labels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`),
		patch("token", fields{"ignition_endpoint_token": "t"}, 0, ""),
		patch("unknown", fields{"zz": 1}, 400, `parsing hostUpdateParams body from "" failed, because json: unknown field "zz"`),
		{"args", "PATCH", "H/installer-args", fields{"args": []string{"--append-karg", "nameserver=8.8.8.8", "-n"}}, 0, ""},
		{"args bad", "PATCH", "H/installer-args", fields{"args": []string{"--rm-rf"}}, 400, "found unexpected flag --rm-rf for installer - allowed flags are [--append-karg --delete-karg -n --copy-network --network-dir --save-partlabel --save-partindex --image-url --image-file]"},
		{"", "PATCH", "H/installer-args", fields{"args": []string{"--append-karg", "a b"}}, 400, "found unexpected chars in value a b for installer"},
		{"args clear", "PATCH", "H/installer-args", fields{"args": []string{}}, 0, ""},
		{"ign", "PATCH", "H/ignition", fields{"config": `{"ignition":{"version":"3.2.0"}}`}, 0, ""},
		{"ign bad", "PATCH", "H/ignition", fields{"config": `{"ignition":{"version":"9.9.9"}}`}, 400, "error parsing ignition: unsupported config version, error report: "},
		{"ign clear", "PATCH", "H/ignition", fields{"config": ""}, 0, ""},
		{"day2 install on day1", "POST", "H/actions/install", nil, 409, "method only allowed when adding hosts to an existing cluster"},
		{"reset host day1", "POST", "H/actions/reset", nil, 409, "method only allowed when adding hosts to an existing cluster"},
		{"reset val", "PATCH", "H/actions/reset-validation/sufficient-installation-disk-speed", nil, 0, ""},
		{"reset val bad", "PATCH", "H/actions/reset-validation/ntp-synced", nil, 400, `Validation "ntp-synced" cannot be reset or does not exist`},
		{"unbind", "POST", "H/actions/unbind", nil, 409, "Cannot unbind Host " + id + ". InfraEnv " + id + " is bound to Cluster " + id},
		{"bind bad", "POST", "H/actions/bind", fields{"cluster_id": id}, 409, "Host " + id + " is already bound to cluster " + id},
		{"del host", "DELETE", "E/hosts/00000000-0000-4000-8000-000000000004", nil, 0, ""},
		{"get deleted", "GET", "E/hosts/00000000-0000-4000-8000-000000000004", nil, 404, "failed to get host " + id + " in infra_env " + id + ": record not found"},
		{"del ie with hosts", "DELETE", "E", nil, 400, "failed to deregister infraEnv " + id + ", 3 hosts are still associated"},
		cluster("cl name", fields{"name": "renamed"}, 0, ""),
		cluster("cl ver", fields{"openshift_version": "4.20"}, 400, `parsing clusterUpdateParams body from "" failed, because json: unknown field "openshift_version"`),
		cluster("cl vip clear", vips(nil, nil, nil), 0, ""),
		cluster("cl vip set", one4("10.0.0.110", "10.0.0.111"), 0, ""),
		cluster("", one4("10.9.0.1", "10.0.0.111"), 400, "Calculate machine network CIDR: No suitable matching CIDR found for VIP 10.9.0.1"),
		cluster("cl mn", fields{"machine_networks": []fields{{"cidr": "10.0.0.0/24"}}}, 400, "Setting the Machine Network CIDR is forbidden when the cluster is neither in VIP DHCP allocation mode nor using a user-managed load balancer"),
		cluster("cl dhcp", fields{"vip_dhcp_allocation": true}, 400, "cannot use VIP Automatic Allocation because it's not compatible with the x86_64 architecture on version 4.21.28 of OpenShift"),
		cluster("cl umn", fields{"user_managed_networking": true}, 400, "User Managed Networking cannot be set with API VIPs"),
		cluster("cl platform none", fields{"platform": fields{"type": "none"}}, 0, ""),
		cluster("cl platform bm", fields{"platform": fields{"type": "baremetal"}}, 0, ""),
		cluster("cl cp", fields{"control_plane_count": 5}, 0, ""),
		cluster("cl cp3", fields{"control_plane_count": 3}, 0, ""),
		cluster("cl sched", fields{"schedulable_masters": true}, 0, ""),
		cluster("cl proxy", fields{"http_proxy": "http://1.1.1.1:80"}, 0, ""),
		cluster("cl proxy clear", fields{"http_proxy": ""}, 0, ""),
		cluster("cl ntp", fields{"additional_ntp_source": "10.1.1.1"}, 0, ""),
		cluster("cl ntp both", fields{"ntp_sources": "10.1.1.2"}, 400, "ntp_sources and additional_ntp_source are mutually exclusive"),
		cluster("cl ntp instead", fields{"ntp_sources": "10.1.1.2", "additional_ntp_source": ""}, 0, ""),
		cluster("cl ps bad", fields{"pull_secret": "nope"}, 400, "pull secret must be a well-formed JSON"),
		cluster("cl vip dnsname", fields{"api_vip_dns_name": "x.y"}, 400, "Can't update api vip to x.y for day1 cluster "+id),
		{"ic get", "GET", "C/install-config", nil, 500, "Failed to get cluster " + id + " install config: error while adding Platfom baremetal to install config, error is: failed to get host " + id + " machine network interface MAC address: Failed to find machine networks for baremetal cluster " + id},
		{"ic ok", "PATCH", "C/install-config", model.InString(`{"fips":true}`), 400, "error while adding Platfom baremetal to install config, error is: failed to get host " + id + " machine network interface MAC address: Failed to find machine networks for baremetal cluster " + id},
		{"iv get", "GET", "C/ignored-validations", nil, 0, ""},
		{"iv ok", "PUT", "C/ignored-validations", fields{"host-validation-ids": `["ntp-synced","has-min-memory"]`, "cluster-validation-ids": `["network-type-valid"]`}, 0, ""},
		{"iv all", "PUT", "C/ignored-validations", fields{"host-validation-ids": `["all"]`, "cluster-validation-ids": `["all"]`}, 0, ""},
		{"iv forbidden", "PUT", "C/ignored-validations", fields{"host-validation-ids": `["connected"]`}, 400, "cannot proceed due to the following errors: unable to ignore the following host validations (connected)"},
		{"iv bogus", "PUT", "C/ignored-validations", fields{"host-validation-ids": `["zz"]`}, 400, "cannot proceed due to the following errors: Validation ID 'zz' is not a known host validation"},
		{"iv text", "PUT", "C/ignored-validations", fields{"host-validation-ids": "has-min-cpu-cores"}, 400, "cannot proceed due to the following errors: error during unmarshal of json for ignored host validations"},
		{"iv two", "PUT", "C/ignored-validations", fields{"host-validation-ids": `["zz"]`, "cluster-validation-ids": `["nope"]`}, 400, "cannot proceed due to the following errors: Validation ID 'nope' is not a known cluster validation\nValidation ID 'zz' is not a known host validation"},
		{"iv clear", "PUT", "C/ignored-validations", fields{"host-validation-ids": "[]", "cluster-validation-ids": "[]"}, 0, ""},
		manifest("mf create", "manifests", "99-x.yaml", encode("a: b\n"), 0, ""),
		manifest("mf dup", "manifests", "99-x.yaml", encode("a: c\n"), 0, ""),
		manifest("mf bad yaml", "manifests", "bad.yaml", encode("a: b: c\n"), 400, "Manifest content of file manifests/bad.yaml for cluster ID "+id+" has an invalid YAML format: yaml: mapping values are not allowed in this context"),
		manifest("mf bad ext", "manifests", "x.txt", encode("a: b\n"), 400, `file_name in body should match '^[^\/]*\.(json|ya?ml(\.patch_?[a-zA-Z0-9_]*)?)$'`),
		manifest("mf not b64", "manifests", "y.yaml", "%%%", 400, "failed to base64-decode cluster manifest content for cluster "+id),
		manifest("mf patch", "openshift", "99-x.yaml.patch_1", encode("- op: add\n  path: /a\n  value: b\n"), 0, ""),
		manifest("mf bad patch", "openshift", "y.yaml.patch", encode("a: b\n"), 400, "Patch content of file openshift/y.yaml.patch for cluster ID "+id+" is invalid: yaml: unmarshal errors:\n  line 1: cannot unmarshal !!map into yamlpatch.Patch"),
		manifest("mf json", "manifests", "a.json", encode(`{"a":1}`), 0, ""),
		manifest("mf space", "manifests", "a b.yaml", encode("a: b\n"), 422, "Cluster manifest a b.yaml for cluster "+id+" should not include a space in its name."),
		{"mf upd", "PATCH", "C/manifests", fields{"folder": "manifests", "file_name": "99-x.yaml", "updated_folder": "openshift", "updated_file_name": "98-y.yaml"}, 0, ""},
		{"mf del", "DELETE", "C/manifests?folder=openshift&file_name=98-y.yaml", nil, 0, ""},
		{"mf del none", "DELETE", "C/manifests?folder=openshift&file_name=98-y.yaml", nil, 0, ""},
		{"ui", "PUT", "C/ui-settings", `"{\"a\":1}"`, 0, ""},
		{"logs before", "GET", "C/logs?logs_type=all", nil, 0, ""},
		{"creds before", "GET", "C/credentials", nil, 409, "console-url isn't available yet, it will be once console operator is ready as part of cluster finalizing stage"},
		{"kc before", "GET", "C/downloads/credentials?file_name=kubeconfig", nil, 409, "cluster " + id + " is in pending-for-input state, files can be downloaded only when status is one of: [installing finalizing installed error adding-hosts cancelled installing-pending-user-action]"},
		{"bad file", "GET", "C/downloads/files?file_name=nope", nil, 400, "file_name in query should be one of [bootstrap.ign master.ign metadata.json worker.ign install-config.yaml custom_manifests.json custom_manifests.yaml arbiter.ign]"},
		{"allow-add-hosts before", "POST", "C/actions/allow-add-hosts", nil, 400, "cannot transform cluster " + id + " to day2. Expected cluster status: installed, but cluster status is: pending-for-input"},
		{"cancel", "POST", "C/actions/cancel", nil, 409, "no condition found to run transition"},
	}
}

func TestConversation(t *testing.T) {
	b := compact(t, 4)
	b.pass(40 * time.Second)
	for _, tc := range conversation() {
		t.Run(tc.method+" "+tc.path+" "+tc.name, func(t *testing.T) {
			path := "/clusters/" + b.cluster + strings.TrimPrefix(tc.path, "C")
			switch {
			case strings.HasPrefix(tc.path, "E"):
				path = "/infra-envs/" + b.infraEnv + strings.TrimPrefix(tc.path, "E")
			case strings.HasPrefix(tc.path, "H"):
				path = b.machines[0].path() + strings.TrimPrefix(tc.path, "H")
			}
			expect(t, tc, b.call(tc.method, path, tc.body))
		})
	}
}

// TestRecordedReasons holds the expectations above to what a real service said.
func TestRecordedReasons(t *testing.T) {
	dir := os.Getenv("OAICTL_RECORDINGS")
	if dir == "" {
		t.Skip("OAICTL_RECORDINGS names no folder of recordings")
	}
	for file, list := range map[string][]ask{"bad-requests-A.txt": registrations(), "bad-requests-C.txt": conversation()} {
		recorded := recordedAnswers(t, filepath.Join(dir, file))
		for _, tc := range list {
			line, found := recorded[tc.name]
			if !found {
				continue
			}
			status, text, _ := strings.Cut(line, " ")
			switch {
			case tc.status == 0 && status != "OK":
				t.Errorf("%s %q: recorded %s", file, tc.name, line)
			case tc.status == 0:
			case http.StatusText(tc.status) == "" || !strings.HasPrefix(status, model.InString(tc.status)):
				t.Errorf("%s %q: expecting %d, recorded %s", file, tc.name, tc.status, line)
			default:
				if got := (answer{text: text}).reason(); !sameReason(got, tc.reason) {
					t.Errorf("%s %q:\nexpecting %q\nrecorded  %q", file, tc.name, tc.reason, got)
				}
			}
		}
	}
}

// recordedAnswers reads lines like "  0.1 [name] VERB path -> answer".
func recordedAnswers(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Skipf("no such recording: %v", err)
	}
	defer f.Close()
	shape := regexp.MustCompile(`^ *[\d.]+ \[([^\]]+)\] \S+ \S+ -> (.*)$`)
	answers := map[string]string{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if m := shape.FindStringSubmatch(lines.Text()); m != nil {
			answers[m[1]] = m[2]
		}
	}
	return answers
}

// TestBothErrorShapes tells the service's own refusals from the framework's.
func TestBothErrorShapes(t *testing.T) {
	b := newBench(t, nil)
	var own struct {
		Code   string
		ID     int
		Kind   string
		Reason string
	}
	a := b.call("GET", "/clusters/00000000-0000-4000-8000-000000000000", nil)
	if err := json.Unmarshal([]byte(a.text), &own); err != nil || own.Code != "404" || own.ID != 404 || own.Kind != "Error" || own.Reason == "" {
		t.Errorf("%+v from %s", own, a.text)
	}
	var frame struct {
		Code    int
		Message string
	}
	a = b.call("PATCH", "/clusters", nil)
	if err := json.Unmarshal([]byte(a.text), &frame); err != nil || a.status != 405 || frame.Code != 405 || !strings.Contains(frame.Message, "[GET,POST]") {
		t.Errorf("%d %s", a.status, a.text)
	}
	if a = b.call("GET", "/nothing", nil); a.status != 404 || a.reason() != "path /api/assisted-install/v2/nothing was not found" {
		t.Errorf("%d %s", a.status, a.text)
	}
}

// TestBodyOfUISettings names the body as the description of the API does. The name has two words and
// begins with an abbreviation.
func TestBodyOfUISettings(t *testing.T) {
	b := compact(t, 3)
	want := `parsing uiSettings body from "" failed`
	if a := b.call("PUT", "/clusters/"+b.cluster+"/ui-settings", "{"); a.status != http.StatusBadRequest || !strings.HasPrefix(a.reason(), want) {
		t.Errorf("got %d %s", a.status, a.text)
	}
}
