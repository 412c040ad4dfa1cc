package service

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"math/big"
	"net/url"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/simulator/service/discovery"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// certificate is any certificate, for a trust bundle.
func certificate(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// someNetwork is the static network of one host.
func someNetwork() []fields {
	return []fields{{"network_yaml": "interfaces:\n- name: eth0\n  type: ethernet\n", "mac_interface_map": []fields{{"mac_address": "52:54:00:c8:00:01", "logical_nic_name": "eth0"}}}}
}

// TestInfraEnvLeftOutAndEmptied sends null, and empty values, for fields that are
// set: null changes nothing, and what is empty takes only some of them away.
func TestInfraEnvLeftOutAndEmptied(t *testing.T) {
	b := madeBench(t, nil)
	path := "/infra-envs/" + b.infraEnv
	set := fields{
		"ssh_authorized_key": sshKey, "additional_ntp_sources": "10.1.1.1", "kernel_arguments": []fields{{"operation": "append", "value": "a=1"}},
		"static_network_config": someNetwork(), "additional_trust_bundle": certificate(t), "network_discovery_delay_seconds": 7,
		"ignition_config_override": `{"ignition":{"version":"3.2.0"}}`, "proxy": fields{"http_proxy": "http://p.example.com:3128"},
	}
	before := b.must("PATCH", path, set).object()
	timeless := func(object map[string]any) string {
		left := maps.Clone(object)
		for _, key := range []string{"updated_at", "expires_at", "download_url"} {
			delete(left, key)
		}
		return model.InString(left)
	}
	for field := range set {
		if before[field] == nil {
			t.Errorf("%s was not set", field)
		}
		if got := b.must("PATCH", path, fields{field: nil}).object(); timeless(got) != timeless(before) {
			t.Errorf("null for %s: %v", field, got)
		}
	}
	for _, field := range []string{"ntp_sources", "pull_secret", "openshift_version", "image_type", "rendezvous_ip"} {
		if got := b.must("PATCH", path, fields{field: nil}).object(); timeless(got) != timeless(before) {
			t.Errorf("null for %s: %v", field, got)
		}
	}
	for _, tc := range []struct {
		field string
		empty any
		want  any
	}{
		{"additional_ntp_sources", "", nil},
		{"ntp_sources", "", nil},
		{"kernel_arguments", []fields{}, nil},
		{"static_network_config", []fields{}, nil},
		{"additional_trust_bundle", "", nil},
		{"network_discovery_delay_seconds", 0, 0.0},
		{"ignition_config_override", "", before["ignition_config_override"]},
		{"ssh_authorized_key", "", sshKey},
		{"pull_secret", "", nil}, // no answer ever shows it
		{"openshift_version", "", before["openshift_version"]},
	} {
		if got := b.must("PATCH", path, fields{tc.field: tc.empty}).object(); got[tc.field] != tc.want || got["pull_secret_set"] != true {
			t.Errorf("%s emptied: %v", tc.field, got[tc.field])
		}
	}
	if got := b.s.records.infraEnvs.of(b.infraEnv).PullSecret; got != pullSecret {
		t.Errorf("the pull secret is %q", got)
	}
	b.answers("an override without a version", "PATCH", path, fields{"ignition_config_override": "{}"}, 400)
}

// TestInfraEnvValues has the forms that values of infra-envs may take.
func TestInfraEnvValues(t *testing.T) {
	kernel := func(value string) fields {
		return fields{"kernel_arguments": []fields{{"operation": "append", "value": value}}}
	}
	const blank = `kernel_arguments.0.value in body should match '^(?:(?:[^ \t\n\r"]+)|(?:"[^"]*"))+$'`
	for _, tc := range []struct {
		name   string
		asked  fields
		reason string // none: it is taken
	}{
		{"a name twice", fields{"name": "ie"}, ""},
		{"an empty name", fields{"name": ""}, ""},
		{"a name that no host could have", fields{"name": "My_Hosts!"}, ""},
		{"time sources", fields{"additional_ntp_sources": "10.1.1.1,ntp.example.com,fe80::1"}, ""},
		{"time sources with a blank", fields{"additional_ntp_sources": "10.1.1.1, x"}, "Invalid NTP source: 10.1.1.1, x"},
		{"a time source with a port", fields{"additional_ntp_sources": "10.1.1.1:123"}, "Invalid NTP source: 10.1.1.1:123"},
		{"both kinds of time sources", fields{"additional_ntp_sources": "10.1.1.1", "ntp_sources": "10.1.1.2"}, "ntp_sources and additional_ntp_sources are mutually exclusive"},
		{"an argument in quotes", kernel(`a="b c"`), ""},
		{"an empty argument", kernel(""), ""},
		{"an argument with a blank", kernel("a b"), blank},
		{"a proxy over TLS for plain requests", fields{"proxy": fields{"http_proxy": "https://p.example.com"}}, "Failed to validate HTTP Proxy: The URL scheme must be http and specified in the URL: 'https://p.example.com'"},
		{"a proxy over TLS for others", fields{"proxy": fields{"https_proxy": "https://p.example.com"}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, nil)
			params := fields{"name": "ie", "pull_secret": pullSecret}
			b.must("POST", "/infra-envs", params)
			maps.Copy(params, tc.asked)
			a := b.call("POST", "/infra-envs", params)
			if want := map[bool]int{true: 201, false: 400}[tc.reason == ""]; a.status != want || a.reason() != tc.reason {
				t.Errorf("%d %s", a.status, a.text)
			}
		})
	}
	b := madeBench(t, fields{"http_proxy": "http://p.example.com:3128", "additional_ntp_source": "10.1.1.1"})
	made := b.must("POST", "/infra-envs", fields{"name": "x", "pull_secret": pullSecret, "cluster_id": b.cluster, "kernel_arguments": []fields{{"operation": "append", "value": "a=1"}}}).object()
	if got := made["kernel_arguments"]; got != `[{"operation":"append","value":"a=1"}]` {
		t.Errorf("kernel_arguments %v", got)
	}
	if made["additional_ntp_sources"] != nil || model.InString(made["proxy"]) != "{}" {
		t.Errorf("the cluster's settings reach its infra-env: %v %v", made["additional_ntp_sources"], made["proxy"])
	}
}

