package hub

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/hive"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// says is a condition as "True Reason".
type says struct {
	status metav1.ConditionStatus
	reason string
}

func installWith(state string, conditions map[string]says) *hive.AgentClusterInstall {
	made := &hive.AgentClusterInstall{}
	if state != "" {
		made.Status.DebugInfo = &hive.DebugInfo{State: state}
	}
	for kind, c := range conditions {
		made.Status.Conditions = append(made.Status.Conditions, hubapi.Condition{Type: kind, Status: c.status, Reason: c.reason})
	}
	return made
}

// Every row that the service has of a cluster's conditions.
func TestStateOfCluster(t *testing.T) {
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	before := map[string]says{
		"Completed": {no, "InstallationNotStarted"}, "Failed": {no, "InstallationNotFailed"}, "Stopped": {no, "InstallationNotStopped"},
	}
	during := map[string]says{
		"RequirementsMet": {yes, "ClusterAlreadyInstalling"}, "Completed": {no, "InstallationInProgress"},
		"Failed": {no, "InstallationNotFailed"}, "Stopped": {no, "InstallationNotStopped"},
	}
	done := map[string]says{
		"RequirementsMet": {yes, "ClusterInstallationStopped"}, "Completed": {yes, "InstallationCompleted"},
		"Failed": {no, "InstallationNotFailed"}, "Stopped": {yes, "InstallationCompleted"},
	}
	failed := map[string]says{"Completed": {no, "InstallationFailed"}, "Failed": {yes, "InstallationFailed"}, "Stopped": {yes, "InstallationFailed"}}
	cancelled := map[string]says{"Completed": {unknown, "UnknownStatus"}, "Failed": {no, "InstallationNotFailed"}, "Stopped": {yes, "InstallationCancelled"}}
	gone := map[string]says{"Completed": {unknown, "NotAvailable"}, "Failed": {unknown, "NotAvailable"}, "Stopped": {unknown, "NotAvailable"}}
	held := map[string]says{"Completed": {no, "InstallationOnHold"}, "RequirementsMet": {yes, "ClusterIsReady"}}
	for name, test := range map[string]struct {
		state      string
		conditions map[string]says
		password   bool
		imported   bool
		want       model.ClusterState
	}{
		"not looked at":                       {want: model.ClusterDraft},
		"no cluster in the service":           {conditions: gone, want: model.ClusterDraft},
		"insufficient":                        {state: "insufficient", conditions: before, want: model.ClusterBlocked},
		"pending-for-input":                   {state: "pending-for-input", conditions: before, want: model.ClusterDiscovering},
		"ready":                               {state: "ready", conditions: before, want: model.ClusterReady},
		"ready and held":                      {state: "ready", conditions: held, want: model.ClusterReady},
		"preparing-for-installation":          {state: "preparing-for-installation", conditions: during, want: model.ClusterPreparing},
		"installing":                          {state: "installing", conditions: during, want: model.ClusterInstalling},
		"installing-pending-user-action":      {state: "installing-pending-user-action", conditions: during, want: model.ClusterNeedsUser},
		"finalizing":                          {state: "finalizing", conditions: during, want: model.ClusterFinalizing},
		"installed":                           {state: "installed", conditions: done, password: true, want: model.ClusterInstalled},
		"installed, without its password yet": {state: "installed", conditions: done, want: model.ClusterFinalizing},
		"adding-hosts":                        {state: "adding-hosts", conditions: done, password: true, want: model.ClusterAddingHosts},
		"imported":                            {state: "adding-hosts", conditions: done, imported: true, want: model.ClusterAddingHosts},
		"error":                               {state: "error", conditions: failed, want: model.ClusterFailed},
		"cancelled":                           {state: "cancelled", conditions: cancelled, want: model.ClusterCancelled},
		"a state that is new":                 {state: "pondering", conditions: before, want: model.ClusterUnknown},
		// An end that only the state reports is not an end yet.
		"installed before its conditions": {state: "installed", conditions: during, want: model.ClusterFinalizing},
		"error before its conditions":     {state: "error", conditions: during, want: model.ClusterInstalling},
		"failed after its state":          {state: "installing", conditions: failed, want: model.ClusterFailed},
	} {
		made := installWith(test.state, test.conditions)
		if test.password {
			made.Spec.ClusterMetadata = &hive.ClusterMetadata{AdminPasswordSecretRef: &hubapi.LocalReference{Name: "p"}}
		}
		check.Equal(t, stateOf(made, test.imported), test.want, name)
	}
}

