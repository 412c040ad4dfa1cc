package spec

import (
	"slices"
	"strings"
	"testing"
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
			c, err := Load(t.Context(), "clusters/lab.yaml", env)
			if err != nil {
				t.Fatal(err)
			}
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
	printed, err := OSEnv().Exec(t.Context(), []string{"env"}, []string{"VAULT_ADDR", "NOT_SET"})
	if err != nil {
		t.Fatal(err)
	}
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
	c, err := parse(t, edit{"{file: pull-secret.json}", "{secretRef: {name: pull, key: .dockerconfigjson}}"}.apply(t, good), nil)
	if err != nil {
		t.Fatal(err)
	}
	if ref := c.Spec.PullSecret.SecretRef; ref == nil || ref.Name != "pull" || ref.Key != ".dockerconfigjson" {
		t.Errorf("got %+v", ref)
	}
}

// The document may come from standard input, which then has nothing else.
func TestLoadFromStdin(t *testing.T) {
	env := world(map[string]string{"pull-secret.json": goodPullSecret})
	env.Stdin = strings.NewReader(good)
	if _, err := Load(t.Context(), "-", env); err != nil {
		t.Fatal(err)
	}
	env.Stdin = strings.NewReader(edit{"{file: pull-secret.json}", "{stdin: true}"}.apply(t, good))
	if _, err := Load(t.Context(), "-", env); err == nil || !strings.Contains(err.Error(), "-:7:3: spec.pullSecret: standard input is read already, by the file itself") {
		t.Errorf("got %v", err)
	}
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
	c, err := parse(t, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if h := c.Spec.Hosts[1]; h.Name != "cp-1" || h.Labels["rack"] != "a" || h.Role != ControlPlane {
		t.Errorf("got %+v", h)
	}
}

func TestManifestFiles(t *testing.T) {
	files := map[string]string{
		"m/b.yaml": "b: 1\n", "m/a.yml": "a: 1\n---\nb: 2\n", "m/notes.txt": "x", "openshift/c.json": "{}", "p.yaml.patch_x": "[{op: remove, path: /a}]\n",
	}
	text := edit{"  baseDomain", "  manifests:\n  - m\n  - ./openshift/\n  - {path: p.yaml.patch_x, folder: openshift}\n  - {name: in.yaml, content: \"d: 1\"}\n  baseDomain"}.apply(t, good)
	c, err := parse(t, text, files)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range c.ManifestFiles() {
		got = append(got, string(m.Folder)+"/"+m.Name+"@"+m.Field)
	}
	want := "manifests/a.yml@spec.manifests[0] manifests/b.yaml@spec.manifests[0] openshift/c.json@spec.manifests[1] openshift/p.yaml.patch_x@spec.manifests[2] manifests/in.yaml@spec.manifests[3]"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
	if content := c.ManifestFiles()[0].Content; content != "a: 1\n---\nb: 2\n" {
		t.Errorf("got %q", content)
	}
}
