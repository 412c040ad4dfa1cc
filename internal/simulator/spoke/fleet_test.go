//go:build e2e

package spoke_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
)

// TestFleetJoins adds a simulated machine to the cluster through a simulated service: once
// its disk is written it asks the cluster for its certificates.
func TestFleetJoins(t *testing.T) {
	st := play(t, nil)
	var web *httptest.Server
	service, err := simulator.NewService(simulator.ServiceConfig{Clock: st.clock, Seed: 1, PublicURL: func() string { return web.URL }}, auth.None)
	if err != nil {
		t.Fatal(err)
	}
	web = httptest.NewServer(service)
	t.Cleanup(web.Close)
	st.start(func(ctx context.Context) { _ = service.Run(ctx) })
	backend, err := assisted.New(web.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	call := func(method, path string, body, into any) {
		t.Helper()
		if err := backend.Do(t.Context(), method, "/v2"+path, body, into); err != nil {
			t.Fatal(err)
		}
	}
	const pullSecret = `{"auths":{"cloud.openshift.com":{"auth":"dXNlcjpwYXNzd29yZA==","email":"a@example.com"}}}`
	var cluster, env struct{ ID string }
	call(http.MethodPost, "/clusters/import", map[string]any{
		"name": "edge", "openshift_cluster_id": st.Cluster().ID, "api_vip_dnsname": "api.edge.example.com", "openshift_version": "4.20",
	}, &cluster)
	call(http.MethodPost, "/infra-envs", map[string]any{"name": "edge", "cluster_id": cluster.ID, "pull_secret": pullSecret, "openshift_version": "4.20"}, &env)

	// The machines' process knows of the cluster what its API server says.
	kube := server.Start(t).Config
	found, err := spoke.Find(t.Context(), kube)
	if err != nil {
		t.Fatal(err)
	}
	joins, err := spoke.New(spoke.Config{Kube: kube, Clock: st.clock, Cluster: found, Logf: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	st.start(func(ctx context.Context) {
		_ = simulator.Boot(ctx, simulator.BootConfig{
			ServiceURL: web.URL, Clock: st.clock, Seed: 7, InfraEnv: "edge", Count: 1, Day: host.Day2, Joins: simulator.JoinSpoke(joins),
		})
	})
	var hosts []struct{ ID, Status string }
	status := func(want string) {
		t.Helper()
		st.eventually("the host to be "+want, func(context.Context) (bool, error) {
			hosts = nil
			call(http.MethodGet, "/infra-envs/"+env.ID+"/hosts", nil, &hosts)
			return len(hosts) == 1 && hosts[0].Status == want, nil
		})
	}
	status("known")
	call(http.MethodPost, "/infra-envs/"+env.ID+"/hosts/"+hosts[0].ID+"/actions/install", nil, nil)
	status("added-to-existing-cluster")
	st.approve(st.awaitRequest(client).Name)
	st.approve(st.awaitRequest(serving).Name)
	st.awaitReady("host-0", corev1.ConditionTrue)
	st.awaitConfig("host-0", st.rendered("worker"), "Done")
}

// TestFind tells an API server on which nothing is played, and a real cluster.
func TestFind(t *testing.T) {
	st := play(t, nil)
	found, err := spoke.Find(t.Context(), server.Start(t).Config)
	if err != nil || found.Name != "edge" || found.BaseDomain != "example.com" || found.Version != "4.20.33" || found.ID != st.Cluster().ID || len(found.ControlPlane) != 3 {
		t.Errorf("found %+v, %v", found, err)
	}
	st.clear()
	if _, err := spoke.Find(t.Context(), server.Start(t).Config); err == nil {
		t.Error("found a cluster where there is none")
	}
}
