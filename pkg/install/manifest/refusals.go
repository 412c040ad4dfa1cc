package manifest

import (
	"cmp"
	"slices"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// refusals collects what a format has no place for, each with its place in the
// file.
type refusals struct {
	cluster *spec.Cluster
	list    []spec.Problem
}

// refuse notes that a field cannot be said, and what to do about it.
func (r *refusals) refuse(field, message, remedy string) {
	file, line, col := r.cluster.Position(field)
	r.list = append(r.list, spec.Problem{File: file, Line: line, Column: col, Field: field, Message: message, Remedy: remedy})
}

// refuseHost notes that a field of a host cannot be said.
func (r *refusals) refuseHost(h *spec.Host, name, message, remedy string) {
	r.refuse(r.cluster.HostField(h, name), message, remedy)
}

// err is all of it as a *spec.Problems in the order of the file, or nil.
func (r *refusals) err() error {
	if len(r.list) == 0 {
		return nil
	}
	slices.SortStableFunc(r.list, func(a, b spec.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Field, b.Field))
	})
	return &spec.Problems{List: slices.Compact(r.list)}
}
