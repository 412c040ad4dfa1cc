package manifest_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/pkg/install/manifest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

var update = flag.Bool("update", false, "write the golden files anew")

// examples are the names of the clusters in examples/.
func examples(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../../examples/*/cluster.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	var names []string
	for _, file := range files {
		names = append(names, filepath.Base(filepath.Dir(file)))
	}
	return names
}

func loadExample(t *testing.T, name string) *spec.Cluster {
	t.Helper()
	c, err := spec.Load(t.Context(), "../../../examples/"+name+"/cluster.yaml", spec.OSEnv())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func render(t *testing.T, c *spec.Cluster, o manifest.HubOptions) string {
	t.Helper()
	objects, err := manifest.Hub(c, o)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := manifest.WriteYAML(&out, objects.All()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// golden compares with a file of testdata, or writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestHubOfExamples(t *testing.T) {
	for _, name := range examples(t) {
		t.Run(name, func(t *testing.T) {
			got := render(t, loadExample(t, name), manifest.HubOptions{})
			golden(t, "hub/"+name+".yaml", got)
			if again := render(t, loadExample(t, name), manifest.HubOptions{}); again != got {
				t.Error("the second run wrote something else")
			}
		})
	}
}
