package hub

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/model"
)

// TestHostsAreReadAnew: an Agent is taken apart once it has changed, or while time changes what its refusal means,
// and is forgotten with the Agent.
func TestHostsAreReadAnew(t *testing.T) {
	now := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	agent := func(version, state string, refusedSince time.Time) *unstructured.Unstructured {
		conditions := []any{}
		if !refusedSince.IsZero() {
			conditions = append(conditions, map[string]any{
				"type": hubapi.ConditionSpecSynced, "status": "False", "reason": hubapi.ReasonInputError, "message": "no such disk",
				"lastTransitionTime": refusedSince.Format(time.RFC3339),
			})
		}
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"namespace": "lab", "name": "a", "uid": "1", "resourceVersion": version},
			"status":   map[string]any{"debugInfo": map[string]any{"state": state}, "conditions": conditions},
		}}
	}
	memory := newClusterMemory()
	look := func(u *unstructured.Unstructured, at time.Time) (state model.HostState, kept int) {
		t.Helper()
		reading := memory.readHosts()
		if u != nil {
			host, err := reading.of(u, at)
			if err != nil {
				t.Fatal(err)
			}
			state = host.State
		}
		reading.keep()
		return state, len(memory.hosts)
	}
	for _, step := range []struct {
		name  string
		agent *unstructured.Unstructured
		at    time.Time
		want  model.HostState
		kept  int
	}{
		{"first", agent("1", "known", time.Time{}), now, model.HostReady, 1},
		{"the same version is not read", agent("1", "installing", time.Time{}), now, model.HostReady, 1},
		{"another one is", agent("2", "installing", time.Time{}), now, model.HostInstalling, 1},
		{"a refusal that may pass", agent("3", "known", now), now, model.HostReady, 0},
		{"and stands later", agent("3", "known", now), now.Add(grace), model.HostBlocked, 0},
		{"no version", agent("", "known", time.Time{}), now, model.HostReady, 0},
		{"seen again", agent("4", "known", time.Time{}), now, model.HostReady, 1},
		{"gone", nil, now, "", 0},
	} {
		if state, kept := look(step.agent, step.at); state != step.want || kept != step.kept {
			t.Errorf("%s: %s, %d kept", step.name, state, kept)
		}
	}
}
