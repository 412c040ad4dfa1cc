package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/yamltree"
)

// Problem is one thing that is wrong with a document.
type Problem struct {
	// File that the problem stands in; "-" is standard input.
	File string
	// Line and Column, counted from 1; 0 where the problem has no place in the
	// file, because the cluster was made in Go.
	Line, Column int
	// Field is the path of the field, such as spec.hosts[2].disk.hints.
	Field string
	// Message says what is wrong.
	Message string
	// Remedy says what to do about it; empty where the message says it.
	Remedy string
}

// String is the problem in one line: cluster.yaml:12:7: spec.network.machine[0]: text; remedy.
func (p Problem) String() string {
	var text strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&text, "%s:%d:%d: ", p.File, p.Line, p.Column)
	} else if p.File != "" {
		fmt.Fprintf(&text, "%s: ", p.File)
	}
	if p.Field != "" {
		text.WriteString(p.Field + ": ")
	}
	text.WriteString(p.Message)
	if p.Remedy != "" {
		text.WriteString("; " + p.Remedy)
	}
	return text.String()
}

// Problems is everything that is wrong with a document, in the order in which
// it stands there. It is the error of Load for every document that can be read
// at all and is not right.
type Problems struct {
	List []Problem
}

// Error is the problems, one a line.
func (p *Problems) Error() string {
	lines := make([]string, len(p.List))
	for i, problem := range p.List {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// sorted is the problems in the order of their places, each of them once, or
// nil if there are none.
func (p *Problems) sorted() error {
	if len(p.List) == 0 {
		return nil
	}
	slices.SortStableFunc(p.List, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	seen := map[Problem]bool{}
	p.List = slices.DeleteFunc(p.List, func(problem Problem) bool {
		again := seen[problem]
		seen[problem] = true
		return again
	})
	return p
}

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