// TestMinimalInitrd: there is one if a machine needs settings before it can load the rest of its
// image, for both types of images.
func TestMinimalInitrd(t *testing.T) {
	for name, tc := range map[string]struct {
		set    fields
		status int
	}{
		"nothing":           {fields{}, 204},
		"a network":         {fields{"static_network_config": someNetwork()}, 200},
		"a proxy":           {fields{"proxy": fields{"http_proxy": "http://p.example.com:3128"}}, 200},
		"certificates":      {fields{"additional_trust_bundle": certificate(t)}, 204},
		"time sources":      {fields{"additional_ntp_sources": "10.1.1.1"}, 204},
		"a delay":           {fields{"network_discovery_delay_seconds": 30}, 204},
		"kernel arguments":  {fields{"kernel_arguments": []fields{{"operation": "append", "value": "a=1"}}}, 204},
		"an empty proxy":    {fields{"proxy": fields{"http_proxy": ""}}, 204},
		"Ignition":          {fields{"ignition_config_override": `{"ignition":{"version":"3.2.0"}}`}, 204},
		"nothing as before": {fields{"static_network_config": []fields{}}, 204},
	} {
		b := madeBench(t, nil)
		path := "/infra-envs/" + b.infraEnv
		b.must("PATCH", path, tc.set)
		for _, kind := range []string{discovery.MinimalISO, discovery.FullISO} {
			b.must("PATCH", path, fields{"image_type": kind})
			if a := b.call("GET", path+"/downloads/minimal-initrd", nil); a.status != tc.status || (tc.status == 204) != (a.text == "") {
				t.Errorf("%s, %s: %d with %d bytes", name, kind, a.status, len(a.text))
			}
		}
	}
}

// TestNetworkBootScript is read in the ways that a machine's firmware may ask.
func TestNetworkBootScript(t *testing.T) {
	b := madeBench(t, nil)
	path := "/infra-envs/" + b.infraEnv
	b.must("PATCH", path, fields{"kernel_arguments": []fields{{"operation": "append", "value": "a=1"}, {"operation": "append", "value": "b=2"}}})
	ask := func(query string) string {
		return b.must("GET", path+"/downloads/files?file_name=ipxe-script"+query, nil).text
	}
	always := ask("")
	kernel := strings.SplitN(always, "\n", 4)[2]
	if !strings.HasPrefix(always, "#!ipxe\ninitrd ") || !strings.HasPrefix(kernel, "kernel ") || !strings.HasSuffix(kernel, " a=1 b=2") {
		t.Errorf("the script is\n%s", always)
	}
	if got := ask("&ipxe_script_type=discovery-image-always"); got != always {
		t.Errorf("the script that always discovers is\n%s", got)
	}
	control := "&ipxe_script_type=boot-order-control"
	if got := ask(control); !strings.HasPrefix(got, "#!ipxe\nchain ") || !strings.HasSuffix(got, "/downloads/files?file_name=ipxe-script&mac=${net0/mac}\n") {
		t.Errorf("the script that asks back is\n%s", got)
	}
	if got := ask(control + "&mac=52:54:00:c8:00:01"); got != always {
		t.Errorf("the script of a machine that nobody knows is\n%s", got)
	}
	for kind, end := range map[string]string{discovery.MinimalISO: "/minimal.iso", discovery.FullISO: "/full.iso"} {
		link := b.must("PATCH", path, fields{"image_type": kind}).object()["download_url"].(string)
		if at, err := url.Parse(link); err != nil || !strings.HasSuffix(at.Path, end) {
			t.Errorf("a %s is at %s", kind, link)
		}
	}
	for _, name := range []string{"discovery.ign", "ipxe-script"} {
		link := b.must("GET", path+"/downloads/files-presigned?file_name="+name, nil).object()
		if want := path + "/downloads/files?file_name=" + name; !strings.HasSuffix(link["url"].(string), want) {
			t.Errorf("%s is at %v", name, link["url"])
		}
	}
}

// TestImageEventNamesTheProxy for http, which is all of a proxy that it says.
func TestImageEventNamesTheProxy(t *testing.T) {
	b := madeBench(t, nil)
	b.must("PATCH", "/infra-envs/"+b.infraEnv, fields{"proxy": fields{"http_proxy": "http://p.example.com:3128", "https_proxy": "http://s.example.com:3128"}})
	events := b.must("GET", "/events?infra_env_id="+b.infraEnv, nil).text
	want := model.InString(`Updated image information (proxy URL is "http://p.example.com:3128", Image type is "full-iso", SSH public key is not set)`)
	if !strings.Contains(events, want) {
		t.Errorf("no %s in %s", want, events)
	}
}
