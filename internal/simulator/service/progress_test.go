package service

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/steps"
)

// TestWaysToReadAHost differ in what they show.
func TestWaysToReadAHost(t *testing.T) {
	b := ready(t, 3)
	cluster := "/clusters/" + b.cluster
	read := func(method, path string) map[string]any {
		t.Helper()
		a := b.must(method, path, nil)
		list, _ := a.object()["hosts"].([]any)
		if list == nil && json.Unmarshal([]byte(a.text), &list) != nil {
			return a.object()
		}
		for _, one := range list {
			if h := one.(map[string]any); h["id"] == b.machines[0].id {
				return h
			}
		}
		t.Fatalf("%s does not show the host", path)
		return nil
	}
	for _, tc := range []struct {
		name, method, path          string
		stages, hostname, inventory bool
	}{
		{"the host", "GET", b.machines[0].path(), true, true, true},
		{"its infra-env's list", "GET", "/infra-envs/" + b.infraEnv + "/hosts", true, true, true},
		{"its cluster", "GET", cluster, true, true, true},
		{"its cluster's list", "GET", cluster + "/hosts", false, false, false},
		{"the answer to install", "POST", cluster + "/actions/install", false, false, true},
	} {
		h := read(tc.method, tc.path)
		for field, want := range map[string]bool{"progress_stages": tc.stages, "requested_hostname": tc.hostname, "inventory": tc.inventory, "progress": true} {
			if got := h[field] != nil; got != want {
				t.Errorf("%s shows %s: %t", tc.name, field, got)
			}
		}
	}
}

// TestShareOfAStage is another for every role.
func TestShareOfAStage(t *testing.T) {
	b := compact(t, 4)
	for i, m := range b.machines {
		role := model.RoleMaster
		if i == 3 {
			role = model.RoleWorker
		}
		b.must("PATCH", m.path(), fields{"host_role": role})
	}
	b.until(model.ClusterReady)
	length := func(m *machine) int { return len(m.get()["progress_stages"].([]any)) }
	for i, want := range []int{8, 8, 8, 9} {
		if got := length(b.machines[i]); got != want || b.machines[i].get()["bootstrap"] != nil {
			t.Errorf("%d has %d stages before the installation", i, got)
		}
	}
	b.install()
	wrote := map[string][2]int{model.RoleMaster: {8, 37}, "bootstrap": {11, 27}, model.RoleWorker: {9, 33}}
	bootstraps := 0
	for _, m := range b.machines {
		m.stage(model.StageStarting, "")
		m.stage(model.StageInstalling, "")
		m.stage(model.StageWriting, "60%")
		h := m.get()
		role := h["role"].(string)
		if h["bootstrap"] == true {
			role, bootstraps = "bootstrap", bootstraps+1
		}
		share := h["progress"].(map[string]any)["installation_percentage"]
		if want := wrote[role]; length(m) != want[0] || share != float64(want[1]) {
			t.Errorf("a %s has %d stages, %v %% done", role, length(m), share)
		}
	}
	if bootstraps != 1 {
		t.Errorf("%d bootstrap hosts", bootstraps)
	}
	total := func() any { return b.get()["progress"].(map[string]any)["total_percentage"] }
	b.walk(model.StageDone)
	b.until(model.ClusterFinalizing)
	if got := total(); got != 80.0 {
		t.Errorf("%v %% at the start of finalizing", got)
	}
	b.finalize()
	if got := total(); got != 100.0 {
		t.Errorf("%v %% once installed", got)
	}
}

