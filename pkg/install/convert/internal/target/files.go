// Package target is what the writers of formats share: files, objects of a hub
// made of what can be said, and an account of what cannot.
package target

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/objects"
	"github.com/oaictl/oaictl/pkg/install/render"
)

// File is a file of a format that consists of several.
type File struct {
	// Path is relative to the folder, with slashes.
	Path string
	// Content of the file.
	Content []byte
	// Secret says that the file is for its owner's eyes only.
	Secret bool
}

// Over lays a map on another, deeply; lists are replaced.
func Over(base, top objects.Fields) objects.Fields {
	for key, value := range top {
		below, isMap := base[key].(objects.Fields)
		above, aboveIsMap := value.(objects.Fields)
		if isMap && aboveIsMap {
			base[key] = Over(below, above)
		} else {
			base[key] = value
		}
	}
	return base
}

// yamlText is anything as YAML, with its fields in alphabetical order.
func yamlText(content any) (string, error) {
	text, err := yaml.Marshal(content)
	return string(text), err
}

// ObjectFile writes objects as one file.
func (w *Writer) ObjectFile(path string, secret bool, objects ...*unstructured.Unstructured) {
	var text strings.Builder
	if err := render.WriteYAML(&text, objects); err != nil {
		w.Refuse("", err.Error(), "")
		return
	}
	w.File(path, secret, strings.TrimPrefix(text.String(), "---\n"))
}

// YAMLFile writes anything that is no object as one file.
func (w *Writer) YAMLFile(path string, secret bool, content any) {
	text, err := yamlText(content)
	if err != nil {
		w.Refuse("", fmt.Sprintf("write %s as YAML: %v", path, err), "")
		return
	}
	w.File(path, secret, text)
}
