package fields

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// RawManifests carries the folder of extra manifests over as it is.
func (r *Reader) RawManifests(in *input.Input) {
	var names []string
	for name := range in.Raw {
		if path.Dir(name) == input.DirOpenShift && input.IsYAML(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		r.Files[name] = in.Raw[name]
		delete(in.Raw, name)
	}
	if len(names) > 0 {
		r.ManifestFolder(input.DirOpenShift, nil)
	}
}

// Manifest keeps one extra manifest as a file.
func (r *Reader) Manifest(folder string, n *input.Node) {
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
	if !input.IsYAML(n.Key) {
		r.Cluster.Spec.Manifests = append(r.Cluster.Spec.Manifests,
			spec.ManifestSource{Path: r.File(name, []byte(text)), Folder: spec.ManifestFolder(folder)})
		r.From(fmt.Sprintf("spec.manifests[%d]", len(r.Cluster.Spec.Manifests)-1), n)
		return
	}
	r.Files[name] = []byte(text)
	r.ManifestFolder(folder, n)
}

// ManifestFolder names a folder of manifests that n came from, once.
func (r *Reader) ManifestFolder(folder string, n *input.Node) {
	if !slices.ContainsFunc(r.Cluster.Spec.Manifests, func(m spec.ManifestSource) bool { return m.Path == folder }) {
		r.Cluster.Spec.Manifests = append(r.Cluster.Spec.Manifests, spec.ManifestSource{Path: folder})
		r.From(fmt.Sprintf("spec.manifests[%d]", len(r.Cluster.Spec.Manifests)-1), n)
	}
}

// ovnConfig notes settings of OVN-Kubernetes, which the service's install-config has not.
func (r *Reader) ovnConfig(n *input.Node) {
	switch n = r.MapOf(n); {
	case n == nil || len(n.Children) == 0:
	case r.ovn != nil && !input.SameValue(r.ovn, n):
		r.Lose(n, "is another value than that of "+r.ovn.Path())
	default:
		r.ovn = n
		n.Take()
	}
}

// sourcePolicy notes that a source is never contacted, which the service's
// install-config cannot say.
func (r *Reader) sourcePolicy(of string, n *input.Node) {
	switch r.Text(n) {
	case "", "AllowContactingSource": // which is the default
	case "NeverContactSource":
		if r.policies == nil {
			r.policies = map[string]*input.Node{}
		}
		r.policies[of] = n
	default:
		r.Wrong(n, fmt.Sprintf("%q is not known here", n.Text), "write AllowContactingSource or NeverContactSource")
	}
}

// The manifests of openshift-install that say what the service's install-config cannot. A
// manifest of the same name takes their place.
const (
	networkManifest = "cluster-network-03-config.yml"
	mirrorManifest  = "image-digest-mirror-set.yaml"
)

// firstMirrorSetMinor is the first OpenShift of which openshift-install makes an
// ImageDigestMirrorSet.
const firstMirrorSetMinor = 14

// InstallerManifests writes manifests for what an install-config says and the service does
// not take. It comes after everything that they are made of.
func (r *Reader) InstallerManifests() {
	if r.ovn != nil {
		config, _ := r.ovn.Plain().(map[string]any)
		if mtu := r.Cluster.Spec.Network.MTU; mtu != 0 { // which is another manifest of this name
			config["mtu"] = mtu
			r.Cluster.Spec.Network.MTU = 0
		}
		r.installerManifest(networkManifest, r.ovn, hubobjects.Fields{
			"apiVersion": "operator.openshift.io/v1", "kind": "Network", "metadata": hubobjects.Fields{"name": "cluster"},
			"spec": hubobjects.Fields{"defaultNetwork": hubobjects.Fields{"ovnKubernetesConfig": config}},
		})
	}
	r.mirrorSet()
}

func (r *Reader) mirrorSet() {
	if len(r.policies) == 0 {
		return
	}
	if minor, known := minorOf(r.Cluster.Spec.OpenShift.Version); known && minor < firstMirrorSetMinor {
		for _, n := range r.policies {
			r.LoseAs(n, n.Text, fmt.Sprintf("OpenShift 4.%d has no manifest that says it when it is installed", minor))
		}
		return
	}
	var first *input.Node
	var list []any
	for _, mirror := range r.Cluster.Spec.Registry.Mirrors {
		entry := hubobjects.Fields{"source": mirror.Source, "mirrors": mirror.Mirrors}
		if n := r.policies[mirror.Source]; n != nil {
			entry["mirrorSourcePolicy"] = n.Text
			if first == nil {
				first = n
			}
		}
		list = append(list, entry)
	}
	if r.installerManifest(mirrorManifest, first, hubobjects.Fields{
		"apiVersion": "config.openshift.io/v1", "kind": "ImageDigestMirrorSet", "metadata": hubobjects.Fields{"name": "image-digest-mirror"},
		"spec": hubobjects.Fields{"imageDigestMirrors": list},
	}) {
		r.Notes = append(r.Notes, fmt.Sprintf("the manifest %s/%s repeats spec.registry.mirrors, with what is never contacted: change both alike",
			spec.FolderManifests, mirrorManifest))
	}
}

// installerManifest writes a manifest in the place of the installer's own; false where the
// input has one of this name.
func (r *Reader) installerManifest(name string, from *input.Node, content hubobjects.Fields) bool {
	folder := string(spec.FolderManifests)
	text, err := yaml.Marshal(content)
	if _, twice := r.Files[folder+"/"+name]; twice || err != nil {
		r.LoseAs(from, input.Shown(from), fmt.Sprintf("the extra manifest %s takes its place", name))
		return false
	}
	r.Files[folder+"/"+name] = text
	r.ManifestFolder(folder, from)
	return true
}

// minorOf is the minor version of an OpenShift 4.
func minorOf(version string) (minor int, known bool) {
	_, err := fmt.Sscanf(version, "4.%d", &minor)
	return minor, err == nil
}
