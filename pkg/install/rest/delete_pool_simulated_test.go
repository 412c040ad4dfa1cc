package rest_test

import (
	"net/http"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestDeleteOfLateBoundCluster deletes an installed cluster whose hosts came from the pool of an InfraEnv
// of its name: they go back there, and the service keeps it for them.
func TestDeleteOfLateBoundCluster(t *testing.T) {
	t.Parallel()
	cluster, fast := loadExample(t, "sno"), clock.Scaled(1200)
	cluster.Spec.InfraEnv.Bind = spec.BindLate
	s, err := simulator.Start(t.Context(), simulator.Config{Clock: fast, Seed: 1, Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	plane, err := rest.New(rest.Config{URL: s.URL(), Clock: fast, HTTPClient: http.DefaultClient})
	if err != nil {
		t.Fatal(err)
	}
	client := install.New(plane, install.Config{Clock: fast, Files: &memoryFiles{}})
	if result, err := client.Run(t.Context(), &model.Desired{Spec: cluster, Options: model.Options{Run: "r"}}); err != nil || result.Verdict != model.VerdictInstalled {
		t.Fatalf("%s: %v", result.Verdict, err)
	}
	found, err := client.FindToDelete(t.Context(), install.Target{Spec: cluster})
	if err != nil {
		t.Fatal(err)
	}
	envs := found.OwnInfraEnvs()
	if len(envs) != 1 || found.Pool(envs[0]) != 1 {
		t.Fatalf("InfraEnvs %+v, of which the pool has %d hosts", envs, found.Pool(envs[0]))
	}
	gone, err := client.Delete(t.Context(), found, install.DeleteOptions{})
	if err != nil || gone == nil || len(gone) > 0 {
		t.Fatalf("deleted %+v: %v", gone, err)
	}
	if hosts, err := client.ListHosts(t.Context(), envs[0].ID); err != nil || len(hosts) != 1 || hosts[0].ClusterID != "" {
		t.Errorf("the pool has %+v: %v", hosts, err)
	}
	if _, err := client.ClusterByNameOrID(t.Context(), found.Ref.ID); model.FaultOf(err).Code != model.CodeNotFound {
		t.Errorf("the cluster: %v", err)
	}
}
