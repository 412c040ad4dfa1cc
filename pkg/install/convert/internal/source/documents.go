package source

import (
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Document carries a structured text over in its own words.
func (r *Account) Document(field string, n *Node) *spec.Document {
	if n = r.MapOf(n); n == nil || len(n.Children) == 0 {
		return nil
	}
	inline, _ := n.Plain().(map[string]any)
	document := &spec.Document{Inline: inline}
	r.Written[document] = n
	r.From(field, n)
	n.Take()
	return document
}

// SameDocument says whether n says what d does.
func (r *Account) SameDocument(d *spec.Document, n *Node) bool {
	return d.Inline != nil && EqualJSON(d.Inline, n.Plain())
}

// TextOf is a document as it stands in a file of its own; "" for one that does
// already.
func (r *Account) TextOf(d *spec.Document) string {
	if d.Inline == nil {
		return ""
	}
	e := &emitter{written: r.Written}
	e.document(d, -2)
	return strings.TrimPrefix(e.out.String(), "\n")
}
