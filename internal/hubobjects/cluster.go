package hubobjects

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/setting"
)

// ImageSet chooses the ClusterImageSet, and makes it where the file names a
// release image and no set; nil where it does not.
func (h *Maker) ImageSet() (object *unstructured.Unstructured) {
	o := h.Cluster.Spec.OpenShift
	name := cmp.Or(h.Set, o.ImageSet)
	own := h.Cluster.Metadata.Name + "-release"
	if (name == "" || name == own) && o.ReleaseImage != "" {
		object = NewObject(hubapi.KindClusterImageSet, h.Cluster, "", own)
		object.Object["spec"] = Fields{"releaseImage": o.ReleaseImage}
		name = own
	}
	if name == "" {
		name = "openshift-v" + o.Version
		h.note("the AgentClusterInstall refers to the ClusterImageSet %s, which has to be there when it is applied: the reference cannot be changed later; write spec.openshift.imageSet for another one, or spec.openshift.releaseImage to have one made", name)
	}
	if o.ReleaseImage != "" && object == nil {
		h.note("the ClusterImageSet %s says which release is installed, not spec.openshift.releaseImage", name)
	}
	h.Set = name
	return object
}

// ClusterDeployment is Hive's view of the cluster. Its own fields (installed,
// clusterMetadata) are left to the operators that fill them in, unless the cluster
// is installed already.
func (h *Maker) ClusterDeployment() *unstructured.Unstructured {
	name := h.Cluster.Metadata.Name
	object := h.Object(hubapi.KindClusterDeployment, name)
	object.Object["spec"] = Fields{
		"clusterName": name,
		"baseDomain":  h.Cluster.Spec.BaseDomain,
		"platform": Fields{"agentBareMetal": Fields{
			"agentSelector": Fields{"matchLabels": Fields{hubapi.LabelCluster: name}},
		}},
		"pullSecretRef": Fields{"name": PullSecretName(h.Cluster)},
		"clusterInstallRef": Fields{
			"group":   hubapi.GroupHiveExtension,
			"version": hubapi.VersionHiveExtension,
			"kind":    hubapi.KindAgentClusterInstall,
			"name":    name,
		},
	}
	if h.Cluster.Imported() {
		s := object.Object["spec"].(Fields)
		s["installed"], s["clusterMetadata"] = true, h.importedMetadata()
	}
	return object
}

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
	object := h.Object(hubapi.KindAgentClusterInstall, c.Metadata.Name)
	s := Fields{
		"clusterDeploymentRef":  Fields{"name": c.Metadata.Name},
		"imageSetRef":           Fields{"name": h.Set},
		"networking":            Fields{"userManagedNetworking": true},
		"provisionRequirements": Fields{"controlPlaneAgents": int64(1)},
	}
	object.Object["spec"] = s
	settings := setting.OfCluster(c)
	if key := c.SSHKey(); key != "" {
		settings[setting.SSHKeys] = setting.ValueOf(key)
	}
	if proxy := c.Spec.Proxy; ProxyFields(proxy) != nil {
		settings[setting.Proxy] = setting.ValueOf(proxy)
	}
	if err := InstallTable().Write(object.Object, settings); err != nil {
		h.Refuse("spec", err.Error(), "")
	}
	h.endpointCA(s, endpointCA)
	if c.Spec.Import.ClusterID != "" {
		s["clusterMetadata"] = h.importedMetadata()
	}
	if ref := h.mirrorRef(); ref != nil {
		s["mirrorRegistryRef"] = ref
	}
	return object
}
