package source

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// emitter writes a cluster as cluster.yaml: its fields in the order of the
// format, those that are not said left out. Equal clusters make equal bytes.
type emitter struct {
	out strings.Builder
	// present are fields that are written although they are empty.
	present map[string]bool
	// written are documents in the order of keys in which they were read.
	written map[*spec.Document]*Node
}

// Emit writes a cluster as cluster.yaml.
func Emit(c *spec.Cluster, present map[string]bool, written map[*spec.Document]*Node) []byte {
	e := &emitter{present: present, written: written}
	e.structure(reflect.ValueOf(c).Elem(), "", 0, false)
	return []byte(e.out.String())
}

func (e *emitter) pad(indent int) { e.out.WriteString(strings.Repeat(" ", indent)) }

// structure writes the fields of a struct. inline says that the cursor stands
// behind "- ", where the first line needs no indent.
func (e *emitter) structure(v reflect.Value, path string, indent int, inline bool) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if !field.IsExported() || name == "" {
			continue
		}
		below := strings.TrimPrefix(path+"."+name, ".")
		if e.absent(v.Field(i), below) {
			continue
		}
		if !inline {
			e.pad(indent)
		}
		inline = false
		e.out.WriteString(name + ":")
		e.value(v.Field(i), below, indent)
	}
}

// absent says whether a value is left out. An empty list is not: it says that
// there shall be none.
func (e *emitter) absent(v reflect.Value, path string) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.IsNil()
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			if field.IsExported() && name != "" && !e.absent(v.Field(i), path+"."+name) {
				return false
			}
		}
		return true
	}
	return v.IsZero() && !e.present[path]
}

// value writes what stands behind "key:", with the end of the line.
func (e *emitter) value(v reflect.Value, path string, indent int) {
	if v.Kind() == reflect.Pointer {
		switch to := v.Interface().(type) {
		case *spec.Document:
			e.document(to, indent)
			return
		case *spec.PublicSource:
			if to.Inline != "" {
				e.scalar(to.Inline, indent)
				return
			}
		}
		v = v.Elem()
	}
	if short, ok := plainWord(v); ok {
		e.scalar(short, indent)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		e.out.WriteString("\n")
		e.structure(v, path, indent+2, false)
	case reflect.Slice:
		e.list(v, path, indent)
	case reflect.Map:
		e.any(plainMap(v), indent)
	default:
		e.scalar(e.plain(v), indent)
	}
}

// plainWord is the plain text that stands for a struct.
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

// plain is a scalar as encoding/json would decode it.
func (e *emitter) plain(v reflect.Value) any {
	switch value := v.Interface().(type) {
	case spec.ProxyURL:
		return value.Reveal()
	case spec.Duration:
		return value.String()
	}
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool()
	case reflect.Int:
		return v.Int()
	default:
		return v.String()
	}
}

// plainMap is a map with texts for keys in the types of encoding/json.
func plainMap(v reflect.Value) map[string]any {
	m := make(map[string]any, v.Len())
	for it := v.MapRange(); it.Next(); {
		m[it.Key().String()] = it.Value().Interface()
	}
	return m
}

func (e *emitter) list(v reflect.Value, path string, indent int) {
	if v.Len() == 0 {
		e.out.WriteString(" []\n")
		return
	}
	e.out.WriteString("\n")
	for i := range v.Len() {
		item := v.Index(i)
		e.pad(indent)
		e.out.WriteString("-")
		short, isShort := plainWord(item)
		switch {
		case isShort:
			e.scalar(short, indent)
		case item.Kind() == reflect.Struct:
			e.out.WriteString(" ")
			e.structure(item, fmt.Sprintf("%s[%d]", path, i), indent+2, true)
		default:
			e.scalar(e.plain(item), indent)
		}
	}
}

