package agent_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent"
)

// TestAgentsAreReadAsTheHubPlaneReadsThem: the conditions and the status of an Agent are not the whole state of its host.
func TestAgentsAreReadAsTheHubPlaneReadsThem(t *testing.T) {
	type changes = []func(*agentinstall.Agent)
	bound := func(a *agentinstall.Agent) { a.Spec.ClusterDeploymentName = &hubapi.Reference{Name: "lab"} }
	in := func(state string) func(*agentinstall.Agent) {
		return func(a *agentinstall.Agent) { a.Status.DebugInfo.State = state }
	}
	at := func(said, noted string) func(*agentinstall.Agent) {
		return func(a *agentinstall.Agent) {
			in("installing-in-progress")(a)
			stages := []string{"Writing image to disk", "Rebooting", "Joined", "Done"}
			a.Status.Progress = agentinstall.HostProgress{CurrentStage: said, ProgressStages: stages}
			a.Annotations = map[string]string{hubapi.AnnotationCurrentStage: noted}
		}
	}
	refused := func(reason string, ago time.Duration) func(*agentinstall.Agent) {
		return func(a *agentinstall.Agent) {
			a.CreationTimestamp = metav1.NewTime(clock.Real().Now().Add(-ago))
			a.Status.Conditions[0].Status, a.Status.Conditions[0].Reason = metav1.ConditionFalse, reason
		}
	}
	for name, test := range map[string]struct {
		want    string
		changes changes
	}{
		"as made":                         {"Unbound, free", nil},
		"just bound":                      {"Binding", changes{bound}},
		"just released":                   {"Releasing", changes{in("added-to-existing-cluster")}},
		"added":                           {"Added, installed", changes{bound, in("added-to-existing-cluster")}},
		"writes its disk":                 {"Installing", changes{bound, at("Writing image to disk", "")}},
		"reboots, by the annotation":      {"Installing, installed", changes{bound, at("Writing image to disk", "Rebooting")}},
		"reboots, with an old annotation": {"Installing, installed", changes{bound, at("Rebooting", "Writing image to disk")}},
		"refused":                         {"Unbound", changes{refused(hubapi.ReasonInputError, time.Hour)}},
		"refused this moment":             {"Unbound, free", changes{refused(hubapi.ReasonInputError, 0)}},
		"not synced by a fault":           {"Unbound, free", changes{refused("BackendError", time.Hour)}},
		"refused in its cluster":          {"Blocked", changes{bound, in("known"), refused(hubapi.ReasonInputError, time.Hour)}},
		"boots once more":                 {"Discovering, unknown", changes{bound, in("discovering")}},
	} {
		t.Run(name, func(t *testing.T) {
			a := &agentinstall.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}
			a.Spec.Approved = true
			a.Status.DebugInfo.State, a.Status.Inventory.Hostname = "known-unbound", "host-1"
			conditionsOf(a, true, false)
			for _, change := range test.changes {
				change(a)
			}
			c := fake.NewClientBuilder().WithObjects(toUnstructured(t, a)).Build()
			p := &agent.HubPool{Client: c, Live: c, Clock: clock.Real()}
			host, err := p.UncachedHost(t.Context(), "ns", types.NamespacedName{Namespace: "ns", Name: "a"}, "")
			if err != nil || host == nil {
				t.Fatal(host, err)
			}
			got := string(host.State)
			for word, is := range map[string]bool{", free": host.Free(), ", installed": host.Installed, ", unknown": !host.Known} {
				if is {
					got += word
				}
			}
			if got != test.want {
				t.Errorf("it is %s, want %s", got, test.want)
			}
		})
	}
}
