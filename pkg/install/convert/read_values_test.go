package convert_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/convert"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// readOne reads a single text, in which some words are replaced.
func readOne(t *testing.T, text string, replaced ...string) *convert.Converted {
	t.Helper()
	for i := 0; i < len(replaced); i += 2 {
		if !strings.Contains(text, replaced[i]) {
			t.Fatalf("%q is not there", replaced[i])
		}
	}
	c := must.Get(convert.Read(t.Context(), "in.yaml", convert.Options{Data: []byte(strings.NewReplacer(replaced...).Replace(text)), Env: memory{}.env()}))(t)
	load(t, c)
	return c
}

// toldOf is what was left behind, a line for each value.
func toldOf(c *convert.Converted) string {
	var out strings.Builder
	for _, loss := range c.Losses {
		value, err := json.Marshal(loss.Value)
		fmt.Fprintf(&out, "%s = %s: %s %v\n", loss.Path, value, loss.Why, err)
	}
	return out.String()
}

// TestReadValues reads values in the spellings that other tools take, too.
func TestReadValues(t *testing.T) {
	const ignition = "spec: {clusterRef: {name: sno}, ignitionConfigOverride: '%s',"
	network := oneNode + oneMachine + oneNetwork
	tests := []struct {
		name     string
		text     string
		replaced []string
		want     string
	}{
		{"a truth value of YAML 1.1", network, []string{"state: up}", "state: up, ipv4: {enabled: yes, dhcp: off}}"}, "enabled: true dhcp: false"},
		{"a text that looks like one", network, []string{"state: up}", "state: up, description: 'yes'}"}, `description: "yes"`},
		{"a number with a zero before it", network, []string{"state: up}", "state: up, vlan: {id: 08, other: 010}}"}, "id: 8 other: 8"},
		{"an escaped slash", oneNode + oneMachine, []string{"spec: {clusterRef: {name: sno},", fmt.Sprintf(ignition, `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"\/etc\/a"}]}}`)}, "path: /etc/a"},
		{"a surrogate pair", oneNode + oneMachine, []string{"spec: {clusterRef: {name: sno},", fmt.Sprintf(ignition, `{"ignition":{"version":"3.2.0"},"x":"\ud83d\ude00","f":1.5}`)}, "x: \"\U0001F600\" f: 1.5"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if c := readOne(t, test.text, test.replaced...); !strings.Contains(strings.Join(strings.Fields(string(c.Document)), " "), test.want) {
				t.Errorf("%q is not in\n%s", test.want, c.Document)
			}
		})
	}
}

// TestReadEmbeddedTwice refuses JSON that says a key twice, of which one would be
// dropped.
func TestReadEmbeddedTwice(t *testing.T) {
	text := strings.Replace(oneNode+oneMachine, "spec: {clusterRef:", `spec: {ignitionConfigOverride: '{"a":1,"a":2}', clusterRef:`, 1)
	_, err := convert.Read(t.Context(), "in.yaml", convert.Options{Data: []byte(text), Env: memory{}.env()})
	check.Says(t, err, "spec.ignitionConfigOverride: has to be JSON in a text")
}

