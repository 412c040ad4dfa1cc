//go:build e2e

package hub

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/test/fixture"
)

// TestDelete deletes a cluster that is installed, and one that is being installed.
// Nothing of it is left, a second deletion finds nothing, and what others have
// stays.
func TestDelete(t *testing.T) {
	for _, b := range backends() {
		for _, when := range []model.ClusterState{model.ClusterInstalling, model.ClusterInstalled} {
			t.Run(b.name+" "+string(when), func(t *testing.T) {
				t.Parallel()
				x := b.open(t, setup{cluster: fixture.Example(t, "sno")})
				untouched := func() {}
				if x.hub {
					untouched = x.strangers(t)
				}
				plane := x.plane(t)
				cluster := x.reach(t, plane, when)
				if canceller, ok := plane.(interface {
					CancelInstall(context.Context, string) error
				}); ok && !x.hub && when == model.ClusterInstalling {
					if err := canceller.CancelInstall(t.Context(), cluster); err != nil { // the hub's operator does that by itself
						t.Fatal(err)
					}
				}
				if err := plane.DeleteCluster(t.Context(), cluster, install.DeleteOptions{}); err != nil {
					t.Fatalf("%v (next: %s)", err, model.FaultOf(err).Next)
				}
				if left := x.named(t, "/v2/clusters", x.cluster.Metadata.Name); len(left) > 0 {
					t.Errorf("the service still has %v", left)
				}
				if x.hub {
					x.nothingLeft(t)
					if err := plane.DeleteCluster(t.Context(), cluster, install.DeleteOptions{}); err != nil {
						t.Errorf("a second time: %v", err)
					}
				}
				untouched()
			})
		}
	}
}

// nothingLeft checks that a hub has no object of the cluster.
func (x *site) nothingLeft(t testing.TB) {
	t.Helper()
	for _, kind := range hubKinds() {
		if left := x.ours(t, kind); len(left) > 0 {
			t.Errorf("%d %s are left", len(left), kind.Resource)
		}
	}
}

// hubKinds are the kinds of objects that a cluster is made of.
func hubKinds() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		hubapi.Resource(hubapi.KindClusterDeployment), hubapi.Resource(hubapi.KindAgentClusterInstall),
		hubapi.Resource(hubapi.KindInfraEnv), hubapi.Resource(hubapi.KindNMStateConfig),
		hubapi.Resource(hubapi.KindAgent), hubapi.Resource(hubapi.KindSecret),
		hubapi.Resource(hubapi.KindConfigMap),
	}
}

// reach installs until the cluster is in a state, and returns its id.
func (x *site) reach(t testing.TB, plane install.Backend, state model.ClusterState) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	a := x.runIn(ctx, t, plane, &model.Desired{Spec: x.cluster, Options: model.Options{Run: "run-1"}}, t.TempDir(), install.Config{Events: func(e model.Event) {
		if e.Key == "cluster/state" && e.State == string(state) {
			stop()
		}
	}})
	if a.result.Observed == nil || a.result.Observed.Cluster == nil {
		t.Fatalf("there is no cluster: %v", a.err)
	}
	return a.result.Observed.Cluster.ID
}
