package render_test

import (
	"bytes"
	"flag"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/sample"
)

var update = flag.Bool("update", false, "write the golden files anew")

func rendered(t *testing.T, c *spec.Cluster, o render.Options) string {
	t.Helper()
	objects, err := render.Hub(c, o)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := objects.WriteYAML(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestHubOfExamples(t *testing.T) {
	for _, name := range sample.Examples(t) {
		t.Run(name, func(t *testing.T) {
			got := rendered(t, sample.Example(t, name), render.Options{})
			sample.Golden(t, *update, "hub/"+name+".yaml", got)
			if again := rendered(t, sample.Example(t, name), render.Options{}); again != got {
				t.Error("the second run wrote something else")
			}
		})
	}
}

// TestWorkersOfASingleNode are in no object that it is installed by; a hub has
// their objects once it takes them.
func TestWorkersOfASingleNode(t *testing.T) {
	c := sample.Parse(t, sample.LaterWorker)
	const counts = "controlPlaneAgents: 1\n    workerAgents: 0\n"
	if text := rendered(t, c, render.Options{}); strings.Contains(text, "later") || strings.Contains(text, "52:54:00:00:00:01") || !strings.Contains(text, counts) {
		t.Errorf("a hub is told of the worker before it can take it:\n%s", text)
	}
	if text := rendered(t, c, render.Options{Later: true}); strings.Count(text, "kind: BareMetalHost\n") != 2 || strings.Count(text, "kind: NMStateConfig\n") != 2 || !strings.Contains(text, counts) {
		t.Errorf("a hub is not told of the worker:\n%s", text)
	}
}
