package ignition_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/ignition"
)

// privateKey has the form of one and is none.
var privateKey = "-----BEGIN RSA PRIVATE " + "KEY-----\nAAAA\n-----END RSA PRIVATE " + "KEY-----\n"

const pullSecret = `{"auths":{"registry.example":{"auth":"dXNlcjpwYXNz"}}}`

func TestSecrets(t *testing.T) {
	file := func(path, source string) string {
		return `{"path":"` + path + `","contents":{"source":"` + source + `"}}`
	}
	token := "eyJhbGciOiJFUzI1NiJ9.eyJpbmZyYV9lbnYiOiJ4In0.c2lnbmF0dXJl"
	config := `{
	"ignition":{"version":"3.2.0",
		"proxy":{"httpProxy":"http://user:pass@proxy:3128"},
		"config":{"merge":[
			{"source":"` + dataURL(`{"ignition":{"version":"3.1.0"},"storage":{"files":[`+file("/root/nested.json", dataURL(pullSecret))+`]}}`) + `"},
			{"source":"https://api:22623/config","httpHeaders":[{"name":"Authorization","value":"Bearer x"}]}
		]}},
	"passwd":{"users":[{"name":"core","passwordHash":"$6$abcdefgh$ijklmnopqrstuvwxyz"},{"name":"locked","passwordHash":"!"},{"name":"keyed","sshAuthorizedKeys":["ssh-ed25519 AAAA"]}]},
	"storage":{
		"files":[` + strings.Join([]string{
		file("/root/.docker/config.json", dataURL(pullSecret)),
		`{"path":"/etc/tls.key","contents":{"compression":"gzip","source":"` + dataURL(zipped(t, []byte(privateKey))) + `"}}`,
		file("/etc/motd", dataURL("Welcome. The token: is nowhere.\n")),
		file("/etc/a.nmconnection", dataURL("[connection]\ntype=wifi\n[wifi-security]\npsk=hunter22\n")),
		file("/etc/env", dataURL("AGENT_AUTH_TOKEN=abcdef\nOTHER_TOKEN=$X\nSECRET_FILE=/etc/x\n")),
		file("/etc/kubeconfig", dataURL("users:\n- user:\n    client-key-data: LS0tLS1CRUdJTiBQUklWQVRF\n")),
		file("/etc/manifest.yaml", dataURL("data:\n  .dockerconfigjson: eyJhdXRocyI6e319\n")),
	}, ",") + `],
		"luks":[{"name":"root","device":"/dev/sda4","keyFile":{"source":"data:,key"}}]},
	"systemd":{"units":[{"name":"agent.service","contents":"[Service]\nEnvironment=PULL=` + token + `\n"},
		{"name":"other.service","dropins":[{"name":"10-proxy.conf","contents":"[Service]\nEnvironment=http_proxy=http://a:b@c\n"}]}]}}`
	must.Get(ignition.Validate("x", []byte(config)))(t)
	want := []ignition.Secret{
		{Path: "/root/nested.json", Kind: ignition.KindPullSecret},
		{Path: "ignition.config.merge[1]", Kind: ignition.KindAuthorization},
		{Path: "/root/.docker/config.json", Kind: ignition.KindPullSecret},
		{Path: "/etc/tls.key", Kind: ignition.KindPrivateKey},
		{Path: "/etc/a.nmconnection", Kind: ignition.KindNetworkPassword},
		{Path: "/etc/env", Kind: ignition.KindPassword},
		{Path: "/etc/kubeconfig", Kind: ignition.KindKubeconfig},
		{Path: "/etc/manifest.yaml", Kind: ignition.KindPullSecret},
		{Path: "user core", Kind: ignition.KindPasswordHash},
		{Path: "agent.service", Kind: ignition.KindToken},
		{Path: "other.service/10-proxy.conf", Kind: ignition.KindURLCredentials},
		{Path: "storage.luks[0].keyFile", Kind: ignition.KindDiskKey},
		{Path: "ignition.proxy.httpProxy", Kind: ignition.KindURLCredentials},
	}
	check.Same(t, want, ignition.Secrets([]byte(config)))
}

func TestSecretsOfWhatIsNoConfig(t *testing.T) {
	for _, data := range []string{"", "hello", "[]", `{"ignition":{"version":"3.1.0"}}`} {
		if got := ignition.Secrets([]byte(data)); len(got) > 0 {
			t.Errorf("%q: %v", data, got)
		}
	}
}

func TestKinds(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"plain text with a password: none", nil},
		{"-----BEGIN CERTIFICATE-----", nil},
		{"-----BEGIN OPENSSH PRIVATE " + "KEY-----", []string{ignition.KindPrivateKey}},
		{`ExecStart=/bin/x '{\"auths\":{\"r\":{\"auth\":\"eA==\"}}}'`, []string{ignition.KindPullSecret}},
		{`{"auths":{"r":{"auth":""}}}`, nil},
		{"root:$6$salt$0123456789abcdef0123:19000::::::", []string{ignition.KindPasswordHash}},
		{"http://proxy:3128/a@b", nil},
		{"http://user:${PASS}@proxy", nil},
		{"password = x", nil},
		{"REDFISH_PASSWORD=hunter2", []string{ignition.KindPassword}},
	} {
		if diff := cmp.Diff(test.want, ignition.Kinds([]byte(test.text))); diff != "" {
			t.Errorf("%q: %s", test.text, diff)
		}
	}
}
