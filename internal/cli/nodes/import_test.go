package nodes

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/node"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestWhatFollowsAnImport: add-node needs a pull secret there, and the kubeconfig that was given.
func TestWhatFollowsAnImport(t *testing.T) {
	const read = `a discovery image needs the pull secret as a file: (umask 077; kubectl --kubeconfig 'my k' -n openshift-config get secret pull-secret -o jsonpath='{.data.\.dockerconfigjson}' | base64 -d > pull-secret.json); then `
	for want, o := range map[string]*importOptions{
		read + "oaictl add-node --cluster lab --name HOST --mac MAC --pull-secret pull-secret.json --cluster-kubeconfig 'my k'": {Kubeconfig: "my k", Dir: ".", ClusterSecret: true},
		"oaictl add-node --cluster lab --name HOST --mac MAC --pull-secret p --cluster-kubeconfig 'my k' --dir results":         {Kubeconfig: "my k", Dir: "results", PullSecret: "p"},
	} {
		check.Equal(t, o.next("lab").String(), want)
	}
}

func TestForetoldImport(t *testing.T) {
	o := &importOptions{App: &app.App{Globals: app.Globals{}}, Dir: "results", ClusterSecret: true}
	c := &spec.Cluster{Metadata: spec.Metadata{Name: "lab"}}
	c.Spec.BaseDomain = "example.com"
	got := o.foretold(c, node.Description{ID: "one"})
	for _, want := range []string{"register lab.example.com (id one", "the cluster's own pull secret", "results/lab/auth/kubeconfig", "Nothing was done."} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}
