package service

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/steps"
)

func TestInfraEnvs(t *testing.T) {
	const yaml = "interfaces:\n- name: eth0\n  type: ethernet\n- name: bond0\n  type: bond\n"
	static := func(yaml string, nics ...string) []fields {
		pairs := []fields{}
		for _, n := range nics {
			pairs = append(pairs, fields{"mac_address": "52:54:00:00:00:01", "logical_nic_name": n})
		}
		return []fields{{"network_yaml": yaml, "mac_interface_map": pairs}}
	}
	for _, tc := range []ask{
		{name: "minimal", body: fields{}},
		{name: "no name", body: fields{"name": nil}, status: 400, reason: "name in body is required"},
		{name: "unknown field", body: fields{"zz": 1}, status: 400, reason: `parsing infraenvCreateParams body from "" failed, because json: unknown field "zz"`},
		{name: "type", body: fields{"image_type": "floppy"}, status: 400, reason: "image_type in body should be one of [full-iso minimal-iso disconnected-iso]"},
		{name: "static network", body: fields{"static_network_config": static(yaml, "eth0")}},
		{name: "interface without a MAC", body: fields{"static_network_config": static(yaml, "eth9")}, status: 400, reason: "1 error occurred:\n\t* mac-interface mapping for interface eth0 is missing and not a physical interface\n\n"},
		{name: "two problems", body: fields{"static_network_config": static(yaml)}, status: 400, reason: "2 errors occurred:\n\t* at least one interface for host 0 must be provided\n\t* mac-interface mapping for interface eth0 is missing and not a physical interface\n\n"},
		{name: "a card named by its place", body: fields{"static_network_config": static("interfaces:\n- name: enp1s0\n  type: ethernet\n", "eth0")}},
		{name: "no YAML", body: fields{"static_network_config": static("interfaces: [")}, status: 400, reason: "2 errors occurred:\n\t* at least one interface for host 0 must be provided\n\t* failed to validate network yaml for host 0, yaml: line 1: did not find expected node content\n\n"},
		{name: "empty YAML", body: fields{"static_network_config": static("", "eth0")}, status: 400, reason: "1 error occurred:\n\t* failed to validate network yaml for host 0, cannot generate configuration with an empty host YAML\n\n"},
		{name: "no MAC", body: fields{"static_network_config": []fields{{"network_yaml": yaml, "mac_interface_map": []fields{{"mac_address": "nonsense", "logical_nic_name": "eth0"}}}}}, status: 400, reason: "static_network_config.0.mac_interface_map.0.mac_address in body should match '^([0-9A-Fa-f]{2}[:]){5}([0-9A-Fa-f]{2})$'"},
		{name: "kernel argument", body: fields{"kernel_arguments": []fields{{"operation": "append", "value": "a=b"}}}},
		{name: "another architecture than the cluster's", body: fields{"cluster_id": "C", "cpu_architecture": "arm64"}, status: 400, reason: "Specified CPU architecture (arm64) doesn't match the cluster (x86_64)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := madeBench(t, nil)
			params := fields{"name": "ie", "pull_secret": pullSecret}
			for k, v := range tc.body.(fields) {
				params[k] = v
				switch v {
				case nil:
					delete(params, k)
				case "C":
					params[k] = b.cluster
				}
			}
			expect(t, tc, b.call("POST", "/infra-envs", params))
		})
	}
}

func TestInfraEnvDownloads(t *testing.T) {
	b := madeBench(t, nil)
	path := "/infra-envs/" + b.infraEnv
	b.answers("nothing to tell a minimal image", "GET", path+"/downloads/minimal-initrd", nil, http.StatusNoContent)
	url := b.must("GET", path+"/downloads/image-url", nil).object()["url"].(string)
	if want := "/byid/" + b.infraEnv + "/4.21/x86_64/full.iso"; !strings.HasSuffix(url, want) {
		t.Errorf("image at %s, want …%s", url, want)
	}
	b.must("PATCH", path, fields{"image_type": "minimal-iso", "proxy": fields{"http_proxy": "http://1.2.3.4:80"}, "kernel_arguments": []fields{{"operation": "append", "value": "a=b"}}})
	if got := b.must("GET", path, nil).object(); !strings.HasSuffix(got["download_url"].(string), "minimal.iso") {
		t.Errorf("download_url %v", got["download_url"])
	}
	if a := b.must("GET", path+"/downloads/minimal-initrd", nil); !strings.HasPrefix(a.text, "\x1f\x8b") {
		t.Error("the archive is not compressed")
	}
	media, found := b.s.Media(b.infraEnv)
	if !found || len(media.StaticNetwork) == 0 || len(media.KernelArguments) != 1 || !strings.Contains(string(media.Ignition), "agent.service") {
		t.Errorf("media %v %v", found, media.KernelArguments)
	}
	if a := b.must("GET", path+"/downloads/files?file_name=ipxe-script", nil); !strings.HasPrefix(a.text, "#!ipxe\n") || !strings.Contains(a.text, " a=b\n") {
		t.Errorf("script %q", a.text)
	}
	b.must("PATCH", path, fields{"kernel_arguments": []fields{}})
	if got := b.must("GET", path, nil).object()["kernel_arguments"]; got != nil {
		t.Errorf("kernel arguments %v after clearing", got)
	}
	b.answers("deleting it", "DELETE", path, nil, http.StatusNoContent)
}

