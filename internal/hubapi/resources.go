package hubapi

import "k8s.io/apimachinery/pkg/runtime/schema"

// ClusterDeployments are Hive's clusters, hive.openshift.io/v1.
func ClusterDeployments() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: GroupHive, Version: VersionHive, Resource: "clusterdeployments"}
}

// ClusterImageSets are the releases that a hub offers, hive.openshift.io/v1;
// they stand in no namespace.
func ClusterImageSets() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: GroupHive, Version: VersionHive, Resource: "clusterimagesets"}
}

// AgentClusterInstalls say how clusters are installed,
// extensions.hive.openshift.io/v1beta1.
func AgentClusterInstalls() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: GroupHiveExtension, Version: VersionHiveExtension, Resource: "agentclusterinstalls"}
}

// InfraEnvs are discovery images, agent-install.openshift.io/v1beta1.
func InfraEnvs() schema.GroupVersionResource { return agentInstall("infraenvs") }

// NMStateConfigs are the static networks of hosts,
// agent-install.openshift.io/v1beta1.
func NMStateConfigs() schema.GroupVersionResource { return agentInstall("nmstateconfigs") }

// Agents are the hosts that registered, agent-install.openshift.io/v1beta1. The
// service makes them.
func Agents() schema.GroupVersionResource { return agentInstall("agents") }

// AgentClassifications label hosts by their inventory,
// agent-install.openshift.io/v1beta1.
func AgentClassifications() schema.GroupVersionResource { return agentInstall("agentclassifications") }

// AgentServiceConfigs describe the service itself,
// agent-install.openshift.io/v1beta1; there is one, named agent, in no namespace.
func AgentServiceConfigs() schema.GroupVersionResource { return agentInstall("agentserviceconfigs") }

// BareMetalHosts are machines with their BMCs, metal3.io/v1alpha1.
func BareMetalHosts() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: GroupMetal3, Version: VersionMetal3, Resource: "baremetalhosts"}
}

// Secrets are Kubernetes' own.
func Secrets() schema.GroupVersionResource { return core("secrets") }

// ConfigMaps are Kubernetes' own.
func ConfigMaps() schema.GroupVersionResource { return core("configmaps") }

// Namespaces are Kubernetes' own.
func Namespaces() schema.GroupVersionResource { return core("namespaces") }

func agentInstall(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: GroupAgentInstall, Version: VersionAgentInstall, Resource: resource}
}

func core(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: resource}
}
