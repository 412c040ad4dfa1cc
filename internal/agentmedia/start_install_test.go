package agentmedia

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/pkg/install/model"
)

func TestStartStep(t *testing.T) {
	hosts := func(states ...model.HostState) []model.Host {
		var list []model.Host
		for _, state := range states {
			list = append(list, model.Host{State: state})
		}
		return list
	}
	ready := model.HostReady
	tests := []struct {
		name     string
		state    model.ClusterState
		hosts    []model.Host
		failures string
		tries    int
		step     step
		code     model.Code
	}{
		{"nobody there", model.ClusterDiscovering, nil, "", 0, stepWait, model.CodeTimeout},
		{"one missing", model.ClusterReady, hosts(ready), "", 0, stepWait, model.CodeTimeout},
		{"one not ready", model.ClusterBlocked, hosts(ready, model.HostBlocked), "", 0, stepWait, model.CodeBlocked},
		{"one not ready, the cluster ready", model.ClusterReady, hosts(ready, model.HostDiscovering), "", 0, stepWait, model.CodeBlocked},
		{"the cluster not ready", model.ClusterBlocked, hosts(ready, ready), "", 0, stepWait, model.CodeBlocked},
		{"all ready", model.ClusterReady, hosts(ready, ready), "", 0, stepStart, 0},
		{"a host that cannot be configured", model.ClusterReady, hosts(ready, ready), "a: no disk\n", 0, stepWait, model.CodeBlocked},
		{"one too many", model.ClusterReady, hosts(ready, ready, ready), "", 0, stepWait, model.CodeNeedsUser},
		{"failed once", model.ClusterReady, hosts(ready, ready), "", 1, stepStart, 0},
		{"failed too often", model.ClusterReady, hosts(ready, ready), "", startTries, stepWait, model.CodeFailed},
		{"preparing", model.ClusterPreparing, hosts(model.HostPreparing, model.HostPreparing), "", 1, stepWait, model.CodeTimeout},
		{"installing", model.ClusterInstalling, nil, "a: no disk\n", 1, stepDone, 0},
		{"in need of a person", model.ClusterNeedsUser, nil, "", 1, stepDone, 0},
		{"finalizing", model.ClusterFinalizing, nil, "", 0, stepDone, 0},
		{"installed", model.ClusterInstalled, nil, "", 0, stepDone, 0},
		{"adding hosts", model.ClusterAddingHosts, nil, "", 0, stepDone, 0},
		{"failed", model.ClusterFailed, nil, "", 0, stepWait, model.CodeFailed},
		{"cancelled", model.ClusterCancelled, nil, "", 0, stepWait, model.CodeFailed},
		{"unknown", model.ClusterUnknown, nil, "", 0, stepWait, model.CodeFailure},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			client := &Client{Env: Environment{Files: Files{Failures: filepath.Join(t.TempDir(), "failures")}}}
			if tt.failures != "" {
				if err := os.WriteFile(client.Env.Failures, []byte(tt.failures), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			next, on, err := client.startStep(&model.Observed{Cluster: &model.Cluster{State: tt.state}, Hosts: tt.hosts}, 2, tt.tries)
			code := on.code
			if err != nil {
				code = model.FaultOf(err).Code
			}
			if next != tt.step || code != tt.code {
				t.Errorf("step %d, code %d (%v); want %d, %d", next, code, err, tt.step, tt.code)
			}
		})
	}
}

// unprepared is a service that never gets an installation prepared; with recovers,
// it does when it tries again by itself.
type unprepared struct {
	Service
	starts   int
	looks    int // since the last start
	recovers bool
}

func (u *unprepared) ListClusters(context.Context) ([]model.Cluster, error) {
	return []model.Cluster{{ClusterRef: model.ClusterRef{ID: "1", Name: "lab"}}}, nil
}

func (u *unprepared) Observe(context.Context, model.Query, *model.Observed) (*model.Observed, error) {
	state := model.ClusterReady
	if u.looks++; u.recovers && u.starts > 0 && u.looks > 1 {
		state = model.ClusterInstalling
	}
	return &model.Observed{
		Cluster: &model.Cluster{State: state, Preparation: model.Preparation{Status: "failed", Reason: "an image cannot be pulled"}},
		Hosts:   []model.Host{{State: model.HostReady}},
	}, nil
}

func (u *unprepared) Act(_ context.Context, _ *model.Desired, action model.Action) error {
	if action.Kind == model.StartInstall {
		u.starts++
		u.looks = 0
	}
	return nil
}

func TestFailedPreparationsAreBounded(t *testing.T) {
	service, clock := &unprepared{}, &patient{at: time.Unix(1e9, 0)}
	client := &Client{
		Service: service, Clock: clock, Timeout: time.Hour, Say: func(string, ...any) {},
		Env: Environment{Files: Files{Failures: filepath.Join(t.TempDir(), "failures")}, ControlPlane: 1},
	}
	_, err := client.StartInstall(t.Context())
	if model.FaultOf(err).Code != model.CodeFailed || !strings.Contains(err.Error(), "an image cannot be pulled") {
		t.Errorf("code %d: %v", model.FaultOf(err).Code, err)
	}
	if service.starts != startTries {
		t.Errorf("started %d times, want %d", service.starts, startTries)
	}
}

