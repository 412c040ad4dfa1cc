package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/shared/yamltree"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

// cluster decodes a document that may be of some kinds. If it is of another kind, that is reported later.
func (d *decoder) cluster(root *yamltree.Node, kinds []string) *Cluster {
	if slices.Contains(kinds, KindNodes) && saysNodes(root) {
		n := &Nodes{}
		d.of = reflect.TypeFor[Nodes]()
		d.value(root, root.At, "", reflect.ValueOf(n).Elem())
		return n.cluster()
	}
	c := &Cluster{}
	d.of = reflect.TypeFor[Cluster]()
	d.value(root, root.At, "", reflect.ValueOf(c).Elem())
	return c
}

// saysNodes reports whether a document is of kind Nodes: one that lacks its kind is
// where it names a cluster.
func saysNodes(root *yamltree.Node) bool {
	if kind, said := root.Get("kind"); said && kind.Kind != yamltree.Null {
		return kind.Text == KindNodes
	}
	if spec, said := root.Get("spec"); said {
		_, names := spec.Get("cluster")
		return names
	}
	return false
}

// isOf reports whether the document is one of ours, and of one of the kinds. Otherwise this is the only problem that is
// reported.
func (c *Cluster) isOf(kinds []string, problems *Problems) bool {
	p := Problem{Field: "kind", Remedy: fmt.Sprintf("write apiVersion: %s and kind: %s", APIVersion, strings.Join(kinds, ", or kind: "))}
	switch {
	case c.Kind == KindNodes && !slices.Contains(kinds, KindNodes):
		p.Message = fmt.Sprintf("is %q, for hosts that are added to an installed cluster; here it must be a %s", KindNodes, Kind)
		p.Remedy = fmt.Sprintf("add the hosts with `oaictl add-node -f %s`, or give the file of a %s", listtext.Quoted(c.File()), Kind)
	case c.Kind != "" && !slices.Contains(kinds, c.Kind):
		p.Message = fmt.Sprintf("is a %q, not a %s", c.Kind, strings.Join(kinds, " or "))
	case c.APIVersion != "" && c.APIVersion != APIVersion:
		p.Field, p.Message = "apiVersion", fmt.Sprintf("the format version %q is not known", c.APIVersion)
	default:
		return true
	}
	p.File, p.Line, p.Column = c.Position(p.Field)
	problems.List = []Problem{p}
	return false
}

// unknown reports a key that an object of the document does not have.
func (d *decoder) unknown(e yamltree.Entry, field string, in reflect.Type) {
	child := values.Join(field, e.Key)
	if d.of == reflect.TypeFor[Nodes]() && hasField(reflect.TypeFor[Cluster](), child) {
		remedy := "leave it out"
		if child == "metadata" || child == "spec.baseDomain" {
			remedy = "give the name of the cluster as spec.cluster, such as lab.example.com"
		}
		d.report(e.At, child, fmt.Sprintf("describes a %s, but hosts are added to an existing one", Kind), remedy)
		return
	}
	d.report(e.At, child, fmt.Sprintf("the field %q is not known here", e.Key), didYouMean(e.Key, in, d.elsewhere(e.Key, field)))
}

// hasField reports whether there is a field of that path, which has no entry of a list.
func hasField(in reflect.Type, path string) bool {
	for key := range strings.SplitSeq(path, ".") {
		for in.Kind() == reflect.Pointer {
			in = in.Elem()
		}
		if in.Kind() != reflect.Struct {
			return false
		}
		field, found := in.FieldByNameFunc(func(name string) bool {
			field, _ := in.FieldByName(name)
			return fieldKey(field) == key
		})
		if !found {
			return false
		}
		in = field.Type
	}
	return true
}

// elsewhere is the path of a field of this name in another part of the document, of the
// same host if in one.
func (d *decoder) elsewhere(key, field string) string {
	var found string
	var walk func(t reflect.Type, path string, depth int)
	walk = func(t reflect.Type, path string, depth int) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || depth > 6 {
			return
		}
		for field := range t.Fields() {
			name := fieldKey(field)
			if name == "" {
				continue
			}
			child := values.Join(path, name)
			if strings.EqualFold(name, key) && (found == "" || strings.Count(child, ".") < strings.Count(found, ".")) {
				found = child
			}
			walk(field.Type, child, depth+1)
		}
	}
	if host, _, ok := strings.Cut(field, "]"); ok && strings.HasPrefix(host, "spec.hosts[") {
		walk(reflect.TypeFor[Host](), host+"]", 0)
	}
	if found == "" {
		walk(d.of, "", 0)
	}
	return found
}
