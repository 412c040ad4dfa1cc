package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeprecatedCondition is a condition as contract v1beta1 of Cluster API had them.
type DeprecatedCondition struct {
	// type of the condition.
	// +required
	Type string `json:"type"`
	// status is True, False or Unknown.
	// +required
	Status metav1.ConditionStatus `json:"status"`
	// severity of a condition that is False: Error, Warning or Info.
	// +optional
	Severity string `json:"severity,omitempty"`
	// lastTransitionTime is when the status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty,omitzero"`
	// reason is the word for why the condition is not True.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message is the sentence for why the condition is not True.
	// +optional
	Message string `json:"message,omitempty"`
}
