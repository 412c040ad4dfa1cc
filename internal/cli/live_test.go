package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator"
)

// live is the simulator's service behind a real socket.
type live struct{ *httptest.Server }

func newLive(t *testing.T) live {
	t.Helper()
	var server live
	service := must.Get(simulator.NewService(simulator.ServiceConfig{Clock: clock.Scaled(100), Seed: 1, PublicURL: func() string { return server.URL }}, ""))(t)
	server.Server = httptest.NewServer(service)
	t.Cleanup(server.Close)
	return server
}

// post registers something and returns its id.
func (l live) post(t *testing.T, path string, fields map[string]any) string {
	t.Helper()
	fields["pull_secret"] = `{"auths":{"cloud.openshift.com":{"auth":"dXNlcjpwYXNz","email":"a@example.com"}}}`
	body := must.Get(json.Marshal(fields))(t)
	resp := must.Get(http.Post(l.URL+"/api/assisted-install/v2/"+path, "application/json", bytes.NewReader(body)))(t)
	defer resp.Body.Close()
	var made struct{ ID, Reason, Message string }
	if err := json.NewDecoder(resp.Body).Decode(&made); err != nil || made.ID == "" {
		t.Fatalf("register %s: %d %s%s (%v)", path, resp.StatusCode, made.Reason, made.Message, err)
	}
	return made.ID
}

// runLive runs a command line against a real socket.
func runLive(t *testing.T, url, input string, terminal bool, arguments ...string) outcome {
	t.Helper()
	var out, problems strings.Builder
	io := streams.Streams{In: strings.NewReader(input), Out: &out, Err: &problems, InTTY: terminal, ErrTTY: terminal}
	a := app.New(app.Identify(append([]string{"oaictl"}, arguments...)), io, streams.Env{"OAICTL_SERVICE_URL": url, "TERM": "dumb"})
	code := execute(t.Context(), a)
	return outcome{code, out.String(), problems.String()}
}

// A cluster takes the InfraEnvs along that oaictl made for it, and no pool.
func TestDeleteClusterTakesItsInfraEnvsAlong(t *testing.T) {
	service := newLive(t)
	cluster := service.post(t, "clusters", map[string]any{"name": "lab", "base_dns_domain": "example.com", "openshift_version": "4.20", "tags": "oaictl", "cpu_architecture": "x86_64"})
	for name, of := range map[string]string{"lab": cluster, "lab-2": cluster, "lab-pool": cluster, "pool": ""} {
		fields := map[string]any{"name": name, "openshift_version": "4.20", "cpu_architecture": "x86_64"}
		if of != "" {
			fields["cluster_id"] = of
		}
		service.post(t, "infra-envs", fields)
	}
	asked := runLive(t, service.URL, "n\n", true, "delete", "cluster", "lab")
	if !strings.Contains(asked.errors, "and InfraEnv lab, lab-2? [y/N]") {
		t.Errorf("the question does not name what goes:\n%s", asked.errors)
	}
	got := runLive(t, service.URL, "", false, "delete", "cluster", "lab", "--yes")
	if got.code != 0 || got.out != "cluster lab deleted\ninfraenv lab deleted\ninfraenv lab-2 deleted\n" {
		t.Errorf("%+v", got)
	}
	left := runLive(t, service.URL, "", false, "get", "infraenvs", "-o", "name")
	if left.out != "infraenv/lab-pool\ninfraenv/pool\n" {
		t.Errorf("what is left:\n%s", left.out)
	}
}
