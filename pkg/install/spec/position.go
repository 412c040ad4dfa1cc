package spec

import (
	"strings"

	"github.com/oaictl/oaictl/internal/yamltree"
)

// source is where a cluster came from.
type source struct {
	file   string                    // name for messages; "-" is standard input
	dir    string                    // what relative paths are relative to
	stdin  bool                      // whether the document itself came from standard input
	places map[string]yamltree.Place // of every field that is there

	manifests []Manifest // read
}

// Position is where a field, such as spec.hosts[2].disk.hints, stands in the
// file: a scalar at its value, anything else at its key. A field that is not
// there has the position of the nearest one around it. A cluster that was made
// in Go has no positions: file is empty and line 0.
func (c *Cluster) Position(field string) (file string, line, col int) {
	if c.source == nil || c.source.file == "" {
		return "", 0, 0
	}
	for {
		if at, ok := c.source.places[field]; ok {
			return c.source.file, at.Line, at.Column
		}
		cut := strings.LastIndexAny(field, ".[")
		if cut < 0 {
			return c.source.file, 1, 1
		}
		field = field[:cut]
	}
}

// Present says whether a field is written in the file, be it with an empty
// value. It tells "leave it alone" from "clear it", and what the user wrote
// from what [Cluster.Default] filled in. For a cluster that was made in Go, the
// fields that were not zero when it was resolved count as written.
func (c *Cluster) Present(field string) bool {
	if c.source == nil {
		return false
	}
	_, ok := c.source.places[field]
	return ok
}
