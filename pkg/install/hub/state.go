package hub

import (
	"cmp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/hive"
	"github.com/oaictl/oaictl/internal/redact"
	"github.com/oaictl/oaictl/internal/vocab"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
)

// grace is how long a fault of the input may be one of order only: what it
// refers to may be about to be made.
const grace = 15 * time.Second

// stateOf is the neutral word for an AgentClusterInstall: how an install ends is
// read from its conditions, and only how far it is from the service's own word.
// imported says that the cluster was installed by something else.
func stateOf(made *hive.AgentClusterInstall, imported bool) install.ClusterState {
	conditions, word := made.Status.Conditions, kube.DebugOf(made).State
	done, stop := find(conditions, hubapi.ConditionCompleted), find(conditions, hubapi.ConditionStopped)
	state := vocab.ClusterStateOf(word)
	switch {
	case find(conditions, hubapi.ConditionFailed).isTrue(),
		stop.isTrue() && stop.Reason == hubapi.ReasonInstallationFailed,
		done.isFalse() && done.Reason == hubapi.ReasonInstallationFailed:
		return vocab.ClusterFailed
	case stop.isTrue() && stop.Reason == hubapi.ReasonInstallationCancelled:
		return vocab.ClusterCancelled
	case done.isTrue() && done.Reason == hubapi.ReasonInstallationCompleted:
		switch {
		case !imported && !hasPassword(made.Spec.ClusterMetadata):
			return vocab.ClusterFinalizing // its results are a moment away
		case state == vocab.ClusterAddingHosts:
			return vocab.ClusterAddingHosts
		}
		return vocab.ClusterInstalled
	case word == "":
		return vocab.ClusterDraft
	}
	switch state { // ends that the conditions do not say yet
	case vocab.ClusterInstalled, vocab.ClusterAddingHosts:
		return vocab.ClusterFinalizing
	case vocab.ClusterFailed, vocab.ClusterCancelled:
		return vocab.ClusterInstalling
	}
	return state
}

// refused is what the service does not take of an object, "" if nothing. It
// stands once only a change of the input helps: a fault of the service itself is
// tried again, and one that is only just so may pass.
func refused(conditions []hubapi.Condition, now time.Time) (text string, standing bool) {
	c := find(conditions, hubapi.ConditionSpecSynced)
	if !c.isFalse() {
		return "", false
	}
	text = cmp.Or(strings.TrimSpace(c.Message), c.Reason)
	return text, c.Reason == hubapi.ReasonInputError && !now.Before(c.since().Add(grace))
}

// latest is when the last of some conditions changed.
func latest(conditions []hubapi.Condition, kinds ...string) time.Time {
	var at time.Time
	for _, kind := range kinds {
		if c := find(conditions, kind); c.since().After(at) {
			at = c.since()
		}
	}
	return at
}

// preparationOf is how the last preparation of an install ended.
func preparationOf(conditions []hubapi.Condition) install.Preparation {
	c := find(conditions, hubapi.ConditionPreparationFailed)
	switch {
	case c.Type == "":
		return install.Preparation{}
	case c.isTrue():
		out := install.Preparation{Status: "failed", Reason: cmp.Or(c.Message, c.Reason)}
		if !c.since().IsZero() {
			out.FailedAt = []time.Time{c.since()}
		}
		return out
	case c.Reason == hubapi.ReasonPreparationPending:
		return install.Preparation{Status: "not_started"}
	}
	return install.Preparation{Status: "success"}
}

// moment is a time of an object, zero where there is none.
func moment(at *metav1.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return at.Time
}

// condition is one of an object's, the zero one where it does not stand there.
type condition struct{ hubapi.Condition }

func find(conditions []hubapi.Condition, kind string) condition {
	if c := hubapi.FindCondition(conditions, kind); c != nil {
		found := condition{*c}
		found.Message = redact.Text(found.Message)
		return found
	}
	return condition{}
}

func (c condition) isTrue() bool     { return c.Status == metav1.ConditionTrue }
func (c condition) isFalse() bool    { return c.Status == metav1.ConditionFalse }
func (c condition) since() time.Time { return c.LastTransitionTime.Time }

// metadataComplete says whether all is there that Hive asks for before it takes
// a cluster for installed.
func metadataComplete(m *hive.ClusterMetadata) bool {
	return hasPassword(m) && m.ClusterID != "" && m.InfraID != "" && m.AdminKubeconfigSecretRef.Name != ""
}

func hasPassword(m *hive.ClusterMetadata) bool {
	return m != nil && m.AdminPasswordSecretRef != nil && m.AdminPasswordSecretRef.Name != ""
}
