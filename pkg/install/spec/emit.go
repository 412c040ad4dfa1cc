package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// plainText matches texts that mean the same with and without quotes, in YAML
// 1.1 and 1.2.
var plainText = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./-]*$`)

// quoteScalar writes text so that every YAML reader takes it for text.
func quoteScalar(text string) string {
	switch strings.ToLower(text) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf":
	default:
		if plainText.MatchString(text) {
			return text
		}
	}
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	// A string always encodes.
	_ = encoder.Encode(text)
	return strings.TrimSpace(quoted.String())
}

// yamlOfNode writes a tree as YAML, with its keys in the order in which they
// were read.
func yamlOfNode(n *node) string {
	var out strings.Builder
	emit(&out, n, 0, false)
	return out.String()
}

// emit writes n at an indent. inline says that the cursor stands behind "- ",
// where the first line needs no indent.
func emit(out *strings.Builder, n *node, indent int, inline bool) {
	pad := strings.Repeat(" ", indent)
	switch {
	case n.kind == mapNode && len(n.entries) > 0:
		for i, e := range n.entries {
			if i > 0 || !inline {
				out.WriteString(pad)
			}
			out.WriteString(quoteScalar(e.key) + ":")
			emitValue(out, e.value, indent)
		}
	case n.kind == listNode && len(n.items) > 0:
		for i, item := range n.items {
			if i > 0 || !inline {
				out.WriteString(pad)
			}
			out.WriteString("- ")
			emit(out, item, indent+2, true)
		}
	default:
		if !inline {
			out.WriteString(pad)
		}
		out.WriteString(scalarText(n) + "\n")
	}
}

func emitValue(out *strings.Builder, n *node, indent int) {
	switch {
	case n.kind == mapNode && len(n.entries) > 0:
		out.WriteString("\n")
		emit(out, n, indent+2, false)
	case n.kind == listNode && len(n.items) > 0:
		out.WriteString("\n")
		emit(out, n, indent, false)
	default:
		out.WriteString(" " + scalarText(n) + "\n")
	}
}

func scalarText(n *node) string {
	switch n.kind {
	case mapNode:
		return "{}"
	case listNode:
		return "[]"
	case nullNode, brokenNode:
		return "null"
	case textNode:
		return quoteScalar(n.text)
	}
	switch value := n.value.(type) {
	case bool:
		return strconv.FormatBool(value)
	case float64:
		return strconv.FormatFloat(value, 'g', -1, 64)
	default:
		return fmt.Sprint(value)
	}
}

// Constructors for trees that are made rather than read.

func newMap(entries ...entry) *node { return &node{kind: mapNode, entries: entries} }

func newList(items ...*node) *node { return &node{kind: listNode, items: items} }

func newText(text string) *node { return &node{kind: textNode, text: text, value: text} }

func newInt(number int) *node { return &node{kind: intNode, value: int64(number)} }

func newBool(is bool) *node { return &node{kind: boolNode, value: is} }

func pair(key string, value *node) entry { return entry{key: key, value: value} }

// yamlOfAny writes what encoding/json would decode to as YAML, with its keys in
// alphabetical order.
func yamlOfAny(value any) string { return yamlOfNode(nodeOfAny(value)) }

func nodeOfAny(value any) *node {
	switch value := value.(type) {
	case nil:
		return &node{kind: nullNode}
	case map[string]any:
		n := newMap()
		for _, key := range slices.Sorted(maps.Keys(value)) {
			n.entries = append(n.entries, pair(key, nodeOfAny(value[key])))
		}
		return n
	case []any:
		n := newList()
		for _, item := range value {
			n.items = append(n.items, nodeOfAny(item))
		}
		return n
	case string:
		return newText(value)
	case bool:
		return newBool(value)
	case float64:
		return &node{kind: floatNode, value: value}
	default:
		return &node{kind: intNode, value: value}
	}
}
