// Package v1alpha1 is the oldest version of the API of the infrastructure provider. It
// is served for objects and manifests that were written for
// cluster-api-provider-agent, and converted by v1beta2.
//
// +kubebuilder:object:generate=true
// +groupName=capi-provider.agent-install.openshift.io
package v1alpha1
