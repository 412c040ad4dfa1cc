package service

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

func TestSingleNodeInstalls(t *testing.T) {
	b := madeBench(t, fields{"control_plane_count": 1})
	m := b.boot()
	b.install()
	if got := m.state(); got != model.HostInstalling || m.installs == 0 {
		t.Fatalf("the host is %s after %d install steps", got, m.installs)
	}
	m.walk(model.StageDone)
	b.finalize()
	progress := b.get()["progress"].(map[string]any)
	if progress["total_percentage"] != 100.0 {
		t.Errorf("total %v, want 100", progress["total_percentage"])
	}
	if vips := b.get()["api_vips"].([]any); len(vips) != 1 || vips[0].(map[string]any)["ip"] != m.address() {
		t.Errorf("the node's address is not the API's: %v", vips)
	}
}

func TestKubeconfigNamesTheCluster(t *testing.T) {
	b := madeBench(t, fields{"control_plane_count": 1})
	m := b.boot()
	path := "/clusters/" + b.cluster + "/downloads/credentials?file_name="
	b.answers("before the installation", "GET", path+"kubeconfig-noingress", nil, http.StatusConflict)
	b.install()
	b.answers("without the ingress certificate", "GET", path+"kubeconfig", nil, http.StatusConflict)
	b.must("GET", path+"kubeconfig-noingress", nil)
	b.answers("console credentials before the console is up", "GET", "/clusters/"+b.cluster+"/credentials", nil, http.StatusConflict)
	m.walk(model.StageDone)
	b.finalize()
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(b.must("GET", path+"kubeconfig", nil).text))
	if err != nil {
		t.Fatal(err)
	}
	if want := "https://api.c.example.com:6443"; config.Host != want {
		t.Errorf("server %s, want %s", config.Host, want)
	}
	if len(config.CAData) == 0 || len(config.CertData) == 0 || len(config.KeyData) == 0 {
		t.Error("the kubeconfig has no certificates")
	}
	creds := b.must("GET", "/clusters/"+b.cluster+"/credentials", nil).object()
	if creds["username"] != "kubeadmin" || creds["password"] != b.must("GET", path+"kubeadmin-password", nil).text {
		t.Errorf("the two passwords differ: %v", creds["username"])
	}
}

func TestWorkersAndRoles(t *testing.T) {
	b := installing(t, 5)
	roles := map[string]int{}
	for _, m := range b.machines {
		roles[m.get()["role"].(string)]++
	}
	if roles[model.RoleMaster] != 3 || roles[model.RoleWorker] != 2 {
		t.Fatalf("roles %v, want 3 masters and 2 workers", roles)
	}
	worker := b.machines[slices.IndexFunc(b.machines, func(m *machine) bool { return m.get()["role"] == model.RoleWorker })]
	worker.walk(model.StageControlPlane)
	if a := worker.stage(model.StageBootkube, ""); a.status != 409 || !strings.HasPrefix(a.reason(), "Stages Waiting for bootkube isn't available for host role worker") {
		t.Errorf("a worker in a bootstrap's stage: %d %s", a.status, a.reason())
	}
	if a := worker.stage(model.StageInstalling, ""); a.status != 409 || !strings.HasPrefix(a.reason(), "Can't assign lower stage") {
		t.Errorf("a lower stage: %d %s", a.status, a.reason())
	}
	b.walk(model.StageDone)
	b.finalize()
	if got := b.get()["status_info"]; got != model.InfoInstalled {
		t.Errorf("status_info %q", got)
	}
}