// TestStartLooksAgainBeforeAnotherAttempt lets the first attempt succeed while the second is waited for.
func TestStartLooksAgainBeforeAnotherAttempt(t *testing.T) {
	service, clock := &unprepared{recovers: true}, &patient{at: time.Unix(1e9, 0)}
	client := &Client{
		Service: service, Clock: clock, Timeout: time.Hour, Say: func(string, ...any) {},
		Env: Environment{Files: Files{Failures: filepath.Join(t.TempDir(), "failures")}, ControlPlane: 1},
	}
	result, err := client.StartInstall(t.Context())
	if err != nil || result.Done != "started" || service.starts != 1 {
		t.Errorf("%s after %d starts: %v; want one", result.Done, service.starts, err)
	}
}

// TestStartWaitsForTheCluster starts before there is one: it waits for the cluster, and no longer than for anything
// else.
func TestStartWaitsForTheCluster(t *testing.T) {
	m := newMedium(t, auth.None)
	client := m.client()
	client.Timeout = time.Minute
	_, err := client.StartInstall(t.Context())
	if model.FaultOf(err).Code != model.CodeTimeout || !strings.Contains(err.Error(), "waited for 1m0s for a cluster to be registered") {
		t.Errorf("code %d: %v", model.FaultOf(err).Code, err)
	}
	client = m.client()
	pauses := 0
	client.Clock = &watching{m.clock, func(time.Duration) {
		if pauses++; pauses == 1 {
			m.must((*Client).RegisterCluster, "registered")
			m.must((*Client).RegisterInfraEnv, "registered")
			m.boot(host.Day1)
		}
	}}
	if result, err := client.StartInstall(t.Context()); err != nil || result.Done != "started" {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestInfraEnvBeforeItsCluster registers them in the wrong order: that is reported, and start-install binds the hosts.
func TestInfraEnvBeforeItsCluster(t *testing.T) {
	m := newMedium(t, auth.None)
	m.must((*Client).RegisterInfraEnv, "registered")
	m.must((*Client).RegisterCluster, "registered")
	m.told = nil
	m.quiet((*Client).RegisterInfraEnv)
	if want := "warning: InfraEnv lab was registered before cluster lab and does not belong to it: start-install binds its hosts"; !slices.Contains(m.told, want) {
		t.Errorf("told %q, not %q", m.told, want)
	}
	for i, name := range []string{"cp-0", "cp-1", "cp-2"} {
		m.put("hostconfig/"+name+"/mac_addresses", fmt.Sprintf("52:54:00:aa:00:%02d\n", i+1))
		m.put("hostconfig/"+name+"/role", "master")
	}
	m.boot(host.Day1)
	m.must((*Client).Configure, "configured")
	status, err := m.client().Status(t.Context())
	if trouble := status.Trouble(); err != nil || model.FaultOf(trouble).Code != model.CodeBlocked || trouble == nil || !strings.Contains(trouble.Error(), "3 hosts without a cluster") {
		t.Errorf("%v, %v", trouble, err)
	}
	m.must((*Client).StartInstall, "started")
	m.quiet((*Client).StartInstall)
	if status, err = m.client().Status(t.Context()); err != nil || status.Trouble() != nil {
		t.Errorf("%v, %v", status.Trouble(), err)
	}
}

// TestStartWaitsForHosts leaves one machine off.
func TestStartWaitsForHosts(t *testing.T) {
	m := newMedium(t, auth.None)
	m.must((*Client).RegisterCluster, "registered")
	m.must((*Client).RegisterInfraEnv, "registered")
	m.boot(host.Day1, "cp-0", "cp-1")
	m.wire.made()
	client := m.client()
	client.Timeout = 10 * time.Minute
	_, err := client.StartInstall(t.Context())
	if model.FaultOf(err).Code != model.CodeTimeout || !strings.Contains(err.Error(), "3 hosts to be ready") {
		t.Errorf("code %d: %v", model.FaultOf(err).Code, err)
	}
	if made := m.wire.made(); len(made) > 0 {
		t.Errorf("started nevertheless: %v", made)
	}
}

// TestCount has no single host called hosts.
func TestCount(t *testing.T) {
	client := &Client{Env: Environment{Files: Files{Failures: filepath.Join(t.TempDir(), "failures")}}}
	for want, ready := range map[string]int{"1 host to be ready: 0 ready, 0 registered": 0, "1 host to be removed: 2 ready, expected 1": 2, "2 hosts to be removed: 3 ready, expected 1": 3} {
		observed := &model.Observed{Cluster: &model.Cluster{State: model.ClusterReady}}
		for range ready {
			observed.Hosts = append(observed.Hosts, model.Host{State: model.HostReady})
		}
		if _, on, err := client.startStep(observed, 1, 0); err != nil || on.what != want {
			t.Errorf("%q, %v; want %q", on.what, err, want)
		}
	}
}

func TestRequired(t *testing.T) {
	m := newMedium(t, auth.None)
	for _, tt := range []struct {
		variables map[string]string
		want      int
	}{
		{nil, 3},
		{map[string]string{"REQUIRED_MASTER_NODES": "3", "REQUIRED_WORKER_NODES": "2"}, 5},
		{map[string]string{"REQUIRED_MASTER_NODES": "2", "REQUIRED_ARBITER_NODES": "1", "REQUIRED_WORKER_NODES": "0"}, 3},
		{map[string]string{"REQUIRED_WORKER_NODES": "1"}, 4},
		{map[string]string{"REQUIRED_MASTER_NODES": "1", "REQUIRED_WORKER_NODES": "0", "AGENT_CLUSTER_INSTALL_FILE": "/does/not/exist"}, 1},
	} {
		m.reset(tt.variables)
		if got, err := m.client().required(); err != nil || got != tt.want {
			t.Errorf("%v: %d hosts, %v; want %d", tt.variables, got, err, tt.want)
		}
	}
}
