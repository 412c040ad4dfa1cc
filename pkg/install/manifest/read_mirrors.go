package manifest

import (
	"fmt"
	"path"
	"strconv"
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

// parseTOML reads the part of TOML that containers-registries.conf(5) is written
// in: tables, lists of tables, texts, booleans and lists of texts. nil where
// there is more.
func (r *reader) parseTOML(at *node, text string) *node {
	root := &node{in: at.in, kind: mapNode, line: at.line, col: at.col}
	table := root
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "[["):
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "[["), "]]")
			table = root.tomlTable(strings.TrimSpace(name), number)
		default:
			key, value, found := strings.Cut(line, "=")
			child := tomlValue(strings.TrimSpace(value))
			if !found || child == nil || table == nil {
				r.wrong(at, fmt.Sprintf("line %d of it is nothing that is known of registries.conf", number), "write [[registry]] with location and [[registry.mirror]]")
				return nil
			}
			child.key = strings.Trim(strings.TrimSpace(key), `"`)
			if table.child(child.key) != nil {
				r.wrong(at, fmt.Sprintf("line %d of it says %s a second time", number, child.key), "")
				return nil
			}
			table.add(child, number)
		}
	}
	return root
}

// add puts a child into a map or list.
func (n *node) add(child *node, line int) {
	child.parent, child.index = n, len(n.children)
	child.walk(func(c *node) {
		c.in, c.line, c.col = n.in, n.line, n.col
		if n.in.root != nil && n.in.root.line == 1 {
			c.line = line
		}
	})
	n.children = append(n.children, child)
}

// tomlTable begins another table of a list of tables, such as registry or
// registry.mirror; nil for one below a table that is not there.
func (n *node) tomlTable(name string, line int) *node {
	parent := n
	parts := strings.Split(name, ".")
	for _, part := range parts[:len(parts)-1] {
		list := parent.child(strings.TrimSpace(part))
		if list == nil || len(list.children) == 0 {
			return nil
		}
		parent = list.children[len(list.children)-1]
	}
	key := strings.TrimSpace(parts[len(parts)-1])
	list := parent.child(key)
	if list == nil {
		list = &node{kind: listNode, key: key}
		parent.add(list, line)
	}
	if list.kind != listNode {
		return nil
	}
	table := &node{kind: mapNode}
	list.add(table, line)
	return table
}

// tomlValue reads a value; nil for one that is not known.
func tomlValue(text string) *node {
	switch {
	case strings.HasPrefix(text, `"`) || strings.HasPrefix(text, "'"):
		quote := text[:1]
		end := 1
		for end < len(text) && text[end:end+1] != quote {
			if text[end] == '\\' && quote == `"` {
				end++
			}
			end++
		}
		if end >= len(text) || !commentOnly(text[end+1:]) {
			return nil
		}
		value := text[1:end]
		if quote == `"` {
			unquoted, err := strconv.Unquote(text[:end+1])
			if err != nil {
				return nil
			}
			value = unquoted
		}
		return &node{kind: textNode, text: value}
	case strings.HasPrefix(text, "["):
		inner, after, closed := strings.Cut(text[1:], "]")
		if !closed || !commentOnly(after) {
			return nil
		}
		list := &node{kind: listNode}
		for part := range strings.SplitSeq(inner, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			item := tomlValue(part)
			if item == nil {
				return nil
			}
			item.parent, item.index = list, len(list.children)
			list.children = append(list.children, item)
		}
		return list
	}
	word, after, _ := strings.Cut(text, " ")
	if (word == "true" || word == "false") && commentOnly(after) {
		return &node{kind: boolNode, text: word}
	}
	return nil
}

func commentOnly(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || strings.HasPrefix(text, "#")
}
