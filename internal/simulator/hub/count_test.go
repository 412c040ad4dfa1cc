package hub

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/condition"
)

// TestUnsyncedAgents: only an Agent that says that its spec was not taken holds a cluster
// up, and not one of which nothing is said yet.
func TestUnsyncedAgents(t *testing.T) {
	for name, row := range map[string]struct {
		conditions []any // nil: there is no Agent yet
		unsynced   int
		approved   int
	}{
		"no Agent":        {nil, 0, 0},
		"nothing is said": {[]any{}, 0, 1},
		"taken":           {[]any{map[string]any{"type": "SpecSynced", "status": "True"}}, 0, 1},
		"not taken":       {[]any{map[string]any{"type": "SpecSynced", "status": "False"}}, 1, 1},
	} {
		env := key{hubapi.KindInfraEnv, "lab", "lab"}
		h := &hub{infraEnvs: map[key]*infraEnvMemory{env: {id: "e"}}, store: &store{written: map[key]*apiobject.Object{}}}
		if row.conditions != nil {
			agent := &apiobject.Object{Object: map[string]any{"spec": map[string]any{"approved": true}, "status": map[string]any{"conditions": row.conditions}}}
			agent.SetAPIVersion(hubapi.GroupAgentInstall + "/" + hubapi.VersionAgentInstall)
			agent.SetResourceVersion("1")
			h.store.written[key{hubapi.KindAgent, "lab", "h"}] = agent
		}
		v := &condition.ClusterView{}
		h.count(v, &assisted.Host{ID: "h", InfraEnvID: "e", Role: "master"})
		if v.Unsynced != row.unsynced || v.Approved != row.approved || v.Registered.Masters != 1 {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
