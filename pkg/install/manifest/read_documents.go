package manifest

import (
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// document carries a structured text over in its own words.
func (r *reader) document(field string, n *node) *spec.Document {
	if n = r.mapOf(n); n == nil || len(n.children) == 0 {
		return nil
	}
	inline, _ := n.plain().(map[string]any)
	document := &spec.Document{Inline: inline}
	r.written[document] = n
	r.from(field, n)
	n.take()
	return document
}

// sameDocument says whether n says what d does.
func (r *reader) sameDocument(d *spec.Document, n *node) bool {
	return d.Inline != nil && equalJSON(d.Inline, n.plain())
}

// maxInline is how large a document may grow before the networks of its hosts
// stand in files of their own, in bytes: spec.Load takes 1 MiB.
const maxInline = 640 << 10

// moveDocuments moves what is in other words than cluster.yaml's into files: what
// holds a secret, and the networks of the hosts where there are many.
func (r *reader) moveDocuments() {
	s := &r.cluster.Spec
	r.moveSecret(&s.Discovery.Ignition, "ignition/discovery.yaml")
	size := 0
	for i := range s.Hosts {
		h := r.host(i)
		r.moveSecret(&h.Ignition, "ignition/"+fileName(h.Name)+".yaml")
		size += 400
		if h.Net != nil && h.Net.NMState != nil && h.Net.NMState.Inline != nil {
			r.moveSecret(&h.Net.NMState, networkFile(h))
			size += len(r.textOf(h.Net.NMState)) * 3 / 2
		}
	}
	if size < maxInline {
		return
	}
	for i := range s.Hosts {
		if h := r.host(i); h.Net != nil && h.Net.NMState != nil && h.Net.NMState.Inline != nil {
			r.move(&h.Net.NMState, networkFile(h))
		}
	}
}

func networkFile(h *spec.Host) string { return "nmstate/" + fileName(h.Name) + ".yaml" }

// moveSecret moves a document into a file where it holds a secret, which never
// stands in cluster.yaml itself.
func (r *reader) moveSecret(d **spec.Document, name string) {
	if n := r.written[*d]; n != nil && holdsSecret(n) {
		r.move(d, name)
	}
}

func (r *reader) move(d **spec.Document, name string) {
	*d = &spec.Document{File: r.file(name, []byte(r.textOf(*d)))}
}

// textOf is a document as it stands in a file of its own; "" for one that does
// already.
func (r *reader) textOf(d *spec.Document) string {
	if d.Inline == nil {
		return ""
	}
	e := &emitter{written: r.written}
	e.document(d, -2)
	return strings.TrimPrefix(e.out.String(), "\n")
}
