// Package hubapi holds the names of a hub: the kinds that an assisted-service
// which runs as an operator works on, and the labels, annotations, conditions
// and reasons by which it and its neighbours (Hive, the Bare Metal Operator)
// speak. The objects themselves are in the packages below, one an API group.
//
// The types are our own: those that the operators publish bring along, beside
// the fields, a controller framework and the service's whole REST model, and the
// published agent-install types know less than today's service.
package hubapi

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// LocalReference names an object of the same namespace.
type LocalReference struct {
	Name string `json:"name,omitempty"`
}

// Reference names an object of any namespace.
type Reference struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// FullReference names an object of a namespace that has to be said.
type FullReference struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// Condition is one of an object's status.conditions.
type Condition struct {
	Type    string                 `json:"type"`
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason,omitempty"`
	Message string                 `json:"message,omitempty"`
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitzero"`
	// +optional
	LastProbeTime metav1.Time `json:"lastProbeTime,omitzero"`
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

// IsTrue reports whether the condition of a type is there and true.
func IsTrue(conditions []Condition, kind string) bool {
	c := FindCondition(conditions, kind)
	return c != nil && c.Status == metav1.ConditionTrue
}

// Validation is one check that the service made of a cluster or a host.
type Validation struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// Validations are the checks by category, such as network or hosts-data.
type Validations map[string][]Validation

// UnmarshalJSON also reads the text that Trim makes of them.
func (v *Validations) UnmarshalJSON(data []byte) error {
	return Unpack(data, (*map[string][]Validation)(v))
}

// Proxy is how the outside is reached.
type Proxy struct {
	HTTPProxy  string `json:"httpProxy,omitempty"`
	HTTPSProxy string `json:"httpsProxy,omitempty"`
	NoProxy    string `json:"noProxy,omitempty"`
}

// Keys in the Secrets and ConfigMaps of a hub.
const (
	KeyPullSecret     = ".dockerconfigjson"
	KeyKubeconfig     = "kubeconfig"
	KeyUsername       = "username"
	KeyPassword       = "password"
	KeyFencingAddress = "address"
	KeyFencingVerify  = "certificateVerification"
	KeyIgnitionToken  = "ignition-token"
	KeyIgnitionCA     = "tls.crt"
	KeyRegistriesConf = "registries.conf"
)

// The API groups of a hub, and the version of each that oaictl speaks.
const (
	GroupHive            = "hive.openshift.io"
	VersionHive          = "v1"
	GroupHiveExtension   = "extensions.hive.openshift.io"
	VersionHiveExtension = "v1beta1"
	GroupAgentInstall    = "agent-install.openshift.io"
	VersionAgentInstall  = "v1beta1"
	GroupMetal3          = "metal3.io"
	VersionMetal3        = "v1alpha1"
)

// The kinds of a hub.
const (
	KindClusterDeployment    = "ClusterDeployment"
	KindClusterImageSet      = "ClusterImageSet"
	KindAgentClusterInstall  = "AgentClusterInstall"
	KindInfraEnv             = "InfraEnv"
	KindNMStateConfig        = "NMStateConfig"
	KindAgent                = "Agent"
	KindAgentClassification  = "AgentClassification"
	KindAgentServiceConfig   = "AgentServiceConfig"
	KindBareMetalHost        = "BareMetalHost"
	KindPreprovisioningImage = "PreprovisioningImage"
	KindSecret               = "Secret"
	KindConfigMap            = "ConfigMap"
	KindNamespace            = "Namespace"
	KindEvent                = "Event"
	KindCustomResource       = "CustomResourceDefinition"
)

// Kind is a kind of object, by all the names that it has.
type Kind struct {
	schema.GroupVersionKind
	Resource   string
	Namespaced bool
}

// GroupVersionResource is what a dynamic client is asked by.
func (k Kind) GroupVersionResource() schema.GroupVersionResource {
	return k.GroupVersion().WithResource(k.Resource)
}

// Kinds are all kinds of a hub that oaictl works on, Kubernetes' own included.
func Kinds() []Kind {
	hive := schema.GroupVersion{Group: GroupHive, Version: VersionHive}
	extension := schema.GroupVersion{Group: GroupHiveExtension, Version: VersionHiveExtension}
	agent := schema.GroupVersion{Group: GroupAgentInstall, Version: VersionAgentInstall}
	metal3 := schema.GroupVersion{Group: GroupMetal3, Version: VersionMetal3}
	core := schema.GroupVersion{Version: "v1"}
	crd := schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"}
	return []Kind{
		{hive.WithKind(KindClusterDeployment), "clusterdeployments", true},
		{hive.WithKind(KindClusterImageSet), "clusterimagesets", false},
		{extension.WithKind(KindAgentClusterInstall), "agentclusterinstalls", true},
		{agent.WithKind(KindInfraEnv), "infraenvs", true},
		{agent.WithKind(KindNMStateConfig), "nmstateconfigs", true},
		{agent.WithKind(KindAgent), "agents", true},
		{agent.WithKind(KindAgentClassification), "agentclassifications", true},
		{agent.WithKind(KindAgentServiceConfig), "agentserviceconfigs", false},
		{metal3.WithKind(KindBareMetalHost), "baremetalhosts", true},
		{metal3.WithKind(KindPreprovisioningImage), "preprovisioningimages", true},
		{core.WithKind(KindSecret), "secrets", true},
		{core.WithKind(KindConfigMap), "configmaps", true},
		{core.WithKind(KindNamespace), "namespaces", false},
		{core.WithKind(KindEvent), "events", true},
		{crd.WithKind(KindCustomResource), "customresourcedefinitions", false},
	}
}

// GroupVersionKind is one of Kinds by its name, and for any other the name alone.
func GroupVersionKind(kind string) schema.GroupVersionKind { return named(kind).GroupVersionKind }

func named(kind string) Kind {
	for _, known := range Kinds() {
		if known.Kind == kind {
			return known
		}
	}
	return Kind{GroupVersionKind: schema.GroupVersionKind{Kind: kind}}
}

// Resource is one of Kinds as the API server serves it, by its name.
func Resource(kind string) schema.GroupVersionResource { return named(kind).GroupVersionResource() }
