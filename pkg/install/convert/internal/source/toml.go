package source

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseTOML reads the part of TOML that containers-registries.conf(5) is written
// in: tables, lists of tables, texts, booleans and lists of texts. nil where
// there is more.
func (r *Account) ParseTOML(at *Node, text string) *Node {
	root := &Node{In: at.In, Kind: MapNode, Line: at.Line, Col: at.Col}
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
			var child *Node
			if child, rest = tomlValue(value); !found || child == nil || table == nil {
				r.Wrong(at, fmt.Sprintf("line %d of it is nothing that is known of registries.conf", number), "write [[registry]] with location and [[registry.mirror]]")
				return nil
			}
			child.Key = strings.Trim(strings.TrimSpace(key), `"`)
			if table.Child(child.Key) != nil {
				r.Wrong(at, fmt.Sprintf("line %d of it says %s a second time", number, child.Key), "")
				return nil
			}
			table.add(child, number)
		}
		text = rest
		number += strings.Count(whole[:len(whole)-len(rest)], "\n")
	}
	return root
}

func (n *Node) add(child *Node, line int) {
	child.Parent, child.index = n, len(n.Children)
	child.walk(func(c *Node) {
		c.In, c.Line, c.Col = n.In, n.Line, n.Col
		if n.In.Root != nil && n.In.Root.Line == 1 {
			c.Line = line
		}
	})
	n.Children = append(n.Children, child)
}

// tomlTable begins another table of a list of tables, such as registry or
// registry.mirror; nil for one below a table that is not there.
func (n *Node) tomlTable(name string, line int) *Node {
	parent := n
	parts := strings.Split(name, ".")
	for _, part := range parts[:len(parts)-1] {
		list := parent.Child(strings.TrimSpace(part))
		if list == nil || len(list.Children) == 0 {
			return nil
		}
		parent = list.Children[len(list.Children)-1]
	}
	key := strings.TrimSpace(parts[len(parts)-1])
	list := parent.Child(key)
	if list == nil {
		list = &Node{Kind: ListNode, Key: key}
		parent.add(list, line)
	}
	if list.Kind != ListNode {
		return nil
	}
	table := &Node{Kind: MapNode}
	list.add(table, line)
	return table
}

// tomlValue reads the value at the beginning of a text, and gives back what
// follows on the next line; nil for one that is not known.
func tomlValue(text string) (value *Node, rest string) {
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
func tomlList(text string) (list *Node, rest string) {
	list = &Node{Kind: ListNode}
	for {
		switch text = strings.TrimLeft(text, " \t\r\n,"); {
		case text == "":
			return nil, ""
		case text[0] == ']':
			return list, text[1:]
		case text[0] == '#':
			_, text, _ = strings.Cut(text, "\n")
		default:
			var item *Node
			if item, text = tomlScalar(text); item == nil {
				return nil, ""
			}
			item.Parent, item.index = list, len(list.Children)
			list.Children = append(list.Children, item)
		}
	}
}

func tomlScalar(text string) (value *Node, rest string) {
	for _, word := range []string{"true", "false"} {
		if rest, is := strings.CutPrefix(text, word); is {
			return &Node{Kind: BoolNode, Text: word}, rest
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
	return &Node{Kind: TextNode, Text: inner}, rest
}