func TestLostHosts(t *testing.T) {
	for _, tc := range []struct {
		name         string
		hosts        int
		lost         string
		state, info  string
		alsoFinalize bool
	}{
		{"a control plane host", 5, model.RoleMaster, model.ClusterError, model.InfoHostsInError, false},
		{"one of two workers", 5, model.RoleWorker, model.ClusterError, model.InfoHostsInError, false},
		{"one of three workers", 6, model.RoleWorker, model.ClusterInstalled, model.InfoWorkersMissing, true},
		{"the only worker", 4, model.RoleWorker, model.ClusterInstalled, model.InfoWorkersMissing, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := installing(t, tc.hosts)
			gone := false
			for _, m := range b.machines {
				if !gone && m.get()["role"] == tc.lost {
					m.stage(model.StageStarting, "")
					m.stage(model.StageFailed, "disk on fire")
					if got := m.get()["status_info"]; got != "Failed - disk on fire" {
						t.Errorf("status_info %q", got)
					}
					gone = true
					continue
				}
				m.walk(model.StageDone)
			}
			if tc.alsoFinalize {
				b.finalize()
			}
			b.until(tc.state)
			if got := b.get()["status_info"]; got != tc.info {
				t.Errorf("status_info %q, want %q", got, tc.info)
			}
		})
	}
}

func TestPreparationFails(t *testing.T) {
	for _, tc := range []struct {
		name    string
		trouble func(*machine)
		cure    func(*machine)
		state   string
		host    string
		info    string
	}{
		{"broken disk", func(m *machine) { m.badDisk = true }, func(m *machine) { m.badDisk = false }, model.ClusterInsufficient, model.HostInsufficient, model.InfoHostUnprepared},
		{"no images", func(m *machine) { m.badImage = true }, func(m *machine) { m.badImage = false }, model.ClusterReady, model.HostPreparationFailed, model.InfoPrepareFailed},
		{"a host falls silent", func(m *machine) { m.silent = true }, func(m *machine) { m.silent = false }, model.ClusterInsufficient, model.HostDisconnected, model.InfoHostUnprepared},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := ready(t, 3)
			tc.trouble(b.machines[1])
			b.must("POST", "/clusters/"+b.cluster+"/actions/install", nil)
			for range 40 {
				if b.status() != model.ClusterPreparing {
					break
				}
				b.pass(10 * time.Second)
			}
			c := b.get()
			last := c["last-installation-preparation"].(map[string]any)
			if c["status"] != tc.state || c["status_info"] != tc.info || last["status"] != "success" {
				t.Fatalf("status %v, %v, preparation %v", c["status"], c["status_info"], last)
			}
			b.machines[1].inState(tc.host)
			if events := b.must("GET", "/events?cluster_id="+b.cluster, nil).text; strings.Contains(events, "prepare_installation_failed") {
				t.Error("an event prepare_installation_failed, which is about files only")
			}
			tc.cure(b.machines[1])
			b.pass(time.Minute) // until all hosts are known again
			if tc.name == "broken disk" {
				b.machines[1].inState(model.HostInsufficient)
				b.must("PATCH", b.machines[1].path()+"/actions/reset-validation/sufficient-installation-disk-speed", nil)
			}
			b.install()
		})
	}
}

// TestSlowDisk installs on a disk that is slower than etcd likes: an event says so,
// and nothing else.
func TestSlowDisk(t *testing.T) {
	b := compact(t, 3)
	b.machines[1].diskMs = 40
	b.install()
	events := b.must("GET", "/events?cluster_id="+b.cluster+"&severities=warning", nil).text
	if !strings.Contains(events, "disk_speed_slower_than_supported") || strings.Contains(events, "prepare_installation_failed") {
		t.Errorf("events %s", events)
	}
	if got := outcomes(t, b.machines[1].get())["sufficient-installation-disk-speed"][0]; got != "success" {
		t.Errorf("sufficient-installation-disk-speed is %s", got)
	}
}

