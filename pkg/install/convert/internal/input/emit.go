package input

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/losses"
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
	return []byte(e.structure(reflect.ValueOf(document).Elem(), "").document())
}

type tree struct {
	keys   []string // of a map, as they are written
	below  []tree
	isMap  bool
	isList bool
	scalar any
}

func (e *emitter) structure(v reflect.Value, path string) tree {
	t := tree{isMap: true}
	for i := range v.NumField() {
		name := losses.FieldName(v.Type().Field(i))
		below := strings.TrimPrefix(path+"."+name, ".")
		if name == "" || v.Field(i).IsZero() && !e.present[below] {
			continue // an empty list is no zero: it says that there shall be none
		}
		value := e.value(v.Field(i), below)
		if v.Field(i).Kind() == reflect.Struct && value.isMap && len(value.below) == 0 {
			continue // it says nothing
		}
		t.keys, t.below = append(t.keys, name), append(t.below, value)
	}
	return t
}

func (e *emitter) value(v reflect.Value, path string) tree {
	if v.Kind() == reflect.Pointer {
		if document, is := v.Interface().(*spec.Document); is {
			return e.document(document)
		}
		v = v.Elem()
	}
	if short, ok := plainWord(v); ok {
		return tree{scalar: short}
	}
	switch v.Kind() {
	case reflect.Struct:
		return e.structure(v, path)
	case reflect.Slice:
		t := tree{isList: true}
		for i := range v.Len() {
			t.below = append(t.below, e.value(v.Index(i), fmt.Sprintf("%s[%d]", path, i)))
		}
		return t
	case reflect.Map:
		return treeOfAny(plainMap(v))
	}
	return tree{scalar: plain(v)}
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

func (e *emitter) document(d *spec.Document) tree {
	switch {
	case d.File != "":
		return tree{isMap: true, keys: []string{"file"}, below: []tree{{scalar: d.File}}}
	case e.written[d] != nil:
		return treeOfNode(e.written[d])
	}
	return treeOfAny(d.Inline)
}

func treeOfNode(n *Node) tree {
	t := tree{isMap: n.Kind == MapNode, isList: n.Kind == ListNode}
	if !t.isMap && !t.isList {
		return tree{scalar: n.Plain()}
	}
	for _, c := range n.Children {
		t.keys, t.below = append(t.keys, quoted(c.Key)), append(t.below, treeOfNode(c))
	}
	return t
}

// treeOfAny has its keys in alphabetical order.
func treeOfAny(value any) tree {
	switch value := value.(type) {
	case map[string]any:
		t := tree{isMap: true}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			t.keys, t.below = append(t.keys, quoted(key)), append(t.below, treeOfAny(value[key]))
		}
		return t
	case []any:
		t := tree{isList: true}
		for _, item := range value {
			t.below = append(t.below, treeOfAny(item))
		}
		return t
	}
	return tree{scalar: value}
}

func (t tree) document() string {
	var w writer
	w.tree(t, -2, false)
	return strings.TrimPrefix(w.String(), "\n")
}

type writer struct{ strings.Builder }

func (w *writer) pad(indent int) { w.WriteString(strings.Repeat(" ", indent)) }

// tree writes a value behind "key:", or behind "-" for an item of a list, where
// a map begins in the same line.
func (w *writer) tree(t tree, indent int, item bool) {
	switch {
	case t.isMap && len(t.below) > 0:
		for i, below := range t.below {
			switch {
			case i == 0 && item:
				w.WriteString(" ")
			case i == 0:
				w.WriteString("\n")
				w.pad(indent + 2)
			default:
				w.pad(indent + 2)
			}
			w.WriteString(t.keys[i] + ":")
			w.tree(below, indent+2, false)
		}
	case t.isList && len(t.below) > 0:
		if item {
			indent += 2
		}
		w.WriteString("\n")
		for _, below := range t.below {
			w.pad(indent)
			w.WriteString("-")
			w.tree(below, indent, true)
		}
	case t.isMap:
		w.WriteString(" {}\n")
	case t.isList:
		w.WriteString(" []\n")
	default:
		w.scalar(t.scalar, indent)
	}
}

// scalar writes a text of several lines as a block where that gives it back exactly.
func (w *writer) scalar(value any, indent int) {
	switch value := value.(type) {
	case nil:
		w.WriteString(" null\n")
	case string:
		if isBlock(value) {
			w.block(value, indent+2)
			return
		}
		w.WriteString(" " + quoted(value) + "\n")
	case float64:
		text := strconv.FormatFloat(value, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		w.WriteString(" " + text + "\n")
	default:
		fmt.Fprintf(w, " %v\n", value)
	}
}

func (w *writer) block(text string, indent int) {
	w.WriteString(" |")
	if !strings.HasSuffix(text, "\n") {
		w.WriteString("-")
	}
	w.WriteString("\n")
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if line != "" {
			w.pad(indent)
			w.WriteString(line)
		}
		w.WriteString("\n")
	}
}

// blockText matches texts of several lines that a literal block gives back
// exactly: printable, without blanks at either end of a line's text that a
// reader could take for an indent or drop.
var blockText = regexp.MustCompile(`^[!-~]([ -~]*[!-~])?(\n([ -~]*[!-~])?)*\n?$`)

func isBlock(text string) bool {
	return strings.Contains(strings.TrimSuffix(text, "\n"), "\n") && !strings.HasSuffix(text, "\n\n") && !strings.HasPrefix(text, "#") && blockText.MatchString(text)
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
