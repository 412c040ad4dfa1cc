package hub

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The discovery Ignition is asked for with the hosts' networks in it, by an address
// that keeps what signs it.
func TestDiscoveryIgnitionHasTheNetworks(t *testing.T) {
	p, at := filledPlane(t, "lab")
	put(t, at, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv", "metadata": map[string]any{"name": "lab", "namespace": "lab"},
		"status": map[string]any{"bootArtifacts": map[string]any{"discoveryIgnitionURL": "https://hub.example.com/v2/infra-envs/1/downloads/files?api_key=signed&file_name=discovery.ign"}},
	}})
	var asked string
	p.http = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = r.URL.String()
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
	})}
	var got bytes.Buffer
	if err := p.DownloadInfraEnvFile(t.Context(), "lab/lab", "discovery.ign", &got); err != nil {
		t.Fatal(err)
	}
	if want := "https://hub.example.com/v2/infra-envs/1/downloads/files?api_key=signed&discovery_iso_type=full-iso&file_name=discovery.ign"; asked != want || got.String() != "{}" {
		t.Errorf("asked for %s, got %s", asked, &got)
	}
}