// TestStaticNetworkInDiscoveryFiles has the networks where an image of that type
// looks for them: a full one in its Ignition, a minimal one in its initrd.
func TestStaticNetworkInDiscoveryFiles(t *testing.T) {
	b := madeBench(t, nil)
	path := "/infra-envs/" + b.infraEnv
	const network = "interfaces:\n- name: eth0\n  type: ethernet\n  state: up\n  ipv4:\n    enabled: true\n    address:\n    - ip: 192.168.127.10\n      prefix-length: 24\n"
	files := func(query string) answer { return b.call("GET", path+"/downloads/files?file_name="+query, nil) }
	if a := files("static-network-config"); a.status != 200 || a.text != "" || a.header.Get("Content-Disposition") != `attachment; filename=""` {
		t.Errorf("without a network: %d %q %q", a.status, a.text, a.header)
	}
	b.must("PATCH", path, fields{"static_network_config": []fields{{"network_yaml": network, "mac_interface_map": []fields{{"mac_address": "52:54:00:c8:00:01", "logical_nic_name": "eth0"}}}}})
	for _, tc := range []struct {
		own, asked string
		has        bool
	}{
		{"full-iso", "", true}, {"full-iso", "full-iso", true}, {"full-iso", "minimal-iso", false}, {"full-iso", "disconnected-iso", false},
		{"minimal-iso", "", false}, {"minimal-iso", "full-iso", true}, {"minimal-iso", "minimal-iso", false}, {"minimal-iso", "disconnected-iso", false},
	} {
		b.must("PATCH", path, fields{"image_type": tc.own})
		query := "discovery.ign"
		if tc.asked != "" {
			query += "&discovery_iso_type=" + tc.asked
		}
		a := files(query)
		for _, want := range []string{"/etc/assisted/network/host0/mac_interface.ini", "/etc/assisted/network/host0/ymlFile0.yml", "/usr/local/bin/pre-network-manager-config.sh", "/usr/local/bin/common_network_script.sh", "pre-network-manager-config.service"} {
			if has := strings.Contains(a.text, want); a.status != 200 || has != tc.has {
				t.Errorf("the Ignition of a %s asked for %q: %d, %s is there: %t", tc.own, tc.asked, a.status, want, has)
			}
		}
		if a := b.call("GET", path+"/downloads/minimal-initrd", nil); a.status != http.StatusOK || a.header.Get("Content-Disposition") != "" {
			t.Errorf("minimal-initrd of a %s: %d %v", tc.own, a.status, a.header)
		}
		media, _ := b.s.Media(b.infraEnv)
		for name, image := range map[string]struct {
			config []byte
			has    bool
		}{"full": {media.Ignition, true}, "minimal": {media.MinimalIgnition, false}, "network boot": {media.NetbootIgnition, tc.own == "full-iso"}} {
			if has := strings.Contains(string(image.config), "/etc/assisted/network/"); has != image.has {
				t.Errorf("the Ignition of %s for a %s has networks: %t", name, tc.own, has)
			}
		}
	}
	archive := files("static-network-config")
	if want := `attachment; filename="` + b.infraEnv + `-static-network-config.tar"`; archive.header.Get("Content-Disposition") != want || len(archive.text) != 3072 {
		t.Errorf("%q with %d bytes", archive.header, len(archive.text))
	}
	if want := "capture:\n  iface0: interfaces.mac-address == \"52:54:00:C8:00:01\"\ndesiredState:\n  interfaces:\n  - ipv4:\n      address:\n      - ip: 192.168.127.10\n        prefix-length: 24\n      dhcp: false\n      enabled: true\n    name: \"{{ capture.iface0.interfaces.0.name }}\"\n"; !strings.Contains(archive.text, want) {
		t.Errorf("the network is\n%s", archive.text)
	}
	for query, want := range map[string]string{
		"discovery.ign&discovery_iso_type=nonsense": "discovery_iso_type in query should be one of [full-iso minimal-iso disconnected-iso]",
		"nonsense": "file_name in query should be one of [discovery.ign ipxe-script static-network-config]",
	} {
		if a := files(query); a.status != 400 || a.reason() != want {
			t.Errorf("%s: %d %s", query, a.status, a.text)
		}
	}
	b.says("presigned", "GET", path+"/downloads/files-presigned?file_name=static-network-config", nil, 400, "file_name in query should be one of [discovery.ign ipxe-script]")
}

