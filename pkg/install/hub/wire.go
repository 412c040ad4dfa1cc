package hub

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/hive"
	"github.com/oaictl/oaictl/internal/redact"
)

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
