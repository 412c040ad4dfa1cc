package simulator_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// speed is how much faster than life these tests run.
const speed = 2000

// TestBothHalves installs a single node by hand, over HTTP: the machines find
// the InfraEnv, register, install and finish the cluster by themselves.
func TestBothHalves(t *testing.T) {
	cluster, err := spec.Load(t.Context(), filepath.Join("..", "..", "examples", "sno", "cluster.yaml"), spec.OSEnv())
	if err != nil {
		t.Fatal(err)
	}
	s, err := simulator.Start(t.Context(), simulator.Config{Clock: clock.Scaled(speed), Seed: 1, Cluster: cluster, Logf: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	api := s.URL() + "/api/assisted-install/v2"
	made := call(t, http.MethodPost, api+"/clusters", map[string]any{
		"name": cluster.Metadata.Name, "base_dns_domain": cluster.Spec.BaseDomain, "openshift_version": "4.20", "control_plane_count": 1,
		"pull_secret": cluster.PullSecret().Reveal(),
	})
	id := made["id"].(string)
	call(t, http.MethodPost, api+"/infra-envs", map[string]any{
		"name": cluster.Metadata.Name, "cluster_id": id, "openshift_version": "4.20", "pull_secret": cluster.PullSecret().Reveal(),
	})
	installed := false
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		switch status := call(t, http.MethodGet, api+"/clusters/"+id, nil); status["status"] {
		case "ready":
			call(t, http.MethodPost, api+"/clusters/"+id+"/actions/install", nil)
		case "installed":
			installed = true
		case "error", "cancelled":
			t.Fatalf("the cluster is %s: %s", status["status"], status["status_info"])
		}
		if installed {
			return
		}
	}
	data, _ := json.MarshalIndent(call(t, http.MethodGet, api+"/clusters/"+id, nil), "", " ")
	t.Fatalf("not installed in time: %s", data)
}

func call(t *testing.T, method, url string, body any) map[string]any {
	t.Helper()
	return callAs(t, "", method, url, body)
}

// callAs is a call with a header Authorization, empty for none.
func callAs(t *testing.T, authorization, method, url string, body any) map[string]any {
	t.Helper()
	var reader io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		reader = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, url, reader)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		t.Fatal(fmt.Errorf("%s %s: %s %s %w", method, url, response.Status, data, err))
	}
	var out map[string]any
	if len(data) > 0 {
		if err := json.Unmarshal(data, &out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
