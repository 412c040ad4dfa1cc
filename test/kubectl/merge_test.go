//go:build e2e

package kubectl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestMerge: kubectl reads and changes what was merged, and is let in by it; and what kubectl
// has written is kept.
func TestMerge(t *testing.T) {
	d := newDesk(t)
	source := d.kubeconfig
	d.kubeconfig = filepath.Join(d.dir, ".kube", "config")
	d.must(t, "", "config", "set-cluster", "there", "--server", "https://there.invalid")
	d.must(t, "", "config", "set-credentials", "me", "--exec-command", "login", "--exec-api-version", "client.authentication.k8s.io/v1", "--exec-interactive-mode", "Never")
	d.must(t, "", "config", "set-context", "work", "--cluster", "there", "--user", "me")
	d.must(t, "", "config", "use-context", "work")
	before := d.must(t, "", "config", "view", "--raw", "-o", "json")

	merge := []string{"kubeconfig", "merge", "--from", source, "--name", "lab"}
	if got := d.oai(t, 0, merge...); got.out != "context lab added to "+d.kubeconfig+"\n" {
		t.Errorf("got %+v", got)
	}
	check.Contains(t, d.must(t, "", "--context", "lab", "get", "namespaces", "-o", "name"), "namespace/default\n", "the context leads to")
	check.Equal(t, d.must(t, "", "config", "current-context"), "work\n", "the current context is")

	d.must(t, "", "config", "set-context", "lab", "--namespace", "kube-system")
	written := must.Get(os.ReadFile(d.kubeconfig))(t)
	if got := d.oai(t, 0, merge...); got.out != "context lab already there in "+d.kubeconfig+"\n" {
		t.Errorf("got %+v", got)
	}
	check.Equal(t, string(must.Get(os.ReadFile(d.kubeconfig))(t)), string(written), "it was written")
	if got := d.oai(t, 0, append(merge, "--use")...); !strings.Contains(got.errors, "The current context was work.") {
		t.Errorf("got %+v", got)
	}
	check.Equal(t, d.must(t, "", "config", "view", "--minify", "-o", "jsonpath={.current-context} {..namespace}"), "lab kube-system", "kubectl reads")

	lock := d.kubeconfig + ".lock"
	must.Do(t, os.WriteFile(lock, nil, 0))
	if got := d.kubectl(t, "", "config", "use-context", "work"); got.code == 0 {
		t.Error("this kubectl has another lock")
	}
	must.Do(t, os.Remove(lock))
	d.must(t, "", "config", "use-context", "work")
	for _, entry := range []string{"context", "cluster", "user"} {
		d.must(t, "", "config", "delete-"+entry, "lab")
	}
	if after := d.must(t, "", "config", "view", "--raw", "-o", "json"); after != before {
		t.Errorf("without the cluster, kubectl had\n%s\nand now\n%s", before, after)
	}
}
