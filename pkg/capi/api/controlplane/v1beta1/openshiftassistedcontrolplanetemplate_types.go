package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
)

// OpenshiftAssistedControlPlaneTemplateSpec says what control planes are made of the
// template.
type OpenshiftAssistedControlPlaneTemplateSpec struct {
	// template is what each control plane is made of.
	// +required
	Template OpenshiftAssistedControlPlaneTemplateResource `json:"template,omitempty,omitzero"`
}

// OpenshiftAssistedControlPlaneTemplateResource is what each control plane is made of.
type OpenshiftAssistedControlPlaneTemplateResource struct {
	// metadata holds labels and annotations of the control planes.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec of the control planes.
	// +required
	Spec OpenshiftAssistedControlPlaneTemplateResourceSpec `json:"spec,omitempty,omitzero"`
}

// OpenshiftAssistedControlPlaneTemplateResourceSpec is the spec of an
// OpenshiftAssistedControlPlane without what a topology says: the number of machines, the
// version of Kubernetes and the template of the infrastructure. What differs from cluster to
// cluster, such as distributionVersion and config.baseDomain, comes by the patches of a
// ClusterClass.
// +kubebuilder:validation:MinProperties=1
type OpenshiftAssistedControlPlaneTemplateResourceSpec struct {
	// distributionVersion is the whole version of OpenShift or OKD, as 4.20.3.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	DistributionVersion string `json:"distributionVersion,omitempty"`

	// machineTemplate says what the Machines of the control plane are like.
	// +optional
	MachineTemplate OpenshiftAssistedControlPlaneTemplateMachineTemplate `json:"machineTemplate,omitempty,omitzero"`

	// openshiftAssistedConfigSpec is the spec of the OpenshiftAssistedConfigs of the control
	// plane.
	// +optional
	OpenshiftAssistedConfigSpec bootstrapv1.OpenshiftAssistedConfigSpec `json:"openshiftAssistedConfigSpec,omitempty,omitzero"`

	// config says what the cluster is.
	// +optional
	Config OpenshiftAssistedControlPlaneConfigSpec `json:"config,omitempty,omitzero"`

	// rollout says when Machines are replaced because what they are made of has changed.
	// +optional
	Rollout RolloutSpec `json:"rollout,omitempty,omitzero"`

	// remediation says how unhealthy Machines of the control plane are replaced.
	// +optional
	Remediation RemediationSpec `json:"remediation,omitempty,omitzero"`

	// upgrade says which upgrades may be taken, and how.
	// +optional
	Upgrade UpgradeSpec `json:"upgrade,omitempty,omitzero"`
}

// OpenshiftAssistedControlPlaneTemplateMachineTemplate says what the Machines of the control
// plane are like.
// +kubebuilder:validation:MinProperties=1
type OpenshiftAssistedControlPlaneTemplateMachineTemplate struct {
	// metadata holds labels and annotations of the Machines.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec of the Machines.
	// +optional
	Spec OpenshiftAssistedControlPlaneMachineSettings `json:"spec,omitempty,omitzero"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=openshiftassistedcontrolplanetemplates,shortName=oacpt;oacpts,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="cluster.x-k8s.io/provider=control-plane-openshift-assisted"
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1"
// +kubebuilder:printcolumn:name="ClusterClass",type="string",JSONPath=".metadata.ownerReferences[?(@.kind==\"ClusterClass\")].name",description="ClusterClass that uses the template"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.ownerReferences[?(@.kind==\"Cluster\")].name",description="Cluster that uses the template"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the template was made"

// OpenshiftAssistedControlPlaneTemplate is what the control planes of a ClusterClass are made
// of. Its template is not changed in place: a changed one gets a new name.
type OpenshiftAssistedControlPlaneTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what control planes are made of the template.
	// +optional
	Spec OpenshiftAssistedControlPlaneTemplateSpec `json:"spec,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// OpenshiftAssistedControlPlaneTemplateList is a list of templates.
type OpenshiftAssistedControlPlaneTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the templates.
	Items []OpenshiftAssistedControlPlaneTemplate `json:"items"`
}
