package ztp

import (
	"encoding/base64"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/fields"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// manifestMaps carries extra manifests over that stand in ConfigMaps. They all
// belong to the folder openshift, save for those that oaictl has put elsewhere.
func (r *Hub) manifestMaps(h *Objects, s *input.Node) {
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

// ManifestRefs carries over the extra manifests of the ConfigMaps that are named.
func (r *Hub) ManifestRefs(h *Objects, refs []*input.Node) {
	for _, ref := range refs {
		name := ref.Get("name").Peek()
		config := h.ConfigMaps[name]
		if config == nil {
			r.Lose(ref, "the ConfigMap is not in the input: put its manifests into a folder and name it in spec.manifests")
			continue
		}
		h.Used[config] = true
		r.Means(ref.Get("name"), "refers to a ConfigMap of the input")
		folder := input.DirOpenShift
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

// InstallOverrides carries over fields of the install-config, as own ones if possible.
func (r *Hub) InstallOverrides(n *input.Node) {
	if n == nil || n.Peek() == "" {
		r.Text(n)
		return
	}
	if n = r.Embed(n); n == nil || r.MapOf(n) == nil {
		return
	}
	for _, item := range n.Get("platform", "baremetal", "hosts").Items() {
		r.BareMetalHost(item)
	}
	if fencing := n.Get("controlPlane", "fencing", "credentials"); fencing != nil {
		r.laterFencing = append(r.laterFencing, fencing)
	}
	r.Reader.InstallOverrides(n)
}

// MirrorMap carries over the mirrors of a ConfigMap that an object refers to.
func (r *Hub) MirrorMap(h *Objects, ref *input.Node) {
	if ref == nil {
		return
	}
	config := h.ConfigMaps[ref.Get("name").Peek()]
	if config == nil {
		r.Lose(ref, "the ConfigMap is not in the input: write its mirrors into spec.registry")
		return
	}
	r.Means(ref, "refers to a ConfigMap of the input")
	if h.Used[config] {
		return
	}
	h.Used[config] = true
	r.registriesConf(config.Get("data", hubapi.KeyRegistriesConf))
	r.TrustBundle(config.Get("data", "ca-bundle.crt"))
}

func (r *Hub) mirrorFiles(in *input.Input) {
	r.registriesConf(r.rawText(in, path.Join(input.DirMirror, "registries.conf")))
	r.TrustBundle(r.rawText(in, path.Join(input.DirMirror, "ca-bundle.crt")))
}

// rawText is a file that is no YAML as one text, nil for none.
func (r *Hub) rawText(in *input.Input, file string) *input.Node {
	data, there := in.Raw[file]
	if !there {
		return nil
	}
	delete(in.Raw, file)
	doc := &input.Document{File: input.JoinPath(in.Root, file), Label: file + ":"}
	doc.Root = &input.Node{In: doc, Kind: input.TextNode, Text: string(data), Line: 1, Col: 1}
	r.Docs = append(r.Docs, doc)
	return doc.Root
}

// registriesConf carries mirrors over from containers-registries.conf(5), version 2.
func (r *Hub) registriesConf(n *input.Node) {
	if n == nil {
		return
	}
	text := r.Text(n)
	if strings.TrimSpace(text) == "" {
		return
	}
	root := r.ParseTOML(n, text)
	if root == nil {
		return
	}
	n.Kind, n.Children, n.Text, n.Taken = input.MapNode, root.Children, "", false
	for _, c := range n.Children {
		c.Parent = n
	}
	r.Keys(n, "registries-conf")
	for _, registry := range n.Get("registry").Items() {
		r.registry(registry)
	}
}

func (r *Hub) registry(n *input.Node) {
	location, prefix := n.Get("location"), n.Get("prefix")
	if strings.HasPrefix(prefix.Peek(), "*.") {
		r.Lose(n, "matches many registries: write each of them into spec.registry.mirrors")
		return
	}
	if location == nil || location.Peek() == "" {
		r.Text(location)
		location, prefix = prefix, nil
	}
	r.MeansIf(prefix, "replaces the location", "", location.Peek())
	r.Lose(prefix, "a mirror stands in for its location, not for another prefix")
	r.Keys(n, "registries-conf-registry")
	mirrors := n.Get("mirror").Items()
	insecure := 0
	for _, mirror := range mirrors {
		if input.IsTrue(r.Boolean(mirror.Get("insecure"))) {
			insecure++
		}
	}
	for _, mirror := range mirrors {
		if at := mirror.Get("insecure"); insecure < len(mirrors) && input.Truth(at.Peek()) {
			at.Taken = false
			r.Lose(at, "cluster.yaml says it of all mirrors of a place, and the others are verified")
		}
		r.mirrorOf(location, mirror.Get("location"), insecure == len(mirrors))
		r.Lose(mirror.Get("pull-from-mirror"), "mirrors are pulled from by digest and by tag")
	}
	if len(mirrors) == 0 {
		r.Rest(n, "names no mirror")
	}
}

func (r *Hub) mirrorOf(from, target *input.Node, insecure bool) {
	if from == nil || target == nil {
		return
	}
	list := &input.Node{In: target.In, Kind: input.ListNode, Parent: target.Parent, Key: target.Key, Line: target.Line, Col: target.Col}
	entry := *target
	list.Children = []*input.Node{&entry}
	r.Mirror(from, list, insecure)
	target.Taken = true
}

// PullSecretRef carries a pull secret over: its content if it is there, else its name.
func (r *Hub) PullSecretRef(h *Objects, n *input.Node) {
	if n == nil {
		return
	}
	r.Text(n)
	if content, ref := r.secretContent(h, n, hubapi.KeyPullSecret, "pull secret"); ref != nil {
		r.PullSecretFrom(spec.Source{SecretRef: ref}, n)
	} else if content != nil {
		r.PullSecret(content)
	}
}

// secretContent is what a Secret of the input has under a key, else a reference to it.
func (r *Hub) secretContent(h *Objects, n *input.Node, key, what string) (content *input.Node, ref *spec.SecretRef) {
	secret := h.secret(n)
	if secret == nil {
		return nil, &spec.SecretRef{Name: n.Peek()}
	}
	if content = r.secretKey(secret, key); content == nil {
		r.Wrong(n, fmt.Sprintf("the Secret %s has no key %s", n.Peek(), key), "put the "+what+" there, in data or in stringData")
	}
	return content, nil
}

// secret is the Secret of the input that n names, nil for none.
func (h *Objects) secret(n *input.Node) *input.Node {
	secret := h.Secrets[n.Peek()]
	if secret != nil {
		h.Used[secret] = true
	}
	return secret
}

// secretKey is the content of a Secret under a key, decoded.
func (r *Hub) secretKey(secret *input.Node, key string) *input.Node {
	if n := secret.Get("stringData", key); n != nil {
		r.Means(secret.Get("data", key), "stringData wins over data")
		return n
	}
	n := secret.Get("data", key)
	if n == nil || n.Kind != input.TextNode || n.Decoded {
		return n
	}
	data, err := decodeBase64(n.Text)
	if err != nil {
		r.Wrong(n, "is not base64", "write it under stringData as it is, or encode it")
		return nil
	}
	n.Text, n.Decoded = data, true
	return n
}

// Credentials carries a BMC's over: their content if it is there, else their name.
func (r *Hub) Credentials(h *Objects, i int, name *input.Node) {
	if name == nil {
		return
	}
	to, field := r.Host(i).BMC, fields.HostField(i, "bmc.credentials")
	r.Text(name)
	r.From(field, name)
	secret := h.secret(name)
	if secret == nil {
		to.Credentials = spec.Credentials{SecretRef: &spec.SecretRef{Name: name.Peek()}}
		return
	}
	to.Credentials = r.Login(field, r.BMCFile(i), r.secretKey(secret, hubapi.KeyUsername), r.secretKey(secret, hubapi.KeyPassword))
}

func (r *Hub) fencingSecret(h *Objects, i int, n *input.Node) {
	if n == nil {
		return
	}
	to, field := r.Host(i), fields.HostField(i, "fencing")
	to.Fencing = &spec.Fencing{}
	r.Text(n)
	r.From(field, n)
	secret := h.secret(n)
	if secret == nil {
		to.Fencing.Credentials = spec.Credentials{SecretRef: &spec.SecretRef{Name: n.Peek()}}
		return
	}
	r.Set(field+".address", r.secretKey(secret, hubapi.KeyFencingAddress))
	to.Fencing.Credentials = r.Login(field+".credentials", "fencing/"+input.FileName(to.Name), r.secretKey(secret, hubapi.KeyUsername),
		r.secretKey(secret, hubapi.KeyPassword))
	if verify := r.secretKey(secret, hubapi.KeyFencingVerify); verify != nil {
		to.Fencing.Insecure = new(r.Text(verify) == "Disabled")
	}
}

func decodeBase64(text string) (string, error) {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return "", fmt.Errorf("decode base64: %w", err)
	}
	return string(data), nil
}
