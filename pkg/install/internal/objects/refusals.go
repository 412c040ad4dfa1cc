package objects

import (
	"cmp"
	"slices"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Refusals collects what a format has no place for, each with its place in the
// file.
type Refusals struct {
	Cluster *spec.Cluster
	List    []spec.Problem
}

// Refuse notes that a field cannot be said, and what to do about it.
func (r *Refusals) Refuse(field, message, remedy string) {
	file, line, col := r.Cluster.Position(field)
	r.List = append(r.List, spec.Problem{File: file, Line: line, Column: col, Field: field, Message: message, Remedy: remedy})
}

// RefuseHost notes that a field of a host cannot be said.
func (r *Refusals) RefuseHost(h *spec.Host, name, message, remedy string) {
	r.Refuse(r.Cluster.HostField(h, name), message, remedy)
}

// Err is all of it as a *spec.Problems in the order of the file, or nil.
func (r *Refusals) Err() error {
	if len(r.List) == 0 {
		return nil
	}
	slices.SortStableFunc(r.List, func(a, b spec.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Field, b.Field))
	})
	return &spec.Problems{List: slices.Compact(r.List)}
}
