package agentinstall

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/hubapi"
)

// AgentClassification labels the Agents of its namespace by their inventory.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=agentclassifications
type AgentClassification struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +optional
	Spec AgentClassificationSpec `json:"spec,omitzero"`
	// +optional
	Status AgentClassificationStatus `json:"status,omitzero"`
}

// AgentClassificationSpec is a label and the question that gives it.
type AgentClassificationSpec struct {
	// LabelKey follows agentclassification.agent-install.openshift.io/. It can't be
	// changed.
	LabelKey string `json:"labelKey"`
	// LabelValue can't be changed, and does not begin with QUERYERROR.
	LabelValue string `json:"labelValue"`
	// Query is a jq expression over Agent.status.inventory that gives one boolean.
	Query string `json:"query"`
}

// AgentClassificationStatus counts what the query did.
type AgentClassificationStatus struct {
	// +optional
	MatchedCount int `json:"matchedCount,omitempty"`
	// +optional
	ErrorCount int `json:"errorCount,omitempty"`
	// Conditions hold QueryErrors.
	// +optional
	Conditions []hubapi.Condition `json:"conditions,omitempty"`
}
