package convert

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
)

// negative are the conditions that are False when all is well. Contract v1beta1 had no such conditions.
var negative = []string{
	clusterv1.PausedCondition, clusterv1.DeletingCondition, clusterv1.RollingOutCondition, clusterv1.ScalingUpCondition,
	clusterv1.ScalingDownCondition, clusterv1.RemediatingCondition, bootstrapv1.CertificateRequestPendingCondition,
}

// oldConditions are conditions in the form of contract v1beta1: only those that are True
// when all is well, with a severity where they are False, and a reason where they are not
// True.
func oldConditions(conditions []any) []any {
	var old []any
	for _, each := range conditions {
		c, _ := each.(map[string]any)
		kind, _ := c["type"].(string)
		if slices.Contains(negative, kind) {
			continue
		}
		converted := map[string]any{"type": c["type"], "status": c["status"]}
		names := []string{"lastTransitionTime"}
		if !isTrue(c) {
			names = append(names, "reason", "message")
		}
		for _, name := range names {
			if value := c[name]; value != nil && value != "" {
				converted[name] = value
			}
		}
		if c["status"] == string(metav1.ConditionFalse) {
			converted["severity"] = "Info"
		}
		old = append(old, converted)
	}
	return old
}

func isTrue(condition map[string]any) bool {
	return condition["status"] == string(metav1.ConditionTrue)
}

// isAvailable reports whether the condition Available is True.
func isAvailable(conditions []any) bool {
	return slices.ContainsFunc(conditions, func(each any) bool {
		c, _ := each.(map[string]any)
		return c["type"] == clusterv1.AvailableCondition && isTrue(c)
	})
}
