package settings

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Override passes a value on to the install-config as it is, save for secrets.
func (r *Reader) Override(n *source.Node, keys ...string) {
	if n == nil || n.Taken && len(n.Children) == 0 {
		return
	}
	if source.HoldsSecret(n) {
		r.Lose(n, "holds a secret, which never stands in cluster.yaml itself")
		return
	}
	all := &r.Cluster.Spec.Overrides.InstallConfig
	if *all == nil {
		*all = map[string]any{}
	}
	at := *all
	for _, key := range keys[:len(keys)-1] {
		below, is := at[key].(map[string]any)
		if !is {
			below = map[string]any{}
			at[key] = below
		}
		at = below
	}
	last := keys[len(keys)-1]
	field := "spec.overrides.installConfig." + strings.Join(keys, ".")
	if have, twice := at[last]; twice && !source.EqualJSON(have, n.Plain()) {
		r.Second(field, n)
		return
	}
	at[last] = n.Plain()
	r.From(field, n)
	n.Take()
}

// RawManifests carries the folder of extra manifests over as it is.
func (r *Reader) RawManifests(in *source.Input) {
	var names []string
	for name := range in.Raw {
		if path.Dir(name) == source.DirOpenShift && source.IsYAML(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		r.Files[name] = in.Raw[name]
		delete(in.Raw, name)
	}
	if len(names) > 0 {
		r.Cluster.Spec.Manifests = append(r.Cluster.Spec.Manifests, spec.ManifestSource{Path: source.DirOpenShift})
	}
}

// RestOfFiles tells which files nobody read.
func (r *Reader) RestOfFiles(in *source.Input) {
	for name := range in.Raw {
		r.LoseFile(in, name, "is a file that is not read")
	}
}

// Manifest keeps one extra manifest as a file.
func (r *Reader) Manifest(folder string, n *source.Node) {
	if n.Key != path.Base(n.Key) || strings.HasPrefix(n.Key, ".") || strings.Contains(n.Key, `\`) {
		r.Wrong(n, "cannot be the name of a manifest", "")
		return
	}
	name := folder + "/" + n.Key
	if _, twice := r.Files[name]; twice {
		r.Lose(n, "another manifest has this name")
		return
	}
	text := r.Text(n)
	if !source.IsYAML(n.Key) {
		r.Cluster.Spec.Manifests = append(r.Cluster.Spec.Manifests, spec.ManifestSource{Path: r.File(name, []byte(text)), Folder: spec.ManifestFolder(folder)})
		r.From(fmt.Sprintf("spec.manifests[%d]", len(r.Cluster.Spec.Manifests)-1), n)
		return
	}
	r.Files[name] = []byte(text)
	if i := slices.IndexFunc(r.Cluster.Spec.Manifests, func(m spec.ManifestSource) bool { return m.Path == folder }); i < 0 {
		r.Cluster.Spec.Manifests = append(r.Cluster.Spec.Manifests, spec.ManifestSource{Path: folder})
		r.From(fmt.Sprintf("spec.manifests[%d]", len(r.Cluster.Spec.Manifests)-1), n)
	}
}

// OverrideRest passes on what nobody has taken, as deep down as it stands alone.
func (r *Reader) OverrideRest(n *source.Node, keys ...string) {
	switch {
	case n.Taken && len(n.Children) == 0 || n.Kind == source.NullNode:
		n.Taken = true
	case source.Untouched(n):
		r.Override(n, keys...)
	case n.Kind == source.MapNode:
		for _, c := range n.Children {
			r.OverrideRest(c, append(slices.Clone(keys), c.Key)...)
		}
	}
}
