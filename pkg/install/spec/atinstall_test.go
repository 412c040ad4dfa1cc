package spec_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// growing is a single node with a worker that is added to it later; the worker
// stands first in the file.
const growing = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL_SECRET}
  topology: {required: {workers: 0}}
  hosts:
  - {name: worker-0, role: worker, match: {mac: "52:54:00:00:00:01"}}
  - {name: node-0, role: control-plane, match: {mac: "52:54:00:00:00:02"}}
`

func TestAtInstall(t *testing.T) {
	t.Setenv("PULL_SECRET", `{"auths":{"quay.io":{"auth":"YTpi"}}}`)
	parse := func(t *testing.T, text string) (*spec.Cluster, error) {
		return spec.Parse(t.Context(), filepath.Join(t.TempDir(), "cluster.yaml"), []byte(text), spec.OSEnv())
	}
	t.Run("without its workers", func(t *testing.T) {
		c := must.Get(parse(t, growing))(t)
		first := c.AtInstall()
		if len(first.Spec.Hosts) != 1 || first.Host("node-0") == nil || first.WorkerCount() != 0 || !first.SingleNode() {
			t.Fatalf("%d hosts, %d workers", len(first.Spec.Hosts), first.WorkerCount())
		}
		field := first.HostField(first.Host("node-0"), "match")
		if _, line, _ := first.Position(field); field != "spec.hosts[1].match" || line != 11 {
			t.Errorf("node-0 is said to stand at %s, line %d", field, line)
		}
		if len(c.Spec.Hosts) != 2 || c.WorkerCount() != 1 || first.AtInstall() != first {
			t.Error("the whole cluster has changed, or the one at install changes again")
		}
	})
	t.Run("nothing to leave out", func(t *testing.T) {
		three := strings.NewReplacer("topology: {required: {workers: 0}}", "topology: {controlPlane: 3, workers: 0}\n  acceptUnknownHosts: true\n  platform: none", "role: worker", "role: control-plane").Replace(growing)
		for _, text := range []string{three, strings.Replace(growing, "  - {name: worker-0, role: worker, match: {mac: \"52:54:00:00:00:01\"}}\n", "", 1)} {
			c := must.Get(parse(t, text))(t)
			if c.AtInstall() != c {
				t.Errorf("something is left out of\n%s", text)
			}
		}
	})
	for name, tt := range map[string]struct{ from, to, problem string }{
		"required":           {"topology: {required: {workers: 0}}", "topology: {controlPlane: 1}", "write topology.required: {workers: 0} and add them with `oaictl add-node`"},
		"required in part":   {"workers: 0", "workers: 1", "a single node has no workers when it is installed"},
		"which is the node?": {"{required: {workers: 0}}\n  hosts:\n", "{controlPlane: 1, workers: 2, required: {workers: 0}}\n  hosts:\n  - {name: any, match: {mac: \"52:54:00:00:00:03\"}}\n", "spec.hosts[0].role: is not set"},
		"arbiter":            {"required:", "arbiters: 1, required:", "a single node has no arbiter or fencing"},
	} {
		t.Run(name, func(t *testing.T) {
			check.Says(t, check.Err(parse(t, strings.Replace(growing, tt.from, tt.to, 1))), tt.problem, "does not say")
		})
	}
}
