package aicli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func (r *reader) contents(n *source.Node) {
	c := r.Cluster
	if secret := n.Get("pull_secret"); secret != nil {
		if strings.HasPrefix(strings.TrimSpace(secret.Peek()), "{") {
			r.PullSecret(secret)
		} else if name := r.beside(secret, "pull-secret.json"); name != "" {
			r.PullSecretFrom(spec.Source{File: name}, secret)
		}
	}
	for _, key := range []string{"ssh_public_key", "public_key", "ssh_authorized_key"} {
		key := n.Get(key)
		if key == nil || key.Kind != source.TextNode || strings.Contains(strings.TrimSpace(key.Text), " ") {
			r.SSHKeys(key)
		} else if name := r.beside(key, ""); name != "" && c.Spec.SSHKeys == nil {
			c.Spec.SSHKeys = []spec.PublicSource{{File: name}}
			r.From("spec.sshKeys", key)
		}
	}
	for _, key := range []string{"additional_trust_bundle", "disconnected_ca"} {
		bundle := n.Get(key)
		if bundle == nil || bundle.Kind != source.TextNode || strings.Contains(bundle.Text, "-----BEGIN") {
			r.TrustBundle(bundle)
		} else if name := r.beside(bundle, ""); name != "" && c.Spec.Registry.TrustBundle == nil {
			c.Spec.Registry.TrustBundle = &spec.PublicSource{File: name}
			r.From("spec.registry.trustBundle", bundle)
		}
	}
	if overrides := r.MapOf(n.Get("installconfig")); overrides != nil {
		for _, entry := range overrides.Children {
			r.OverrideRest(entry, entry.Key)
		}
	}
	if endpoint := r.MapOf(n.Get("ignition_endpoint")); endpoint != nil {
		c.Spec.IgnitionEndpoint = &spec.IgnitionEndpoint{}
		source.SetText(r.Account, "spec.ignitionEndpoint.url", &c.Spec.IgnitionEndpoint.URL, endpoint.Get("url"))
		r.Lose(endpoint.Get("ca_certificate"), "is in base64: write the certificate into spec.ignitionEndpoint.ca")
	}
	r.manifests(n.Get("manifests"), string(spec.FolderManifests))
	r.manifests(n.Get("openshift_manifests"), source.DirOpenShift)
}

// manifests carries extra manifests over: a folder, or a list of names with
// their content.
func (r *reader) manifests(n *source.Node, folder string) {
	switch {
	case n == nil:
	case n.Kind == source.TextNode:
		r.folder(n, folder)
	default:
		for _, item := range r.ListOf(n) {
			for _, entry := range r.MapOf(item).All() {
				r.Manifest(folder, entry)
			}
		}
	}
}

func (r *reader) folder(n *source.Node, folder string) {
	dir := r.Text(n)
	full := dir
	if !isElsewhere(dir) {
		full = filepath.Join(filepath.Dir(n.In.File), dir)
	}
	entries, ok := r.Dir(full)
	if !ok {
		r.Wrong(n, "the folder cannot be read", "")
		return
	}
	found := false
	for _, entry := range entries {
		if entry.IsDir() || !source.IsYAML(entry.Name()) {
			continue
		}
		data, err := r.Env.ReadFile(filepath.Join(full, entry.Name()))
		if err != nil {
			r.Wrong(n, "the manifest "+entry.Name()+" cannot be read: "+source.ReasonOf(err), "")
			return
		}
		r.Files[folder+"/"+entry.Name()] = data
		found = true
	}
	if found {
		r.Cluster.Spec.Manifests = append(r.Cluster.Spec.Manifests, spec.ManifestSource{Path: folder})
		r.From(fmt.Sprintf("spec.manifests[%d]", len(r.Cluster.Spec.Manifests)-1), n)
	}
}

// isElsewhere says whether a path means the same wherever the document stands.
func isElsewhere(path string) bool { return filepath.IsAbs(path) || strings.HasPrefix(path, "~") }

// beside takes the path of a file. One that is relative to the parameters is
// copied, so that it stands beside the document; "" where it cannot be read.
func (r *reader) beside(n *source.Node, name string) string {
	file := r.Text(n)
	if file == "" {
		return ""
	}
	if isElsewhere(file) {
		return file
	}
	data, err := r.Env.ReadFile(filepath.Join(filepath.Dir(n.In.File), file))
	if err != nil {
		r.Wrong(n, "the file that it names cannot be read: "+source.ReasonOf(err), "name a file relative to the parameters")
		return ""
	}
	return r.File(cmp.Or(name, source.FileName(filepath.Base(file))), data)
}
