package spec

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
)

// Manifest is an extra manifest, read.
type Manifest struct {
	// Folder on the installation side.
	Folder ManifestFolder
	// Name of the file there.
	Name string
	// Content of the file.
	Content string
	// Field is the one that named the manifest, for messages.
	Field string
}

// ManifestFiles is the extra manifests, in the order of the document and, in a
// folder, of the names; and the one that sets the MTU of the pod network.
func (c *Cluster) ManifestFiles() []Manifest {
	var all []Manifest
	if c.source != nil {
		all = c.source.manifests
	}
	if c.Spec.Network.MTU != 0 {
		all = append(slices.Clone(all), c.mtuManifest())
	}
	return all
}

// fieldMTU is where the file says the MTU of the pod network.
const fieldMTU = "spec.network.mtu"

// mtuManifest configures the cluster network operator, as OpenShift's documentation
// has it: install-configs know clusterNetworkMTU, and those of the service do not.
func (c *Cluster) mtuManifest() Manifest {
	plugin := "ovnKubernetesConfig"
	if c.Spec.Network.Type == openShiftSDN {
		plugin = "openshiftSDNConfig"
	}
	return Manifest{
		Folder: FolderManifests, Name: "cluster-network-03-config.yml", Field: fieldMTU,
		Content: fmt.Sprintf(`apiVersion: operator.openshift.io/v1
kind: Network
metadata:
  name: cluster
spec:
  defaultNetwork:
    %s:
      mtu: %d
`, plugin, c.Spec.Network.MTU),
	}
}

func (r *sourceReader) manifests() {
	var all []Manifest
	for i, m := range r.check.cluster.Spec.Manifests {
		field := fmt.Sprintf("spec.manifests[%d]", i)
		switch {
		case r.check.IsFailed(field):
		case m.Path != "" && (m.Content != "" || m.Name != ""):
			r.check.Report(field, "has a path, and stands inline too", "keep path, or name and content")
		case m.Path != "":
			all = append(all, r.manifestPath(m, field)...)
		case m.Name != "" && m.Content != "":
			all = append(all, Manifest{Folder: folderOf(m.Folder, ""), Name: m.Name, Content: m.Content, Field: field})
		default:
			r.check.Report(field, "names no manifest", "write path, or name and content")
		}
	}
	r.check.cluster.source.manifests = all
}

func (r *sourceReader) manifestPath(m ManifestSource, field string) []Manifest {
	full, err := r.path(m.Path)
	if err != nil {
		r.check.Report(field, err.Error(), "")
		return nil
	}
	if r.env.ReadDir != nil {
		if entries, err := r.env.ReadDir(full); err == nil {
			var names []string
			for _, entry := range entries {
				if !entry.IsDir() && isManifestName(entry.Name()) {
					names = append(names, entry.Name())
				}
			}
			if len(names) == 0 {
				r.check.Report(field, fmt.Sprintf("the folder %s holds no manifests", full), "manifests end in .yaml, .yml or .json")
			}
			return r.manifestFiles(m, full, names, field)
		}
	}
	return r.manifestFiles(m, filepath.Dir(full), []string{filepath.Base(full)}, field)
}

func (r *sourceReader) manifestFiles(m ManifestSource, dir string, names []string, field string) []Manifest {
	var all []Manifest
	for _, name := range names {
		if text, ok := r.read(origin{path: filepath.Join(dir, name)}, field); ok {
			all = append(all, Manifest{Folder: folderOf(m.Folder, dir), Name: name, Content: text + "\n", Field: field})
		}
	}
	return all
}

// folderOf is the folder on the installation side: the one that is asked for,
// else the one that the manifests' own folder is called after.
func folderOf(asked ManifestFolder, dir string) ManifestFolder {
	switch {
	case asked != "":
		return asked
	case path.Base(filepath.ToSlash(dir)) == string(FolderOpenShift):
		return FolderOpenShift
	default:
		return FolderManifests
	}
}

func isManifestName(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}
