package simulator_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
)

// TestBootAgain takes away what the machines of a hub have booted: they boot the image
// that comes next, and not before the first is gone.
func TestBootAgain(t *testing.T) {
	t.Parallel()
	cluster := exampleOf(t, "sno")
	s := start(t, simulator.Config{Clock: clock.Scaled(speed), Seed: 1, Cluster: cluster, KubeAPI: true, Logf: t.Logf})
	api := s.URL() + "/api/assisted-install/v2/infra-envs"
	image := func(name string) string {
		return api + "/" + call(t, http.MethodPost, api, map[string]any{
			"name": name, "openshift_version": "4.20", "pull_secret": cluster.PullSecret().Reveal(),
		})["id"].(string)
	}
	first := image(cluster.Metadata.Name)
	host := registered(t, first, time.Minute)
	if host == "" {
		t.Fatal("nothing has booted the first image")
	}
	late := image(cluster.Metadata.Name + "-2")
	call(t, http.MethodDelete, first+"/hosts/"+host, nil)
	if registered(t, late, time.Second) != "" {
		t.Error("it boots another image although that of its own is there")
	}
	call(t, http.MethodDelete, first, nil)
	if again := registered(t, late, time.Minute); again != host {
		t.Errorf("the next image is booted by %q, not by %s", again, host)
	}
}

// registered is the host that registers with an InfraEnv within some time.
func registered(t *testing.T, infraEnv string, within time.Duration) string {
	t.Helper()
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		response, err := http.Get(infraEnv + "/hosts")
		if err != nil {
			t.Fatal(err)
		}
		var hosts []struct{ ID string }
		err = json.NewDecoder(response.Body).Decode(&hosts)
		_ = response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if len(hosts) > 0 {
			return hosts[0].ID
		}
	}
	return ""
}