// TestReadBMC tells of a BMC that oaictl cannot speak to, and takes the others.
func TestReadBMC(t *testing.T) {
	const bmc = "redfish-virtualmedia://10.0.0.9/redfish/v1/Systems/1"
	for address, taken := range map[string]bool{
		bmc: true, "redfish+http://10.0.0.9/redfish/v1/Systems/1": true, "idrac-virtualmedia+https://10.0.0.9": true, "https://10.0.0.9": true,
		"10.0.0.9": false, "10.0.0.9:623": false, "ipmi://10.0.0.9": false, "IPMI://10.0.0.9": false, "idrac-redfish://10.0.0.9": false,
		"ilo5-redfish://10.0.0.9": false, "ilo4://10.0.0.9": false, "vbmc://10.0.0.9": false,
	} {
		c := readOne(t, oneNode+oneMachine, bmc, address)
		if (c.Cluster.Spec.Hosts[0].BMC != nil) != taken || strings.Contains(toldOf(c), "oaictl speaks Redfish") == taken {
			t.Errorf("%s:\n%s%s", address, c.Document, toldOf(c))
		}
	}
	withBMC := strings.Replace(aicliThree, "{name: lab-0}, {name: lab-1}, {name: lab-2}", "{mac: '52:54:00:00:00:01', name: lab-0, bmc_url: 10.0.0.9, bmc_user: a, bmc_password: b}, {name: lab-1}, {name: lab-2}", 1)
	if c := readOne(t, withBMC); c.Cluster.Spec.Hosts[0].BMC == nil {
		t.Errorf("aicli takes an address without a scheme for Redfish:\n%s", c.Document)
	}
}

// TestReadSecrets has Secrets as people make them.
func TestReadSecrets(t *testing.T) {
	const secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: %s}\n%s\n"
	bmc := fmt.Sprintf(secret, "bmc", "data: {username: YWRtaW4K, password: aHVudGVyMgo=}") // echo admin | base64
	pull := func(name, auth string) string {
		return fmt.Sprintf(secret, name, `stringData: {.dockerconfigjson: '{"auths":{"a":{"auth":"`+auth+`"}}}'}`)
	}
	c := readOne(t, oneNode+oneMachine+bmc+pull("pull", "YTpi"))
	check.Equal(t, c.Cluster.Spec.Hosts[0].BMC.Credentials.Username, "admin", "user")
	check.Equal(t, toldOf(c), "", "lost")
	c = readOne(t, oneNode+oneMachine+bmc+pull("pull", "YTpi")+pull("other", "YTpj"), "clusterRef: {name: sno}, pullSecretRef: {name: pull}", "clusterRef: {name: sno}, pullSecretRef: {name: other}")
	if told := toldOf(c); !strings.Contains(told, `Secret/other:stringData..dockerconfigjson = "[redacted]": is another value than that of`) || strings.Contains(told, "YTpj") {
		t.Errorf("a second pull secret: lost %s", told)
	}
}

// TestReadKeepsSecretsOut has secrets in words that are not cluster.yaml's: they
// stand in files beside it.
func TestReadKeepsSecretsOut(t *testing.T) {
	const network = "spec: {clusterRef: {name: sno},"
	c := readOne(t, oneNode+oneMachine+oneNetwork,
		"state: up}", "state: up, 802.1x: {eap-methods: [tls], private-key-password: hunter2}}",
		network, `spec: {clusterRef: {name: sno}, ignitionConfigOverride: '{"ignition":{"version":"3.2.0"},"passwd":{"users":[{"name":"core","passwordHash":"hunter2"}]}}',`)
	if strings.Contains(string(c.Document), "hunter2") {
		t.Errorf("a secret stands in\n%s", c.Document)
	}
	for _, name := range []string{"nmstate/node-0.yaml", "ignition/discovery.yaml"} {
		if !strings.Contains(string(c.Document), "file: "+name) || !strings.Contains(string(c.Files[name]), "hunter2") {
			t.Errorf("%s: %s\n%s", name, c.Files[name], c.Document)
		}
	}
}

// TestReadLosesNothingEmpty has what says nothing.
func TestReadLosesNothingEmpty(t *testing.T) {
	c := readOne(t, oneNode+oneMachine, "kind: AgentClusterInstall\nmetadata: {name: sno}", "kind: AgentClusterInstall\nmetadata: {name: sno, annotations: {}, labels: {}}")
	check.Equal(t, toldOf(c), "", "lost")
}

