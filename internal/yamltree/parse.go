package yamltree

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const byteOrderMark = "\ufeff"

// Options are how YAML is read.
type Options struct {
	// MaxSize is how many bytes are read at most; 0 is the constant of this name.
	MaxSize int
	// Version11 takes plain scalars for what they are in YAML 1.1, which most tools
	// of Kubernetes read: yes, no, on and off are true and false, a number may begin
	// with 0 or be written with _.
	Version11 bool
}

// Parse reads YAML 1.2 of at most [MaxSize] bytes.
func Parse(data []byte) (docs []*Node, problems []Problem) { return Options{}.Parse(data) }

// Parse reads YAML documents; empty ones are left out. What is wrong with
// them comes back as errors, never as a panic: the YAML library is kept behind
// a recover, for its input may be anything.
func (o Options) Parse(data []byte) (docs []*Node, problems []Problem) {
	defer func() {
		if recover() != nil {
			docs, problems = nil, []Problem{{At: Place{1, 1}, Message: "cannot be read as YAML"}}
		}
	}()
	if most := cmp.Or(o.MaxSize, MaxSize); len(data) > most {
		return nil, []Problem{{At: Place{1, 1}, Message: fmt.Sprintf("is larger than %d MiB", most>>20)}}
	}
	text := strings.TrimPrefix(string(data), byteOrderMark)
	if p, found := notText(text); found {
		return nil, []Problem{p}
	}
	tokens := withoutEmpty(lexer.Tokenize(text))
	if bad := tooDeep(tokens); bad != nil {
		return nil, []Problem{{At: placeOf(bad), Message: fmt.Sprintf("is nested more than %d levels deep", maxDepth)}}
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, []Problem{syntaxError(text, err)}
	}
	for _, doc := range file.Docs {
		if _, directive := doc.Body.(*ast.DirectiveNode); directive || doc.Body == nil {
			continue
		}
		b := &builder{version11: o.Version11, anchors: map[string]*Node{}}
		root := b.build(doc.Body, 0)
		switch doc.Body.(type) {
		case *ast.AliasNode, *ast.TagNode:
			// A password may look like one: what is no document is not repeated.
			if root.Kind == Broken {
				b.problems = []Problem{{At: root.At, Message: "is not a document: it has neither fields nor entries"}}
			}
		}
		if root.size > maxNodes {
			b.report(root.At, "grows too large when its aliases are followed", "")
		}
		docs, problems = append(docs, root), append(problems, b.problems...)
	}
	return docs, problems
}

// withoutEmpty leaves out empty documents: the parser drops all that comes after one.
func withoutEmpty(tokens token.Tokens) token.Tokens {
	var kept token.Tokens
	begun := -1 // where the last document begins in kept, -1 once it has content
	for _, tk := range tokens {
		empty := begun >= 0
		switch tk.Type {
		case token.CommentType:
		case token.DocumentHeaderType, token.DocumentEndType:
			if empty {
				kept = kept[:begun]
			}
			begun = -1
			if tk.Type == token.DocumentHeaderType {
				begun = len(kept)
			} else if empty {
				continue
			}
		default:
			begun = -1
		}
		kept = append(kept, tk)
	}
	return kept
}

// tooDeep is the first token below the deepest allowed level, counted without
// recursion: the parser itself recurses and must not be let near such input.
func tooDeep(tokens token.Tokens) *token.Token {
	flow, line, onLine := 0, 0, 0
	for _, tk := range tokens {
		if tk.Position != nil && tk.Position.Line != line {
			line, onLine = tk.Position.Line, 0
		}
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType, token.TagType, token.AnchorType:
			if flow == 0 {
				onLine++
			}
		}
		if flow > maxDepth || onLine > maxDepth {
			return tk
		}
	}
	return nil
}

func placeOf(tk *token.Token) Place {
	if tk == nil || tk.Position == nil {
		return Place{1, 1}
	}
	return Place{max(tk.Position.Line, 1), max(tk.Position.Column, 1)}
}

func syntaxError(text string, err error) Problem {
	var at interface {
		GetMessage() string
		GetToken() *token.Token
	}
	if !errors.As(err, &at) {
		return Problem{At: Place{1, 1}, Message: "cannot be read as YAML"}
	}
	return mistaken{lines: strings.Split(text, "\n"), at: placeOf(at.GetToken()), said: at.GetMessage()}.problem()
}