// TestPreparingRefuses a second start and changes.
func TestPreparingRefuses(t *testing.T) {
	b := ready(t, 3)
	path := "/clusters/" + b.cluster
	answer := b.must("POST", path+"/actions/install", nil).object()
	if got := answer["last-installation-preparation"].(map[string]any)["status"]; got != preparationNotBegun {
		t.Errorf("the preparation in the answer is %v", got)
	}
	b.pass(10 * time.Second)
	b.everyHost(model.HostPreparing, model.InfoPrepared)
	if a := b.call("POST", path+"/actions/install", nil); a.status != 409 || !strings.HasPrefix(a.reason(), "Cluster is not ready for installation, "+model.InfoPreparing+" validation_info={") {
		t.Errorf("a second start: %d %s", a.status, a.text)
	}
	if a := b.call("PATCH", path, fields{"name": "x"}); a.status != 409 || !strings.HasSuffix(a.reason(), "is in preparing-for-installation state, cluster can be updated only in one of [insufficient ready pending-for-input adding-hosts]") {
		t.Errorf("a change: %d %s", a.status, a.text)
	}
	b.must("POST", path+"/actions/cancel", nil)
	roles, bootstraps := []string{}, 0
	for _, m := range b.machines {
		h := m.get()
		roles = append(roles, h["role"].(string))
		if h["bootstrap"] == true {
			bootstraps++
		}
	}
	if !slices.Equal(roles, []string{model.RoleMaster, model.RoleMaster, model.RoleMaster}) || bootstraps != 1 {
		t.Errorf("after the cancel the roles are %v, %d bootstrap hosts", roles, bootstraps)
	}
	b.call("POST", path+"/actions/cancel", nil)
	b.call("POST", path+"/actions/reset", nil)
	for _, name := range []string{"cancel_installation_failed", "reset_installation_failed"} {
		if !slices.Contains(b.told(0), name) {
			t.Errorf("no event %s", name)
		}
	}
	if got := b.must("GET", "/events?cluster_id="+b.cluster, nil).header.Get("Severity-Count-Error"); got != "2" {
		t.Errorf("%s events of severity error", got)
	}
	b.answers("a start after the cancel", "POST", path+"/actions/install", nil, 202)
}

// TestSlowAnswersOfPreparation: a step that cannot be run is no failure, but given
// again, and a slow pull is a pull.
func TestSlowAnswersOfPreparation(t *testing.T) {
	b := ready(t, 3)
	m := b.machines[1]
	m.noPull = true
	b.must("POST", "/clusters/"+b.cluster+"/actions/install", nil)
	b.pass(10 * time.Second)
	again := 0
	for range 5 {
		var next instructions
		if err := json.Unmarshal([]byte(b.must("GET", m.path()+"/instructions", nil).text), &next); err != nil {
			t.Fatal(err)
		}
		for _, s := range next.Instructions {
			if s.StepType == steps.StepImages {
				again++
				b.must("POST", m.path()+"/instructions", fields{"step_id": s.StepID, "step_type": s.StepType, "exit_code": 1, "error": "no podman"})
			}
		}
	}
	if again != 5 || m.state() != model.HostPreparing {
		t.Errorf("the step came %d times of 5, the host is %s", again, m.state())
	}
	m.noPull = false
	b.until(model.ClusterInstalling)
}