// TestReadRegistriesConf reads what the agent-based installer's folder mirror has.
func TestReadRegistriesConf(t *testing.T) {
	const mirrors = "[[registry]]\nlocation = \"quay.io/a\"\n[[registry.mirror]]\nlocation = \"reg.example.com/a\"\n"
	tests := []struct{ name, text, told string }{
		{"one line", "unqualified-search-registries = [\"a.io\", 'b.io'] # both\n" + mirrors, `unqualified-search-registries = ["a.io","b.io"]`},
		{"several lines", "unqualified-search-registries = [\n  \"a.io\", # the first\n  \"[::1]:5000\",\n]\n" + mirrors, `unqualified-search-registries = ["a.io","[::1]:5000"]`},
		{"Windows", strings.ReplaceAll("unqualified-search-registries = [\n]\n"+mirrors, "\n", "\r\n"), ""},
		{"a wildcard", mirrors + "[[registry]]\nprefix = \"*.redhat.io\"\n[[registry.mirror]]\nlocation = \"reg.example.com/b\"\n", "matches many registries"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files := memory{"in/cluster-manifests/a.yaml": []byte(oneNode + oneMachine), "in/mirror/registries.conf": []byte(test.text)}
			c := must.Get(convert.Read(t.Context(), "in", convert.Options{Env: files.env()}))(t)
			list := load(t, c).Spec.Registry.Mirrors
			if told := toldOf(c); len(list) != 1 || list[0].Source != "quay.io/a" || !strings.Contains(told, test.told) || test.told == "" && told != "" {
				t.Errorf("mirrors %+v, lost %s", list, told)
			}
		})
	}
	for text, line := range map[string]int{"a = [\n\"x\n": 1, "a = true\nb = [\"x\"] y\n": 2, mirrors + "c = [\n1]\n": 5} {
		files := memory{"in/cluster-manifests/a.yaml": []byte(oneNode + oneMachine), "in/mirror/registries.conf": []byte(text)}
		_, err := convert.Read(t.Context(), "in", convert.Options{Env: files.env()})
		check.Says(t, err, fmt.Sprintf("line %d of it is nothing that is known", line), text)
	}
}

// TestReadAICLITwice has parameters that say a thing by two of its names.
func TestReadAICLITwice(t *testing.T) {
	one := strings.Replace(aicliThree, "hosts: [{name: lab-0}, {name: lab-1}, {name: lab-2}]\n", "hosts: [{mac: '52:54:00:00:00:01', name: lab-0}, {mac: '52:54:00:00:00:02', name: lab-1}, {mac: '52:54:00:00:00:03', name: lab-2}]\n", 1)
	c := readOne(t, one+"version: 4.20\ndomain: example.com\nimage_type: full-iso\nminimal: true\n")
	told := toldOf(c)
	for _, want := range []string{"version = 4.20: is another word for openshift_version, which is taken", "minimal = true: is another value than that of image_type"} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not in %s", want, told)
		}
	}
	if strings.Contains(told, "domain") || c.Cluster.Spec.Boot.Image != spec.ImageFull {
		t.Errorf("image %s, lost %s", c.Cluster.Spec.Boot.Image, told)
	}
	check.Equal(t, toldOf(readOne(t, one+"image_type: minimal-iso\nminimal: true\n")), "", "lost")
}

// TestDetectForeign tells a broken text of another format from a broken
// cluster.yaml.
func TestDetectForeign(t *testing.T) {
	for text, want := range map[string]bool{
		"baseDomain: a: b\n":                                    true,
		"apiVersion: v1\nkind: ClusterInstance\n\t":             true,
		"openshift_version: [\n":                                true,
		"apiVersion: ran.openshift.io/v1\nkind: SiteConfig\n\t": true,
		"apiVersion: oaictl.io/v1alpha1\nbaseDomain: a: b\n":    false,
		"kind: Cluster\nbaseDomain: a\n":                        false,
		"a: b: c\n":                                             false,
	} {
		_, err := convert.Detect("-", []byte(text))
		var foreign *convert.Foreign
		if got := errors.As(err, &foreign); got != want || err == nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
