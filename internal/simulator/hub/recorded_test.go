package hub

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

// What a real hub makes of objects: the fields of the service's cluster, host or
// infra-env, as its REST API then has them. The subjects are hub-hyperthreading,
// hub-settings and hub-fencing in EVIDENCE.md.

// TestRecordedHyperthreading has every combination of what the pools say: Enabled,
// Disabled, nothing, and "" for a pool that is not there.
func TestRecordedHyperthreading(t *testing.T) {
	for _, row := range []struct{ master, worker, arbiter, want string }{
		{"", "", "", "all"},
		{"", "", "Enabled", "arbiters"},
		{"", "", "Disabled", "none"},
		{"", "Enabled", "", "workers"},
		{"", "Enabled", "Enabled", "arbiters,workers"},
		{"", "Enabled", "Disabled", "workers"},
		{"", "Disabled", "", "none"},
		{"", "Disabled", "Enabled", "arbiters"},
		{"", "Disabled", "Disabled", "none"},
		{"", "unsaid", "", "workers"},
		{"", "unsaid", "Enabled", "arbiters,workers"},
		{"", "unsaid", "Disabled", "workers"},
		{"Enabled", "", "", "masters"},
		{"Enabled", "", "Enabled", "masters,arbiters"},
		{"Enabled", "", "Disabled", "masters"},
		{"Enabled", "Enabled", "", "masters,workers"},
		{"Enabled", "Enabled", "Enabled", "masters,arbiters,workers"},
		{"Enabled", "Enabled", "Disabled", "masters,workers"},
		{"Enabled", "Disabled", "", "masters"},
		{"Enabled", "Disabled", "Enabled", "masters,arbiters"},
		{"Enabled", "Disabled", "Disabled", "masters"},
		{"Enabled", "unsaid", "", "masters,workers"},
		{"Enabled", "unsaid", "Enabled", "masters,arbiters,workers"},
		{"Enabled", "unsaid", "Disabled", "masters,workers"},
		{"Disabled", "", "", "none"},
		{"Disabled", "", "Enabled", "arbiters"},
		{"Disabled", "", "Disabled", "none"},
		{"Disabled", "Enabled", "", "workers"},
		{"Disabled", "Enabled", "Enabled", "arbiters,workers"},
		{"Disabled", "Enabled", "Disabled", "workers"},
		{"Disabled", "Disabled", "", "none"},
		{"Disabled", "Disabled", "Enabled", "arbiters"},
		{"Disabled", "Disabled", "Disabled", "none"},
		{"Disabled", "unsaid", "", "workers"},
		{"Disabled", "unsaid", "Enabled", "arbiters,workers"},
		{"Disabled", "unsaid", "Disabled", "workers"},
		{"unsaid", "", "", "masters"},
		{"unsaid", "", "Enabled", "masters,arbiters"},
		{"unsaid", "", "Disabled", "masters"},
		{"unsaid", "Enabled", "", "masters,workers"},
		{"unsaid", "Enabled", "Enabled", "masters,arbiters,workers"},
		{"unsaid", "Enabled", "Disabled", "masters,workers"},
		{"unsaid", "Disabled", "", "masters"},
		{"unsaid", "Disabled", "Enabled", "masters,arbiters"},
		{"unsaid", "Disabled", "Disabled", "masters"},
		{"unsaid", "unsaid", "", "masters,workers"},
		{"unsaid", "unsaid", "Enabled", "masters,arbiters,workers"},
		{"unsaid", "unsaid", "Disabled", "masters,workers"},
	} {
		spec := map[string]any{}
		pool := func(name, says string) map[string]any {
			p := map[string]any{"name": name}
			if says != "unsaid" {
				p["hyperthreading"] = says
			}
			return p
		}
		if row.master != "" {
			spec["controlPlane"] = pool("master", row.master)
		}
		if row.worker != "" {
			spec["compute"] = []any{pool("worker", row.worker)}
		}
		if row.arbiter != "" {
			spec["arbiter"] = pool("arbiter", row.arbiter)
		}
		if have := inputsOf(t, objects.ToJSON(map[string]any{"spec": spec})).create()["hyperthreading"]; have != row.want {
			t.Errorf("%+v: have %v", row, have)
		}
	}
}