func (e *emitter) document(d *spec.Document, indent int) {
	switch {
	case d.File != "":
		e.out.WriteString("\n")
		e.pad(indent + 2)
		e.out.WriteString("file:")
		e.scalar(d.File, indent)
	case e.written[d] != nil:
		e.node(e.written[d], indent)
	default:
		e.any(d.Inline, indent)
	}
}

// node writes what was read as it was read, behind "key:".
func (e *emitter) node(n *Node, indent int) { e.tree(treeOfNode(n), indent, false) }

// any writes what encoding/json would decode to, with its keys in alphabetical
// order, behind "key:".
func (e *emitter) any(value any, indent int) { e.tree(treeOfAny(value), indent, false) }

// tree is a value of either kind.
type tree struct {
	keys   []string // of a map
	below  []tree
	isMap  bool
	isList bool
	scalar any
}

func treeOfNode(n *Node) tree {
	t := tree{isMap: n.Kind == MapNode, isList: n.Kind == ListNode}
	if !t.isMap && !t.isList {
		return tree{scalar: n.Plain()}
	}
	for _, c := range n.Children {
		t.keys, t.below = append(t.keys, c.Key), append(t.below, treeOfNode(c))
	}
	return t
}

func treeOfAny(value any) tree {
	switch value := value.(type) {
	case map[string]any:
		t := tree{isMap: true, keys: slices.Sorted(maps.Keys(value))}
		for _, key := range t.keys {
			t.below = append(t.below, treeOfAny(value[key]))
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

// tree writes a value behind "key:", or behind "-" for an item of a list, where
// a map begins in the same line.
func (e *emitter) tree(t tree, indent int, item bool) {
	switch {
	case t.isMap && len(t.below) > 0:
		for i, below := range t.below {
			switch {
			case i == 0 && item:
				e.out.WriteString(" ")
			case i == 0:
				e.out.WriteString("\n")
				e.pad(indent + 2)
			default:
				e.pad(indent + 2)
			}
			e.out.WriteString(quoted(t.keys[i]) + ":")
			e.tree(below, indent+2, false)
		}
	case t.isList && len(t.below) > 0:
		if item {
			indent += 2
		}
		e.out.WriteString("\n")
		for _, below := range t.below {
			e.pad(indent)
			e.out.WriteString("-")
			e.tree(below, indent, true)
		}
	case t.isMap:
		e.out.WriteString(" {}\n")
	case t.isList:
		e.out.WriteString(" []\n")
	default:
		e.scalar(t.scalar, indent)
	}
}

// scalar writes a scalar behind "key:" or "-". A text of several lines stands as
// a block where that gives it back exactly.
func (e *emitter) scalar(value any, indent int) {
	switch value := value.(type) {
	case nil:
		e.out.WriteString(" null\n")
	case string:
		if isBlock(value) {
			e.block(value, indent+2)
			return
		}
		e.out.WriteString(" " + quoted(value) + "\n")
	case float64:
		text := strconv.FormatFloat(value, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		e.out.WriteString(" " + text + "\n")
	default:
		fmt.Fprintf(&e.out, " %v\n", value)
	}
}

func (e *emitter) block(text string, indent int) {
	e.out.WriteString(" |")
	if !strings.HasSuffix(text, "\n") {
		e.out.WriteString("-")
	}
	e.out.WriteString("\n")
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if line != "" {
			e.pad(indent)
			e.out.WriteString(line)
		}
		e.out.WriteString("\n")
	}
}

// blockText matches texts of several lines that a literal block gives back
// exactly: printable, without blanks at either end of a line's text that a
// reader could take for an indent or drop.
var blockText = regexp.MustCompile(`^[!-~]([ -~]*[!-~])?(\n([ -~]*[!-~])?)*\n?$`)

func isBlock(text string) bool {
	return strings.Contains(strings.TrimSuffix(text, "\n"), "\n") && !strings.HasSuffix(text, "\n\n") && !strings.HasPrefix(text, "#") && blockText.MatchString(text)
}

// plainText matches texts that mean the same with and without quotes, in YAML
// 1.1 and 1.2.
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
