// Package v1beta1 is the API of the bootstrap provider: OpenshiftAssistedConfig,
// which says how one machine is discovered and installed, and its template. It
// is the version that is stored, and the one that all others are converted by.
// It follows contract v1beta2 of Cluster API.
//
// +kubebuilder:object:generate=true
// +groupName=bootstrap.cluster.x-k8s.io
package v1beta1
