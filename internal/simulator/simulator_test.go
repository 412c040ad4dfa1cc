package simulator_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// speed is how much faster than life these tests run.
const speed = 2000

// exampleOf is the cluster of an example.
func exampleOf(t *testing.T, name string) *spec.Cluster {
	t.Helper()
	cluster, err := spec.Load(t.Context(), filepath.Join("..", "..", "examples", name, "cluster.yaml"), spec.OSEnv())
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// start runs a simulator until the test's end.
func start(t *testing.T, config simulator.Config) *simulator.Simulator {
	t.Helper()
	s, err := simulator.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// planeOf is the library's client of a service.
func planeOf(t *testing.T, url string, now clock.Clock) *rest.Plane {
	t.Helper()
	plane, err := rest.New(rest.Config{URL: url, Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	return plane
}

// TestBothHalves installs a single node by hand, over HTTP: the machines find
// the InfraEnv, register, install and finish the cluster by themselves.
func TestBothHalves(t *testing.T) {
	cluster := exampleOf(t, "sno")
	s := start(t, simulator.Config{Clock: clock.Scaled(speed), Seed: 1, Cluster: cluster, Logf: t.Logf})
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

const pullSecret = `{"auths":{"cloud.openshift.com":{"auth":"dXNlcjpwYXNz"},"quay.io":{"auth":"dXNlcjpwYXNz"}}}`

// serve runs the service half behind one address.
func serve(t *testing.T, mode auth.Mode) (*simulator.Service, string) {
	t.Helper()
	var address string
	s, err := simulator.NewService(simulator.ServiceConfig{Clock: clock.Real(), Seed: 1, PublicURL: func() string { return address }}, mode)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	address = server.URL
	return s, address
}

func TestImageOfAnInfraEnv(t *testing.T) {
	_, address := serve(t, auth.None)
	made := call(t, http.MethodPost, address+"/api/assisted-install/v2/infra-envs", map[string]any{"name": "lab", "openshift_version": "4.20", "pull_secret": pullSecret})
	response, err := http.Get(made["download_url"].(string))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	image, err := io.ReadAll(response.Body)
	const volumeDescriptor = 16 * 2048
	if err != nil || response.StatusCode != http.StatusOK || len(image) < volumeDescriptor+6 || string(image[volumeDescriptor+1:volumeDescriptor+6]) != "CD001" {
		t.Errorf("%s: %s, %d bytes (%v); want an ISO 9660 image", made["download_url"], response.Status, len(image), err)
	}
}

func TestTokensOpenTheService(t *testing.T) {
	s, address := serve(t, auth.RHSSO)
	get := func(token string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/api/assisted-install/v2/clusters", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	response, err := http.PostForm(address+auth.TokenPath, url.Values{
		"grant_type": {"refresh_token"}, "client_id": {"cloud-services"}, "refresh_token": {s.Callers().OfflineToken()},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(body), `"access_token":"`)
	token, _, found := strings.Cut(rest, `"`)
	if !found || get(token) != http.StatusOK || get("nonsense") != http.StatusUnauthorized {
		t.Errorf("the access token (found: %v) gets %d, nonsense %d", found, get(token), get("nonsense"))
	}
}

// TestAddressesOfFilesOpenThem tries the address that is given for an InfraEnv's files: it
// opens them without a header, and for four hours where tokens end.
func TestAddressesOfFilesOpenThem(t *testing.T) {
	for mode, want := range map[auth.Mode]struct {
		key  string
		ends bool
	}{auth.None: {}, auth.RHSSO: {"image_token", true}, auth.AgentInstallerLocal: {"api_key", false}} {
		t.Run(string(mode), func(t *testing.T) {
			s, address := serve(t, mode)
			token := ""
			if mode != auth.None {
				var err error
				if token, err = s.Callers().Mint(auth.Grant{Scheme: auth.UserAuth}); err != nil {
					t.Fatal(err)
				}
			}
			if mode == auth.RHSSO {
				token = "Bearer " + token
			}
			base := address + "/api/assisted-install/v2/"
			env := callAs(t, token, http.MethodPost, base+"infra-envs", map[string]any{"name": "lab", "openshift_version": "4.20", "pull_secret": pullSecret})
			given := callAs(t, token, http.MethodGet, base+"infra-envs/"+env["id"].(string)+"/downloads/files-presigned?file_name=discovery.ign", nil)
			link, err := url.Parse(given["url"].(string))
			if err != nil {
				t.Fatal(err)
			}
			if got := link.Query().Get("file_name"); got != "discovery.ign" || want.key != "" && link.Query().Get(want.key) == "" {
				t.Errorf("the address is %s", link)
			}
			if ends := !strings.HasPrefix(given["expires_at"].(string), "0001-"); ends != want.ends {
				t.Errorf("it ends at %s", given["expires_at"])
			}
			if config := call(t, http.MethodGet, link.String(), nil); config["ignition"] == nil {
				t.Errorf("the address leads to %v", config)
			}
			cluster := callAs(t, token, http.MethodPost, base+"clusters", map[string]any{"name": "lab", "base_dns_domain": "example.com", "openshift_version": "4.20", "pull_secret": pullSecret})
			if subscription := cluster["ams_subscription_id"]; (subscription != nil) != (mode == auth.RHSSO) {
				t.Errorf("the cluster's subscription is %v", subscription)
			}
		})
	}
}
