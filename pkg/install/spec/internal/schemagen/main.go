// Command schemagen writes the JSON schemas of cluster.yaml and of documents of kind
// Nodes from the types of package spec and the comments on them. It runs in the folder of
// that package, by go generate.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

const packagePath = "github.com/oaictl/oaictl/pkg/install/spec"

// document is a kind of document.
type document struct {
	kind, title string
	of          any    // its type
	out, docs   string // the files that the package embeds, and that people are pointed to
}

func documents() []document {
	return []document{
		{spec.Kind, "oaictl cluster.yaml", &spec.Cluster{}, "cluster.json", "cluster.schema.json"},
		{spec.KindNodes, "oaictl nodes.yaml", &spec.Nodes{}, "nodes.json", "nodes.schema.json"},
	}
}

func main() {
	docs := flag.String("docs", "", "folder that people are pointed to")
	out := flag.String("out", "", "folder of the package that embeds the schemas")
	flag.Parse()
	if err := write(*docs, *out); err != nil {
		fmt.Fprintln(os.Stderr, "schemagen:", err)
		os.Exit(1)
	}
}

func write(docs, out string) error {
	for _, d := range documents() {
		text, err := d.generate(".")
		if err != nil {
			return err
		}
		for _, file := range []string{filepath.Join(docs, d.docs), filepath.Join(out, d.out)} {
			if err := os.WriteFile(file, text, 0o644); err != nil {
				return fmt.Errorf("writing the schema of kind %s: %w", d.kind, err)
			}
		}
	}
	return nil
}

// generate makes the schema. source is the folder with the package's files.
func (d document) generate(source string) ([]byte, error) {
	id := fmt.Sprintf("https://oaictl.io/schemas/%s.v1alpha1.json", strings.ToLower(d.kind))
	reflector := &jsonschema.Reflector{
		BaseSchemaID:   jsonschema.ID(id),
		FieldNameTag:   "yaml",
		ExpandedStruct: true,
		Mapper:         mapType,
	}
	if err := reflector.AddGoComments(packagePath, source, jsonschema.WithFullComment()); err != nil {
		return nil, fmt.Errorf("reading the comments: %w", err)
	}
	for name, comment := range reflector.CommentMap {
		reflector.CommentMap[name] = strings.Join(strings.Fields(comment), " ")
	}
	schema := reflector.Reflect(d.of)
	schema.ID = jsonschema.ID(id)
	schema.Title = d.title
	d.constrain(schema)
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(schema); err != nil {
		return nil, fmt.Errorf("writing the schema: %w", err)
	}
	return text.Bytes(), nil
}

func mapType(t reflect.Type) *jsonschema.Schema {
	if words, _ := spec.Words(reflect.Zero(t).Interface()); words != nil {
		s := &jsonschema.Schema{Type: "string"}
		for _, value := range words {
			s.Enum = append(s.Enum, value)
		}
		return s
	}
	text := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }
	list := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "array", Items: text()} }
	switch t {
	case reflect.TypeFor[spec.Duration]():
		return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?(h|m|s|ms))+$`, Examples: []any{"60m"}}
	case reflect.TypeFor[spec.StringList](), reflect.TypeFor[spec.RoleSet]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{text(), list()}}
	case reflect.TypeFor[spec.Document]():
		return &jsonschema.Schema{Type: "object"}
	}
	return nil
}

// constrain adds what types cannot say: constants, objects that may be plain text, and
// lists that are not empty. No kind of document has all of the types.
func (d document) constrain(schema *jsonschema.Schema) {
	for name, value := range map[string]string{"apiVersion": spec.APIVersion, "kind": d.kind} {
		if property, ok := schema.Properties.Get(name); ok {
			property.Const = value
		}
	}
	if openshift := schema.Definitions["OpenShift"]; openshift != nil {
		if version, ok := openshift.Properties.Get("version"); ok {
			version.Pattern = `^[0-9]+\.[0-9]{1,2}`
			version.Examples = []any{"4.20"}
		}
	}
	formerKeys(schema)
	one := uint64(1)
	if nodes := schema.Definitions["NodesSpec"]; nodes != nil {
		if hosts, ok := nodes.Properties.Get("hosts"); ok {
			hosts.MinItems = &one
		}
	}
	for _, name := range []string{"Source", "PublicSource"} {
		schema.Definitions[name].MinProperties, schema.Definitions[name].MaxProperties = &one, &one
	}
	short := map[string]*jsonschema.Schema{
		"PublicSource": {Type: "string"}, "Bundle": {Type: "string"}, "ManifestSource": {Type: "string"},
		"Platform": mapType(reflect.TypeFor[spec.PlatformType]()),
	}
	for name, text := range short {
		whole := schema.Definitions[name]
		if whole == nil {
			continue
		}
		schema.Definitions[name] = &jsonschema.Schema{Description: whole.Description, OneOf: []*jsonschema.Schema{text, whole}}
		whole.Description = ""
	}
}

// formerKeys are taken as well, and no longer offered.
func formerKeys(schema *jsonschema.Schema) {
	for _, t := range []reflect.Type{reflect.TypeFor[spec.Proxy](), reflect.TypeFor[spec.DiskEncryption]()} {
		definition := schema.Definitions[t.Name()]
		if definition == nil {
			continue
		}
		for field := range t.Fields() {
			former := field.Tag.Get("former")
			if former == "" {
				continue
			}
			now, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			property, _ := definition.Properties.Get(now)
			old := *property
			old.Description, old.Deprecated = "Former key of "+now+".", true
			definition.Properties.Set(former, &old)
		}
	}
}
