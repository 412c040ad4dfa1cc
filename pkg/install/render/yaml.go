package render

import (
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// WriteYAML writes objects as one YAML stream, in their order, each with its
// fields in alphabetical order: equal objects make equal bytes. Secrets are
// written as they are.
func WriteYAML(w io.Writer, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return fmt.Errorf("write the %s %s as YAML: %w", object.GetKind(), object.GetName(), err)
		}
		if _, err := fmt.Fprintf(w, "---\n%s", text); err != nil {
			return fmt.Errorf("write the %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}
