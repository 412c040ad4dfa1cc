package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// clusterYAML is a file for the cluster of lab, with a secret in it that must
// not come out.
const clusterYAML = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {file: pull-secret.json}
  network: {machine: [192.168.10.0/24]}
  hosts:
  - name: node-1
    role: control-plane
    match: {mac: "52:54:00:00:00:01"}
    disk: {hints: {deviceName: /dev/sda}}
`

// installConfig describes the same kind of cluster to the agent-based installer.
const installConfig = `apiVersion: v1
metadata: {name: lab}
baseDomain: example.com
controlPlane: {name: master, replicas: 1}
compute: [{name: worker, replicas: 0}]
networking: {networkType: OVNKubernetes, machineNetwork: [{cidr: 192.168.10.0/24}]}
platform: {none: {}}
publish: External
pullSecret: '{"auths":{"quay.io":{"auth":"` + hidden + `"}}}'
`

// agentConfig names its machine.
const agentConfig = `apiVersion: v1beta1
kind: AgentConfig
metadata: {name: lab}
rendezvousIP: 192.168.10.11
hosts:
- hostname: node-1
  role: master
  interfaces: [{name: eno1, macAddress: "52:54:00:00:00:01"}]
`

// hidden is the password in the pull secret.
const hidden = "aGlkZGVuOmhpZGRlbi1wYXNzd29yZA=="

// here makes a folder with the file, and goes there.
func here(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"cluster.yaml":        clusterYAML,
		"install-config.yaml": installConfig,
		"agent-config.yaml":   agentConfig,
		"pull-secret.json":    `{"auths":{"quay.io":{"auth":"` + hidden + `"},"cloud.openshift.com":{"auth":"` + hidden + `"}}}`,
	} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
}

// looksOf are observations of the cluster in these states, one after the other.
func looksOf(states ...model.ClusterState) []*model.Observed {
	var out []*model.Observed
	for i, state := range states {
		c := &model.Cluster{ClusterRef: model.ClusterRef{ID: "c1", Name: "lab", BaseDomain: "example.com", Status: "as is", Owned: true}, State: state, StatusInfo: "look " + string(state)}
		c.Kubeconfig, c.NoIngress = state == model.ClusterInstalled, state != model.ClusterPreparing
		c.Operators = []model.Operator{{Name: "console", Status: "available"}}
		host := model.Host{
			ID: "h1", Hostname: "node-1", ClusterID: "c1", State: model.HostInstalling, Role: spec.ControlPlane,
			Inventory: model.Inventory{Known: true, Interfaces: []model.Interface{{MAC: "52:54:00:00:00:01"}}},
			Progress:  model.HostProgress{Stage: "Writing image to disk", Percent: 30 + i, Stages: []string{"Starting installation", "Writing image to disk", "Done"}, Info: "45%"},
		}
		if state == model.ClusterInstalled {
			host.State, host.Progress.Stage = model.HostInstalled, "Done"
		}
		out = append(out, &model.Observed{At: noon().Add(time.Duration(i) * time.Minute), Cluster: c, Hosts: []model.Host{host}})
	}
	return out
}

func TestCreateCluster(t *testing.T) {
	here(t)
	service := lab()
	service.looks = looksOf(model.ClusterInstalling, model.ClusterInstalling, model.ClusterFinalizing, model.ClusterInstalled)
	got := run(t, service, "", "create", "cluster", "-f", "cluster.yaml", "--dir", "out", "-o", "json")
	if got.code != 0 {
		t.Fatalf("code %d:\n%s", got.code, got.errors)
	}
	var result struct {
		Cluster, State, Kubeconfig, PasswordFile, Log string
		ExitCode                                      int
	}
	if err := json.Unmarshal([]byte(got.out), &result); err != nil {
		t.Fatalf("%v: %s", err, got.out)
	}
	if result.State != "Installed" || result.Kubeconfig != filepath.Join("out", "lab", "auth", "kubeconfig") || result.ExitCode != 0 {
		t.Errorf("result %+v", result)
	}
	for _, path := range []string{result.Kubeconfig, result.PasswordFile, result.Log} {
		check.Equal(t, must.Get(os.Stat(path))(t).Mode().Perm(), 0o600, path)
	}
	for _, words := range []string{"cluster is Finalizing", "node-1: Writing image to disk", "lab.example.com is installed.", "https://api.lab.example.com:6443", "\n  Console:  https://console-openshift-console.apps.lab.example.com\n"} {
		check.Contains(t, got.errors, words, "stderr does not say")
	}
	log := must.Get(os.ReadFile(result.Log))(t)
	for _, words := range []string{"create cluster -f cluster.yaml", "stage=\"Writing image to disk\"", "exitCode=0"} {
		if !bytes.Contains(log, []byte(words)) {
			t.Errorf("the log does not say %q:\n%s", words, log)
		}
	}
}

// TestEnds holds every end to its exit code, and to the command that comes
// next.
func TestEnds(t *testing.T) {
	here(t)
	for _, tt := range []struct {
		name  string
		looks []*model.Observed
		fails error
		more  []string
		code  int
		says  string
	}{
		{"failed", looksOf(model.ClusterInstalling, model.ClusterFailed), nil, nil, 7, "Next: "},
		{"cancelled", looksOf(model.ClusterCancelled), nil, nil, 7, "Next: oaictl reset cluster lab"},
		{"timed out", looksOf(model.ClusterInstalling), nil, []string{"--timeout", "5m"}, 8, "Next: oaictl create cluster -f cluster.yaml --timeout 5m"},
		{"unauthorised", nil, &model.Fault{Code: model.CodeAuth, Op: "list", On: "clusters", Err: errors.New("401"), Permanent: true, Next: "get a token"}, nil, 4, "Next: get a token"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			service := lab()
			service.looks, service.fails = tt.looks, tt.fails
			got := run(t, service, "", append([]string{"create", "cluster", "-f", "cluster.yaml"}, tt.more...)...)
			if got.code != tt.code || !strings.Contains(got.errors, tt.says) {
				t.Errorf("code %d, want %d and %q:\n%s", got.code, tt.code, tt.says, got.errors)
			}
			if strings.Count(got.errors, "oaictl: ") != 1 {
				t.Errorf("the error is not told once:\n%s", got.errors)
			}
		})
	}
}

func TestInterruptSaysHowToResume(t *testing.T) {
	here(t)
	for code, by := range map[int]*install.Interrupt{130: {Signal: "interrupt", Code: 130}, 143: {Signal: "terminated", Code: 143}} {
		ctx, stop := context.WithCancelCause(t.Context())
		service := lab()
		service.looks = looksOf(model.ClusterInstalling)
		stop(by)
		got := runIn(ctx, t, service, "", false, "create", "cluster", "-f", "cluster.yaml")
		if got.code != code || !strings.Contains(got.errors, "Next: oaictl create cluster -f cluster.yaml\n") {
			t.Errorf("code %d, want %d:\n%s", got.code, code, got.errors)
		}
	}
}

func TestNothingSecretComesOut(t *testing.T) {
	here(t)
	for _, more := range [][]string{{"-vv"}, {"--progress", "json"}, {"--dry-run"}, {"--dry-run", "-o", "json"}} {
		service := lab()
		service.clusters = nil
		service.fails = &model.Fault{Code: model.CodeAuth, Op: "send", On: hidden, Err: errors.New("the pull secret " + hidden), Permanent: true}
		if more[0] == "--dry-run" {
			service.fails = nil
		}
		got := run(t, service, "", append([]string{"create", "cluster", "-f", "cluster.yaml"}, more...)...)
		if more[0] == "--dry-run" && strings.Contains(got.out+got.errors, hidden) {
			t.Errorf("%v shows the pull secret:\n%s%s", more, got.out, got.errors)
		}
	}
	log := must.Get(os.ReadFile(filepath.Join("lab", "oaictl.log")))(t)
	if bytes.Contains(log, []byte(hidden)) {
		t.Errorf("the log holds the pull secret:\n%s", log)
	}
}

func TestPlanWritesNothing(t *testing.T) {
	here(t)
	service := lab()
	service.clusters, service.infraEnvs, service.hosts = nil, nil, nil
	for _, line := range []string{"plan -f cluster.yaml", "create cluster -f cluster.yaml --dry-run", "plan -f cluster.yaml -o json", "why -f cluster.yaml", "validate -f cluster.yaml", "get clusters"} {
		run(t, service, "", strings.Fields(line)...)
	}
	if len(service.calls) != 0 {
		t.Errorf("the service was changed: %v", service.calls)
	}
	if _, err := os.Stat("lab"); err == nil {
		t.Error("a folder was made")
	}
	got := run(t, service, "", "plan", "-f", "cluster.yaml")
	if got.code != 0 || !strings.Contains(got.out, "+ RegisterCluster lab") || !strings.Contains(got.out, "+ spec.openshift.version") {
		t.Errorf("plan says:\n%s%s", got.out, got.errors)
	}
	const then = "\nThen:\n  · register the InfraEnv lab\n  … wait for node-1 to boot the discovery image and register\n"
	if !strings.Contains(got.out, then) {
		t.Errorf("plan does not say what follows:\n%s", got.out)
	}
	if got := run(t, service, "", "plan", "-f", "cluster.yaml", "-o", "jsonpath={.then[0].kind}"); got.out != "RegisterInfraEnv" {
		t.Errorf("%+v", got)
	}
}

// TestPlanSaysWhoIsWaitedFor, which why leaves out.
func TestPlanSaysWhoIsWaitedFor(t *testing.T) {
	here(t)
	for line, want := range map[string]string{
		"plan -f cluster.yaml": "To wait for:\n  … node-1 to be ready (service)\n", "why -f cluster.yaml": "To wait for:\n  … node-1 to be ready\n",
	} {
		service := lab()
		service.looks = looksOf(model.ClusterReady)
		if got := run(t, service, "", strings.Fields(line)...); !strings.Contains(got.out, want) {
			t.Errorf("%s: no %q in:\n%s%s", line, want, got.out, got.errors)
		}
	}
}

func TestProgressJSON(t *testing.T) {
	here(t)
	service := lab()
	service.looks = looksOf(model.ClusterInstalling, model.ClusterFailed)
	got := run(t, service, "", "create", "cluster", "-f", "cluster.yaml", "--progress", "json")
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	var last model.Event
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatalf("%v in %q", err, lines[len(lines)-1])
	}
	if last.Type != model.EventRun || last.ExitCode == nil || *last.ExitCode != got.code || got.code != 7 {
		t.Errorf("code %d, last event %+v", got.code, last)
	}
	if strings.Count(got.errors, "\n") > 2 {
		t.Errorf("people are told more than the error:\n%s", got.errors)
	}
}

func TestQuiet(t *testing.T) {
	here(t)
	service := lab()
	service.looks = looksOf(model.ClusterInstalling, model.ClusterInstalled)
	got := run(t, service, "", "create", "cluster", "-f", "cluster.yaml", "--quiet", "-o", "name")
	if got.code != 0 || got.errors != "" || got.out != "cluster/lab\n" {
		t.Errorf("got %+v", got)
	}
}

func TestDetach(t *testing.T) {
	here(t)
	service := lab()
	service.looks = looksOf(model.ClusterPreparing)
	got := run(t, service, "", "create", "cluster", "-f", "cluster.yaml", "--detach")
	if got.code != 0 || !strings.Contains(got.errors, "Next: oaictl create cluster -f cluster.yaml\n") {
		t.Errorf("got %+v", got)
	}
}

// TestSimulate starts no service but the one it is given, and at the speed that
// is asked for.
func TestSimulate(t *testing.T) {
	here(t)
	must.Do(t, os.WriteFile("trouble.yaml", []byte("apiVersion: oaictl.io/v1alpha1\nkind: Scenario\nmetadata: {name: x}\nspec:\n  hosts:\n  - do: never-boot\n"), 0o600))
	var started simulator.Config
	var reached app.ClientConfig
	stopped := false
	service := lab()
	service.looks = looksOf(model.ClusterInstalled)
	var out, problems strings.Builder
	a := app.New(app.Identify(strings.Fields("oaictl create cluster -f cluster.yaml --simulate --seed 7 --scenario trouble.yaml --speed 1000")),
		streams.Streams{Out: &out, Err: &problems}, streams.Env{"AI_TOKEN": "a-token-of-the-real-service", "AI_URL": "https://real.example.com"})
	a.StartSimulator = func(_ context.Context, s simulator.Config) (app.Simulated, error) {
		started = s
		return app.Simulated{URL: "http://127.0.0.1:1", Stop: func() error { stopped = true; return nil }}, nil
	}
	a.Connect = func(_ context.Context, to app.ClientConfig) (install.Backend, error) {
		reached = to
		return service, nil
	}
	if code := execute(t.Context(), a); code != 0 {
		t.Fatalf("code %d: %s", code, problems.String())
	}
	var none *scenario.Scenario
	if started.Seed != 7 || started.Cluster.Metadata.Name != "lab" || started.Scenario == none || !stopped {
		t.Errorf("started %+v, stopped %v", started, stopped)
	}
	if reached.ServiceURL != "http://127.0.0.1:1" || reached.Token != "" {
		t.Errorf("reached %+v: the real service's token must stay here", reached.Connection)
	}
	if reached.Clock != started.Clock || reached.Clock.Wall(time.Hour) != time.Hour/1000 {
		t.Error("service and oaictl do not live by the same clock")
	}
}

func TestInsecureIsLoud(t *testing.T) {
	got := run(t, lab(), "", "get", "clusters", "--insecure", "--quiet")
	if !strings.HasPrefix(got.errors, "warning: --insecure: the certificate of fake is not verified") {
		t.Errorf("stderr %q", got.errors)
	}
}

// TestSimulationHasItsOwnFolder: a simulated cluster, and the one after it, leaves the files of the real cluster of its name.
func TestSimulationHasItsOwnFolder(t *testing.T) {
	here(t)
	there := map[string]string{"auth/.cluster": "c9\n", "auth/kubeconfig": "real", "auth/kubeadmin-password": "real", "oaictl.log": "real\n", "media.key": "real"}
	must.Do(t, os.MkdirAll("lab/auth", 0o700))
	for name, text := range there {
		must.Do(t, os.WriteFile(filepath.Join("lab", name), []byte(text), 0o600))
	}
	for _, kubeconfig := range []string{"first", "second"} {
		service := lab()
		service.looks = looksOf(model.ClusterInstalled)
		service.kubeconfigs = map[string][]byte{service.looks[0].Cluster.ID: []byte(kubeconfig)}
		var out, problems strings.Builder
		a := app.New(app.Identify(strings.Fields("oaictl create cluster -f cluster.yaml --simulate")), streams.Streams{Out: &out, Err: &problems}, streams.Env{})
		a.StartSimulator = func(context.Context, simulator.Config) (app.Simulated, error) {
			return app.Simulated{URL: "http://127.0.0.1:1", Stop: func() error { return nil }}, nil
		}
		a.Connect = func(context.Context, app.ClientConfig) (install.Backend, error) { return service, nil }
		if code := execute(t.Context(), a); code != 0 {
			t.Fatalf("code %d: %s", code, problems.String())
		}
		if text, err := os.ReadFile("_simulated/lab/auth/kubeconfig"); err != nil || string(text) != kubeconfig || !strings.Contains(out.String(), "_simulated/lab/auth/kubeconfig") {
			t.Errorf("its kubeconfig is %q: %v\n%s", text, err, out.String())
		}
		simulated, err := filepath.Glob("_simulated/lab/*")
		if want := []string{"_simulated/lab/auth", "_simulated/lab/oaictl.log"}; err != nil || !slices.Equal(simulated, want) {
			t.Errorf("it left %q: %v", simulated, err)
		}
	}
	for name, text := range there {
		if is, err := os.ReadFile(filepath.Join("lab", name)); err != nil || string(is) != text {
			t.Errorf("%s of the real cluster is %q: %v", name, is, err)
		}
	}
	if aside, _ := filepath.Glob("lab/*.1"); len(aside) > 0 {
		t.Errorf("put aside: %q", aside)
	}
}
