package nmstate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a document.
type Problem struct {
	// Name of the document, as it was given to the reader.
	Name string
	// Line and Column of the problem, counted from 1; 0 where it has no place.
	Line, Column int
	// Field is the path of the field, such as interfaces[1].ipv4.address[0].ip.
	Field string
	// Message says what is wrong, and what to do about it where that is not clear.
	Message string
}

// String is the problem in one line.
func (p Problem) String() string {
	var text strings.Builder
	if p.Name != "" {
		text.WriteString(p.Name + ":")
	}
	if p.Line > 0 {
		fmt.Fprintf(&text, "%d:%d:", p.Line, p.Column)
	}
	if text.Len() > 0 {
		text.WriteByte(' ')
	}
	if p.Field != "" {
		text.WriteString(p.Field + ": ")
	}
	text.WriteString(p.Message)
	return text.String()
}

// Problems is everything that is wrong with a document, in the order in which it
// stands there.
type Problems []Problem

// Error is the problems, one a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// err is the problems in the order of their places, each once, or nil.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	slices.SortStableFunc(p, byPlace)
	return slices.Compact(p)
}

func byPlace(a, b Problem) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}
