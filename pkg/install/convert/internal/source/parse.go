package source

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/internal/yamltree"
)

// Limits of what is read. They are far above what a thousand hosts need, and far
// below what would hurt.
const (
	maxInput      = 16 << 20 // bytes of all files together
	maxInputNodes = 500_000
	maxInputDepth = 100
)

// renderFirst is what to do about a template.
const renderFirst = "the file looks like a template: render it first (kustomize build, helm template), and convert what comes of it"

// Parse reads the YAML documents of a file; empty ones are left out. The tools whose
// files these are read YAML 1.1. What is wrong is noted as problems, and nothing comes
// back then.
func (r *Account) Parse(file string, data []byte) []*Document {
	if r.size += len(data); r.size > maxInput {
		r.Problem(file, 1, 1, "", fmt.Sprintf("is more than %d MiB, with what was read before", maxInput>>20), "")
		return nil
	}
	r.Foreign = r.Foreign || isForeign(data)
	trees, problems := yamltree.Options{MaxSize: maxInput, Version11: true}.Parse(data)
	for _, p := range problems {
		message, remedy := p.Message, p.Remedy
		if !strings.HasPrefix(message, "the key ") {
			message = p.Discreet() // a password without quotes may look like an alias or a tag
		}
		if bytes.Contains(data, []byte("{{")) {
			remedy = renderFirst
		}
		r.Problem(file, p.At.Line, p.At.Column, "", message, remedy)
	}
	if len(problems) > 0 {
		return nil
	}
	var docs []*Document
	for _, tree := range trees {
		if tree.Kind != yamltree.Null {
			doc := &Document{File: file}
			doc.Root = nodeOf(tree, doc, nil)
			docs = append(docs, doc)
		}
	}
	return docs
}

// nodeOf copies a tree, for each use of an alias is a node of its own.
func nodeOf(from *yamltree.Node, in *Document, parent *Node) *Node {
	n := &Node{Kind: kindOf(from.Kind), In: in, Parent: parent, Line: from.At.Line, Col: from.At.Column, Text: from.Text}
	for _, e := range from.Entries {
		child := nodeOf(e.Value, in, n)
		child.Key, child.keyLine, child.keyCol = e.Key, e.At.Line, e.At.Column
		n.Children = append(n.Children, child)
	}
	for i, item := range from.Items {
		child := nodeOf(item, in, n)
		child.index = i
		n.Children = append(n.Children, child)
	}
	return n
}

func kindOf(kind yamltree.Kind) nodeKind {
	switch kind {
	case yamltree.Bool:
		return BoolNode
	case yamltree.Int, yamltree.Float:
		return NumberNode
	case yamltree.Text:
		return TextNode
	case yamltree.Map:
		return MapNode
	case yamltree.List:
		return ListNode
	}
	return NullNode
}
