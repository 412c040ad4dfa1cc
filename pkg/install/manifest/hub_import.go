package manifest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// adminKubeconfigName is the name of the Secret with the kubeconfig of a cluster
// that is installed already: the one that the file refers to, else the one that
// the service looks for by itself.
func adminKubeconfigName(c *spec.Cluster) string {
	if i := c.Spec.Import; i != nil && i.Kubeconfig.SecretRef != nil {
		return i.Kubeconfig.SecretRef.Name
	}
	return c.Metadata.Name + "-admin-kubeconfig"
}

// adminKubeconfig makes the Secret by which the service reaches a cluster that is
// installed already.
func (h *hub) adminKubeconfig() []*unstructured.Unstructured {
	i := h.cluster.Spec.Import
	if i == nil {
		return nil
	}
	const field = "spec.import.kubeconfig"
	name := adminKubeconfigName(h.cluster)
	switch ref := i.Kubeconfig.SecretRef; {
	case ref != nil:
		if ref.Key != "" && ref.Key != hubapi.KeyKubeconfig {
			h.refuse(field+".secretRef.key", "a hub reads a kubeconfig from the key "+hubapi.KeyKubeconfig+" only", "leave the key out, and keep the kubeconfig under "+hubapi.KeyKubeconfig)
		}
	case i.Kubeconfig.IsZero():
		h.refuse(field, "is missing: a hub reaches the installed cluster by it", "write import: {kubeconfig: {file: PATH}}")
	case !h.secrets:
		h.note("the Secret %s has to hold the kubeconfig of the installed cluster under %s", name, hubapi.KeyKubeconfig)
	default:
		return h.secret(name, "Opaque", map[string]string{hubapi.KeyKubeconfig: i.Kubeconfig.Secret().Reveal()})
	}
	return nil
}

// importedMetadata says which cluster it is that is installed already. What the
// service calls it is not known yet, and stays empty.
func (h *hub) importedMetadata() fields {
	return fields{
		"clusterID": h.cluster.Spec.Import.ClusterID, "infraID": "",
		"adminKubeconfigSecretRef": fields{"name": adminKubeconfigName(h.cluster)},
	}
}

// importedInstall is the AgentClusterInstall of a cluster that is installed
// already. It asks for nothing to be installed: the counts are those that the
// API server wants there.
func (h *hub) importedInstall(endpointCA string) *unstructured.Unstructured {
	c := h.cluster
	object := h.object(kindAgentClusterInstall(), c.Metadata.Name)
	h.consumer(object)
	s := fields{
		"clusterDeploymentRef":  fields{"name": c.Metadata.Name},
		"imageSetRef":           fields{"name": h.set},
		"networking":            fields{"userManagedNetworking": true},
		"provisionRequirements": fields{"controlPlaneAgents": int64(1)},
	}
	put(s, "sshPublicKey", c.SSHKey())
	if c.Spec.Import.ClusterID != "" {
		s["clusterMetadata"] = h.importedMetadata()
	}
	if endpoint := h.ignitionEndpoint(endpointCA); endpoint != nil {
		s["ignitionEndpoint"] = endpoint
	}
	if proxy := proxyFields(c.Spec.Proxy); proxy != nil {
		s["proxy"] = proxy
	}
	if ref := h.mirrorRef(); ref != nil {
		s["mirrorRegistryRef"] = ref
	}
	object.Object["spec"] = s
	return object
}
