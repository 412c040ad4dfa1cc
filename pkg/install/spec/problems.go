package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
