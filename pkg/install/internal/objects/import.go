package objects

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// importedMetadata says which cluster it is that is installed already. What the
// service calls it is not known yet, and stays empty.
func (h *Maker) importedMetadata() Fields {
	return Fields{
		"clusterID": h.Cluster.Spec.Import.ClusterID, "infraID": "",
		"adminKubeconfigSecretRef": Fields{"name": adminKubeconfigName(h.Cluster)},
	}
}

// importedInstall is the AgentClusterInstall of a cluster that is installed
// already. It asks for nothing to be installed: the counts are those that the
// API server wants there.
func (h *Maker) importedInstall(endpointCA string) *unstructured.Unstructured {
	c := h.Cluster
	object := h.Object(KindAgentClusterInstall(), c.Metadata.Name)
	h.consumer(object)
	s := Fields{
		"clusterDeploymentRef":  Fields{"name": c.Metadata.Name},
		"imageSetRef":           Fields{"name": h.Set},
		"networking":            Fields{"userManagedNetworking": true},
		"provisionRequirements": Fields{"controlPlaneAgents": int64(1)},
	}
	Put(s, "sshPublicKey", c.SSHKey())
	if c.Spec.Import.ClusterID != "" {
		s["clusterMetadata"] = h.importedMetadata()
	}
	if endpoint := h.ignitionEndpoint(endpointCA); endpoint != nil {
		s["ignitionEndpoint"] = endpoint
	}
	if proxy := ProxyFields(c.Spec.Proxy); proxy != nil {
		s["proxy"] = proxy
	}
	if ref := h.mirrorRef(); ref != nil {
		s["mirrorRegistryRef"] = ref
	}
	object.Object["spec"] = s
	return object
}
