package manifest

import "k8s.io/apimachinery/pkg/runtime/schema"

// The kinds that a cluster is made of.
func kindNamespace() schema.GroupVersionKind { return kindOf("", "v1", "Namespace") }
func kindSecret() schema.GroupVersionKind    { return kindOf("", "v1", "Secret") }
func kindConfigMap() schema.GroupVersionKind { return kindOf("", "v1", "ConfigMap") }
func kindClusterDeployment() schema.GroupVersionKind {
	return kindOf("hive.openshift.io", "v1", "ClusterDeployment")
}
func kindClusterImageSet() schema.GroupVersionKind {
	return kindOf("hive.openshift.io", "v1", "ClusterImageSet")
}
func kindAgentClusterInstall() schema.GroupVersionKind {
	return kindOf("extensions.hive.openshift.io", "v1beta1", "AgentClusterInstall")
}
func kindInfraEnv() schema.GroupVersionKind {
	return kindOf("agent-install.openshift.io", "v1beta1", "InfraEnv")
}
func kindNMStateConfig() schema.GroupVersionKind {
	return kindOf("agent-install.openshift.io", "v1beta1", "NMStateConfig")
}
func kindBareMetalHost() schema.GroupVersionKind {
	return kindOf("metal3.io", "v1alpha1", "BareMetalHost")
}

// Labels and annotations.
const (
	labelCluster  = "oaictl.io/cluster"
	labelInfraEnv = "oaictl.io/infraenv"
	// labelWatch has the service reconcile at once when a Secret or ConfigMap that
	// it reads is changed.
	labelWatch = "agent-install.openshift.io/watch"
	// labelConsumer is the tag of the cluster in the service.
	labelConsumer = "agentclusterinstalls.agent-install.openshift.io/consumer"
	// labelBooted names the InfraEnv that a BareMetalHost boots.
	labelBooted = "infraenvs.agent-install.openshift.io"

	noteOverrides      = "agent-install.openshift.io/install-config-overrides"
	noteIgnoredCluster = "agent-install.openshift.io/ignored-cluster-validations"
	noteIgnoredHosts   = "agent-install.openshift.io/ignored-host-validations"
	noteBMAC           = "bmac.agent-install.openshift.io"
)
