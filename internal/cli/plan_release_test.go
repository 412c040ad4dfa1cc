package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// unreleasedHub is a hub that has no release for any cluster.
type unreleasedHub struct{ *fake }

func (unreleasedHub) CheckRelease(context.Context, *spec.Cluster) error {
	return &model.Fault{
		Code: model.CodeInput, Op: "choose the ClusterImageSet", Permanent: true, Err: errors.New("no ClusterImageSet is of version 4.20"), Next: "write spec.openshift.imageSet",
	}
}

// What registering a cluster would end with stands in the plan of it; a cluster that is
// there has its release.
func TestPlanTellsOfMissingReleases(t *testing.T) {
	here(t)
	for _, typed := range []string{"plan -f cluster.yaml", "create cluster -f cluster.yaml --dry-run"} {
		got := run(t, unreleasedHub{&fake{}}, "", strings.Fields(typed)...)
		for _, words := range []string{"RegisterCluster", "In the way:\n  ! no ClusterImageSet is of version 4.20\n", "spec.openshift.version", "Next: write spec.openshift.imageSet"} {
			if got.code != 0 || !strings.Contains(got.out, words) {
				t.Errorf("%s: %d, %q is not in %s%s", typed, got.code, words, got.out, got.errors)
			}
		}
	}
	if got := run(t, unreleasedHub{lab()}, "", "plan", "-f", "cluster.yaml"); strings.Contains(got.out, "ClusterImageSet") {
		t.Errorf("told of a cluster that is there: %s", got.out)
	}
}
