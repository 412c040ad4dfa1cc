// Command schemagen writes the JSON schema of cluster.yaml from the types of
// package spec and the comments on them. It runs in the folder of that package,
// by go generate.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

const (
	packagePath = "github.com/oaictl/oaictl/pkg/install/spec"
	schemaID    = "https://oaictl.io/schemas/cluster.v1alpha1.json"
)

func main() {
	docs := flag.String("docs", "", "file that people are pointed to")
	out := flag.String("out", "", "file that the package embeds")
	flag.Parse()
	if err := write(*docs, *out); err != nil {
		fmt.Fprintln(os.Stderr, "schemagen:", err)
		os.Exit(1)
	}
}

func write(files ...string) error {
	text, err := generate(".")
	if err != nil {
		return err
	}
	for _, file := range files {
		if file == "" {
			continue
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return fmt.Errorf("writing the schema: %w", err)
		}
	}
	return nil
}

// generate makes the schema. source is the folder with the package's files.
func generate(source string) ([]byte, error) {
	reflector := &jsonschema.Reflector{
		BaseSchemaID:   schemaID,
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
	schema := reflector.Reflect(&spec.Cluster{})
	schema.ID = schemaID
	schema.Title = "oaictl cluster.yaml"
	constrain(schema)
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

// constrain adds what types cannot say: constants, and objects that may be plain text.
func constrain(schema *jsonschema.Schema) {
	for name, value := range map[string]string{"apiVersion": spec.APIVersion, "kind": spec.Kind} {
		if property, ok := schema.Properties.Get(name); ok {
			property.Const = value
		}
	}
	if version, ok := schema.Definitions["OpenShift"].Properties.Get("version"); ok {
		version.Pattern = `^[0-9]+\.[0-9]{1,2}`
		version.Examples = []any{"4.20"}
	}
	one := uint64(1)
	for _, name := range []string{"Source", "PublicSource"} {
		schema.Definitions[name].MinProperties, schema.Definitions[name].MaxProperties = &one, &one
	}
	short := map[string]*jsonschema.Schema{
		"PublicSource": {Type: "string"}, "Bundle": {Type: "string"}, "ManifestSource": {Type: "string"},
		"Platform": mapType(reflect.TypeFor[spec.PlatformType]()),
	}
	for name, text := range short {
		whole := schema.Definitions[name]
		schema.Definitions[name] = &jsonschema.Schema{Description: whole.Description, OneOf: []*jsonschema.Schema{text, whole}}
		whole.Description = ""
	}
}
