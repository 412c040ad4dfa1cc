package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// Nothing that prints a cluster shows what was read into it.
func TestSecretsNeverPrint(t *testing.T) {
	text := edit{
		"pullSecret: {file: pull-secret.json}", "pullSecret: {file: pull-secret.json}\n  proxy: {http: \"http://me:hunter2@proxy:3128\"}",
		more, "    bmc: {address: 10.0.0.1, credentials: {env: BMC}}\n",
	}.apply(t, good)
	c, err := parse(t, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	user, password, ok := c.Spec.Hosts[2].BMC.Credentials.Login()
	if !ok || user != "admin" || password.Reveal() != "hunter2" || c.PullSecret().Reveal() != goodPullSecret {
		t.Fatalf("got %s and %d bytes, want the credentials that were read", user, len(password.Reveal()))
	}
	if c.Spec.Proxy.HTTP.Reveal() != "http://me:hunter2@proxy:3128" {
		t.Errorf("the proxy is not the one that was written")
	}
	var out bytes.Buffer
	holder := struct{ hidden Secret }{password}
	bmc := c.Spec.Hosts[2].BMC
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, value := range []any{*c, c, c.Spec, password, &password, holder, []Secret{password}, bmc, *bmc, c.Spec.PullSecret, c.Spec.Proxy} {
			fmt.Fprintf(&out, verb+"\n", value)
		}
	}
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "cluster", c, "password", password, "proxy", c.Spec.Proxy)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "cluster", c, "password", password)
	for _, value := range []any{c, password, c.Spec.Proxy} {
		asJSON, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		asYAML, err := yaml.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(asJSON)
		out.Write(asYAML)
	}
	printed := strings.ToLower(out.String())
	for _, secret := range []string{"hunter2", fmt.Sprintf("%x", "hunter2"), "dxnlcjpwyxnzd29yza"} {
		if strings.Contains(printed, secret) {
			t.Errorf("the output holds %s", secret)
		}
	}
	if !strings.Contains(printed, redacted) {
		t.Error("nothing was printed as redacted")
	}
}

func TestSecretEqual(t *testing.T) {
	if !NewSecret("a").Equal(NewSecret("a")) || NewSecret("a").Equal(NewSecret("b")) || !(Secret{}).IsZero() {
		t.Error("secrets compare wrongly")
	}
}
