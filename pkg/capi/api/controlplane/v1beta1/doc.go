// Package v1beta1 is the API of the control plane provider:
// OpenshiftAssistedControlPlane, which says what an OpenShift cluster is and how
// its control plane is installed and kept, and its template. It is the version
// that is stored, and the one that all others are converted by. It follows
// contract v1beta2 of Cluster API.
//
// +kubebuilder:object:generate=true
// +groupName=controlplane.cluster.x-k8s.io
package v1beta1
