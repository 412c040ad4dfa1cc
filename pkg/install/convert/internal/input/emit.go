package input

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/oaictl/oaictl/internal/shared/fieldpath"
	"github.com/oaictl/oaictl/internal/shared/yamltree"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// emitter makes the tree of a cluster: its fields in the order of the format, those
// that are not said left out. Equal clusters make equal bytes.
type emitter struct {
	present map[string]bool          // fields that are written although they are empty
	written map[*spec.Document]*Node // documents in the order of keys in which they were read
}

// Emit writes a document, a *spec.Cluster or *spec.Nodes.
func Emit(document any, present map[string]bool, written map[*spec.Document]*Node) []byte {
	e := &emitter{present: present, written: written}
	tree := e.structure(reflect.ValueOf(document).Elem(), "")
	return []byte(tree.Written(readable()))
}

func readable() yamltree.Style { return yamltree.Style{Key: quoted, Scalar: scalar, ListsBelow: true} }

func (e *emitter) structure(v reflect.Value, path string) *yamltree.Node {
	n := yamltree.NewMap()
	for i := range v.NumField() {
		name := fieldpath.Key(v.Type().Field(i), "yaml")
		below := strings.TrimPrefix(path+"."+name, ".")
		if name == "" || v.Field(i).IsZero() && !e.present[below] {
			continue // an empty list is no zero: it says that there shall be none
		}
		value := e.value(v.Field(i), below)
		if v.Field(i).Kind() == reflect.Struct && value.Kind == yamltree.Map && len(value.Entries) == 0 {
			continue // it says nothing
		}
		n.Add(name, value)
	}
	return n
}

func (e *emitter) value(v reflect.Value, path string) *yamltree.Node {
	if v.Kind() == reflect.Pointer {
		if document, is := v.Interface().(*spec.Document); is {
			return e.document(document)
		}
		v = v.Elem()
	}
	if short, ok := plainWord(v); ok {
		return yamltree.Of(short)
	}
	switch v.Kind() {
	case reflect.Struct:
		return e.structure(v, path)
	case reflect.Slice:
		n := yamltree.NewList()
		for i := range v.Len() {
			n.Append(e.value(v.Index(i), fmt.Sprintf("%s[%d]", path, i)))
		}
		return n
	case reflect.Map:
		return yamltree.Of(plainMap(v))
	}
	return yamltree.Of(plain(v))
}

// plainWord is the plain text that means the same as a struct.
func plainWord(v reflect.Value) (string, bool) {
	switch value := v.Interface().(type) {
	case spec.Platform:
		return string(value.Type), value.External == nil
	case spec.PublicSource:
		return value.Inline, value.Inline != ""
	case spec.ManifestSource:
		return value.Path, value.Path != "" && value.Folder == ""
	case spec.Bundle:
		return value.ID, len(value.Optional) == 0
	}
	return "", false
}

func plain(v reflect.Value) any {
	switch value := v.Interface().(type) {
	case spec.ProxyURL:
		return value.Reveal()
	case spec.Duration:
		return value.String()
	}
	if v.Kind() == reflect.String {
		return v.String()
	}
	return v.Interface()
}

func plainMap(v reflect.Value) map[string]any {
	m := make(map[string]any, v.Len())
	for it := v.MapRange(); it.Next(); {
		m[it.Key().String()] = it.Value().Interface()
	}
	return m
}

func (e *emitter) document(d *spec.Document) *yamltree.Node {
	switch {
	case d.File != "":
		return yamltree.NewMap(yamltree.Pair("file", d.File))
	case e.written[d] != nil:
		return treeOf(e.written[d])
	}
	return yamltree.Of(d.Inline)
}

// treeOf has the keys in the order in which they were read.
func treeOf(n *Node) *yamltree.Node {
	switch n.Kind {
	case MapNode:
		tree := yamltree.NewMap()
		for _, c := range n.Children {
			tree.Add(c.Key, treeOf(c))
		}
		return tree
	case ListNode:
		tree := yamltree.NewList()
		for _, c := range n.Children {
			tree.Append(treeOf(c))
		}
		return tree
	}
	return yamltree.Of(n.Plain())
}

// scalar writes a text of several lines as a block where that gives it back exactly.
func scalar(n *yamltree.Node, indent int) string {
	switch value := n.Value.(type) {
	case nil:
		return map[yamltree.Kind]string{yamltree.Map: "{}", yamltree.List: "[]", yamltree.Null: "null"}[n.Kind]
	case string:
		if isBlock(value) {
			return block(value, indent)
		}
		return quoted(value)
	case float64:
		text := strconv.FormatFloat(value, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return text
	default:
		return fmt.Sprint(value)
	}
}

func block(text string, indent int) string {
	head := "|"
	if !strings.HasSuffix(text, "\n") {
		head = "|-"
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = strings.Repeat(" ", indent) + line
		}
	}
	return head + "\n" + strings.Join(lines, "\n")
}

// blockText matches texts of several lines that a literal block gives back
// exactly: printable, without blanks at either end of a line's text that a
// reader could take for an indent or drop.
var blockText = regexp.MustCompile(`^[!-~]([ -~]*[!-~])?(\n([ -~]*[!-~])?)*\n?$`)

func isBlock(text string) bool {
	return strings.Contains(strings.TrimSuffix(text, "\n"), "\n") && !strings.HasSuffix(text, "\n\n") && !strings.HasPrefix(text, "#") &&
		blockText.MatchString(text)
}

// plainText matches texts that mean the same without quotes, in YAML 1.1 and 1.2.
var plainText = regexp.MustCompile(`^([A-Za-z_/][A-Za-z0-9_./-]*|[0-9]+(\.[0-9]+){3}(/[0-9]+)?)$`)

// quoted writes a text so that every YAML reader takes it for that text.
func quoted(text string) string {
	switch strings.ToLower(text) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf":
	default:
		if plainText.MatchString(text) {
			return text
		}
	}
	var out strings.Builder
	out.WriteByte('"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			out.WriteByte('\\')
			out.WriteRune(c)
		case c == '\n':
			out.WriteString(`\n`)
		case c == '\t':
			out.WriteString(`\t`)
		case c == '\r':
			out.WriteString(`\r`)
		case c > 0xffff && !unicode.IsPrint(c):
			fmt.Fprintf(&out, `\U%08X`, c)
		case c != ' ' && !unicode.IsPrint(c):
			fmt.Fprintf(&out, `\u%04X`, c)
		default:
			out.WriteRune(c)
		}
	}
	out.WriteByte('"')
	return out.String()
}
