// Package v1beta2 is the API of the infrastructure provider: AgentMachine, which
// takes a booted host from a pool, AgentCluster, which names the pool and the
// endpoint of the cluster, and their templates. It is the version that is stored,
// and the one that all others are converted by. It follows contract v1beta2 of
// Cluster API.
//
// +kubebuilder:object:generate=true
// +groupName=capi-provider.agent-install.openshift.io
package v1beta2
