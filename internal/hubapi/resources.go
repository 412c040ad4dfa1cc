package hubapi

import "k8s.io/apimachinery/pkg/runtime/schema"

// ClusterDeployments are Hive's clusters, hive.openshift.io/v1.
func ClusterDeployments() schema.GroupVersionResource { return resource(KindClusterDeployment) }

// ClusterImageSets are the releases that a hub offers, hive.openshift.io/v1;
// they stand in no namespace.
func ClusterImageSets() schema.GroupVersionResource { return resource(KindClusterImageSet) }

// AgentClusterInstalls say how clusters are installed,
// extensions.hive.openshift.io/v1beta1.
func AgentClusterInstalls() schema.GroupVersionResource { return resource(KindAgentClusterInstall) }

// InfraEnvs are discovery images, agent-install.openshift.io/v1beta1.
func InfraEnvs() schema.GroupVersionResource { return resource(KindInfraEnv) }

// NMStateConfigs are the static networks of hosts,
// agent-install.openshift.io/v1beta1.
func NMStateConfigs() schema.GroupVersionResource { return resource(KindNMStateConfig) }

// Agents are the hosts that registered, agent-install.openshift.io/v1beta1. The
// service makes them.
func Agents() schema.GroupVersionResource { return resource(KindAgent) }

// AgentClassifications label hosts by their inventory,
// agent-install.openshift.io/v1beta1.
func AgentClassifications() schema.GroupVersionResource { return resource(KindAgentClassification) }

// AgentServiceConfigs describe the service itself,
// agent-install.openshift.io/v1beta1; there is one, named agent, in no namespace.
func AgentServiceConfigs() schema.GroupVersionResource { return resource(KindAgentServiceConfig) }

// BareMetalHosts are machines with their BMCs, metal3.io/v1alpha1.
func BareMetalHosts() schema.GroupVersionResource { return resource(KindBareMetalHost) }

// Secrets are Kubernetes' own.
func Secrets() schema.GroupVersionResource { return resource(KindSecret) }

// ConfigMaps are Kubernetes' own.
func ConfigMaps() schema.GroupVersionResource { return resource(KindConfigMap) }

// Namespaces are Kubernetes' own.
func Namespaces() schema.GroupVersionResource { return resource(KindNamespace) }

func resource(kind string) schema.GroupVersionResource { return named(kind).GroupVersionResource() }