func TestCancelAndReset(t *testing.T) {
	b := compact(t, 3)
	b.says("cancel before the installation", "POST", "/clusters/"+b.cluster+"/actions/cancel", nil, 409, "no condition found to run transition")
	b.until(model.ClusterReady)
	b.must("POST", "/clusters/"+b.cluster+"/actions/install", nil)
	b.must("POST", "/clusters/"+b.cluster+"/actions/cancel", nil)
	b.inState(model.ClusterReady)
	b.install()
	b.must("POST", "/clusters/"+b.cluster+"/actions/cancel", nil)
	if got, host := b.status(), b.machines[0].state(); got != model.ClusterCancelled || host != model.HostCancelled {
		t.Fatalf("cancelled: cluster %s, host %s", got, host)
	}
	b.must("POST", b.machines[0].path()+"/instructions", fields{
		"step_id": "install-1", "step_type": "install", "exit_code": 143, "error": "the installer was stopped",
	})
	b.machines[0].inState(model.HostCancelled)
	b.must("POST", "/clusters/"+b.cluster+"/actions/reset", nil)
	for _, m := range b.machines {
		m.inState(model.HostResettingPending)
		m.silent = true
	}
	b.pass(5 * time.Minute)
	b.machines[0].inState(model.HostResettingPending)
	for _, m := range b.machines {
		m.silent = false
		if a := m.register(); a.status != http.StatusCreated {
			t.Fatal(a.text)
		}
	}
	b.install()
	b.walk(model.StageDone)
	b.finalize()
}

func TestWrongBootOrder(t *testing.T) {
	b := installing(t, 3)
	b.walkAway(model.StageRebooting)
	m := b.machines[0]
	if a := m.register(); a.status != http.StatusCreated {
		t.Fatal(a.text)
	}
	want := model.InfoWrongBoot + " DISK S1 (sda, /dev/disk/by-id/a)"
	if got := m.get(); got["status"] != model.HostPendingUser || got["status_info"] != want {
		t.Fatalf("%v: %v", got["status"], got["status_info"])
	}
	b.until(model.ClusterPendingUser)
	if a := m.register(); a.status != http.StatusForbidden {
		t.Errorf("a second boot: %d, want 403", a.status)
	}
	b.walk(model.StageDone)
	b.finalize()
}

func TestTimeouts(t *testing.T) {
	t.Run("a host that does not come back from its reboot needs the user", func(t *testing.T) {
		b := installing(t, 3)
		b.walkAway(model.StageRebooting)
		b.pass(41 * time.Minute)
		b.machines[0].inState(model.HostPendingUser)
		b.inState(model.ClusterPendingUser)
	})
	for _, tc := range []struct {
		stage string
		limit time.Duration
		info  string
	}{
		{model.StageWriting, 30 * time.Minute, "Host failed to install because its installation stage Writing image to disk did not sufficiently progress in the last 30m0s."},
		{model.StageConfiguring, time.Hour, "Host failed to install because its installation stage Configuring took longer than expected 1h0m0s"},
	} {
		t.Run("a long stage fails: "+tc.stage, func(t *testing.T) {
			b := installing(t, 3)
			b.walk(tc.stage)
			m := b.machines[0]
			b.pass(tc.limit - time.Minute)
			m.inState(model.HostInProgress)
			b.pass(2 * time.Minute)
			if h := m.get(); h["status"] != model.HostError || h["status_info"] != tc.info {
				t.Errorf("%v: %v", h["status"], h["status_info"])
			}
			b.inState(model.ClusterError)
		})
	}
	t.Run("nobody's time passes while a host awaits its user", func(t *testing.T) {
		b := installing(t, 3)
		var first, bootstrap *machine
		for _, m := range b.machines {
			switch {
			case m.get()["bootstrap"] == true:
				bootstrap = m
				m.walk(model.StageBootkube)
			case first == nil:
				first = m
				m.walk(model.StageRebooting)
			default:
				m.walk(model.StageDone)
			}
		}
		first.silent = true
		b.pass(41 * time.Minute)
		if host, got := first.state(), b.status(); host != model.HostPendingUser || got != model.ClusterPendingUser {
			t.Fatalf("host %s, cluster %s", host, got)
		}
		b.pass(2 * time.Hour)
		if waiting, bootstrapping := first.state(), bootstrap.state(); waiting != model.HostPendingUser || bootstrapping != model.HostInProgress {
			t.Errorf("the cluster cannot do without it, but it is %s, and the bootstrap host %s", waiting, bootstrapping)
		}
	})
	t.Run("a host that never starts fails", func(t *testing.T) {
		b := installing(t, 3)
		b.pass(21 * time.Minute)
		if got := b.machines[0].get(); got["status"] != model.HostError || got["status_info"] != model.InfoStartTimedOut {
			t.Errorf("%v: %v", got["status"], got["status_info"])
		}
	})
	t.Run("a silent host is disconnected and comes back", func(t *testing.T) {
		b := ready(t, 3)
		m := b.machines[2]
		m.silent = true
		b.pass(4 * time.Minute)
		if got := m.state(); got != model.HostDisconnected || b.status() != model.ClusterInsufficient {
			t.Fatalf("host %s, cluster %s", got, b.status())
		}
		m.silent = false
		b.until(model.ClusterReady)
	})
}

