//go:build e2e

package render_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/sample"
)

// TestAnAPIServerTakesTheObjects has kubectl hold every object against a real
// API server with the CRDs of a hub: no field is unknown, none is wrong.
func TestAnAPIServerTakesTheObjects(t *testing.T) {
	if testing.Short() {
		t.Skip("an API server takes seconds to start")
	}
	server := kubetest.Start(t)
	namespace, kubeconfig := server.Namespace(t), server.Kubeconfig(t)
	apply := func(t *testing.T, c *spec.Cluster, change func(string) string) ([]byte, error) {
		t.Helper()
		text := rendered(t, c, render.Options{Secrets: true, Namespace: namespace})
		command := exec.CommandContext(t.Context(), server.Kubectl(), "--kubeconfig", kubeconfig, "apply", "--dry-run=server", "--validate=strict", "-f", "-")
		command.Stdin = strings.NewReader(change(text))
		return command.CombinedOutput()
	}
	for name, load := range sample.All(t) {
		t.Run(name, func(t *testing.T) {
			out, err := apply(t, load(), func(text string) string { return text })
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	t.Run("the test can fail", func(t *testing.T) {
		out, err := apply(t, sample.Parse(t, sample.EveryField()), func(text string) string {
			return strings.Replace(text, "mastersSchedulable:", "mastersSchedulible:", 1)
		})
		if err == nil || !bytes.Contains(out, []byte("mastersSchedulible")) {
			t.Errorf("taken: %v\n%s", err, out)
		}
	})
}
