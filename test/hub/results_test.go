//go:build e2e

package hub

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/test/fixture"
)

// TestResultsOfAnotherCluster that has the same name are never mistaken for those of the cluster that is installed:
// they are put aside, and the earlier folder is recognised by its content, with its id or without.
func TestResultsOfAnotherCluster(t *testing.T) {
	t.Parallel()
	same(t, backends(), func(t *testing.T, b backend) trace {
		x := b.open(t, setup{cluster: fixture.Example(t, "sno")})
		dir := t.TempDir()
		first := x.run(t, dir)
		if first.err != nil {
			t.Fatalf("%v\n%s", first.err, first.story())
		}
		auth := filepath.Join(dir, x.cluster.Metadata.Name, "auth")
		ours := must.Get(os.ReadFile(filepath.Join(auth, "kubeconfig")))(t)
		replace := func(name, content string) {
			t.Helper()
			must.Do(t, os.WriteFile(filepath.Join(auth, name), []byte(content), 0o600))
		}
		again := func() (*attempt, bool) {
			t.Helper()
			x.Forget()
			a := x.run(t, dir)
			if a.err != nil || a.result.Verdict != model.VerdictInstalled || len(x.Written()) > 0 {
				t.Errorf("%q, %v; writes %v\n%s", a.result.Verdict, a.err, x.Written(), a.story())
			}
			have, err := os.ReadFile(filepath.Join(auth, "kubeconfig"))
			if err != nil || !bytes.Equal(have, ours) {
				t.Errorf("installed, with the kubeconfig %.40q: %v\n%s", have, err, a.story())
			}
			check.Do(t, check.Err(os.Stat(filepath.Join(auth, ".cluster"))))
			return a, strings.Contains(a.story(), auth+".")
		}

		replace(".cluster", "another\n")
		replace("kubeconfig", "theirs\n")
		if a, told := again(); !told {
			t.Errorf("it is not told where theirs is kept\n%s", a.story())
		}
		check.Equal(t, string(must.Get(os.ReadFile(filepath.Join(auth+".1", "kubeconfig")))(t)), "theirs\n", "theirs is")
		replace("kubeconfig", "half of it")
		if _, told := again(); told {
			t.Error("the folder was put aside although it is marked as this cluster's")
		}
		must.Do(t, os.Remove(filepath.Join(auth, ".cluster")))
		if a, told := again(); told || !slices.Contains(a.actions(), "cluster/save/kubeconfig") {
			t.Errorf("the folder of before was not adopted\n%s", a.story())
		}
		if a, _ := again(); len(a.actions()) > 0 {
			t.Errorf("there is nothing to do, and done is %v", a.actions())
		}
		return first.trace
	})
}
