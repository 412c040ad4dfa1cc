package install_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestResultsOfAnEarlierCluster are neither taken for those of the cluster that a
// run registers, nor lost: the service may have forgotten a cluster that runs.
func TestResultsOfAnEarlierCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		files := install.NewFiles(dir)
		name := sample(1, 0).Metadata.Name
		for _, result := range []string{"kubeconfig-noingress", "kubeconfig", "kubeadmin-password"} {
			if _, err := files.Save(t.Context(), model.ClusterRef{ID: "earlier", Name: name}, result, []byte("earlier")); err != nil {
				t.Fatal(err)
			}
		}
		p := &plane{world: newWorld(&model.Desired{Spec: sample(1, 0)})}
		p.observed.Cluster = nil
		_, _, _ = runFor(t, p, true, install.WithFiles(files))
		if theirs, err := os.ReadFile(filepath.Join(dir, name, "auth", "kubeconfig")); err == nil {
			t.Errorf("the earlier kubeconfig is taken for the new one: %q", theirs)
		}
		if kept, err := os.ReadFile(filepath.Join(dir, name, "auth.1", "kubeconfig")); err != nil || string(kept) != "earlier" {
			t.Errorf("the earlier kubeconfig is %q: %v", kept, err)
		}
	})
}
