package service

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// TestOverridesRefused sends overrides of an install-config in wrong forms, and with
// keys that the service does not know.
func TestOverridesRefused(t *testing.T) {
	b := madeBench(t, fields{"control_plane_count": 1})
	path := "/clusters/" + b.cluster + "/install-config"
	for _, tc := range []struct {
		name   string
		body   any
		reason string
	}{
		{"an object", fields{"fips": true}, `parsing installConfigParams body from "" failed, because json: cannot unmarshal object into Go value of type string`},
		{"a number", 5, `parsing installConfigParams body from "" failed, because json: cannot unmarshal number into Go value of type string`},
		{"nothing", nil, "installConfigParams in body is required"},
		{"a list in the text", model.InString("[]"), "json: cannot unmarshal array into Go value of type installcfg.InstallerConfigBaremetal"},
		{"no JSON in the text", model.InString("not json"), "invalid character 'o' in literal null (expecting 'u')"},
	} {
		if a := b.call("PATCH", path, tc.body); a.status != 400 || a.reason() != tc.reason {
			t.Errorf("%s: %d %s", tc.name, a.status, a.text)
		}
	}
	for overrides, key := range map[string]string{
		`{"publish":"External"}`:                                 "publish",
		`{"networking":{"clusterNetworkMTU":9000}}`:              "clusterNetworkMTU",
		`{"networking":{"ovnKubernetesConfig":{}}}`:              "ovnKubernetesConfig",
		`{"ovnKubernetesConfig":{}}`:                             "ovnKubernetesConfig",
		`{"credentialsMode":"Manual"}`:                           "credentialsMode",
		`{"operatorPublishingStrategy":{}}`:                      "operatorPublishingStrategy",
		`{"pki":{}}`:                                             "pki",
		`{"machineConfigPools":[]}`:                              "machineConfigPools",
		`{"controlPlane":{"architecture":"arm64"}}`:              "architecture",
		`{"compute":[{"name":"worker","architecture":"amd64"}]}`: "architecture",
		`{"platform":{"aws":{}}}`:                                "aws",
		`{"platform":{"baremetal":{"dnsRecordsType":"x"}}}`:      "dnsRecordsType",
		`{"platform":{"baremetal":{"bootstrapOSImage":"x"}}}`:    "bootstrapOSImage",
		`{"proxy":{"ftpProxy":"x"}}`:                             "ftpProxy",
	} {
		if a := b.call("PATCH", path, model.InString(overrides)); a.status != 400 || a.reason() != `json: unknown field "`+key+`"` {
			t.Errorf("%s: %d %s", overrides, a.status, a.text)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		if a := b.call(method, path, model.InString("{}")); a.status != 405 {
			t.Errorf("%s: %d %s", method, a.status, a.text)
		}
	}
	b.says("as a field of the cluster", "PATCH", "/clusters/"+b.cluster, fields{"install_config_overrides": "{}"}, 400, `parsing clusterUpdateParams body from "" failed, because json: unknown field "install_config_overrides"`)
	if shown, is := b.get()["install_config_overrides"]; is {
		t.Errorf("the cluster has overrides: %v", shown)
	}
}

// TestOverridesTaken sends overrides whose values are not checked.
func TestOverridesTaken(t *testing.T) {
	b := madeBench(t, fields{"control_plane_count": 1})
	path := "/clusters/" + b.cluster + "/install-config"
	for _, overrides := range []string{
		`{"FIPS":true}`, `{"capabilities":{"baselineCapabilitySet":"v9.99","additionalEnabledCapabilities":["nonsense"]}}`, `{"cpuPartitioningMode":"all"}`,
		`{"featureSet":"Nope"}`, `{"featureGates":["A=true"]}`, `{"osImageStream":"rhel-10"}`, `{"additionalTrustBundlePolicy":"Always"}`,
		`{"imageContentSources":[{"mirrors":["registry.example.com/ocp"],"source":"quay.io/x"}]}`,
		`{"imageDigestSources":[{"mirrors":["registry.example.com/ocp"],"source":"quay.io/x"}]}`,
		`{"networking":{"networkType":"OpenShiftSDN"}}`, `{"networking":{"machineNetwork":[{"cidr":"10.0.0.0/16"}]}}`,
		`{"networking":{"clusterNetwork":[{"cidr":"10.132.0.0/14","hostPrefix":24}]}}`, `{"networking":{"serviceNetwork":["172.31.0.0/16"]}}`,
		`{"controlPlane":{"name":"master","replicas":5}}`, `{"compute":[{"name":"worker","replicas":4}]}`, `{"arbiter":{"name":"arbiter","replicas":1}}`,
		`{"bootstrapInPlace":{"installationDisk":"/dev/sda"}}`, `{"metadata":{"name":"other"}}`, `{"baseDomain":"other.example.com"}`,
		`{"pullSecret":"{}"}`, `{"sshKey":"x"}`, `{"apiVersion":"v9"}`, `{"fips":true} and text after it`, "{}", "null",
	} {
		if a := b.must("PATCH", path, model.InString(overrides)); a.status != 201 || a.text != "" {
			t.Errorf("%s: %d %q", overrides, a.status, a.text)
		}
		if got := b.get()["install_config_overrides"]; got != overrides {
			t.Errorf("%s became %v", overrides, got)
		}
	}
	var text string
	if err := json.Unmarshal([]byte(b.must("GET", path, nil).text), &text); err != nil || !strings.Contains(text, model.InString(pullSecret)) {
		t.Errorf("the install-config is no text with the pull secret: %v", err)
	}
	b.must("PATCH", path, model.InString(""))
	if shown, is := b.get()["install_config_overrides"]; is {
		t.Errorf("taken away, they are %v", shown)
	}
}

// TestIgnoredValidationsForms writes the lists in all the forms that the service
// takes and refuses.
func TestIgnoredValidationsForms(t *testing.T) {
	b := compact(t, 3)
	path := "/clusters/" + b.cluster + "/ignored-validations"
	const hosts, cluster = "host-validation-ids", "cluster-validation-ids"
	set := fields{hosts: `["has-default-route"]`, cluster: `["network-type-valid"]`}
	kept := func() string { return model.InString(b.must("GET", path, nil).object()) }
	for _, tc := range []struct {
		body any
		kept fields // null: as before
	}{
		{set, set},
		{fields{cluster: `["network-type-valid"]`}, fields{cluster: `["network-type-valid"]`}}, // which drops the hosts'
		{fields{hosts: ""}, fields{}},
		{fields{hosts: nil}, fields{}},
		{fields{hosts: "[]"}, fields{hosts: "[]"}},
		{fields{hosts: "null"}, fields{hosts: "null"}},
		{fields{}, fields{}},
		{set, set},
		{"null", fields{}},
	} {
		if a := b.must("PUT", path, tc.body); a.status != 201 || model.InString(a.object()) != model.InString(tc.kept) {
			t.Errorf("%v: %d %s", tc.body, a.status, a.text)
		}
		if got := kept(); got != model.InString(tc.kept) {
			t.Errorf("after %v: %s", tc.body, got)
		}
	}
	b.must("PUT", path, set)
	for method, body := range map[string]any{"PATCH": set, "DELETE": nil, "POST": set} {
		if a := b.call(method, path, body); a.status != 405 {
			t.Errorf("%s: %d %s", method, a.status, a.text)
		}
	}
	for reason, body := range map[string]any{
		"ignoredValidations in body is required":                                                      nil,
		`parsing ignoredValidations body from "" failed, because json: unknown field "unknown-field"`: fields{"unknown-field": "[]"},
		`parsing ignoredValidations body from "" failed, because json: cannot unmarshal array into Go struct field IgnoredValidations.host-validation-ids of type string`: fields{hosts: []string{"has-min-memory"}},
	} {
		if a := b.call("PUT", path, body); a.status != 400 || a.reason() != reason {
			t.Errorf("%v: %d %s", body, a.status, a.text)
		}
	}
	if got := kept(); got != model.InString(set) {
		t.Errorf("what was refused changed it to %s", got)
	}
	none := "/clusters/" + nobody + "/ignored-validations"
	if read, write := b.call("GET", none, nil), b.call("PUT", none, set); read.status != 404 || write.status != 500 {
		t.Errorf("of no cluster: %d and %d", read.status, write.status)
	}
	b.until(model.ClusterReady)
	b.must("POST", "/clusters/"+b.cluster+"/actions/install", nil)
	b.answers("while preparing", "PUT", path, set, 400)
}

// TestIgnoredStillFails: what is ignored fails as before, in a host that is known and
// a cluster that is ready.
func TestIgnoredStillFails(t *testing.T) {
	b := compact(t, 3)
	m := b.machines[1]
	m.unclean = func(i map[string]any) { i["routes"] = []fields{} }
	b.must("PUT", "/clusters/"+b.cluster+"/ignored-validations", fields{"host-validation-ids": `["all"]`, "cluster-validation-ids": `["all"]`})
	b.until(model.ClusterReady)
	if got := m.get(); got["status"] != model.HostKnown || outcomes(t, got)["has-default-route"][0] != model.Failed {
		t.Errorf("the host is %v, has-default-route %v", got["status"], outcomes(t, got)["has-default-route"])
	}
	b.must("POST", "/clusters/"+b.cluster+"/actions/install", nil)
	said := 0
	for _, name := range b.told(0) {
		if name == "validations_ignored" {
			said++
		}
	}
	if said != 1 {
		t.Errorf("%d events say that validations are ignored", said)
	}
	b.pass(time.Minute)
	b.inState(model.ClusterInstalling)
}
