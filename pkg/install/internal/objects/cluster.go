package objects

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
)

// ImageSet chooses the ClusterImageSet, and makes it where the file names a
// release image and no set; nil where it does not.
func (h *Maker) ImageSet() (object *unstructured.Unstructured) {
	o := h.Cluster.Spec.OpenShift
	name := cmp.Or(h.Set, o.ImageSet)
	own := h.Cluster.Metadata.Name + "-release"
	if (name == "" || name == own) && o.ReleaseImage != "" {
		object = NewObject(KindClusterImageSet(), h.Cluster, "", own)
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
	object := h.Object(kindClusterDeployment(), name)
	object.Object["spec"] = Fields{
		"clusterName": name,
		"baseDomain":  h.Cluster.Spec.BaseDomain,
		"platform": Fields{"agentBareMetal": Fields{
			"agentSelector": Fields{"matchLabels": Fields{hubapi.LabelCluster: name}},
		}},
		"pullSecretRef": Fields{"name": PullSecretName(h.Cluster)},
		"clusterInstallRef": Fields{
			"group":   KindAgentClusterInstall().Group,
			"version": KindAgentClusterInstall().Version,
			"kind":    KindAgentClusterInstall().Kind,
			"name":    name,
		},
	}
	if h.Cluster.Imported() {
		s := object.Object["spec"].(Fields)
		s["installed"], s["clusterMetadata"] = true, h.importedMetadata()
	}
	return object
}
