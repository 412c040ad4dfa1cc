package convert

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
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
func oldConditions(conditions []metav1.Condition) []bootstrapv1.DeprecatedCondition {
	var old []bootstrapv1.DeprecatedCondition
	for _, c := range conditions {
		if slices.Contains(negative, c.Type) {
			continue
		}
		converted := bootstrapv1.DeprecatedCondition{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime}
		if c.Status != metav1.ConditionTrue {
			converted.Reason, converted.Message = c.Reason, c.Message
		}
		if c.Status == metav1.ConditionFalse {
			converted.Severity = "Info"
		}
		old = append(old, converted)
	}
	return old
}

// sameConditions reports whether two lists in the form of contract v1beta1 are the same.
func sameConditions(a, b []bootstrapv1.DeprecatedCondition) bool {
	return equality.Semantic.DeepEqual(a, b)
}

// isTrue reports whether a condition is True.
func isTrue(conditions []metav1.Condition, kind string) bool {
	return slices.ContainsFunc(conditions, func(c metav1.Condition) bool {
		return c.Type == kind && c.Status == metav1.ConditionTrue
	})
}

// flag is a field of contract v1beta2 for a boolean of contract v1beta1: true, or left out.
func flag(set bool) *bool {
	if !set {
		return nil
	}
	return &set
}

// given reports whether a field of contract v1beta2 is true.
func given(set *bool) bool { return set != nil && *set }

// valueOf is what a pointer points to, zero for none.
func valueOf[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// pointerTo is a pointer to a value, nil for zero.
func pointerTo[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}
