package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// A pull secret is read from everywhere that a source can name.
func TestSources(t *testing.T) {
	for name, source := range map[string]string{
		"file":          "{file: pull-secret.json}",
		"file upwards":  "{file: ../clusters/pull-secret.json}",
		"absolute file": "{file: /etc/pull-secret.json}",
		"home":          "{file: ~/pull-secret.json}",
		"program":       "{exec: [pass, show, pull-secret]}",
		"stdin":         "{stdin: true}",
	} {
		t.Run(name, func(t *testing.T) {
			text := edit{"{file: pull-secret.json}", source}.apply(t, good)
			env := world(map[string]string{"clusters/pull-secret.json": goodPullSecret, "etc/pull-secret.json": goodPullSecret, "home/me/pull-secret.json": goodPullSecret, "clusters/lab.yaml": text})
			c := must.Get(Load(t.Context(), "clusters/lab.yaml", env))(t)
			if c.PullSecret().Reveal() != goodPullSecret {
				t.Error("the pull secret is not the one that was written")
			}
		})
	}
}

// A program gets nothing of the environment that it does not need: tokens may be in it.
func TestEnvironmentOfPrograms(t *testing.T) {
	t.Setenv("OAICTL_TOKEN", "hunter2")
	t.Setenv("VAULT_ADDR", "https://vault.example.com")
	printed := must.Get(OSEnv().Exec(t.Context(), []string{"env"}, []string{"VAULT_ADDR", "NOT_SET"}))(t)
	var names []string
	for line := range strings.Lines(string(printed)) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{"HOME", "PATH", "VAULT_ADDR"}; !slices.Equal(names, want) {
		t.Errorf("it got %s", printed)
	}
}

func TestSecretRefIsKept(t *testing.T) {
	c := must.Get(parse(t, edit{"{file: pull-secret.json}", "{secretRef: {name: pull, key: .dockerconfigjson}}"}.apply(t, good), nil))(t)
	if ref := c.Spec.PullSecret.SecretRef; ref == nil || ref.Name != "pull" || ref.Key != ".dockerconfigjson" {
		t.Errorf("got %+v", ref)
	}
}

// The document may come from standard input, which then has nothing else.
func TestLoadFromStdin(t *testing.T) {
	env := world(map[string]string{"pull-secret.json": goodPullSecret})
	env.Stdin = strings.NewReader(good)
	must.Get(Load(t.Context(), "-", env))(t)
	env.Stdin = strings.NewReader(edit{"{file: pull-secret.json}", "{stdin: true}"}.apply(t, good))
	check.Says(t, check.Err(Load(t.Context(), "-", env)), "-:7:3: spec.pullSecret: standard input is already used by the file itself")
}

func TestLoadMissingFile(t *testing.T) {
	_, err := Load(t.Context(), "nowhere.yaml", world(nil))
	if err == nil || err.Error() != "nowhere.yaml: cannot be read: file does not exist" {
		t.Errorf("got %v", err)
	}
}

func TestAnchorsAndMerge(t *testing.T) {
	text := edit{
		cp0 + cp1, "  - &cp {name: cp-0, role: control-plane, match: {mac: \"52:54:00:00:00:01\"}, labels: {rack: a}}\n" +
			"  - {<<: *cp, name: cp-1, match: {mac: \"52:54:00:00:00:02\"}}\n",
	}.apply(t, good)
	c := must.Get(parse(t, text, nil))(t)
	if h := c.Spec.Hosts[1]; h.Name != "cp-1" || h.Labels["rack"] != "a" || h.Role != ControlPlane {
		t.Errorf("got %+v", h)
	}
}

func TestManifestFiles(t *testing.T) {
	files := map[string]string{
		"m/b.yaml": "b: 1\n", "m/a.yml": "a: 1\n---\nb: 2\n", "m/notes.txt": "x", "openshift/c.json": "{}", "p.yaml.patch_x": "[{op: remove, path: /a}]\n",
	}
	text := edit{"  baseDomain", "  manifests:\n  - m\n  - ./openshift/\n  - {path: p.yaml.patch_x, folder: openshift}\n  - {name: in.yaml, content: \"d: 1\"}\n  baseDomain"}.apply(t, good)
	c := must.Get(parse(t, text, files))(t)
	var got []string
	for _, m := range c.ManifestFiles() {
		got = append(got, string(m.Folder)+"/"+m.Name+"@"+m.Field)
	}
	want := "manifests/a.yml@spec.manifests[0] manifests/b.yaml@spec.manifests[0] openshift/c.json@spec.manifests[1] openshift/p.yaml.patch_x@spec.manifests[2] manifests/in.yaml@spec.manifests[3]"
	check.Equal(t, strings.Join(got, " "), want)
	check.Equal(t, c.ManifestFiles()[0].Content, "a: 1\n---\nb: 2\n")
}

// Nothing that prints a cluster shows what was read into it.
func TestSecretsNeverPrint(t *testing.T) {
	text := edit{
		"pullSecret: {file: pull-secret.json}", "pullSecret: {file: pull-secret.json}\n  proxy: {http: \"http://me:hunter2@proxy:3128\"}",
		more, "    bmc: {address: 10.0.0.1, credentials: {env: BMC}}\n",
	}.apply(t, good)
	c := must.Get(parse(t, text, nil))(t)
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
		asJSON := must.Get(json.Marshal(value))(t)
		asYAML := must.Get(yaml.Marshal(value))(t)
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

// A file that is no document may be a secret that was given by mistake.
func TestWhatIsNoDocumentIsNotRepeated(t *testing.T) {
	for _, text := range []string{"geheim", "*geheim", "!geheim x", "- geheim", "\"geheim", "a: b: geheim", "geheim: [", "&geheim x", "12\tgeheim"} {
		_, err := Parse(t.Context(), "x", []byte(text), Env{})
		if err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What a program prints beside its result may hold the secret: it reaches neither the terminal nor the error, which has
// the exit status.
func TestProgramsStandardErrorIsNotShown(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	terminal := os.Stderr
	os.Stderr = write
	out, failed := run(t.Context(), []string{"sh", "-c", "echo geheim >&2; echo result"}, nil)
	_, status := run(t.Context(), []string{"sh", "-c", "echo geheim >&2; echo geheim; exit 7"}, nil)
	os.Stderr = terminal
	must.Do(t, write.Close())
	shown := must.Get(io.ReadAll(read))(t)
	if len(shown) != 0 || failed != nil || string(out) != "result\n" {
		t.Errorf("shown %q, result %q, error %v", shown, out, failed)
	}
	if status == nil || !strings.Contains(status.Error(), "exit status 7") || strings.Contains(status.Error(), "geheim") {
		t.Errorf("error %v", status)
	}
}
