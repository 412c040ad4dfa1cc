package nodes

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/pkg/install/node"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestWhatFollowsAnImport: add-node needs a pull secret there, and the kubeconfig that was given.
func TestWhatFollowsAnImport(t *testing.T) {
	for want, o := range map[string]*importOptions{
		"add-node --cluster lab --name HOST --mac MAC --pull-secret FILE --cluster-kubeconfig k":                 {Kubeconfig: "k", Dir: ".", ClusterSecret: true},
		"add-node --cluster lab --name HOST --mac MAC --pull-secret p --cluster-kubeconfig 'my k' --dir results": {Kubeconfig: "my k", Dir: "results", PullSecret: "p"},
	} {
		if got := o.next("lab").Commands(); len(got) != 1 || got[0] != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestForetoldImport(t *testing.T) {
	o := &importOptions{App: &base.App{Globals: base.Globals{}}, Dir: "results", ClusterSecret: true}
	c := &spec.Cluster{Metadata: spec.Metadata{Name: "lab"}}
	c.Spec.BaseDomain = "example.com"
	got := o.foretold(c, node.Description{ID: "one"})
	for _, want := range []string{"register lab.example.com (id one", "the cluster's own pull secret", "results/lab/auth/kubeconfig", "Nothing was done."} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}
