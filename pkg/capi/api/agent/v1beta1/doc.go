// Package v1beta1 is an older version of the API of the infrastructure provider. It
// follows contract v1beta1 of Cluster API, is served for objects and manifests that
// were written for cluster-api-provider-agent, HyperShift's among them, and
// converted by v1beta2.
//
// +kubebuilder:object:generate=true
// +groupName=capi-provider.agent-install.openshift.io
package v1beta1
