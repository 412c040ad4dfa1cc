package v1alpha3

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group and Version of the kinds in this package.
const (
	Group   = "controlplane.cluster.x-k8s.io"
	Version = "v1alpha3"
)

// GroupVersion is the group and version of the kinds in this package.
func GroupVersion() schema.GroupVersion { return schema.GroupVersion{Group: Group, Version: Version} }

// AddToScheme makes the kinds of this package known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion(),
		&OpenshiftAssistedControlPlane{}, &OpenshiftAssistedControlPlaneList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion())
	return nil
}
