package agentmedia

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/pkg/install/model"
)

const endpointJSON = `{"url":"https://api-int.lab.example.com:22623/config/worker","ca_certificate":"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"}`

func importMedium(t *testing.T) *medium {
	t.Helper()
	m := newMedium(t, auth.None)
	importable(m)
	m.put("clusterconfig/import-cluster-config.json", `{"networking":{"userManagedNetworking":true}}`)
	m.put("clusterconfig/worker-ignition-endpoint.json", endpointJSON)
	return m
}

func TestImport(t *testing.T) {
	m := importMedium(t)
	imported := m.must((*Client).ImportCluster, "imported")
	want := []write{
		{"POST", "/clusters/import", map[string]any{"name": "lab", "api_vip_dnsname": "api.lab.example.com", "openshift_cluster_id": m.env.ClusterID}},
		{"PATCH", "/clusters/" + imported.ID, map[string]any{
			"user_managed_networking": true,
			"ignition_endpoint":       map[string]any{"url": "https://api-int.lab.example.com:22623/config/worker", "ca_certificate": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"},
		}},
	}
	if diff := cmp.Diff(want, m.wire.made()); diff != "" {
		t.Errorf("the requests (-want +got):\n%s", diff)
	}
	m.quiet((*Client).ImportCluster)
}

// TestImportBrokenOff ends the process around both writes of an import; the next
// one finds the record, and completes it.
func TestImportBrokenOff(t *testing.T) {
	for number := 1; number <= 2; number++ {
		for name, delivered := range map[string]bool{"before": false, "after": true} {
			m := importMedium(t)
			ctx, kill := context.WithCancelCause(t.Context())
			killed := errors.New("killed")
			m.wire.trouble = func(n int) (bool, error) {
				if n != number {
					return true, nil
				}
				kill(killed)
				return delivered, killed
			}
			if _, err := m.client().ImportCluster(ctx); !errors.Is(err, killed) {
				t.Fatalf("%s write %d: %v", name, number, err)
			}
			m.wire.trouble = nil
			if _, err := m.client().ImportCluster(t.Context()); err != nil {
				t.Fatal(err)
			}
			m.quiet((*Client).ImportCluster)
			if clusters := m.raw("/clusters"); len(clusters) != 1 || clusters[0]["user_managed_networking"] != true {
				t.Errorf("%s write %d: %d clusters, %v", name, number, len(clusters), clusters[0]["user_managed_networking"])
			}
		}
	}
}

// TestAddNode adds one machine, on which the steps run as on its medium.
func TestAddNode(t *testing.T) {
	m := importMedium(t)
	m.put("clusterconfig/import-cluster-config.json", `{"networking":{"userManagedNetworking":false}}`)
	for _, name := range []string{"0", "1"} {
		m.put("hostconfig/node-"+name+"/mac_addresses", "52:54:00:aa:00:0"+string(name[0]+1)+"\n")
		m.put("hostconfig/node-"+name+"/role", "worker\n")
	}
	m.must((*Client).ImportCluster, "imported")
	m.must((*Client).RegisterInfraEnv, "registered")
	m.boot(host.Day2, "cp-1")
	m.reset(map[string]string{"WORKFLOW_TYPE": "addnodes"})
	m.macs = []string{"02:42:ac:11:00:02", "52:54:00:AA:00:02"}
	// The other node's machine is not here, and is not waited for.
	m.must((*Client).Configure, unchanged)
	m.must((*Client).AddNode, "installing")
	m.quiet((*Client).AddNode)
	if hosts := m.raw("/infra-envs/" + m.raw("/infra-envs")[0]["id"].(string) + "/hosts"); hosts[0]["status"] == "known" {
		t.Errorf("the host is %v", hosts[0]["status"])
	}
}

func TestAddNodeWaitsForThisMachine(t *testing.T) {
	m := importMedium(t)
	m.put("clusterconfig/import-cluster-config.json", `{"networking":{"userManagedNetworking":false}}`)
	m.must((*Client).ImportCluster, "imported")
	m.must((*Client).RegisterInfraEnv, "registered")
	m.boot(host.Day2, "cp-1")
	m.macs = []string{"52:54:00:aa:00:01"}
	m.wire.made()
	client := m.client()
	client.Timeout = 20 * time.Minute
	_, err := client.AddNode(t.Context())
	if model.FaultOf(err).Code != model.CodeTimeout || !strings.Contains(err.Error(), "this machine to register") {
		t.Errorf("code %d: %v", model.FaultOf(err).Code, err)
	}
	if made := m.wire.made(); len(made) > 0 {
		t.Errorf("another machine was installed: %v", made)
	}
}

// deaf answers requests to install a host as if all were well, and passes none on.
type deaf struct{ next http.RoundTripper }

func (d deaf) RoundTrip(request *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(request.URL.Path, "/actions/install") {
		return d.next.RoundTrip(request)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader("{}")), Request: request}, nil
}

// TestAddNodeBelievesNoAnswer has something answer that is no service: what counts
// is that the host begins to install.
func TestAddNodeBelievesNoAnswer(t *testing.T) {
	m := importMedium(t)
	m.put("clusterconfig/import-cluster-config.json", `{"networking":{"userManagedNetworking":false}}`)
	m.must((*Client).ImportCluster, "imported")
	m.must((*Client).RegisterInfraEnv, "registered")
	m.boot(host.Day2, "cp-1")
	m.macs = []string{"52:54:00:aa:00:02"}
	m.wire.next = deaf{m.wire.next}
	m.wire.made()
	_, err := m.client().AddNode(t.Context())
	if model.FaultOf(err).Code != model.CodeFailure || !strings.Contains(err.Error(), "asked the service 3 times to install it, but the installation has not started") {
		t.Errorf("code %d: %v", model.FaultOf(err).Code, err)
	}
	if made := m.wire.made(); len(made) != installTries {
		t.Errorf("it was asked %d times", len(made))
	}
}

func TestAddStep(t *testing.T) {
	tests := []struct {
		state model.HostState
		tries int
		step  step
		code  model.Code // of the error, or of the wait
	}{
		{model.HostDiscovering, 0, stepWait, model.CodeTimeout},
		{model.HostDisconnected, 0, stepWait, model.CodeTimeout},
		{model.HostBlocked, 0, stepWait, model.CodeBlocked},
		{model.HostReady, 0, stepStart, 0},
		{model.HostReady, installTries, stepWait, model.CodeFailure},
		{model.HostInstalling, 0, stepDone, 0},
		{model.HostAdded, 1, stepDone, 0},
		{model.HostFailed, 1, stepWait, model.CodeFailed},
		{model.HostCancelled, 1, stepWait, model.CodeFailed},
		{model.HostUnbound, 0, stepWait, model.CodeNotFound},
		{model.HostUnknown, 0, stepWait, model.CodeFailure},
	}
	for _, tt := range tests {
		next, on, err := addStep(&model.Host{State: tt.state}, tt.tries)
		code := on.code
		if err != nil {
			code = model.FaultOf(err).Code
		}
		if next != tt.step || code != tt.code {
			t.Errorf("%s after %d: step %d, code %d (%v)", tt.state, tt.tries, next, code, err)
		}
	}
}
