package settings

import (
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Mirrors carries mirrors over. What an entry says besides goes to the
// install-config as it is.
func (r *Reader) Mirrors(n *source.Node, key string) {
	more := false
	for _, item := range r.ListOf(n) {
		if item = r.MapOf(item); item == nil {
			continue
		}
		r.Mirror(item.Get("source"), item.Get("mirrors"), false)
		more = more || !allTaken(item)
	}
	if more {
		r.Override(n, key)
	}
}

func allTaken(n *source.Node) bool {
	for _, c := range n.Children {
		if len(c.Children) == 0 && !c.Taken || !allTaken(c) {
			return false
		}
	}
	return true
}

// Mirror carries one mirrored place over; several entries of one place become
// one.
func (r *Reader) Mirror(source, targets *source.Node, insecure bool) {
	list := &r.Cluster.Spec.Registry.Mirrors
	name, places := r.Text(source), r.Texts(targets)
	i := slices.IndexFunc(*list, func(m spec.Mirror) bool { return m.Source == name })
	if i < 0 {
		i = len(*list)
		*list = append(*list, spec.Mirror{Source: name})
		r.From(fmt.Sprintf("spec.registry.mirrors[%d]", i), source)
		r.From(fmt.Sprintf("spec.registry.mirrors[%d].source", i), source)
		r.From(fmt.Sprintf("spec.registry.mirrors[%d].mirrors", i), targets)
	}
	m := &(*list)[i]
	for _, place := range places {
		if !slices.Contains(m.Mirrors, place) {
			m.Mirrors = append(m.Mirrors, place)
		}
	}
	m.Insecure = m.Insecure || insecure
}
