package spec

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/oaictl/oaictl/internal/yamltree"
)

// JSON is the document as JSON, whether it was written as YAML or as JSON. It
// is empty for no document.
func (d *Document) JSON() (string, error) {
	if d.Text() == "" {
		return "", nil
	}
	object, err := d.object()
	if err != nil {
		return "", err
	}
	return marshal(object)
}

// object is the document as encoding/json would decode it. JSON is YAML too.
func (d *Document) object() (map[string]any, error) {
	root, problems := parseTree([]byte(d.Text()))
	switch {
	case len(problems) > 0:
		return nil, fmt.Errorf("the document cannot be read: line %d %s", problems[0].At.Line, problems[0].Message)
	case root.Kind != yamltree.Map:
		return nil, errors.New("the document is no map")
	case root.TooLarge():
		return nil, errors.New("the document is too large")
	}
	reader := &decoder{places: map[string]yamltree.Place{}}
	return reader.plainMap(root, ""), nil
}

// marshal is compact JSON with its keys sorted, so that equal values make equal
// text.
func marshal(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("writing JSON: %w", err)
	}
	return string(text), nil
}

// merge lays over on base: maps are merged, everything else is replaced.
// Neither is changed.
func merge(base, over map[string]any) map[string]any {
	result := make(map[string]any, len(base)+len(over))
	for key, value := range base {
		result[key] = value
	}
	for key, value := range over {
		below, isMap := result[key].(map[string]any)
		above, overIsMap := value.(map[string]any)
		if isMap && overIsMap {
			result[key] = merge(below, above)
		} else {
			result[key] = value
		}
	}
	return result
}