func TestStaticNetworkIsCopiedToTheDisk(t *testing.T) {
	b := madeBench(t, fields{"control_plane_count": 1})
	b.must("PATCH", "/infra-envs/"+b.infraEnv, fields{"static_network_config": []fields{{"network_yaml": "interfaces: []\n",
		"mac_interface_map": []fields{{"mac_address": "52:54:00:00:00:00", "logical_nic_name": "eth0"}}}}})
	m := b.boot()
	b.install()
	h := b.s.records.hosts.of(b.infraEnv + "/" + m.id)
	if got := steps.InstallerArgs(h); got != `["--copy-network"]` {
		t.Errorf("installer args %s", got)
	}
}

func TestOperators(t *testing.T) {
	b := madeBench(t, fields{"control_plane_count": 1, "olm_operators": []fields{{"name": "lvm"}}})
	m := b.boot()
	b.install()
	m.walk(model.StageDone)
	b.until(model.ClusterFinalizing)
	path := "/clusters/" + b.cluster
	b.must("PUT", path+"/monitored-operators", fields{"name": "console", "status": "available"})
	b.must("POST", path+"/uploads/ingress-cert", model.InString("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"))
	b.pass(time.Minute)
	b.inState(model.ClusterFinalizing)
	b.must("PUT", path+"/monitored-operators", fields{"name": "lvm", "status": "failed", "status_info": "no"})
	b.until(model.ClusterInstalled)
	if got, want := b.get()["status_info"], "Cluster is installed but degraded. Failed OLM operators: lvm"; got != want {
		t.Errorf("status_info %q, want %q", got, want)
	}
}

func TestArbiter(t *testing.T) {
	b := madeBench(t, one4("10.0.0.100", "10.0.0.101"))
	b.must("PATCH", "/clusters/"+b.cluster, fields{"control_plane_count": 2})
	for range 3 {
		b.boot()
	}
	b.install()
	roles := map[string]int{}
	for _, m := range b.machines {
		roles[m.get()["role"].(string)]++
	}
	if roles[model.RoleMaster] != 2 || roles[model.RoleArbiter] != 1 {
		t.Fatalf("roles %v, want two masters and an arbiter", roles)
	}
	b.walk(model.StageDone)
	b.finalize()
}

func TestKnowledge(t *testing.T) {
	b := madeBench(t, nil)
	for _, path := range []string{"/openshift-versions", "/openshift-versions?only_latest=true", "/release-sources", "/component-versions",
		"/support-levels/features?openshift_version=4.21", "/support-levels/features/detailed?openshift_version=4.21",
		"/support-levels/architectures?openshift_version=4.21", "/supported-operators", "/operators/bundles", "/operators/bundles/virtualization",
		"/domains", "/clusters/default-config", "/clusters/" + b.cluster + "/preflight-requirements", "/clusters/" + b.cluster + "/supported-platforms"} {
		if a := b.must("GET", path, nil); len(a.text) < 3 {
			t.Errorf("%s: %q", path, a.text)
		}
	}
	b.says("", "GET", "/support-levels/features", nil, 400, "openshift_version in query is required")
	b.answers("an unknown bundle", "GET", "/operators/bundles/nope", nil, 500)
	if a := b.must("POST", "/clusters/disconnected", fields{"name": "d", "openshift_version": "4.21"}); a.object()["status"] != model.ClusterUnmonitored {
		t.Errorf("a disconnected cluster is %v", a.object()["status"])
	}
}

