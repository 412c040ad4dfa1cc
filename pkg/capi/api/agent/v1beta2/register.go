package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group and Version of the kinds in this package.
const (
	Group   = "capi-provider.agent-install.openshift.io"
	Version = "v1beta2"
)

// Kinds in this package.
const (
	ClusterKind         = "AgentCluster"
	ClusterTemplateKind = "AgentClusterTemplate"
	MachineKind         = "AgentMachine"
	MachineTemplateKind = "AgentMachineTemplate"
)

// GroupVersion is the group and version of the kinds in this package.
func GroupVersion() schema.GroupVersion { return schema.GroupVersion{Group: Group, Version: Version} }

// AddToScheme makes the kinds of this package known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion(),
		&AgentCluster{}, &AgentClusterList{},
		&AgentClusterTemplate{}, &AgentClusterTemplateList{},
		&AgentMachine{}, &AgentMachineList{},
		&AgentMachineTemplate{}, &AgentMachineTemplateList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion())
	return nil
}
