package hub

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
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
	memory := newClusterMemory(&hubapi.Texts{})
	look := func(u *unstructured.Unstructured, at time.Time) (state model.HostState, kept int) {
		t.Helper()
		read := memory.hosts.round()
		if u != nil {
			host := must.Get(readHost(read, memory.texts, u, at))(t)
			state = host.State
		}
		read.end()
		return state, len(memory.hosts.last)
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

// TestDiskByService: where an Agent belongs to a BareMetalHost, the service chooses its disk by hints.
func TestDiskByService(t *testing.T) {
	for owner, want := range map[string]bool{"": false, "cp-0": true} {
		u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "lab", "name": "a"}}}
		if owner != "" {
			u.SetLabels(map[string]string{hubapi.LabelAgentBMH: owner})
		}
		if host, err := ReadAgent(u, time.Time{}); err != nil || host.DiskByService != want {
			t.Errorf("of the BareMetalHost %q: by the service: %v (%v), want %v", owner, host.DiskByService, err, want)
		}
	}
}

// TestInfraEnvsAreReadAnew: an InfraEnv is taken apart once it or a network that it selects has changed.
func TestInfraEnvsAreReadAnew(t *testing.T) {
	object := func(version string, fields map[string]any) *unstructured.Unstructured {
		fields["metadata"] = map[string]any{"namespace": "lab", "name": "a", "uid": "1", "resourceVersion": version, "labels": map[string]any{"of": "a"}}
		return &unstructured.Unstructured{Object: fields}
	}
	env := func(version, url string) *unstructured.Unstructured {
		return object(version, map[string]any{
			"spec": map[string]any{"proxy": map[string]any{"httpProxy": url}, "nmStateConfigLabelSelector": map[string]any{"matchLabels": map[string]any{"of": "a"}}},
		})
	}
	network := func(version, mac string) []*unstructured.Unstructured {
		return []*unstructured.Unstructured{object(version, map[string]any{
			"spec": map[string]any{"interfaces": []any{map[string]any{"name": "eth0", "macAddress": mac}}, "config": map[string]any{}},
		})}
	}
	memory := newClusterMemory(&hubapi.Texts{})
	for _, step := range []struct {
		name          string
		env           *unstructured.Unstructured
		configs       []*unstructured.Unstructured
		proxy, macHas string
	}{
		{"first", env("1", "http://one"), network("2", "52:54:00:00:00:01"), "http://one", "00:01"},
		{"the same versions are not read", env("1", "http://two"), network("2", "52:54:00:00:00:02"), "http://one", "00:01"},
		{"another one is", env("3", "http://two"), network("2", "52:54:00:00:00:01"), "http://two", "00:01"},
		{"so is that of a network", env("3", "http://two"), network("4", "52:54:00:00:00:02"), "http://two", "00:02"},
	} {
		read := memory.envs.round()
		got := must.Get(readInfraEnv(read, step.env, step.configs, "lab"))(t)
		read.end()
		if text := fmt.Sprint(map[model.Setting]model.Value(got.Settings)); !strings.Contains(text, step.proxy) || !strings.Contains(text, step.macHas) {
			t.Errorf("%s: %s", step.name, text)
		}
		got.Settings[model.SettingVersion] = "4.20" // the settings belong to this reading alone
		if again, err := readInfraEnv(memory.envs.round(), step.env, step.configs, "lab"); err != nil || again.Settings[model.SettingVersion] != "" {
			t.Errorf("%s: what was read has changed: %v, %v", step.name, again.Settings, err)
		}
	}
}

// TestMemoryOfGoneClusters: what is remembered of a cluster goes once it is observed to be gone.
func TestMemoryOfGoneClusters(t *testing.T) {
	p, _ := filledPlane(t, "lab")
	query := model.Query{Name: "lab", BaseDomain: "example.com"}
	namespace, name := p.target(query)
	watchedNamespace(t, p.api, namespace)
	p.memoryOf(namespace + "/" + name)
	p.memoryOf(namespace + "/another")
	if o, err := p.Observe(t.Context(), query, nil); err != nil || o.Cluster != nil {
		t.Fatalf("%+v, %v", o, err)
	}
	if p.memories[namespace+"/"+name] != nil || p.memories[namespace+"/another"] == nil {
		t.Errorf("remembered are %d clusters", len(p.memories))
	}
}
