package objects

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// MirrorMap is the ConfigMap that AgentClusterInstall and InfraEnv take mirrors
// and certificates from; none without mirrors.
func (h *Maker) MirrorMap() []*unstructured.Unstructured {
	if len(h.Cluster.Spec.Registry.Mirrors) == 0 {
		return nil
	}
	data := Fields{"registries.conf": h.Cluster.RegistriesConf()}
	Put(data, "ca-bundle.crt", h.Cluster.TrustBundle())
	return []*unstructured.Unstructured{h.configMap(h.mirrorsName(), data)}
}

func (h *Maker) mirrorsName() string { return h.Cluster.Metadata.Name + "-mirrors" }

// mirrorRef refers to the mirrors; nil where there are none.
func (h *Maker) mirrorRef() Fields {
	if len(h.Cluster.Spec.Registry.Mirrors) == 0 {
		return nil
	}
	return Fields{"name": h.mirrorsName(), "namespace": h.Namespace}
}