func TestPreparationOf(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC))
	for reason, test := range map[string]struct {
		status metav1.ConditionStatus
		want   string
		failed int
	}{
		"The last installation preparation failed":      {metav1.ConditionTrue, "failed", 1},
		"There is no failing prior preparation attempt": {metav1.ConditionFalse, "success", 0},
		hubapi.ReasonPreparationPending:                 {metav1.ConditionFalse, "not_started", 0},
	} {
		got := preparationOf([]hubapi.Condition{{Type: hubapi.ConditionPreparationFailed, Status: test.status, Reason: reason, LastTransitionTime: at}})
		if got.Status != test.want || len(got.FailedAt) != test.failed {
			t.Errorf("%s: got %+v", reason, got)
		}
	}
	if got := preparationOf(nil); got.Status != "" {
		t.Errorf("without the condition: %+v", got)
	}
}

func TestRefused(t *testing.T) {
	now := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		status   metav1.ConditionStatus
		reason   string
		age      time.Duration
		text     string
		standing bool
	}{
		"none":          {metav1.ConditionTrue, "SyncOK", time.Hour, "", false},
		"of the server": {metav1.ConditionFalse, "BackendError", time.Hour, "no such set", false},
		"just now":      {metav1.ConditionFalse, "InputError", grace - time.Second, "no such set", false},
		"standing":      {metav1.ConditionFalse, "InputError", grace, "no such set", true},
	} {
		text, standing := refused(&unstructured.Unstructured{}, []hubapi.Condition{{
			Type: hubapi.ConditionSpecSynced, Status: test.status, Reason: test.reason, Message: "no such set", LastTransitionTime: metav1.NewTime(now.Add(-test.age)),
		}}, now)
		if text != test.text || standing != test.standing {
			t.Errorf("%s: got %q, %v", name, text, standing)
		}
	}
}

// TestPreparationsThatNoConditionTells counts those that fail at hosts: the
// condition is about the files of an installation, and says success.
func TestPreparationsThatNoConditionTells(t *testing.T) {
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	c := newClusterMemory(&hubapi.Texts{})
	see := func(state model.ClusterState) int {
		at = at.Add(10 * time.Second)
		o := &model.Observed{At: at, Cluster: &model.Cluster{State: state, Preparation: model.Preparation{Status: "success"}}}
		c.update(o)
		return len(o.Cluster.Preparation.FailedAt)
	}
	for _, step := range []struct {
		state  model.ClusterState
		failed int
	}{
		{model.ClusterReady, 0},
		{model.ClusterPreparing, 0},
		{model.ClusterReady, 1},
		{model.ClusterBlocked, 1},
		{model.ClusterReady, 1},
		{model.ClusterPreparing, 1},
		{model.ClusterBlocked, 2},
		{model.ClusterPreparing, 2},
		{model.ClusterInstalling, 0},
	} {
		if got := see(step.state); got != step.failed {
			t.Errorf("%s: %d failed preparations, want %d", step.state, got, step.failed)
		}
	}
}

// TestHostsThatCouldNotPrepare are kept: their Agents say it for seconds.
func TestHostsThatCouldNotPrepare(t *testing.T) {
	c := newClusterMemory(&hubapi.Texts{})
	see := func(state model.ClusterState, status string) string {
		o := &model.Observed{Cluster: &model.Cluster{State: state}, Hosts: []model.Host{{ID: "h", Status: status, StatusInfo: "why"}}}
		c.update(o)
		return o.Cluster.Preparation.Hosts["h"]
	}
	for _, step := range []struct {
		state  model.ClusterState
		status string
		why    string
	}{
		{model.ClusterPreparing, "preparing-for-installation", ""},
		{model.ClusterPreparing, "preparing-failed", "why"},
		{model.ClusterReady, "known", "why"},
		{model.ClusterPreparing, "preparing-for-installation", "why"},
		{model.ClusterPreparing, "preparing-successful", ""},
		{model.ClusterPreparing, "preparing-failed", "why"},
		{model.ClusterInstalling, "installing", ""},
	} {
		if got := see(step.state, step.status); got != step.why {
			t.Errorf("%s while its cluster is %s: %q, want %q", step.status, step.state, got, step.why)
		}
	}
}