// TestWhatCanBeDeleted deletes clusters in all their states: only one that is
// installing stays.
func TestWhatCanBeDeleted(t *testing.T) {
	install := func(b *bench) { b.install() }
	done := func(b *bench) {
		b.install()
		b.walkAway(model.StageDone)
		b.until(model.ClusterFinalizing)
	}
	for state, lead := range map[string]func(*bench){
		model.ClusterPendingInput: func(b *bench) { b.must("PATCH", "/clusters/"+b.cluster, fields{"base_dns_domain": ""}) },
		model.ClusterReady:        func(b *bench) { b.until(model.ClusterReady) },
		model.ClusterPreparing: func(b *bench) {
			b.until(model.ClusterReady)
			b.must("POST", "/clusters/"+b.cluster+"/actions/install", nil)
		},
		model.ClusterInstalling: install,
		model.ClusterCancelled: func(b *bench) {
			b.install()
			b.must("POST", "/clusters/"+b.cluster+"/actions/cancel", nil)
		},
		model.ClusterError: func(b *bench) {
			b.install()
			for _, m := range b.machines {
				m.stage(model.StageStarting, "")
				m.stage(model.StageFailed, "no disk")
			}
			b.until(model.ClusterError)
		},
		model.ClusterFinalizing: done,
		model.ClusterInstalled: func(b *bench) {
			done(b)
			b.finalize()
		},
		model.ClusterAddingHosts: func(b *bench) {
			done(b)
			b.finalize()
			b.must("POST", "/clusters/"+b.cluster+"/actions/allow-add-hosts", nil)
		},
	} {
		t.Run(state, func(t *testing.T) {
			b := compact(t, 3)
			lead(b)
			b.pass(10 * time.Second)
			b.inState(state)
			a := b.call("DELETE", "/clusters/"+b.cluster, nil)
			if state != model.ClusterInstalling {
				if a.status != 204 {
					t.Errorf("%d %s", a.status, a.text)
				}
				return
			}
			if want := "cluster " + b.cluster + " can not be removed while being installed, wait for the installation to timeout or reset the installation"; a.status != 409 || a.reason() != want {
				t.Errorf("%d %s", a.status, a.text)
			}
		})
	}
}

// TestOrphans are an infra-env and hosts whose cluster was deleted.
func TestOrphans(t *testing.T) {
	b := compact(t, 2)
	b.pass(time.Minute)
	env := "/infra-envs/" + b.infraEnv
	b.says("an infra-env with hosts", "DELETE", env, nil, 400, "failed to deregister infraEnv "+b.infraEnv+", 2 hosts are still associated")
	b.must("DELETE", "/clusters/"+b.cluster, nil)
	b.pass(time.Minute)
	if got := b.must("GET", env, nil).object()["cluster_id"]; got != b.cluster {
		t.Errorf("the infra-env names the cluster %v", got)
	}
	if got := b.must("GET", "/infra-envs?cluster_id="+b.cluster, nil).text; !strings.Contains(got, b.infraEnv) {
		t.Errorf("the infra-envs of the cluster are %s", got)
	}
	if got := strings.TrimSpace(b.must("GET", env+"/hosts", nil).text); got != "[]" {
		t.Errorf("its hosts are %s", got)
	}
	if a := b.machines[0].register(); a.status != 404 || a.reason() != "Failed to get cluster "+b.cluster+": record not found" {
		t.Errorf("a host registers: %d %s", a.status, a.text)
	}
	b.answers("a host asks", "GET", b.machines[0].path()+"/instructions", nil, 404)
	b.answers("another infra-env", "POST", "/infra-envs", fields{"name": "x", "pull_secret": pullSecret, "cluster_id": b.cluster}, 404)
	b.says("its manifests", "GET", "/clusters/"+b.cluster+"/manifests", nil, 404, "Object Not Found")
	r := httptest.NewRequest("GET", Base+"/v2/clusters", nil)
	r.Header.Set("get_unregistered_clusters", "true")
	w := httptest.NewRecorder()
	b.s.ServeHTTP(w, r)
	if !strings.Contains(w.Body.String(), b.cluster) {
		t.Errorf("the list of deleted clusters: %d %s", w.Code, w.Body)
	}
	b.answers("the infra-env without hosts", "DELETE", env, nil, 204)

	b = pooled(t, 2)
	for _, m := range b.machines {
		m.bind()
	}
	b.pass(time.Minute)
	b.must("DELETE", "/clusters/"+b.cluster, nil)
	b.machines[0].inState(model.HostUnbinding)
	b.pass(time.Minute)
	for _, m := range b.machines {
		if got := m.get(); got["status"] != model.HostKnownUnbound || got["cluster_id"] != nil {
			t.Errorf("%s is %v in %v", m.name, got["status"], got["cluster_id"])
		}
	}
}
