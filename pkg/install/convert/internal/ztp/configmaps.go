package ztp

import (
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// manifestMaps carries extra manifests over that stand in ConfigMaps. They all
// belong to the folder openshift, save for those that oaictl has put elsewhere.
func (r *Hub) manifestMaps(h *Objects, s *source.Node) {
	refs := slices.Clone(s.Get("manifestsConfigMapRefs").Items())
	if single := s.Get("manifestsConfigMapRef"); single != nil {
		if len(refs) > 0 {
			r.Lose(single, "is ignored beside manifestsConfigMapRefs")
		} else {
			refs = append(refs, single)
		}
	}
	r.ListOf(s.Get("manifestsConfigMapRefs"))
	r.ManifestRefs(h, refs)
}

func (r *Hub) ManifestRefs(h *Objects, refs []*source.Node) {
	for _, ref := range refs {
		name := ref.Get("name").Peek()
		config := h.ConfigMaps[name]
		if config == nil {
			r.Lose(ref, "the ConfigMap is not in the input: put its manifests into a folder and name it in spec.manifests")
			continue
		}
		h.Used[config] = true
		r.Means(ref.Get("name"), "refers to a ConfigMap of the input")
		folder := source.DirOpenShift
		if name == r.Cluster.Metadata.Name+"-manifests" || strings.HasPrefix(name, r.Cluster.Metadata.Name+"-manifests-") {
			folder = string(spec.FolderManifests)
		}
		for _, entry := range r.MapOf(config.Get("data")).All() {
			r.Manifest(folder, entry)
		}
		if binary := config.Get("binaryData"); binary != nil {
			r.Lose(binary, "a manifest is text")
		}
	}
}

// InstallOverrides carries an annotation over with fields of the install-config:
// those that cluster.yaml has words for become these.
func (r *Hub) InstallOverrides(n *source.Node) {
	if n == nil || n.Peek() == "" {
		r.Text(n)
		return
	}
	if n = r.Embed(n); n == nil || r.MapOf(n) == nil {
		return
	}
	c := r.Cluster
	if fips := n.Get("fips"); fips != nil && fips.Kind == source.BoolNode {
		r.SetBool("spec.fips", &c.Spec.FIPS, fips)
	}
	if mtu := n.Get("networking", "clusterNetworkMTU"); mtu != nil && mtu.Kind == source.NumberNode {
		r.SetNumber("spec.network.mtu", &c.Spec.Network.MTU, mtu)
	}
	for _, key := range []string{"imageDigestSources", "imageContentSources"} {
		r.mirrorOverrides(n.Get(key), key)
	}
	for _, item := range n.Get("platform", "baremetal", "hosts").Items() {
		r.BareMetalHost(item)
	}
	if fencing := n.Get("controlPlane", "fencing", "credentials"); fencing != nil {
		r.laterFencing = append(r.laterFencing, fencing)
	}
	for _, entry := range n.All() {
		r.OverrideRest(entry, entry.Key)
	}
}

// mirrorOverrides carries mirrors over. Those that a ConfigMap says too need no
// second mention.
func (r *Hub) mirrorOverrides(n *source.Node, key string) {
	plain := n != nil && n.Kind == source.ListNode
	for _, item := range n.Items() {
		for _, c := range item.All() {
			plain = plain && (c.Key == "source" || c.Key == "mirrors")
		}
		plain = plain && len(item.Children) == 2
	}
	if plain {
		r.Mirrors(n, key)
	}
}
