// Package v1alpha2 is an older version of the API of the bootstrap provider. It is
// served for objects and manifests that were written for
// cluster-api-provider-openshift-assisted, and converted by v1beta1.
//
// +kubebuilder:object:generate=true
// +groupName=bootstrap.cluster.x-k8s.io
package v1alpha2
