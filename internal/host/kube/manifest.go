package kube

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/escape"
)

// Object is an object of any kind, as it is sent.
type Object = unstructured.Unstructured

// ObjectsLimit is how many objects a manifest may have.
const ObjectsLimit = 1000

// ReadObjects reads the objects of YAML or JSON with several documents, at most ObjectsLimit. Lists are taken apart.
func ReadObjects(text []byte) ([]*Object, error) {
	var all []*Object
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		var content map[string]any
		if err := yaml.Unmarshal(document, &content); err != nil {
			return nil, err
		}
		if len(content) == 0 {
			continue
		}
		items, err := objectsOf(content)
		if err != nil {
			return nil, err
		}
		if all = append(all, items...); len(all) > ObjectsLimit {
			return nil, fmt.Errorf("it has more than %d objects", ObjectsLimit)
		}
	}
}

// objectsOf is an object, or the items of a list.
func objectsOf(content map[string]any) ([]*Object, error) {
	whole := &Object{Object: content}
	if !whole.IsList() {
		return []*Object{whole}, complete(whole)
	}
	items, _ := content["items"].([]any)
	var all []*Object
	for _, item := range items {
		fields, is := item.(map[string]any)
		one := &Object{Object: fields}
		if !is || one.IsList() {
			return nil, errors.New("a list has an item that is no object")
		}
		if err := complete(one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// complete returns an error if an object cannot be applied as it is.
func complete(object *Object) error {
	version, _, _ := unstructured.NestedString(object.Object, "apiVersion")
	kind, _, _ := unstructured.NestedString(object.Object, "kind")
	name, _, _ := unstructured.NestedString(object.Object, "metadata", "name")
	if version == "" || kind == "" || name == "" {
		return errors.New(escape.Sprintf("an object has no apiVersion, kind or metadata.name: %q, %q, %q", version, kind, name))
	}
	if strings.Count(version, "/") > 1 || strings.ContainsAny(version+name, " \t\n%?#\\") || strings.Contains(name, "/") {
		return errors.New(escape.Sprintf("an object has a wrong apiVersion or metadata.name: %q, %q", version, name))
	}
	return nil
}
