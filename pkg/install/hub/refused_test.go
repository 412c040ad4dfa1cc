package hub

import (
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
)

// What the service does not take of an object is a blocker that only the file
// cures, with the service's words; what it tries again is waited for.
func TestRefusedObjectsBlock(t *testing.T) {
	const text = "The Spec could not be synced due to an input error: no such thing"
	minuteAgo := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	fault := func(reason string) map[string]any {
		c := conditionOf("SpecSynced", "False", reason)
		c["message"], c["lastTransitionTime"] = text, minuteAgo
		return c
	}
	fine := conditionOf("SpecSynced", "True", "SyncOK")
	for name, test := range map[string]struct {
		cluster, host map[string]any // conditions
		state         string
		booted        bool
		blocks, waits string // keys
	}{
		"a cluster, from the start":            {cluster: fault("InputError"), blocks: "validation/cluster/spec-synced"},
		"a ready cluster":                      {cluster: fault("InputError"), host: fine, state: "ready", booted: true, blocks: "validation/cluster/spec-synced"},
		"a host of a ready cluster":            {cluster: fine, host: fault("InputError"), state: "ready", booted: true, blocks: "validation/host/spec-synced"},
		"a fault of the service, at the start": {cluster: fault("BackendError"), waits: "validation/cluster/spec-synced"},
		"a fault of the service, with a host":  {cluster: fine, host: fault("BackendError"), state: "insufficient", booted: true, waits: "validation/host/spec-synced"},
		"nothing":                              {cluster: fine, host: fine, state: "ready", booted: true},
	} {
		t.Run(name, func(t *testing.T) {
			p, at := filledPlane(t, "lab")
			cluster := strings.Replace(fullText, "topology: {controlPlane: 3, workers: 0}", "topology: {controlPlane: 1}", 1)
			cluster = strings.Split(cluster, "  - {name: cp-1")[0]
			cluster = strings.Replace(cluster, "platform: {type: baremetal}", "platform: none", 1)
			for _, line := range []string{"    vips: {api: [192.168.127.100], ingress: [192.168.127.101]}\n", "    loadBalancer: user-managed\n", "    userManaged: false\n", "  schedulableControlPlane: true\n"} {
				cluster = strings.Replace(cluster, line, "", 1)
			}
			c := parseCluster(t, cluster)
			objects := made(t, p, at, c)
			for _, u := range objects.Cluster {
				if u.GetKind() != "AgentClusterInstall" {
					continue
				}
				u = u.DeepCopy()
				u.SetResourceVersion("100")
				u.Object["status"] = map[string]any{"conditions": []any{test.cluster}, "debugInfo": map[string]any{"state": test.state, "stateInfo": test.state}}
				put(t, at, u)
			}
			if test.booted {
				put(t, at, agentWith(test.host))
			}
			o, err := p.Observe(t.Context(), install.Query{Name: "lab", BaseDomain: "example.com"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			plan := install.Decide(&install.Desired{Spec: c}, o, o.At)
			var blocks, waits string
			for _, b := range plan.Blockers {
				blocks = b.Key
				if b.Cure != install.CureFile || !strings.Contains(b.Message, text) {
					t.Errorf("blocker %+v", b)
				}
			}
			for _, w := range plan.Waits {
				if strings.HasPrefix(w.Key, "validation/") {
					waits = w.Key
					if w.Who != install.WhoService || !strings.Contains(w.For, text) {
						t.Errorf("wait %+v", w)
					}
				}
			}
			if blocks != test.blocks || waits != test.waits {
				t.Errorf("blocked by %q, waits for %q; plan %+v", blocks, waits, plan)
			}
			for _, a := range plan.Actions {
				if a.Kind == install.StartInstall && blocks != "" {
					t.Error("it would start")
				}
			}
		})
	}
}
