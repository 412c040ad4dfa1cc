package spec

import (
	"encoding/base64"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

// PullSecret is the pull secret's JSON.
func (c *Cluster) PullSecret() Secret { return c.Spec.PullSecret.Secret() }

// SSHKey is the public keys, one a line; empty if there are none.
func (c *Cluster) SSHKey() string {
	var keys []string
	for i := range c.Spec.SSHKeys {
		keys = append(keys, values.KeyLines(c.Spec.SSHKeys[i].Text())...)
	}
	return strings.Join(keys, "\n")
}

// TrustBundle is the certificates (PEM) to trust besides the system's; empty for none.
func (c *Cluster) TrustBundle() string {
	if text := strings.TrimSpace(c.Spec.Registry.TrustBundle.Text()); text != "" {
		return text + "\n"
	}
	return ""
}

// File is what the cluster was read from; empty for one that was made in Go.
func (c *Cluster) File() string {
	if c.source == nil {
		return ""
	}
	return c.source.file
}

// Host is the host of that name, or nil.
func (c *Cluster) Host(name string) *Host {
	for i := range c.Spec.Hosts {
		if c.Spec.Hosts[i].Name == name {
			return &c.Spec.Hosts[i]
		}
	}
	return nil
}

// HostAloneIn is the host that an InfraEnv of that name serves alone (match.infraEnv), nil
// for one that serves others.
func (c *Cluster) HostAloneIn(infraEnv string) *Host {
	for i := range c.Spec.Hosts {
		if h := &c.Spec.Hosts[i]; h.Match.InfraEnv == infraEnv && infraEnv != "" {
			return h
		}
	}
	return nil
}

// HostField is the path of a field of a host, such as spec.hosts[2].disk.hints for
// disk.hints, or of the host itself for no name. It is empty for a host that is not the
// cluster's.
func (c *Cluster) HostField(h *Host, name string) string {
	for i := range c.Spec.Hosts {
		if &c.Spec.Hosts[i] == h {
			if i < len(c.indexes) {
				i = c.indexes[i]
			}
			return strings.TrimSuffix(hostField(i, name), ".")
		}
	}
	return ""
}

// lastContentSourcesMinor is the last with imageContentSources, before
// imageDigestSources.
const lastContentSourcesMinor = 13

// InstallConfigOverrides is what of install-config.yaml the service has no field for,
// as JSON: mirrors, FIPS, and overrides.installConfig on top. It is empty where there
// is nothing.
func (c *Cluster) InstallConfigOverrides() (string, error) {
	own := map[string]any{}
	var mirrors []any
	for _, mirror := range c.Spec.Registry.Mirrors {
		mirrors = append(mirrors, map[string]any{"source": mirror.Source, "mirrors": append([]string{}, mirror.Mirrors...)})
	}
	if len(mirrors) > 0 {
		key := "imageDigestSources"
		if c.olderThan(lastContentSourcesMinor + 1) {
			key = "imageContentSources"
		}
		own[key] = mirrors
	}
	if c.Spec.FIPS != nil {
		own["fips"] = *c.Spec.FIPS
	}
	all := values.Merge(own, c.Spec.Overrides.InstallConfig)
	if len(all) == 0 {
		return "", nil
	}
	text, err := values.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("the install-config overrides of cluster %s: %w", c.Metadata.Name, err)
	}
	return text, nil
}

// Where RHCOS looks for mirrors (containers-registries.conf(5)) and for
// certificates to trust (update-ca-trust(8)).
const (
	registriesPath = "/etc/containers/registries.conf"
	trustPath      = "/etc/pki/ca-trust/source/anchors/oaictl-trust-bundle.pem"
	// discoveryIgnitionVersion is the oldest that every service takes.
	discoveryIgnitionVersion = "3.1.0"
)

// DiscoveryIgnition is merged into the discovery image's own, as JSON: registries.conf
// and the trust bundle where there are mirrors, and discovery.ignition, whose files
// win. It is empty where there is nothing.
func (c *Cluster) DiscoveryIgnition() (string, error) {
	config, err := c.discoveryConfig()
	if err != nil {
		return "", fmt.Errorf("the discovery Ignition of cluster %s: %w", c.Metadata.Name, err)
	}
	if config == nil {
		return "", nil
	}
	return values.Marshal(config)
}

func (c *Cluster) discoveryConfig() (map[string]any, error) {
	var wanted map[string]any
	if c.Spec.Discovery.Ignition.Text() != "" {
		object, err := c.Spec.Discovery.Ignition.object()
		if err != nil {
			return nil, err
		}
		wanted = object
	}
	if len(c.Spec.Registry.Mirrors) == 0 {
		return wanted, nil
	}
	files := []any{ignitionFile(registriesPath, c.RegistriesConf())}
	if bundle := c.TrustBundle(); bundle != "" {
		files = append(files, ignitionFile(trustPath, bundle))
	}
	config := values.Merge(map[string]any{"ignition": map[string]any{"version": discoveryIgnitionVersion}}, wanted)
	storage, _ := config["storage"].(map[string]any)
	theirs, _ := storage["files"].([]any)
	files = slices.DeleteFunc(files, func(own any) bool { return hasFile(theirs, own) })
	config["storage"] = values.Merge(storage, map[string]any{"files": append(files, theirs...)})
	return config, nil
}

func hasFile(list []any, file any) bool {
	path := file.(map[string]any)["path"]
	return slices.ContainsFunc(list, func(other any) bool {
		object, is := other.(map[string]any)
		return is && object["path"] == path
	})
}

func ignitionFile(path, content string) map[string]any {
	return map[string]any{
		"path":      path,
		"mode":      0o644,
		"overwrite": true,
		"contents":  map[string]any{"source": "data:text/plain;charset=utf-8;base64," + base64.StdEncoding.EncodeToString([]byte(content))},
	}
}

// RegistriesConf is the mirrors as containers-registries.conf(5), version 2; empty for
// none. Discovery pulls by tag too, so they are not for digests only.
func (c *Cluster) RegistriesConf() string {
	if len(c.Spec.Registry.Mirrors) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("unqualified-search-registries = []\n")
	for _, mirror := range c.Spec.Registry.Mirrors {
		fmt.Fprintf(&out, "\n[[registry]]\nprefix = \"\"\nlocation = %q\nmirror-by-digest-only = false\n", mirror.Source)
		for _, target := range mirror.Mirrors {
			fmt.Fprintf(&out, "\n  [[registry.mirror]]\n  location = %q\n", target)
			if mirror.Insecure {
				out.WriteString("  insecure = true\n")
			}
		}
	}
	return out.String()
}

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

// ManifestFiles is the extra manifests, in the order of the document and of the names
// in folders, and the one that sets the MTU of the pod network.
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

const fieldMTU = "spec.network.mtu"

// mtuManifest configures the cluster network operator: the service's install-configs do
// not know clusterNetworkMTU.
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
			r.check.Report(field, "has both a path and inline content", "keep path, or name and content")
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
				manifest := slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(entry.Name()))
				if manifest && !entry.IsDir() {
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
		full := filepath.Join(dir, name)
		if text, ok := r.once(full, field, "", func() ([]byte, error) { return r.openFile(full) }); ok {
			all = append(all, Manifest{Folder: folderOf(m.Folder, dir), Name: name, Content: text + "\n", Field: field})
		}
	}
	return all
}

// folderOf is the folder that is asked for, else the one that the manifests' own is
// called after.
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
