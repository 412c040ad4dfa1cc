package manifest

import (
	"path"
	"strings"
)

// mirrorMap carries over the mirrors of a ConfigMap that an object refers to.
func (r *reader) mirrorMap(h *hubInput, ref *node) {
	if ref == nil {
		return
	}
	config := h.configMaps[ref.get("name").peek()]
	if config == nil {
		r.lose(ref, "the ConfigMap is not in the input: write its mirrors into spec.registry")
		return
	}
	r.means(ref, "refers to a ConfigMap of the input")
	if h.used[config] {
		return
	}
	h.used[config] = true
	r.registriesConf(config.get("data", "registries.conf"))
	r.trustBundle(config.get("data", "ca-bundle.crt"))
}

// mirrorFiles carries over the mirrors that the agent-based installer has in
// files.
func (r *reader) mirrorFiles(in *input) {
	for _, name := range []string{"registries.conf", "ca-bundle.crt"} {
		file := path.Join(dirMirror, name)
		data, ok := in.raw[file]
		if !ok {
			continue
		}
		delete(in.raw, file)
		doc := &document{file: joinPath(in.path, file), label: file + ":"}
		doc.root = &node{in: doc, kind: textNode, text: string(data), line: 1, col: 1}
		r.docs = append(r.docs, doc)
		if name == "registries.conf" {
			r.registriesConf(doc.root)
		} else {
			r.trustBundle(doc.root)
		}
	}
}

// registriesConf carries mirrors over from containers-registries.conf(5),
// version 2, which is written in TOML.
func (r *reader) registriesConf(n *node) {
	if n == nil {
		return
	}
	text := r.text(n)
	if strings.TrimSpace(text) == "" {
		return
	}
	root := r.parseTOML(n, text)
	if root == nil {
		return
	}
	n.kind, n.children, n.text, n.taken = mapNode, root.children, "", false
	for _, c := range n.children {
		c.parent = n
	}
	search := n.get("unqualified-search-registries")
	r.meansEmpty(search, "is empty")
	r.lose(search, "OpenShift names images with their registry")
	for _, registry := range n.get("registry").items() {
		r.registry(registry)
	}
}

func (r *reader) registry(n *node) {
	location, prefix := n.get("location"), n.get("prefix")
	if strings.HasPrefix(prefix.peek(), "*.") {
		r.lose(n, "stands for many registries: write each of them into spec.registry.mirrors")
		return
	}
	if location == nil || location.peek() == "" {
		r.text(location)
		location, prefix = prefix, nil
	}
	r.meansIf(prefix, "stands for the location", "", location.peek())
	r.lose(prefix, "a mirror stands in for its location, not for another prefix")
	r.meansIf(n.get("mirror-by-digest-only"), "while machines are discovered images are pulled by tag too", "true", "false")
	r.meansIf(n.get("insecure"), "is the default", "false")
	r.meansIf(n.get("blocked"), "is the default", "false")
	mirrors := n.get("mirror").items()
	insecure := 0
	for _, mirror := range mirrors {
		if isTrue(r.boolean(mirror.get("insecure"))) {
			insecure++
		}
	}
	for _, mirror := range mirrors {
		if at := mirror.get("insecure"); insecure < len(mirrors) && truth(at.peek()) {
			at.taken = false
			r.lose(at, "cluster.yaml says it of all mirrors of a place, and the others are verified")
		}
		r.mirrorOf(location, mirror.get("location"), insecure == len(mirrors))
		r.lose(mirror.get("pull-from-mirror"), "mirrors are pulled from by digest and by tag")
	}
	if len(mirrors) == 0 {
		r.rest(n, "names no mirror")
	}
}

// mirrorOf carries one mirror over.
func (r *reader) mirrorOf(source, target *node, insecure bool) {
	if source == nil || target == nil {
		return
	}
	list := &node{in: target.in, kind: listNode, parent: target.parent, key: target.key, line: target.line, col: target.col}
	entry := *target
	list.children = []*node{&entry}
	r.mirror(source, list, insecure)
	target.taken = true
}
