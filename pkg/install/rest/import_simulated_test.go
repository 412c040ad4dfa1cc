package rest_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// elsewhere is a cluster that something else installed.
const elsewhere = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: old}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  import: {clusterID: 11111111-2222-3333-4444-555555555555}
  discovery: {osVersion: "4.20"}
  hosts:
  - {name: w-0, role: worker, match: {mac: "52:54:00:00:01:00"}}
  - {name: w-1, role: worker, match: {mac: "52:54:00:00:01:01"}}
`

// TestAddNodesToAnImportedCluster: one record is made of a cluster that another tool installed, though the first run is
// interrupted before it could be marked, and its hosts are added; a further run writes nothing. An owner who is known
// by a mark alone takes no record that another process left without one.
func TestAddNodesToAnImportedCluster(t *testing.T) {
	for name, options := range map[string]model.Options{
		"by its name": {AddNodes: true},
		"by its mark": {AddNodes: true, Exact: true, Run: "r1"},
	} {
		t.Run(name, func(t *testing.T) { addToImported(t, options) })
	}
}

func addToImported(t *testing.T, options model.Options) {
	t.Helper()
	env := spec.OSEnv()
	env.LookupEnv = func(string) (string, bool) { return `{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}`, true }
	cluster, err := spec.Parse(t.Context(), "cluster.yaml", []byte(elsewhere), env)
	if err != nil {
		t.Fatal(err)
	}
	clock := clock.Scaled(1200)
	service, err := simulator.Start(t.Context(), simulator.Config{Clock: clock, Seed: 1, Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	count := &wireCount{}
	plane := func() *rest.Plane {
		p, err := rest.New(rest.Config{URL: service.URL(), HTTPClient: &http.Client{Transport: count}, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	broken := rest.Import{Name: "old", APIName: "api.old.example.com", OpenShiftID: cluster.Spec.Import.ClusterID}
	if err := plane().ImportCluster(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	count.take()
	desired := &model.Desired{Spec: cluster, Options: options}
	result, err := install.New(plane(), install.Config{Clock: clock, Timeout: 4 * time.Hour, UserTimeout: time.Hour}).Run(t.Context(), desired)
	if err != nil {
		t.Fatalf("%v (next: %s)", err, model.FaultOf(err).Next)
	}
	slices.Sort(result.Plan.Added)
	if result.Verdict != model.VerdictInstalled || strings.Join(result.Plan.Added, " ") != "w-0 w-1" {
		t.Errorf("verdict %s, added %v", result.Verdict, result.Plan.Added)
	}
	_, _, by := count.take()
	imports := 0
	if options.Exact {
		imports = 1 // the record that is there carries no mark
	}
	if by["POST clusters/import"] != imports || by["PATCH clusters/*"] != 1 || by["POST infra-envs"] != 1 {
		t.Errorf("requests %v", by)
	}
	found, err := plane().ListClusters(t.Context())
	owned := slices.DeleteFunc(slices.Clone(found), func(c model.Cluster) bool { return !c.Owned })
	if err != nil || len(found) != 1+imports || len(owned) != 1 || owned[0].Run != options.Run {
		t.Errorf("clusters %+v: %v", found, err)
	}
	count.take()
	if _, err := install.New(plane(), install.Config{Clock: clock}).Run(t.Context(), desired); err != nil {
		t.Fatal(err)
	}
	if _, writes, _ := count.take(); len(writes) > 0 {
		t.Errorf("a second run writes %v", writes)
	}
}
