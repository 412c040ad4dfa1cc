package service

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSingleNodeThatIsBootedAgain is greeted like a new one, and is the bootstrap again
// once it is installed.
func TestSingleNodeThatIsBootedAgain(t *testing.T) {
	b := newBench(t, nil)
	b.make(fields{"control_plane_count": 1})
	m := b.boot()
	if first := m.get(); first["bootstrap"] != true {
		t.Errorf("a new one: %v", first["bootstrap"])
	}
	b.until(clusterReady)
	again := m.register().object()
	stages, _ := again["progress_stages"].([]any)
	if again["role"] != roleMaster || again["suggested_role"] != roleMaster || again["bootstrap"] != true || !slices.Contains(stages, any(stageBootkube)) {
		t.Errorf("%v", again)
	}
	stored := m.get()
	stages, _ = stored["progress_stages"].([]any)
	if stored["role"] != roleMaster || stored["bootstrap"] != nil || !slices.Contains(stages, any(stageConfiguring)) {
		t.Errorf("as it is kept: %v %v %v", stored["role"], stored["bootstrap"], stages)
	}
	b.until(clusterReady)
	b.must("POST", "/clusters/"+b.cluster+"/actions/install", nil)
	if m.get()["bootstrap"] != true {
		t.Error("an install does not make it the bootstrap")
	}
}

// TestDeletedHostsHoldUpTheProgress of the rest, until they register again.
func TestDeletedHostsHoldUpTheProgress(t *testing.T) {
	for name, tc := range map[string]struct {
		back bool
		want float64
	}{"for good": {false, 50}, "and come back": {true, 100}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.make(fields{"control_plane_count": 1})
			spare := b.boot()
			b.pass(20 * time.Second)
			b.must("DELETE", spare.path(), nil)
			m := spare
			if tc.back {
				spare.register()
			} else {
				spare.silent = true
				m = b.boot()
			}
			b.until(clusterReady)
			b.must("POST", "/clusters/"+b.cluster+"/actions/install", nil)
			b.until(clusterInstalling)
			b.pass(20 * time.Second)
			for _, stage := range []string{stageStarting, stageRebooting, stageDone} {
				b.must("PUT", m.path()+"/progress", fields{"current_stage": stage})
			}
			progress, _ := b.get()["progress"].(map[string]any)
			if got := progress["installing_stage_percentage"]; got != tc.want {
				t.Errorf("%v", got)
			}
		})
	}
}

// TestSupportedPlatforms are none but none, without hosts and for a single node.
func TestSupportedPlatforms(t *testing.T) {
	for name, tc := range map[string]struct {
		asked fields
		hosts int
		want  string
	}{
		"no hosts":      {fields{}, 0, `["none"]`},
		"hosts":         {fields{}, 1, `["baremetal","none","external"]`},
		"a single node": {fields{"control_plane_count": 1}, 1, `["none"]`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.make(tc.asked)
			for range tc.hosts {
				b.boot()
			}
			if got := strings.TrimSpace(b.must("GET", "/clusters/"+b.cluster+"/supported-platforms", nil).text); got != tc.want {
				t.Errorf("%s", got)
			}
		})
	}
}

// TestLocalVolumesAskNothingOfMastersWithWorkers since the volumes are on those.
func TestLocalVolumesAskNothingOfMastersWithWorkers(t *testing.T) {
	for hosts, want := range map[int]string{
		3: "Require at least 5 CPU cores for master role, found only 4",
		5: "Sufficient CPU cores for role master",
	} {
		b := newBench(t, nil)
		b.make(fields{"olm_operators": []fields{{"name": "lvm"}}})
		for i := range hosts {
			m := b.boot()
			role := roleMaster
			if i >= 3 {
				role = roleWorker
			}
			m.cpus = 4
			b.must("PATCH", m.path(), fields{"host_role": role})
		}
		b.pass(30 * time.Second)
		if got := outcomes(t, b.machines[0].get())["has-cpu-cores-for-role"][1]; got != want {
			t.Errorf("%d hosts: %s", hosts, got)
		}
	}
}
