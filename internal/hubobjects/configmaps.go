package hubobjects

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func (h *Maker) configMap(name string, data Fields) *unstructured.Unstructured {
	object := h.Object(hubapi.KindConfigMap, name)
	addLabels(object, map[string]string{hubapi.LabelWatch: "true"})
	object.Object["data"] = data
	return object
}

// maxConfigMap is how much a ConfigMap holds, in bytes (core/v1: MaxSecretSize).
const maxConfigMap = 1 << 20

// ManifestMaps are the extra manifests as ConfigMaps: <cluster>-manifests and
// <cluster>-openshift by their folder, with a number behind them from the second
// where they are too much for one. The service puts all of them into the folder
// openshift, so that no name may stand in both.
func (h *Maker) ManifestMaps() []*unstructured.Unstructured {
	seen := map[string]spec.ManifestFolder{}
	byFolder := map[spec.ManifestFolder][]spec.Manifest{}
	for _, m := range h.Cluster.ManifestFiles() {
		switch other, twice := seen[m.Name]; {
		case twice:
			h.Refuse(m.Field, fmt.Sprintf("the manifest %s stands in the folder %s, too; a hub has one folder for both", m.Name, other), "give one of them another name")
		case len(validation.IsConfigMapKey(m.Name)) > 0:
			h.Refuse(m.Field, fmt.Sprintf("a ConfigMap takes no manifest of the name %s", m.Name), "use letters, digits, dashes, dots and underscores")
		case strings.HasPrefix(m.Name, "."):
			h.Refuse(m.Field, fmt.Sprintf("the name of the manifest %s begins with a dot, which a hub does not take", m.Name), "")
		case len(m.Name)+len(m.Content) > maxConfigMap:
			h.Refuse(m.Field, fmt.Sprintf("the manifest %s has %d bytes, and a ConfigMap holds %d", m.Name, len(m.Content), maxConfigMap-len(m.Name)), "split it")
		}
		seen[m.Name] = m.Folder
		byFolder[m.Folder] = append(byFolder[m.Folder], m)
	}
	if len(byFolder[spec.FolderManifests]) > 0 {
		h.note("a hub puts extra manifests into the folder openshift, those of the folder manifests as well")
	}
	var objects []*unstructured.Unstructured
	for _, folder := range []spec.ManifestFolder{spec.FolderManifests, spec.FolderOpenShift} {
		objects = append(objects, h.folderMaps(folder, byFolder[folder])...)
	}
	return objects
}

// folderMaps fills as many ConfigMaps as one folder's manifests need, in the
// order of their names.
func (h *Maker) folderMaps(folder spec.ManifestFolder, manifests []spec.Manifest) []*unstructured.Unstructured {
	slices.SortFunc(manifests, func(a, b spec.Manifest) int { return cmp.Compare(a.Name, b.Name) })
	var objects []*unstructured.Unstructured
	data, size := Fields{}, 0
	flush := func() {
		name := fmt.Sprintf("%s-%s", h.Cluster.Metadata.Name, folder)
		if len(objects) > 0 {
			name = fmt.Sprintf("%s-%d", name, len(objects)+1)
		}
		objects = append(objects, h.configMap(name, data))
		data, size = Fields{}, 0
	}
	for _, m := range manifests {
		grows := len(m.Name) + len(m.Content)
		if size+grows > maxConfigMap && len(data) > 0 {
			flush()
		}
		data[m.Name] = m.Content
		size += grows
	}
	if len(data) > 0 {
		flush()
	}
	return objects
}

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