// TestRecordedClusters follows AgentClusterInstalls through their versions.
func TestRecordedClusters(t *testing.T) {
	const proxy, tang = `"http://proxy.example.com:3128"`, `"tangServers":"[{\"url\":\"http://tang.example.com:7500\",\"thumbprint\":\"x\"}]"`
	type step struct{ spec, want string }
	for name, steps := range map[string][]step{
		"hyperthreading, a pool of no meaning":    {{`{"compute":[{"name":"other","hyperthreading":"Enabled"}]}`, `{"hyperthreading":"all"}`}},
		"hyperthreading, beside one":              {{`{"compute":[{"name":"other","hyperthreading":"Disabled"},{"name":"worker","hyperthreading":"Enabled"}]}`, `{"hyperthreading":"workers"}`}},
		"hyperthreading, the name does not count": {{`{"controlPlane":{"name":"other","hyperthreading":"Enabled"}}`, `{"hyperthreading":"masters"}`}},
		"hyperthreading, taken back":              {{`{"controlPlane":{"name":"master","hyperthreading":"Enabled"}}`, `{"hyperthreading":"masters"}`}, {`{}`, `{"hyperthreading":"all"}`}},
		"hyperthreading, later":                   {{`{}`, `{"hyperthreading":"all"}`}, {`{"controlPlane":{"name":"master","hyperthreading":"Disabled"}}`, `{"hyperthreading":"none"}`}},
		"encryption without words":                {{`{"diskEncryption":{}}`, `{"disk_encryption":{"enable_on":"none","mode":"tpmv2","tang_servers":""}}`}},
		"encryption without a mode":               {{`{"diskEncryption":{"enableOn":"masters"}}`, `{"disk_encryption":{"enable_on":"masters","mode":"tpmv2","tang_servers":""}}`}},
		"encryption of nothing said":              {{`{"diskEncryption":{"mode":"tang",` + tang + `}}`, `{"disk_encryption":{"enable_on":"none","mode":"tang","tang_servers":"[{\"url\":\"http://tang.example.com:7500\",\"thumbprint\":\"x\"}]"}}`}},
		"encryption taken away": {
			{`{"diskEncryption":{"enableOn":"all","mode":"tpmv2"}}`, `{"disk_encryption":{"enable_on":"all","mode":"tpmv2","tang_servers":""}}`},
			{`{}`, `{"disk_encryption":{"enable_on":"all","mode":"tpmv2","tang_servers":""}}`},
		},
		"encryption switched off": {
			{`{"diskEncryption":{"enableOn":"all","mode":"tpmv2"}}`, `{"disk_encryption":{"enable_on":"all","mode":"tpmv2","tang_servers":""}}`},
			{`{"diskEncryption":{"enableOn":"none"}}`, `{"disk_encryption":{"enable_on":"none","mode":"tpmv2","tang_servers":""}}`},
		},
		"proxy": {{`{"proxy":{"httpProxy":` + proxy + `,"httpsProxy":` + proxy + `,"noProxy":"*"}}`, `{"http_proxy":` + proxy + `,"https_proxy":` + proxy + `,"no_proxy":"*"}`}},
		"proxy, another": {
			{`{"proxy":{"httpProxy":` + proxy + `,"noProxy":"example.com"}}`, `{"http_proxy":` + proxy + `,"no_proxy":"example.com"}`},
			{`{"proxy":{"httpsProxy":` + proxy + `}}`, `{"http_proxy":"","https_proxy":` + proxy + `,"no_proxy":""}`},
		},
		"proxy, taken away": {
			{`{"proxy":{"httpProxy":` + proxy + `,"noProxy":"example.com"}}`, `{"http_proxy":` + proxy + `,"no_proxy":"example.com"}`},
			{`{}`, `{"http_proxy":` + proxy + `,"no_proxy":"example.com"}`},
			{`{"sshPublicKey":"k"}`, `{"http_proxy":"","no_proxy":"","ssh_public_key":"k"}`}, // read in the source
		},
		"time servers":             {{`{"ntpSources":["ntp1.example.com","192.0.2.1"]}`, `{"ntp_sources":"ntp1.example.com,192.0.2.1"}`}},
		"no time servers":          {{`{"ntpSources":[]}`, `{}`}},
		"time servers, others":     {{`{"ntpSources":["a"]}`, `{"ntp_sources":"a"}`}, {`{"ntpSources":["b"]}`, `{"ntp_sources":"b"}`}},
		"time servers, taken away": {{`{"ntpSources":["a"]}`, `{"ntp_sources":"a"}`}, {`{}`, `{"ntp_sources":"a"}`}},
	} {
		var have map[string]any
		for i, step := range steps {
			in := inputsOf(t, `{"spec":`+step.spec+`}`)
			if i == 0 {
				have = plain(in.create()).(map[string]any)
			} else {
				maps.Copy(have, plain(in.update(have)).(map[string]any))
			}
			var want map[string]any
			if err := json.Unmarshal([]byte(step.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, spokenOf(have, want)); diff != "" {
				t.Errorf("%s, version %d (-want +have):\n%s", name, i+1, diff)
			}
		}
	}
	for _, on := range []string{"all", "none", "masters", "arbiters", "workers", "masters,arbiters", "masters,workers", "arbiters,workers", "masters,arbiters,workers"} {
		for _, mode := range []string{"tpmv2", "tang"} {
			p := inputsOf(t, fmt.Sprintf(`{"spec":{"diskEncryption":{"enableOn":%q,"mode":%q}}}`, on, mode)).create()
			want := map[string]any{"enable_on": on, "mode": mode, "tang_servers": ""}
			if diff := cmp.Diff(want, p["disk_encryption"]); diff != "" {
				t.Errorf("encryption of %s by %s (-want +have):\n%s", on, mode, diff)
			}
		}
	}
}

// spokenOf are the fields that are wanted, and those of the same subjects.
func spokenOf(have, want map[string]any) map[string]any {
	subjects := []string{"http_proxy", "https_proxy", "no_proxy", "ntp_sources", "disk_encryption"}
	out := map[string]any{}
	for field, value := range have {
		if _, is := want[field]; is || slices.Contains(subjects, field) {
			out[field] = value
		}
	}
	return out
}

// TestRecordedInfraEnvs: what an InfraEnv does not speak of any more stays, too, and so does
// each field of its proxy.
func TestRecordedInfraEnvs(t *testing.T) {
	for spec, want := range map[string]string{
		`{}`: `{}`,
		`{"additionalNTPSources":["a.example.com","b.example.com"]}`:            `{"additional_ntp_sources":"a.example.com,b.example.com"}`,
		`{"ntpSources":["c.example.com"]}`:                                      `{"ntp_sources":"c.example.com"}`,
		`{"proxy":{"httpProxy":"http://proxy.example.com:3128","noProxy":"x"}}`: `{"proxy":{"http_proxy":"http://proxy.example.com:3128","no_proxy":"x"}}`,
		`{"proxy":{"noProxy":""}}`:                                              `{"proxy":{}}`,
	} {
		read, err := objects.Spec[agentinstall.InfraEnvSpec](parse(t, hubapi.KindInfraEnv, `{"spec":`+spec+`}`))
		if err != nil {
			t.Fatal(err)
		}
		have := (&infraEnvInputs{name: "e", spec: read}).params()
		maps.DeleteFunc(have, func(field string, _ any) bool {
			return !slices.Contains([]string{"proxy", "ntp_sources", "additional_ntp_sources"}, field)
		})
		if diff := cmp.Diff(want, objects.ToJSON(have)); diff != "" {
			t.Errorf("%s (-want +have):\n%s", spec, diff)
		}
	}
}

// TestRecordedFencing: of a Secret with fencing credentials nothing is examined, and a key
// that is missing is empty.
func TestRecordedFencing(t *testing.T) {
	const address = "redfish+https://192.0.2.1/redfish/v1/Systems/1"
	for name, row := range map[string]struct {
		secret map[string]string
		want   string
	}{
		"all":               {map[string]string{"address": address, "username": "u", "password": "p", "certificateVerification": "Disabled"}, `{"address":"` + address + `","certificate_verification":"Disabled","password":"p","username":"u"}`},
		"no verification":   {map[string]string{"address": address, "username": "u", "password": "p"}, `{"address":"` + address + `","password":"p","username":"u"}`},
		"no such word":      {map[string]string{"address": address, "username": "u", "password": "p", "certificateVerification": "maybe"}, `{"address":"` + address + `","certificate_verification":"maybe","password":"p","username":"u"}`},
		"no address":        {map[string]string{"username": "u", "password": "p"}, `{"address":"","password":"p","username":"u"}`},
		"no password":       {map[string]string{"address": address, "username": "u"}, `{"address":"` + address + `","password":"","username":"u"}`},
		"no address at all": {map[string]string{"address": "nonsense", "username": "u", "password": "p"}, `{"address":"nonsense","password":"p","username":"u"}`},
	} {
		if diff := cmp.Diff(row.want, objects.ToJSON(fencingOf(row.secret))); diff != "" {
			t.Errorf("%s (-want +have):\n%s", name, diff)
		}
	}
}
