package cli

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// withWorker writes a file with a worker that is not required.
func withWorker(t *testing.T) string {
	t.Helper()
	text := strings.Replace(clusterYAML, "network: {", "network: {vips: {api: [192.168.10.2], ingress: [192.168.10.3]}, ", 1) + `  - {name: node-3, role: control-plane, match: {mac: "52:54:00:00:00:03"}}
  - {name: node-4, role: control-plane, match: {mac: "52:54:00:00:00:04"}}
  - {name: node-2, role: worker, match: {mac: "52:54:00:00:00:02"}}
  topology: {controlPlane: 3, workers: 1, required: {workers: 0}}
`
	must.Do(t, os.WriteFile("workers.yaml", []byte(text), 0o600))
	return "workers.yaml"
}

// growing are looks at an installed cluster, whose worker is in these states
// one after the other; "" for one that has not come.
func growing(states ...model.HostState) []*model.Observed {
	var out []*model.Observed
	for _, state := range states {
		o := looksOf(model.ClusterInstalled)[0]
		o.Cluster.State, o.Cluster.Kubeconfig = model.ClusterAddingHosts, true
		o.InfraEnvs = []model.InfraEnv{{ID: "e2", Name: "lab-2", ClusterID: "c1", Image: model.Image{State: model.ImageReady}}}
		for _, number := range []string{"3", "4"} {
			node := o.Hosts[0]
			node.ID, node.Hostname = "h"+number, "node-"+number
			node.Inventory.Interfaces = []model.Interface{{MAC: "52:54:00:00:00:0" + number}}
			o.Hosts = append(o.Hosts, node)
		}
		if state != "" {
			o.Hosts = append(o.Hosts, model.Host{
				ID: "h2", InfraEnvID: "e2", Hostname: "node-2", ClusterID: "c1", Day2: true, State: state, Role: spec.Worker, StatusInfo: "look " + string(state),
				Settings:  model.Settings{model.SettingRole: model.ValueOf("worker"), model.SettingHostname: model.ValueOf("node-2")},
				Inventory: model.Inventory{Known: true, Interfaces: []model.Interface{{MAC: "52:54:00:00:00:02"}}},
			})
		}
		out = append(out, o)
	}
	return out
}

// forgotten is an installed cluster with all its hosts. The service has lost the record of one of them.
func forgotten(name string) []*model.Observed {
	looks := growing(model.HostAdded)
	looks[0].Hosts = slices.DeleteFunc(looks[0].Hosts, func(h model.Host) bool { return h.Hostname == name })
	for i := range looks[0].Hosts {
		if h := &looks[0].Hosts[i]; !h.Day2 {
			h.Role = spec.ControlPlane
		}
	}
	return looks
}

// TestCreateNamesAddNode where an optional worker has not come.
func TestCreateNamesAddNode(t *testing.T) {
	here(t)
	file := withWorker(t)
	service := lab()
	service.looks = growing("")
	got := run(t, service, "", "create", "cluster", "-f", file, "--dir", "out", "--service-url", "http://fake")
	for _, words := range []string{"node-2 has not registered; it was not required.", "Next: oaictl --service-url http://fake add-node -f workers.yaml --dir out\n"} {
		if got.code != 0 || !strings.Contains(got.errors, words) {
			t.Errorf("code %d, without %q:\n%s", got.code, words, got.errors)
		}
	}
	got = run(t, service, "", "create", "cluster", "-f", file, "--progress", "json")
	if !strings.Contains(got.out, `"next":"oaictl add-node -f workers.yaml"`) {
		t.Errorf("the last event does not name the command:\n%s", got.out)
	}
}

// TestAddNode holds the ends of add-node to their words and exit codes.
func TestAddNode(t *testing.T) {
	here(t)
	file := withWorker(t)
	for _, tt := range []struct {
		name  string
		looks []*model.Observed
		more  []string
		code  int
		says  []string
		calls []string
	}{
		{"added", growing("", model.HostReady, model.HostInstalling, model.HostAdded), nil, 0, []string{
			"node-2: installed and rebooted to join lab.example.com.", "cannot see whether", "Next: kubectl --kubeconfig lab/auth/kubeconfig get csr", "kubectl --kubeconfig lab/auth/kubeconfig certificate approve",
		}, []string{"act InstallHost"}},
		{"failed", growing(model.HostFailed), nil, 7, []string{"add nodes to lab.example.com: not added: node-2: look Failed", "oaictl delete host h2 --yes"}, nil},
		{"never came", growing(""), nil, 9, []string{"node-2 to boot the discovery image lab-2", "oaictl download iso --infra-env lab-2"}, nil},
		{"timed out", growing(model.HostInstalling), []string{"--timeout", "5m"}, 8, []string{"Next: oaictl add-node -f workers.yaml --until added --timeout 5m"}, nil},
		{"detached", growing(model.HostInstalling), []string{"--detach"}, 0, []string{"Next: oaictl add-node -f workers.yaml --until added\n"}, nil},
		{"not installed", looksOf(model.ClusterReady), nil, 1, []string{"nodes can only be added to an installed cluster", "oaictl create cluster"}, nil},
		{"record lost", forgotten("node-3"), nil, 3, []string{
			"node-3 may already be part of the control plane", "oaictl add-node -f workers.yaml --accept-control-plane",
		}, nil},
		{"record lost, dry run", forgotten("node-3"), []string{"--dry-run"}, 0, nil, nil},
		{"an address of nobody", growing(model.HostReady), []string{"--allow-address", "node-2=192.0.2.2,nobody=192.0.2.3"}, 2, []string{
			"--allow-address nobody=192.0.2.3: nobody is none of node-1, node-3, node-4, node-2",
		}, nil},
		{"dry run, an address", growing(model.HostReady), []string{"--dry-run", "--allow-address", "node-2=192.0.2.2"}, 0, nil, nil},
		{"dry run", growing(model.HostReady), []string{"--dry-run"}, 0, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			service := lab()
			service.looks = tt.looks
			got := run(t, service, "", append([]string{"add-node", "-f", file, "--until", "added"}, tt.more...)...)
			for _, words := range tt.says {
				check.Contains(t, got.errors, words, "does not say")
			}
			if got.code != tt.code || !slices.Equal(service.calls, tt.calls) {
				t.Errorf("code %d, want %d; calls %v, want %v:\n%s%s", got.code, tt.code, service.calls, tt.calls, got.out, got.errors)
			}
		})
	}
}
