package bootstrap

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestRequestsThatWaitForAPersonAreShown: with the command that answers them, and apart from what is wrong with the
// host; for a machine without such a request there is no report.
func TestRequestsThatWaitForAPersonAreShown(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	s := &scope{
		Reconciler: &Reconciler{Recorder: recorder}, way: machines.UserData, host: &model.Host{ID: "h", State: model.HostInstalled},
		config:  &bootstrapv1.OpenshiftAssistedConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "boot"}},
		machine: &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}},
	}
	show := func(blockers ...model.Blocker) *metav1.Condition {
		t.Helper()
		before := s.config.DeepCopy()
		s.view = &clusterloop.View{Look: install.Look{Observed: &model.Observed{}, Plan: model.Plan{Blockers: blockers}}}
		s.showHost(nil)
		s.summarize()
		s.report(before)
		return conditions.Get(s.config, bootstrapv1.CertificateRequestPendingCondition)
	}
	is := func(kind string, status metav1.ConditionStatus, message string) {
		t.Helper()
		if c := conditions.Get(s.config, kind); c == nil || c.Status != status || c.Message != message {
			t.Errorf("%s is %+v; want %s %q", kind, c, status, message)
		}
	}
	request := model.Blocker{Scope: model.ScopeNode.Of("m"), Hosts: []string{"m"}, Reason: "CertificateRequestPending", Message: "somebody has to say", Remedy: "{approve m}"}
	other := model.Blocker{Scope: model.ScopeNode.Of("other"), Hosts: []string{"other"}, Reason: "CertificateRequestPending", Message: "of another machine"}
	if c := show(other); c != nil || len(recorder.Events) > 0 {
		t.Errorf("without a request: %+v, and %d events", c, len(recorder.Events))
	}

	const want = "somebody has to say: oaictl approve m"
	for range 2 {
		show(request, other)
		is(bootstrapv1.CertificateRequestPendingCondition, metav1.ConditionTrue, want)
		is(bootstrapv1.HostValidatedCondition, metav1.ConditionTrue, string(model.HostInstalled))
	}
	if c := conditions.Get(s.config, clusterv1.ReadyCondition); c.Status != metav1.ConditionFalse || c.Message != want || c.Reason != "CertificateRequestPending" {
		t.Errorf("Ready is %+v", c)
	}
	if len(recorder.Events) != 2 || !strings.Contains(<-recorder.Events, want) || !strings.Contains(<-recorder.Events, want) {
		t.Error("it is not told once on the config and once on the Machine")
	}

	show(model.Blocker{Scope: model.ScopeNode.Of("m"), Hosts: []string{"m"}, Reason: "NodeNotReady", Message: "the node is not well"})
	is(bootstrapv1.CertificateRequestPendingCondition, metav1.ConditionFalse, "")
	is(bootstrapv1.HostValidatedCondition, metav1.ConditionFalse, "the node is not well")
}
