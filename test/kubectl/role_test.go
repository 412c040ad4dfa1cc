//go:build e2e

package kubectl

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestDocumentedRole installs, looks at and deletes a cluster with no more than what docs/hub-role.yaml allows, in a
// namespace that an administrator has made.
func TestDocumentedRole(t *testing.T) {
	admin := newDesk(t)
	admin.must(t, imageSet, "apply", "-f", "-")
	namespace := admin.cluster.Namespace(t)
	role := must.Get(filepath.Abs(filepath.Join("..", "..", "docs", "hub-role.yaml")))(t)
	admin.must(t, "", "apply", "-n", namespace, "-f", role)
	file := admin.example(t, "sno", "allowed")
	admin.play(t, "-f", file, "--speed", "300", "--hive", "-n", namespace)

	user := *admin
	user.kubeconfig = admin.cluster.KubeconfigOf(t, admin.cluster.User(t, "installer"))
	user.oai(t, 0, "create", "cluster", "-f", file, "-n", namespace)
	user.oai(t, 0, "get", "hosts", "allowed", "-n", namespace)
	user.oai(t, 0, "logs", "allowed", "-n", namespace)
	user.oai(t, 0, "delete", "cluster", "allowed", "-n", namespace, "--yes")

	// Outside of it, the error names what is missing, and which right has to be granted.
	got := user.oai(t, 4, "get", "clusters")
	for _, want := range []string{"may not list clusterdeployments.hive.openshift.io", "give --namespace"} {
		if !strings.Contains(got.errors, want) {
			t.Errorf("no %q in:\n%s", want, got.errors)
		}
	}
	other := user.oai(t, 4, "create", "cluster", "-f", file, "-n", "default")
	check.Contains(t, other.errors, "in namespace default")
}
