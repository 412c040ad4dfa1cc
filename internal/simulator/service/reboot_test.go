package service

import (
	"slices"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// TestSingleNodeThatIsBootedAgain is greeted like a new one, and is the bootstrap again
// once it is installed.
func TestSingleNodeThatIsBootedAgain(t *testing.T) {
	b := madeBench(t, fields{"control_plane_count": 1})
	m := b.boot()
	if first := m.get(); first["bootstrap"] != true {
		t.Errorf("a new one: %v", first["bootstrap"])
	}
	b.until(model.ClusterReady)
	again := m.register().object()
	stages, _ := again["progress_stages"].([]any)
	if again["role"] != model.RoleMaster || again["suggested_role"] != model.RoleMaster || again["bootstrap"] != true || !slices.Contains(stages, any(model.StageBootkube)) {
		t.Errorf("%v", again)
	}
	stored := m.get()
	stages, _ = stored["progress_stages"].([]any)
	if stored["role"] != model.RoleMaster || stored["bootstrap"] != nil || !slices.Contains(stages, any(model.StageConfiguring)) {
		t.Errorf("as it is kept: %v %v %v", stored["role"], stored["bootstrap"], stages)
	}
	b.until(model.ClusterReady)
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
			b := madeBench(t, fields{"control_plane_count": 1})
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
			b.until(model.ClusterReady)
			b.must("POST", "/clusters/"+b.cluster+"/actions/install", nil)
			b.until(model.ClusterInstalling)
			b.pass(20 * time.Second)
			for _, stage := range []string{model.StageStarting, model.StageRebooting, model.StageDone} {
				b.must("PUT", m.path()+"/progress", fields{"current_stage": stage})
			}
			progress, _ := b.get()["progress"].(map[string]any)
			if got := progress["installing_stage_percentage"]; got != tc.want {
				t.Errorf("%v", got)
			}
		})
	}
}
