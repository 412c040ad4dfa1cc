package ztp

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
)

// imageSet carries the version over. A set whose name or image tells the version
// is carried over as that.
func (r *Hub) imageSet(h *Objects, aci *source.Node) {
	ref := aci.Get("spec", "imageSetRef", "name")
	r.ImageSetRef(h, ref)
}

// versionInName matches the version in the name of a ClusterImageSet, or in the
// tag of a release image.
var (
	ourSet        = regexp.MustCompile(`^openshift-v([0-9]+\.[0-9]+(?:\.[0-9]+(?:-(?:rc|ec|fc)\.[0-9]+)?)?(?:-multi)?)$`)
	versionInName = regexp.MustCompile(`^(?:img|openshift-v?|ocp-v?|v)?-?([0-9]+\.[0-9]+\.[0-9]+(?:-(?:rc|ec|fc)\.[0-9]+)?)(?:-(x86[-_]64|amd64|aarch64|arm64|ppc64le|s390x|multi))?(?:-appsub)?$`)
)

func (r *Hub) ImageSetRef(h *Objects, ref *source.Node) {
	if ref == nil {
		return
	}
	o, name := &r.Cluster.Spec.OpenShift, r.Text(ref)
	if parts := ourSet.FindStringSubmatch(name); parts != nil {
		o.Version = parts[1]
		r.From("spec.openshift.version", ref)
	} else if r.AgentBased && !slices.ContainsFunc(h.ImageSets, func(set *source.Node) bool { return NameOf(set) == name }) {
		ref.Taken = false
		r.Means(ref, "names a ClusterImageSet that is not among the files, and the agent-based installer knows no hub that has it")
	} else {
		o.ImageSet = name
		r.From("spec.openshift.imageSet", ref)
		if parts := versionInName.FindStringSubmatch(name); parts != nil {
			o.Version = parts[1]
			r.From("spec.openshift.version", ref)
		}
	}
	for _, set := range h.ImageSets {
		if NameOf(set) != name {
			continue
		}
		h.Used[set] = true
		image := set.Get("spec", "releaseImage")
		source.SetText(r.Account, "spec.openshift.releaseImage", &o.ReleaseImage, image)
		_, tag, _ := strings.Cut(path.Base(o.ReleaseImage), ":")
		if parts := versionInName.FindStringSubmatch(tag); parts != nil && o.Version == "" {
			o.Version = parts[1]
			r.From("spec.openshift.version", image)
		}
		r.ObjectNames(set, "")
		r.MeansIf(set.Get("metadata", "labels", "visible"), "is for the console of a hub", "true", "false")
	}
	if o.ReleaseImage != "" && o.Version != "" && name == r.Cluster.Metadata.Name+"-release" {
		o.ImageSet = ""
	}
}
