// Package schema is the JSON schemas of cluster.yaml and of documents of kind Nodes, and
// what they say of each field.
package schema

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/spelling"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

//go:embed cluster.json
var clusterSchema string

//go:embed nodes.json
var nodesSchema string

// JSON is the schema (draft 2020-12) of documents of a kind; nil where a kind has none.
func JSON(kind string) []byte {
	switch kind {
	case spec.Kind:
		return []byte(clusterSchema)
	case spec.KindNodes:
		return []byte(nodesSchema)
	}
	return nil
}

// Doc is what there is to know about a field.
type Doc struct {
	// Path of the field, without the numbers of list entries: spec.hosts.disk.
	Path string `json:"path"`
	// Type is string, integer, boolean, object, or one of these in a list ([]string)
	// or a map (map[string]string); alternatives are joined by " or ".
	Type string `json:"type"`
	// Description says what the field means.
	Description string `json:"description,omitempty"`
	// Default is what counts where the field is left out.
	Default string `json:"default,omitempty"`
	// Required reports whether the field has to be there.
	Required bool `json:"required,omitempty"`
	// Enum is the values that the field may have; empty for any.
	Enum []string `json:"enum,omitempty"`
	// Fields is the fields of an object, in the order of the format.
	Fields []Doc `json:"fields,omitempty"`
}

// Explain is what there is to know about the field at path of documents of a kind, such
// as spec.hosts.disk or, with numbers that mean nothing, spec.hosts[0].disk; the empty
// path is the whole document. With the empty kind it is a field of a Cluster, or else of
// whichever kind has it. Fields carry no fields of their own. The error of an unknown path
// names what was probably meant.
func Explain(kind, path string) (Doc, error) {
	if kind != "" {
		return explain(kind, path)
	}
	doc, first := explain(spec.Kind, path)
	if first == nil {
		return doc, nil
	}
	for _, kind := range []string{spec.Kind, spec.KindNodes} {
		if doc, err := explain(kind, path); err == nil {
			return doc, nil
		}
	}
	return Doc{}, first
}

func explain(kind, path string) (Doc, error) {
	schema := &schemaNode{}
	if err := json.Unmarshal(JSON(kind), schema); err != nil {
		return Doc{}, fmt.Errorf("reading the schema of kind %s: %w", kind, err)
	}
	at := schema
	doc := schema.describe(at, "")
	for _, name := range pathNames(path) {
		object := schema.objectIn(at)
		if object == nil {
			return Doc{}, fmt.Errorf("explaining %s: %s is %s, it has no fields", path, doc.Path, doc.Type)
		}
		child, ok := object.Properties.get(name)
		if !ok {
			return Doc{}, unknownField(path, cmp.Or(doc.Path, strings.TrimPrefix(schema.Title, "oaictl ")), name, object)
		}
		required := slices.Contains(object.Required, name)
		doc = schema.describe(child, values.Join(doc.Path, name))
		doc.Required = required
		at = child
	}
	if object := schema.objectIn(at); object != nil {
		for _, property := range object.Properties {
			field := schema.describe(property.schema, values.Join(doc.Path, property.name))
			field.Required = slices.Contains(object.Required, property.name)
			doc.Fields = append(doc.Fields, field)
		}
	}
	return doc, nil
}

func unknownField(path, where, name string, object *schemaNode) error {
	var names []string
	for _, property := range object.Properties {
		names = append(names, property.name)
	}
	if best := spelling.Nearest(name, names); best != "" {
		return fmt.Errorf("explaining %s: %s has no field %q; did you mean %q?", path, where, name, best)
	}
	return fmt.Errorf("explaining %s: %s has no field %q; it has %s", path, where, name, strings.Join(names, ", "))
}

var listIndex = regexp.MustCompile(`\[[0-9]*\]`)

func pathNames(path string) []string {
	path = strings.Trim(listIndex.ReplaceAllString(path, ""), ".")
	if path == "" {
		return nil
	}
	return strings.Split(path, ".")
}

// schemaNode is the part of JSON schema that the generator writes.
type schemaNode struct {
	Ref         string                 `json:"$ref"`
	Defs        map[string]*schemaNode `json:"$defs"`
	Title       string                 `json:"title"`
	Type        string                 `json:"type"`
	Description string                 `json:"description"`
	Const       string                 `json:"const"`
	Enum        []string               `json:"enum"`
	Required    []string               `json:"required"`
	Properties  properties             `json:"properties"`
	Items       *schemaNode            `json:"items"`
	OneOf       []*schemaNode          `json:"oneOf"`
	Additional  json.RawMessage        `json:"additionalProperties"`
}

// properties keeps the order of the format, which encoding/json's maps lose.
type properties []property

type property struct {
	name   string
	schema *schemaNode
}

func (p properties) get(name string) (*schemaNode, bool) {
	for _, property := range p {
		if property.name == name {
			return property.schema, true
		}
	}
	return nil, false
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *properties) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		node := &schemaNode{}
		if err := decoder.Decode(node); err != nil {
			return err
		}
		*p = append(*p, property{fmt.Sprint(name), node})
	}
	return nil
}

func (root *schemaNode) follow(n *schemaNode) *schemaNode {
	if name, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok {
		return root.Defs[name]
	}
	return n
}

// objectIn is the object that a node is, is a list of, or may be; nil for none.
func (root *schemaNode) objectIn(n *schemaNode) *schemaNode {
	n = root.follow(n)
	if n.Items != nil {
		return root.objectIn(n.Items)
	}
	for _, choice := range n.OneOf {
		if object := root.objectIn(choice); object != nil {
			return object
		}
	}
	if len(n.Properties) > 0 {
		return n
	}
	return nil
}

var defaultSentence = regexp.MustCompile(`Default is (.+?)\.(?: |$)`)

// describe is a node without its fields. A field's description counts before its
// type's.
func (root *schemaNode) describe(n *schemaNode, path string) Doc {
	description := cmp.Or(n.Description, root.follow(n).Description)
	doc := Doc{Path: path, Type: root.typeOf(n), Description: description, Enum: root.enumOf(n)}
	if found := defaultSentence.FindStringSubmatch(description); found != nil {
		doc.Default = found[1]
	}
	return doc
}

func (root *schemaNode) typeOf(n *schemaNode) string {
	n = root.follow(n)
	switch {
	case len(n.OneOf) > 0:
		var types []string
		for _, choice := range n.OneOf {
			types = append(types, root.typeOf(choice))
		}
		return strings.Join(types, " or ")
	case n.Items != nil:
		return "[]" + root.typeOf(n.Items)
	case n.Type == "object" && len(n.Properties) == 0:
		value := &schemaNode{}
		if json.Unmarshal(n.Additional, value) == nil && value.Type != "" {
			return "map[string]" + value.Type
		}
		return "object"
	case n.Type == "":
		return "string" // a constant
	default:
		return n.Type
	}
}

func (root *schemaNode) enumOf(n *schemaNode) []string {
	n = root.follow(n)
	switch {
	case n.Const != "":
		return []string{n.Const}
	case n.Items != nil:
		return root.enumOf(n.Items)
	case len(n.OneOf) > 0:
		return root.enumOf(n.OneOf[0])
	default:
		return n.Enum
	}
}