// TestAddHostsOnAHub: a hub's service goes on after the reboot of a host that is added, by what it is told then.
func TestAddHostsOnAHub(t *testing.T) {
	b := installing(t, 3)
	b.walkAway(model.StageDone)
	b.finalize()
	b.s.variant.hub = true
	b.must("POST", "/clusters/"+b.cluster+"/actions/allow-add-hosts", nil)
	late := &machine{b: b, index: 9, name: "late", infraEnv: b.infraEnv, id: "00000000-0000-4000-8000-000000000009", cpus: 8, diskMs: 5}
	if a := late.register(); a.status != http.StatusCreated {
		t.Fatal(a.text)
	}
	b.machines = append(b.machines, late)
	b.pass(40 * time.Second)
	b.must("POST", late.path()+"/actions/install", nil)
	late.poll()
	late.walk(model.StageRebooting)
	for _, step := range []struct{ report, stage, state, info string }{
		{"", model.StageRebooting, model.HostInProgress, model.StageRebooting},
		{model.StageJoined, model.StageJoined, model.HostInProgress, model.StageJoined},
		{model.StageDone, model.StageDone, model.HostAdded, model.StageDone},
	} {
		if step.report != "" {
			b.must("PUT", late.path()+"/progress", fields{"current_stage": step.report})
		}
		if got := late.get(); got["status"] != step.state || got["status_info"] != step.info || late.progressed() != step.stage {
			t.Errorf("after %q: %v, %v, at %s", step.report, got["status"], got["status_info"], late.progressed())
		}
	}
	if stages := late.get()["progress_stages"].([]any); stages[len(stages)-1] != model.StageDone {
		t.Errorf("stages %v", stages)
	}
}

func TestAddHosts(t *testing.T) {
	b := installing(t, 3)
	b.walkAway(model.StageDone)
	b.finalize()
	late := &machine{b: b, index: 9, name: "late", infraEnv: b.infraEnv, id: "00000000-0000-4000-8000-000000000009", cpus: 8, diskMs: 5}
	if a := late.register(); a.status != 409 || !strings.HasPrefix(a.reason(), "Cannot add hosts to an existing cluster using the original Discovery ISO.") {
		t.Errorf("the day-1 image after the installation: %d %s", a.status, a.reason())
	}
	if got := b.get()["hosts"].([]any); len(got) != 3 || b.status() != model.ClusterInstalled {
		t.Errorf("the host that was refused shows: %d hosts of a cluster that is %s", len(got), b.status())
	}
	b.must("POST", "/clusters/"+b.cluster+"/actions/allow-add-hosts", nil)
	if a := late.register(); a.status != http.StatusCreated {
		t.Fatal(a.text)
	}
	b.machines = append(b.machines, late)
	b.pass(40 * time.Second)
	if got := late.get(); got["status"] != model.HostKnown || got["kind"] != model.KindAddedHost || got["role"] != model.RoleWorker {
		t.Fatalf("%v %v %v: %v", got["status"], got["kind"], got["role"], got["status_info"])
	}
	b.must("POST", late.path()+"/actions/install", nil)
	late.poll()
	late.walk(model.StageRebooting)
	if got := late.get(); got["status"] != model.HostAdded || got["status_info"] != model.InfoRebootedDay2 {
		t.Errorf("%v: %v", got["status"], got["status_info"])
	}
	if got := late.progressed(); got != model.StageDone {
		t.Errorf("after its reboot the host is at %q", got)
	}
	for stage, status := range map[string]int{model.StageConfiguring: 409, model.StageJoined: 409, model.StageDone: 200} {
		if a := late.stage(stage, ""); a.status != status {
			t.Errorf("%s after the reboot: %d", stage, a.status)
		}
	}
}

