package spec

import (
	"errors"
	"fmt"

	"github.com/oaictl/oaictl/internal/yamltree"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/decode"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
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
	return values.Marshal(object)
}

// object is the document as encoding/json would decode it. JSON is YAML too.
func (d *Document) object() (map[string]any, error) {
	root, problems := decode.ParseTree([]byte(d.Text()))
	switch {
	case len(problems) > 0:
		return nil, fmt.Errorf("the document cannot be read: line %d %s", problems[0].At.Line, problems[0].Message)
	case root.Kind != yamltree.Map:
		return nil, errors.New("the document is no map")
	case root.TooLarge():
		return nil, errors.New("the document is too large")
	}
	return (&decode.Decoder{Places: map[string]yamltree.Place{}}).PlainMap(root, ""), nil
}
