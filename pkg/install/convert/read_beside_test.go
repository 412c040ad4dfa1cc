package convert_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/convert"
)

// TestReadFileReadsWhatLiesBesideIt reads the same input by its folder and by one of its
// files: both say the same, down to the files that nothing reads.
func TestReadFileReadsWhatLiesBesideIt(t *testing.T) {
	agent := memory{
		"in/install-config.yaml":      []byte(installConfig),
		"in/agent-config.yaml":        []byte(agentConfig),
		"in/openshift/a.yaml":         []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
		"in/openshift/two.yml":        []byte("apiVersion: v1\nkind: A\n---\napiVersion: v1\nkind: B\n"),
		"in/openshift/b.bu":           []byte("variant: openshift\n"),
		"in/openshift/deeper/c.yaml":  []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"),
		"in/mirror/registries.conf":   []byte("unqualified-search-registries = []\n"),
		"in/hostconfig/a/role":        []byte("master"),
		"in/.git/config":              []byte("x"),
		"in/.openshift_install_state": []byte("x"),
	}
	ztp := memoryOf(t, "ztp-folder")
	const ztpFolder = "testdata/read/ztp-folder/in"
	tests := []struct {
		name, folder string
		files        memory
		named        []string
	}{
		{"agent", "in", agent, []string{"install-config.yaml", "agent-config.yaml"}},
		{"ztp", ztpFolder, ztp, []string{"cluster-manifests/infraenv.yaml", "cluster-manifests/agent-cluster-install.yaml"}},
	}
	for _, test := range tests {
		o := convert.Options{Env: test.files.env(), Version: "4.20"}
		if test.name == "ztp" {
			o.Version = ""
		}
		whole := must.Get(convert.Read(t.Context(), test.folder, o))(t)
		want := sortedLines(report(t, whole))
		for _, file := range test.named {
			one := must.Get(convert.Read(t.Context(), filepath.Join(test.folder, filepath.FromSlash(file)), o))(t, file)
			if got := sortedLines(report(t, one)); got != want {
				t.Errorf("%s says something else than its folder:\n%s", file, cmp.Diff(want, got))
			}
		}
		for _, said := range []string{"openshift/b.bu", "openshift/deeper", "file openshift/two.yml"} {
			if test.name == "agent" && !strings.Contains(want, said) {
				t.Errorf("%s is not accounted for:\n%s", said, want)
			}
		}
	}
}

// sortedLines is a text without its order: losses stand in that of the files.
func sortedLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestReadFileRefusesSecondDescription has a hub's manifests beside an install-config.
func TestReadFileRefusesSecondDescription(t *testing.T) {
	files := memory{
		"in/install-config.yaml": []byte(installConfig), "in/agent-config.yaml": []byte(agentConfig),
		"in/cluster-manifests/a.yaml": []byte(install),
	}
	_, err := convert.Read(t.Context(), "in/install-config.yaml", convert.Options{Env: files.env(), Version: "4.20"})
	check.Says(t, err, "stands beside an install-config")
}