func TestPool(t *testing.T) {
	b := madeBench(t, nil)
	pool := b.must("POST", "/infra-envs", fields{"name": "pool", "pull_secret": pullSecret}).object()
	if pool["openshift_version"] == "4.21" {
		t.Error("an infra-env without a version takes the latest image, whatever the clusters have")
	}
	b.infraEnv = pool["id"].(string)
	m := b.boot()
	b.pass(20 * time.Second)
	m.inState(model.HostKnownUnbound)
	b.answers("unbinding an unbound host", "POST", m.path()+"/actions/unbind", nil, 409)
	b.must("POST", m.path()+"/actions/bind", fields{"cluster_id": b.cluster})
	m.inState(model.HostBinding)
	m.poll() // exits and registers again
	if got := m.get(); got["status"] != model.HostDiscovering || got["cluster_id"] != b.cluster {
		t.Fatalf("%v in %v", got["status"], got["cluster_id"])
	}
	b.must("POST", m.path()+"/actions/unbind", nil)
	m.poll()
	b.pass(20 * time.Second)
	if got := m.get(); got["status"] != model.HostKnownUnbound || got["cluster_id"] != nil {
		t.Errorf("%v in %v", got["status"], got["cluster_id"])
	}
}

// TestUnbind takes hosts out of their cluster in the states that they may leave it in.
func TestUnbind(t *testing.T) {
	for _, tc := range []struct {
		state  string
		hub    bool
		status int
		reason string
		after  string
	}{
		{state: model.HostKnown, status: 200, after: model.HostUnbinding},
		{state: model.HostPreparing, status: 409, reason: "Cannot unbind Host %s while it is in the middle of installing.", after: model.HostPreparing},
		{state: model.HostInProgress, status: 409, reason: "Cannot unbind Host %s while it is in the middle of installing.", after: model.HostInProgress},
		{state: model.HostInProgress, hub: true, status: 200, after: model.HostUnbindingPending},
		{state: model.HostError, status: 200, after: model.HostUnbindingPending},
		{state: model.HostResettingPending, status: 500, reason: "no condition found to run transition", after: model.HostResettingPending},
	} {
		t.Run(fmt.Sprintf("%s, hub %t", tc.state, tc.hub), func(t *testing.T) {
			b := newBench(t, nil)
			b.s.variant.hub = tc.hub
			b.make(nil)
			b.infraEnv = b.must("POST", "/infra-envs", fields{"name": "pool", "pull_secret": pullSecret}).object()["id"].(string)
			m := b.boot()
			b.pass(20 * time.Second)
			b.must("POST", m.path()+"/actions/bind", fields{"cluster_id": b.cluster})
			m.poll()
			b.s.records.hosts.of(b.infraEnv + "/" + m.id).State = tc.state
			reason := strings.Replace(tc.reason, "%s", m.id, 1)
			b.says("", "POST", m.path()+"/actions/unbind", nil, tc.status, reason)
			m.inState(tc.after)
		})
	}
}
