package manifest

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// aicliContents carries over what stands in files beside the parameters.
func (r *reader) aicliContents(n *node) {
	c := r.cluster
	if secret := n.get("pull_secret"); secret != nil {
		if strings.HasPrefix(strings.TrimSpace(secret.peek()), "{") {
			r.pullSecret(secret)
		} else if name := r.beside(secret, "pull-secret.json"); name != "" {
			r.pullSecretFrom(spec.Source{File: name}, secret)
		}
	}
	for _, key := range []string{"ssh_public_key", "public_key", "ssh_authorized_key"} {
		key := n.get(key)
		if key != nil && key.kind == textNode && !strings.Contains(strings.TrimSpace(key.text), " ") {
			if name := r.beside(key, ""); name != "" && c.Spec.SSHKeys == nil {
				c.Spec.SSHKeys = []spec.PublicSource{{File: name}}
				r.from("spec.sshKeys", key)
			}
			continue
		}
		r.sshKeys(key)
	}
	for _, key := range []string{"additional_trust_bundle", "disconnected_ca"} {
		bundle := n.get(key)
		if bundle != nil && bundle.kind == textNode && !strings.Contains(bundle.text, "-----BEGIN") {
			if name := r.beside(bundle, ""); name != "" && c.Spec.Registry.TrustBundle == nil {
				c.Spec.Registry.TrustBundle = &spec.PublicSource{File: name}
				r.from("spec.registry.trustBundle", bundle)
			}
			continue
		}
		r.trustBundle(bundle)
	}
	if overrides := r.mapOf(n.get("installconfig")); overrides != nil {
		for _, entry := range overrides.children {
			r.overrideRest(entry, entry.key)
		}
	}
	if endpoint := r.mapOf(n.get("ignition_endpoint")); endpoint != nil {
		c.Spec.IgnitionEndpoint = &spec.IgnitionEndpoint{}
		setText(r, "spec.ignitionEndpoint.url", &c.Spec.IgnitionEndpoint.URL, endpoint.get("url"))
		r.lose(endpoint.get("ca_certificate"), "is in base64: write the certificate into spec.ignitionEndpoint.ca")
	}
	r.aicliManifests(n.get("manifests"), string(spec.FolderManifests))
	r.aicliManifests(n.get("openshift_manifests"), dirOpenShift)
}

// aicliManifests carries extra manifests over: a folder, or a list of names with
// their content.
func (r *reader) aicliManifests(n *node, folder string) {
	switch {
	case n == nil:
	case n.kind == textNode:
		r.aicliFolder(n, folder)
	default:
		for _, item := range r.listOf(n) {
			for _, entry := range r.mapOf(item).all() {
				r.manifest(folder, entry)
			}
		}
	}
}

func (r *reader) aicliFolder(n *node, folder string) {
	dir := r.text(n)
	full := dir
	if !isElsewhere(dir) {
		full = filepath.Join(filepath.Dir(n.in.file), dir)
	}
	entries, ok := r.dir(full)
	if !ok {
		r.wrong(n, "the folder cannot be read", "")
		return
	}
	found := false
	for _, entry := range entries {
		if entry.IsDir() || !isYAML(entry.Name()) {
			continue
		}
		data, err := r.env.ReadFile(filepath.Join(full, entry.Name()))
		if err != nil {
			r.wrong(n, "the manifest "+entry.Name()+" cannot be read: "+reasonOf(err), "")
			return
		}
		r.files[folder+"/"+entry.Name()] = data
		found = true
	}
	if found {
		r.cluster.Spec.Manifests = append(r.cluster.Spec.Manifests, spec.ManifestSource{Path: folder})
		r.from(fmt.Sprintf("spec.manifests[%d]", len(r.cluster.Spec.Manifests)-1), n)
	}
}

// isElsewhere says whether a path means the same wherever the document stands.
func isElsewhere(path string) bool { return filepath.IsAbs(path) || strings.HasPrefix(path, "~") }

// beside takes the path of a file. One that is relative to the parameters is
// copied, so that it stands beside the document; "" where it cannot be read.
func (r *reader) beside(n *node, name string) string {
	file := r.text(n)
	if file == "" {
		return ""
	}
	if isElsewhere(file) {
		return file
	}
	data, err := r.env.ReadFile(filepath.Join(filepath.Dir(n.in.file), file))
	if err != nil {
		r.wrong(n, "the file that it names cannot be read: "+reasonOf(err), "name a file relative to the parameters")
		return ""
	}
	return r.file(cmp.Or(name, fileName(filepath.Base(file))), data)
}
