package create

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestNotThereYet names the hosts that have not come, and none for which something is done.
func TestNotThereYet(t *testing.T) {
	desired := &model.Desired{Spec: &spec.Cluster{Metadata: spec.Metadata{Name: "lab"}, Spec: spec.ClusterSpec{BaseDomain: "example.com"}}}
	plan := model.Plan{
		Actions: []model.Action{{Kind: model.InstallHost, Name: "worker-3", Scope: model.ScopeHost.Of("worker-3"), Target: "h3", Reason: "the host is ready to be added", Destructive: true}},
		Missing: []string{"worker-3", "worker-4"},
	}
	if text := planText(desired, plan, nil, false); !strings.Contains(text, "worker-3 (host/worker-3) DESTRUCTIVE: the host is ready to be added") || !strings.HasSuffix(text, "\nNot there yet: worker-4\n") {
		t.Error(text)
	}
	plan.Missing = plan.Missing[:1]
	if text := planText(desired, plan, nil, false); strings.Contains(text, "Not there yet") {
		t.Error(text)
	}
}

// TestApprovesItself: where oaictl approves the certificate requests of nodes, no person is asked to do it.
func TestApprovesItself(t *testing.T) {
	const said = "Host has rebooted and no further updates will be posted. Please check console for progress and to possibly approve pending CSRs"
	for approves, want := range map[bool]string{
		false: said,
		true:  "Host has rebooted and no further updates will be posted. oaictl approves the certificate requests of its node",
	} {
		if got := (&runOptions{approves: approves}).approvalIn(said); got != want {
			t.Errorf("approves %v: %q", approves, got)
		}
	}
}
