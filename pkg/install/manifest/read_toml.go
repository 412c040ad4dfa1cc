package manifest

import (
	"fmt"
	"strconv"
	"strings"
)

// parseTOML reads the part of TOML that containers-registries.conf(5) is written
// in: tables, lists of tables, texts, booleans and lists of texts. nil where
// there is more.
func (r *reader) parseTOML(at *node, text string) *node {
	root := &node{in: at.in, kind: mapNode, line: at.line, col: at.col}
	table := root
	for number := 1; text != ""; {
		line, rest, _ := strings.Cut(text, "\n")
		whole := text
		switch line = strings.TrimSpace(line); {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "[["):
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "[["), "]]")
			table = root.tomlTable(strings.TrimSpace(name), number)
		default:
			key, _, found := strings.Cut(line, "=")
			_, value, _ := strings.Cut(text, "=")
			var child *node
			if child, rest = tomlValue(value); !found || child == nil || table == nil {
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
		text = rest
		number += strings.Count(whole[:len(whole)-len(rest)], "\n")
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

// tomlValue reads the value at the beginning of a text, and gives back what
// follows on the next line; nil for one that is not known.
func tomlValue(text string) (value *node, rest string) {
	text = strings.TrimLeft(text, " \t")
	if list, open := strings.CutPrefix(text, "["); open {
		value, rest = tomlList(list)
	} else {
		value, rest = tomlScalar(text)
	}
	after, rest, _ := strings.Cut(rest, "\n")
	if after = strings.TrimSpace(after); after != "" && !strings.HasPrefix(after, "#") {
		return nil, ""
	}
	return value, rest
}

// tomlList reads the rest of a list, which may go on over several lines.
func tomlList(text string) (list *node, rest string) {
	list = &node{kind: listNode}
	for {
		switch text = strings.TrimLeft(text, " \t\r\n,"); {
		case text == "":
			return nil, ""
		case text[0] == ']':
			return list, text[1:]
		case text[0] == '#':
			_, text, _ = strings.Cut(text, "\n")
		default:
			var item *node
			if item, text = tomlScalar(text); item == nil {
				return nil, ""
			}
			item.parent, item.index = list, len(list.children)
			list.children = append(list.children, item)
		}
	}
}

// tomlScalar reads a text in quotes, true or false.
func tomlScalar(text string) (value *node, rest string) {
	for _, word := range []string{"true", "false"} {
		if rest, is := strings.CutPrefix(text, word); is {
			return &node{kind: boolNode, text: word}, rest
		}
	}
	if text == "" || text[0] != '"' && text[0] != '\'' {
		return nil, ""
	}
	end := 1
	for end < len(text) && text[end] != text[0] && text[end] != '\n' {
		if text[end] == '\\' && text[0] == '"' {
			end++
		}
		end++
	}
	if end >= len(text) || text[end] != text[0] {
		return nil, ""
	}
	inner, rest := text[1:end], text[end+1:]
	if text[0] == '"' {
		unquoted, err := strconv.Unquote(text[:end+1])
		if err != nil {
			return nil, ""
		}
		inner = unquoted
	}
	return &node{kind: textNode, text: inner}, rest
}