func TestInstallConfigOverrides(t *testing.T) {
	b := madeBench(t, fields{"control_plane_count": 1})
	path := "/clusters/" + b.cluster + "/install-config"
	b.must("PATCH", path, model.InString(`{"networking":{"networkType":"Calico"},"fips":true}`))
	var text string
	if err := json.Unmarshal([]byte(b.must("GET", path, nil).text), &text); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, `"networkType":"Calico"`) || !strings.Contains(text, `"fips":true`) || !strings.Contains(text, "10.128.0.0/14") {
		t.Errorf("effective config %s", text)
	}
	for _, overrides := range []string{`{"networking":{"clusterNetworkMTU":1400}}`, `{"networking":{"ovnKubernetesConfig":{}}}`, `{"publish":"Internal"}`} {
		if a := b.call("PATCH", path, model.InString(overrides)); a.status != 400 || !strings.HasPrefix(a.reason(), "json: unknown field ") {
			t.Errorf("%s: %d %s", overrides, a.status, a.text)
		}
	}
	b.says("an unknown key", "PATCH", path, model.InString(`{"zz":1}`), 400, `json: unknown field "zz"`)
	for overrides, reason := range map[string]string{
		`{"additionalTrustBundle":"-----BEGIN CERTIFICATE-----\nZm9v\n-----END CERTIFICATE-----\n"}`: "parse failed: x509: malformed certificate",
		`[]`:              "json: cannot unmarshal array into Go value of type installcfg.InstallerConfigBaremetal",
		`{"fips":"true"}`: "json: cannot unmarshal string into Go struct field InstallerConfigBaremetal.fips of type bool",
		`{"controlPlane":{"architecture":"arm64"}}`: `json: unknown field "architecture"`,
	} {
		if a := b.call("PATCH", path, model.InString(overrides)); a.status != 400 || a.reason() != reason {
			t.Errorf("%s: %d %s", overrides, a.status, a.text)
		}
	}
	b.pass(10 * time.Second)
	if got := outcomes(t, b.get())["custom-manifests-requirements-satisfied"][1]; !strings.HasPrefix(got, "Custom manifests are required for: Calico network type.") {
		t.Errorf("a network that nobody brings: %s", got)
	}
	for _, overrides := range []string{`{"osImageStream":"rhel-10"}`, `{"platform":{"baremetal":{"apiVIP":"10.0.0.1"}}}`, `{"cpuPartitioningMode":"all"}`} {
		b.must("PATCH", path, model.InString(overrides))
	}
	b.must("PATCH", path, model.InString(`{}`))
	if got := b.must("GET", path, nil).text; strings.Contains(got, "Calico") {
		t.Error("the override was not replaced")
	}
}

// What no image has room for is refused where a request brings Ignition of the
// user's, and otherwise not before the image is made.
func TestInfraEnvsThatAreTooLarge(t *testing.T) {
	noise := rand.NewChaCha8([32]byte{})
	random := make([]byte, 300<<10)
	_, _ = noise.Read(random)
	large := `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/large","contents":{"source":"data:;base64,` + base64.StdEncoding.EncodeToString(random) + `"}}]}}`
	small := `{"ignition":{"version":"3.2.0"}}`
	var hosts []fields
	for i := range 12000 {
		sum := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		mac := fmt.Sprintf("52:%02x:%02x:%02x:%02x:%02x", sum[0], sum[1], sum[2], sum[3], sum[4])
		hosts = append(hosts, fields{"network_yaml": fmt.Sprintf("interfaces:\n- name: eth0\n  type: ethernet\n  mac-address: %s\n", mac), "mac_interface_map": []fields{{"mac_address": mac, "logical_nic_name": "eth0"}}})
	}
	tooLarge := func(got answer) bool {
		return got.status == 400 && strings.Contains(got.text, "The ignition archive size (") && strings.Contains(got.text, " KiB) is over the maximum allowable size (256 KiB)")
	}
	b := madeBench(t, nil)
	for name, test := range map[string]struct {
		with    fields
		refused bool
	}{
		"a large file":              {fields{"ignition_config_override": large}, true},
		"a small one":               {fields{"ignition_config_override": small}, false},
		"networks and a small file": {fields{"ignition_config_override": small, "static_network_config": hosts}, true},
		"networks alone":            {fields{"static_network_config": hosts}, false},
	} {
		params := fields{"name": "ie", "pull_secret": pullSecret}
		maps.Copy(params, test.with)
		if got := b.call("POST", "/infra-envs", params); tooLarge(got) != test.refused || !test.refused && got.status != 201 {
			t.Errorf("register with %s: %d %.200s", name, got.status, got.text)
		}
	}
	if got := b.call("PATCH", "/infra-envs/"+b.infraEnv, fields{"ignition_config_override": large}); !tooLarge(got) {
		t.Errorf("update: %d %.200s", got.status, got.text)
	}
}

// A cluster on Oracle's cloud takes no infra-env with the full image.
func TestImageOfOracleCloud(t *testing.T) {
	b := newBench(t, nil)
	oci := fields{"type": "external", "external": fields{"platform_name": "oci", "cloud_controller_manager": "External"}}
	cluster := b.must("POST", "/clusters", fields{"name": "c", "openshift_version": "4.21", "pull_secret": pullSecret, "platform": oci}).object()["id"]
	for kind, status := range map[string]int{"": 400, "full-iso": 400, "minimal-iso": 201} {
		body := fields{"name": "ie", "pull_secret": pullSecret, "cluster_id": cluster}
		if kind != "" {
			body["image_type"] = kind
		}
		if a := b.call("POST", "/infra-envs", body); a.status != status {
			t.Errorf("%q: %d %s", kind, a.status, a.text)
		}
	}
}
