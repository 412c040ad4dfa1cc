package hub

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
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
		blocks, waits string // keys
	}{
		"a cluster, from the start":            {cluster: fault("InputError"), blocks: "validation/cluster/spec-synced"},
		"a ready cluster":                      {cluster: fault("InputError"), host: fine, state: "ready", blocks: "validation/cluster/spec-synced"},
		"a host of a ready cluster":            {cluster: fine, host: fault("InputError"), state: "ready", blocks: "validation/host/spec-synced"},
		"a fault of the service, at the start": {cluster: fault("BackendError"), waits: "validation/cluster/spec-synced"},
		"a fault of the service, with a host":  {cluster: fine, host: fault("BackendError"), state: "insufficient", waits: "validation/host/spec-synced"},
		"nothing":                              {cluster: fine, host: fine, state: "ready"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := planWith(t, test.state, test.cluster, test.host)
			for _, b := range plan.Blockers {
				if b.Cure != model.CureFile || !strings.Contains(b.Message, text) {
					t.Errorf("blocker %+v", b)
				}
			}
			if blocks, waits := checksOf(t, plan, text); blocks != test.blocks || waits != test.waits {
				t.Errorf("blocked by %q, waits for %q; plan %+v", blocks, waits, plan)
			}
			starts := slices.ContainsFunc(plan.Actions, func(a model.Action) bool { return a.Kind == model.StartInstall })
			if starts && test.blocks != "" {
				t.Error("it would start")
			}
		})
	}
}

// TestRefusedObjectWhoseConditionIsRenewed: the service may date a refusal anew at each reconcile; what was written
// long ago is refused nevertheless, and reported at once.
func TestRefusedObjectWhoseConditionIsRenewed(t *testing.T) {
	c := conditionOf("SpecSynced", "False", "InputError") // just now
	for age, want := range map[time.Duration]bool{time.Minute: true, 5 * time.Second: false} {
		u := agentWith(c)
		u.SetCreationTimestamp(metav1.NewTime(time.Now().Add(-age)))
		if text, standing := refused(u, conditionsOf(t, u), time.Now()); text == "" || standing != want {
			t.Errorf("made %s ago: %q stands %v", age, text, standing)
		}
	}
	plan := planWith(t, "insufficient", conditionOf("SpecSynced", "True", "SyncOK"), func() map[string]any {
		old := conditionOf("SpecSynced", "False", "InputError")
		old["lastTransitionTime"] = time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
		return old
	}())
	if len(plan.Blockers) != 1 || !plan.Blockers[0].Certain {
		t.Errorf("it is not told at once: %+v", plan.Blockers)
	}
}

// TestUnattended: where no controller of the hub runs, objects get no conditions, which is reported ten minutes after
// they were made.
func TestUnattended(t *testing.T) {
	for age, want := range map[time.Duration]bool{11 * time.Minute: true, time.Minute: false} {
		p, at := filledPlane(t, "lab")
		c := parseCluster(t, singleNode())
		for _, u := range made(t, p, at, c).Cluster {
			u = u.DeepCopy()
			u.SetResourceVersion("100")
			u.SetCreationTimestamp(metav1.NewTime(time.Now().Add(-age)))
			put(t, at, u)
		}
		o := must.Get(p.Observe(t.Context(), model.Query{Name: "lab", BaseDomain: "example.com"}, nil))(t)
		plan := install.Decide(&model.Desired{Spec: c}, o, model.Memory{}, o.At)
		told := slices.ContainsFunc(plan.Blockers, func(b model.Blocker) bool { return b.Reason == "NoController" })
		if told != want {
			t.Errorf("made %s ago: told %v; %+v", age, told, plan.Blockers)
		}
	}
}

func conditionsOf(t *testing.T, u *unstructured.Unstructured) []hubapi.Condition {
	t.Helper()
	agent := must.Get(kube.Read[agentinstall.Agent](u))(t)
	return agent.Status.Conditions
}

// planWith is the decision on a single node whose cluster is in a state, with a
// condition of the cluster and, if it is there, of its host.
func planWith(t *testing.T, state string, cluster, host map[string]any) model.Plan {
	t.Helper()
	p, at := filledPlane(t, "lab")
	c := parseCluster(t, singleNode())
	for _, u := range made(t, p, at, c).Cluster {
		if u.GetKind() != "AgentClusterInstall" {
			continue
		}
		u = u.DeepCopy()
		u.SetResourceVersion("100")
		u.Object["status"] = map[string]any{"conditions": []any{cluster}, "debugInfo": map[string]any{"state": state, "stateInfo": state}}
		put(t, at, u)
	}
	if host != nil {
		put(t, at, agentWith(host))
	}
	o := must.Get(p.Observe(t.Context(), model.Query{Name: "lab", BaseDomain: "example.com"}, nil))(t)
	return install.Decide(&model.Desired{Spec: c}, o, model.Memory{}, o.At)
}

// singleNode is the full cluster with one host, and without what a single node
// has not.
func singleNode() string {
	text := strings.Replace(fullText, "topology: {controlPlane: 3, workers: 0}", "topology: {controlPlane: 1}", 1)
	text = strings.Split(text, "  - {name: cp-1")[0]
	text = strings.Replace(text, "platform: {type: baremetal}", "platform: none", 1)
	for _, line := range []string{"    vips: {api: [192.168.127.100], ingress: [192.168.127.101]}\n", "    loadBalancer: user-managed\n", "    userManaged: false\n", "  schedulableControlPlane: true\n"} {
		text = strings.Replace(text, line, "", 1)
	}
	return text
}

// checksOf are the keys of the blocker of a plan, and of the check that it waits
// for in the service's words; "" where there is none.
func checksOf(t *testing.T, plan model.Plan, text string) (blocks, waits string) {
	t.Helper()
	for _, b := range plan.Blockers {
		blocks = b.Key
	}
	for _, w := range plan.Waits {
		if !strings.HasPrefix(w.Key, "validation/") {
			continue
		}
		waits = w.Key
		if w.Who != model.WhoService || !strings.Contains(w.For, text) {
			t.Errorf("wait %+v", w)
		}
	}
	return blocks, waits
}
