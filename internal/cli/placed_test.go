package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestAdviceNamesWhereThingsAre: what is to be typed works from the current folder.
func TestAdviceNamesWhereThingsAre(t *testing.T) {
	here(t)
	for name, content := range map[string]string{
		".cluster": "c1\n", "kubeconfig": "kubeconfig of c1\n", "kubeconfig-noingress": "kubeconfig-noingress of c1\n", "kubeadmin-password": "kubeadmin-password of c1\n",
	} {
		path := filepath.Join("out", "lab", "auth", name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(t, os.WriteFile(path, []byte(content), 0o600))
	}
	service := lab()
	service.looks = looksOf(model.ClusterInstalled)
	service.looks[0].Cluster.Kubeconfig = true
	got := run(t, service, "", "plan", "-f", "cluster.yaml", "--dir", "out")
	for _, words := range []string{"lab.example.com: installed\n", "Next: kubectl --kubeconfig out/lab/auth/kubeconfig get nodes\n"} {
		if !strings.Contains(got.out, words) {
			t.Errorf("plan does not say %q: %+v", words, got)
		}
	}
	service = lab()
	service.clusters[0].Owned = false
	const next = "oaictl create cluster -f cluster.yaml --adopt c1, or another metadata.name"
	if got := run(t, service, "", "plan", "-f", "cluster.yaml"); !strings.Contains(got.out, next) {
		t.Errorf("plan does not say %q: %+v", next, got)
	}
	if got := run(t, service, "", "create", "cluster", "-f", "cluster.yaml"); got.code != 5 || !strings.Contains(got.errors, next) {
		t.Errorf("create does not say %q: %+v", next, got)
	}
	service.looks = looksOf(model.ClusterReady)
	if got := run(t, service, "", "add-node", "-f", "cluster.yaml"); !strings.Contains(got.errors, "Next: oaictl create cluster -f cluster.yaml\n") {
		t.Errorf("add-node does not name the file: %+v", got)
	}
}
