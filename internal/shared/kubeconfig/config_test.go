package kubeconfig_test

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/kubeconfig"
)

// secret is a word that no message may have.
const secret = "not-to-be-told"

// TestWhatIsNoKubeconfig says what is wrong with a text, where, and none of it.
func TestWhatIsNoKubeconfig(t *testing.T) {
	for text, want := range map[string]string{
		"users:\n\t- " + secret + "\n":          "it is not valid YAML: line 2",
		"users: [" + secret:                     "it is not valid YAML",
		"- " + secret:                           "it is no kubeconfig: it has no fields",
		secret:                                  "it is no kubeconfig: it has no fields",
		"clusters: " + secret:                   "it is no kubeconfig: its clusters is wrong: of the kind string",
		"users: [{name: a, user: {token: 12}}]": "it is no kubeconfig: its users.user.token is wrong: of the kind number",
		"users: [{name: a, user: {client-key-data: " + secret + "}}]":          "it is no kubeconfig: one of its certificates or keys is no base64",
		"users: [{name: a}, {name: a, user: {token: " + secret + "}}]":         `it has two users named "a"`,
		"clusters: [{name: a}, {name: b}, {name: a}]":                          `it has two clusters named "a"`,
		"contexts: []\n---\nusers: [{name: " + secret + "}]\n":                 "it has more than one YAML document, and kubectl reads the first alone",
		"apiVersion: v1\nkind: ConfigMap\ndata: {a: " + secret + "}\n":         "it is no kubeconfig: it is a ConfigMap of v1",
		"apiVersion: v2\nkind: Config\n":                                       "it is no kubeconfig: it is a Config of v2",
		"a: &a [*a, *a]\nusers: *a\n":                                          "",
		"a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n": "-",
		strings.Repeat("#", kubeconfig.Largest+1):                              "it is no kubeconfig: it has more than 32 MiB",
		"\x00": "it is not valid YAML",
		"users: [{name: a, user: {exec: {args: [" + secret + "], env: 3}}}]":               "it is no kubeconfig: its users.user.exec.env is wrong: of the kind number",
		"clusters: [{name: [" + secret + "]}]":                                             "it is no kubeconfig: its clusters.name is wrong: of the kind array",
		"extensions: [{name: a, extension: 1}, {name: a, extension: {a: " + secret + "}}]": "it is no kubeconfig",
	} {
		_, err := kubeconfig.Parse("config", []byte(text))
		switch {
		case want == "-" && err != nil:
			t.Errorf("%.60q: %v", text, err)
		case want == "-":
		case err == nil:
			t.Errorf("%.60q is taken", text)
		case strings.Contains(err.Error(), secret):
			t.Errorf("%.60q: its secret is told: %v", text, err)
		case !strings.HasPrefix(err.Error(), want):
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
}

// TestWhatKubectlTakes reads what kubectl reads, however odd.
func TestWhatKubectlTakes(t *testing.T) {
	for _, text := range []string{
		"", "\n\n", "# nothing yet\n", "---\n", "null\n", "{}", "kind: Config\n", "clusters: null\nusers: []\ncontexts:\n", "\ufeffclusters: []\n",
		"apiVersion: v1\r\nkind: Config\r\nclusters:\r\n  - name: a\r\n    cluster: {server: 'https://a'}\r\n",
		`{"kind":"Config","apiVersion":"v1","clusters":[{"name":"a","cluster":{"server":"https://a"}}]}`,
		"clusters:\n- cluster:\n  name: empty\nusers:\n- name: nobody\n", "current-context: gone\n",
	} {
		check.Do(t, check.Err(kubeconfig.Parse("config", []byte(text))), text)
	}
}
