// Package hubapi holds the names of a hub: the kinds that an assisted-service
// which runs as an operator works on, and the labels, annotations, conditions
// and reasons by which it and its neighbours (Hive, the Bare Metal Operator)
// speak. The objects themselves are in the packages below, one an API group.
//
// The types are our own: those that the operators publish bring along, beside
// the fields, a controller framework and the service's whole REST model, and the
// published agent-install types know less than today's service.
package hubapi

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LocalReference names an object of the same namespace.
type LocalReference struct {
	Name string `json:"name,omitempty"`
}

// Reference names an object of any namespace. The service binds hosts to
// clusters by it (ClusterReference).
type Reference struct {
	Name      string `json:"name,omitempty"`
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
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason,omitempty"`
	Message string                 `json:"message,omitempty"`
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
	HTTPProxy  string `json:"httpProxy,omitempty"`
	HTTPSProxy string `json:"httpsProxy,omitempty"`
	// NoProxy are hosts and networks that are reached without it, with commas
	// between them.
	NoProxy string `json:"noProxy,omitempty"`
}

// Keys in the Secrets and ConfigMaps of a hub.
const (
	KeyPullSecret = ".dockerconfigjson"
	// KeyKubeconfig is in the Secret <ClusterDeployment>-admin-kubeconfig.
	KeyKubeconfig = "kubeconfig"
	// KeyUsername and KeyPassword are in the Secret
	// <ClusterDeployment>-admin-password, and in BMC and fencing Secrets.
	KeyUsername = "username"
	KeyPassword = "password"
	// KeyFencingAddress and KeyFencingVerify are in a fencing Secret.
	KeyFencingAddress = "address"
	KeyFencingVerify  = "certificateVerification"
	KeyIgnitionToken  = "ignition-token"
	// KeyIgnitionCA is in the Secret of an Ignition endpoint's CA.
	KeyIgnitionCA = "tls.crt"
	// KeyRegistriesConf is in the ConfigMap of a mirror.
	KeyRegistriesConf = "registries.conf"
)
