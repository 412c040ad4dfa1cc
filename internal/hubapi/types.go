package hubapi

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LocalReference names an object of the same namespace.
type LocalReference struct {
	// +optional
	Name string `json:"name,omitempty"`
}

// Reference names an object of any namespace. The service binds hosts to
// clusters by it (ClusterReference).
type Reference struct {
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// FullReference names an object of a namespace that has to be said, such as the
// ConfigMap of a mirror.
type FullReference struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// Condition is one of an object's status.conditions.
type Condition struct {
	Type string `json:"type"`
	// Status is True, False or Unknown.
	Status metav1.ConditionStatus `json:"status"`
	// +optional
	Reason string `json:"reason,omitempty"`
	// +optional
	Message string `json:"message,omitempty"`
	// LastTransitionTime is when Status changed last.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitzero"`
	// LastProbeTime is when it was looked at last: Hive's kinds alone have it.
	// +optional
	LastProbeTime metav1.Time `json:"lastProbeTime,omitzero"`
	// LastHeartbeatTime is the same of older agent-install objects.
	// +optional
	LastHeartbeatTime metav1.Time `json:"lastHeartbeatTime,omitzero"`
}

// FindCondition is the condition of a type, nil where there is none.
func FindCondition(conditions []Condition, kind string) *Condition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}

// Validation is one check that the service made of a cluster or a host.
type Validation struct {
	ID string `json:"id"`
	// Status is success, failure, pending, error or disabled.
	Status  string `json:"status"`
	Message string `json:"message"`
}

// Validations are the checks by category, such as network or hosts-data.
type Validations map[string][]Validation

// Proxy is how the outside is reached.
type Proxy struct {
	// +optional
	HTTPProxy string `json:"httpProxy,omitempty"`
	// +optional
	HTTPSProxy string `json:"httpsProxy,omitempty"`
	// NoProxy are hosts and networks that are reached without it, with commas
	// between them.
	// +optional
	NoProxy string `json:"noProxy,omitempty"`
}
