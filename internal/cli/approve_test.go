package cli

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestApproveForNobody: an address is allowed to the nodes that are named, and dropped for no other.
func TestApproveForNobody(t *testing.T) {
	here(t)
	service := lab()
	service.looks = growing(model.HostAdded)
	got := run(t, service, "", "approve", "node-2", "--cluster", "lab", "--allow-address", "node-3=192.0.2.2")
	if got.code != int(model.CodeUsage) || !strings.Contains(got.errors, "--allow-address node-3=192.0.2.2: node-3 is none of node-2") {
		t.Errorf("code %d: %s", got.code, got.errors)
	}
}

// TestRelativeKubeconfig: the paths in a kubeconfig go from where it lies.
func TestRelativeKubeconfig(t *testing.T) {
	here(t)
	service := lab()
	service.looks = growing(model.HostAdded)
	kubeconfig := `{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}],
  clusters: [{name: c, cluster: {server: "https://127.0.0.1:9", certificate-authority: missing.crt}}], users: [{name: u, user: {token: t}}]}`
	must.Do(t, errors.Join(os.Mkdir("elsewhere", 0o700), os.WriteFile("elsewhere/kubeconfig", []byte(kubeconfig), 0o600)))
	got := run(t, service, "", "approve", "node-2", "--cluster", "lab", "--cluster-kubeconfig", "elsewhere/kubeconfig")
	if !strings.Contains(got.errors, "elsewhere/missing.crt") {
		t.Errorf("code %d: %s", got.code, got.errors)
	}
}

// TestNoKubeconfig: a file that is given as a kubeconfig and is none is reported, with the flag that names it.
func TestNoKubeconfig(t *testing.T) {
	here(t)
	service := lab()
	service.looks = growing(model.HostAdded)
	must.Do(t, os.WriteFile("pod.yaml", []byte("apiVersion: v1\nkind: Pod\n"), 0o600))
	got := run(t, service, "", "approve", "node-2", "--cluster", "lab", "--cluster-kubeconfig", "pod.yaml")
	if got.code == 0 || !strings.Contains(got.errors, "pod.yaml: it is no kubeconfig: it is a Pod of v1") ||
		!strings.Contains(got.errors, "approve certificate requests of nodes of lab.example.com: ") || strings.Contains(got.errors, "scheme") {
		t.Errorf("code %d: %s", got.code, got.errors)
	}
	got = run(t, service, "", "get", "nodes", "lab", "--cluster-kubeconfig", "pod.yaml")
	if strings.Contains(got.errors, "add nodes to") || strings.Contains(got.errors, "scheme") || !strings.Contains(got.errors, "it is no kubeconfig") {
		t.Errorf("code %d: %s", got.code, got.errors)
	}
}
