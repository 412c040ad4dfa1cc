package yamltree

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
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
	// Version11 reads plain scalars as YAML 1.1, as most tools of Kubernetes do: yes
	// and on are true, and a number may begin with 0 or have _ in it.
	Version11 bool
}

// Parse reads YAML 1.2 of at most [MaxSize] bytes.
func Parse(data []byte) (docs []*Node, problems []Problem) { return Options{}.Parse(data) }

// Parse reads YAML documents without empty ones. It never panics: the YAML library is
// kept behind a recover.
func (o Options) Parse(data []byte) (docs []*Node, problems []Problem) {
	defer func() {
		if recover() != nil {
			docs, problems = nil, []Problem{{At: Position{1, 1}, Message: "cannot be read as YAML"}}
		}
	}()
	if most := cmp.Or(o.MaxSize, MaxSize); len(data) > most {
		return nil, []Problem{{At: Position{1, 1}, Message: fmt.Sprintf("is larger than %d MiB", most>>20)}}
	}
	text := strings.TrimPrefix(string(data), byteOrderMark)
	if p, found := notText(text); found {
		return nil, []Problem{p}
	}
	tokens := withoutEmpty(lexer.Tokenize(text))
	if bad := tooDeep(tokens); bad != nil {
		return nil, []Problem{{At: positionOf(bad), Message: fmt.Sprintf("is nested more than %d levels deep", maxDepth)}}
	}
	if wide := tooWide(tokens); wide != nil {
		return nil, []Problem{{At: positionOf(wide), Message: fmt.Sprintf("is field %d of one map: a map has %d at most", maxFields+1,
			maxFields)}}
	}
	for _, part := range parts(tokens) {
		file, err := parser.Parse(part, 0, parser.AllowDuplicateMapKey())
		if err != nil {
			return nil, []Problem{syntaxError(text, err)}
		}
		for _, doc := range file.Docs {
			if _, directive := doc.Body.(*ast.DirectiveNode); directive || doc.Body == nil {
				continue
			}
			root, found := o.document(doc.Body)
			docs, problems = append(docs, root), append(problems, found...)
		}
	}
	return docs, problems
}

func (o Options) document(body ast.Node) (*Node, []Problem) {
	b := &builder{version11: o.Version11, anchors: map[string]*Node{}}
	root := b.build(body, 0)
	switch body.(type) {
	case *ast.AliasNode, *ast.TagNode:
		// A password may look like one: what is no document is not repeated.
		if root.Kind == Broken {
			b.problems = []Problem{{At: root.At, Message: "is not a document: it has neither fields nor entries"}}
		}
	}
	if root.size > maxNodes {
		b.report(root.At, "grows too large when its aliases are followed", "")
	}
	return root, b.problems
}

// parts are the tokens document by document, each with its directives. The parser copies all
// tokens that follow a document, so the time for all of them would grow with their square.
func parts(tokens token.Tokens) []token.Tokens {
	var all []token.Tokens
	begun, directive := 0, false
	for i, tk := range tokens {
		switch tk.Type {
		case token.CommentType:
		case token.DirectiveType:
			directive = true
		case token.DocumentHeaderType:
			if i > begun && !directive {
				all, begun = append(all, tokens[begun:i]), i
			}
			directive = false
		case token.DocumentEndType:
			all, begun, directive = append(all, tokens[begun:i+1]), i+1, false
		}
	}
	return append(all, tokens[begun:])
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
// recursion: the parser itself recurses.
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

// tooWide is the first token beyond the most fields of a map that is written without braces: the
// parser goes down a level for each field, and copies all that follow it.
func tooWide(tokens token.Tokens) *token.Token {
	type open struct{ column, fields int }
	var maps []open // that the present line may belong to, the innermost last
	flow, line, begun := 0, 0, 0
	for _, tk := range tokens {
		if tk.Position == nil {
			continue
		}
		if tk.Position.Line != line || begun == 0 {
			line, begun = tk.Position.Line, tk.Position.Column
		}
		for len(maps) > 0 && flow == 0 && maps[len(maps)-1].column > begun {
			maps = maps[:len(maps)-1]
		}
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType:
			begun = 0 // what follows the dash begins there
		case token.DocumentHeaderType, token.DocumentEndType:
			maps = maps[:0]
		case token.MappingKeyType, token.MappingValueType:
			if flow > 0 || tk.Type == token.MappingValueType && tk.Position.Column == begun {
				continue // the colon of a field that has begun with a question mark
			}
			if len(maps) == 0 || maps[len(maps)-1].column < begun {
				maps = append(maps, open{column: begun})
			}
			last := &maps[len(maps)-1]
			if last.fields++; last.fields > maxFields {
				return tk
			}
			if tk.Type == token.MappingKeyType {
				begun = 0
			}
		}
	}
	return nil
}

func positionOf(tk *token.Token) Position {
	if tk == nil || tk.Position == nil {
		return Position{1, 1}
	}
	return Position{max(tk.Position.Line, 1), max(tk.Position.Column, 1)}
}

func syntaxError(text string, err error) Problem {
	var at interface {
		GetMessage() string
		GetToken() *token.Token
	}
	if !errors.As(err, &at) {
		return Problem{At: Position{1, 1}, Message: "cannot be read as YAML"}
	}
	return mistaken{lines: strings.Split(text, "\n"), at: positionOf(at.GetToken()), said: at.GetMessage()}.problem()
}

// quoteScalar writes text so that every YAML reader takes it for text.
func quoteScalar(text string) string {
	plain, unescaped := plainText(text)
	switch {
	case plain && !otherThanText(text):
		return text
	case unescaped:
		return `"` + text + `"`
	}
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	// A string always encodes.
	_ = encoder.Encode(text)
	return strings.TrimSpace(quoted.String())
}

// plainText reports whether text needs no quotes in YAML 1.1 and 1.2, or no escapes in them.
func plainText(text string) (plain, unescaped bool) {
	plain = text != ""
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == '/':
		case c >= '0' && c <= '9', c == '.', c == '-':
			plain = plain && i > 0
		case c < ' ' || c > '~' || c == '"' || c == '\\':
			return false, false
		default:
			plain = false
		}
	}
	return plain, true
}

func otherThanText(word string) bool {
	const longest = len("false")
	if len(word) > longest {
		return false
	}
	switch strings.ToLower(word) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf":
		return true
	}
	return false
}

// Style is how keys and scalars are written.
type Style struct {
	Key func(text string) string
	// Scalar writes a value whose further lines, if it has any, begin at an indent.
	Scalar func(n *Node, indent int) string
	// ListsBelow has a list that is an item of another one begin on a line below its dash.
	ListsBelow bool
}

// YAML is the tree as YAML, with its keys in their order.
func (n *Node) YAML() string {
	return n.Written(Style{Key: quoteScalar, Scalar: func(n *Node, _ int) string { return scalarText(n) }})
}

// Written is the tree as YAML in a style, with its keys in their order.
func (n *Node) Written(style Style) string {
	w := writer{Style: style}
	w.emit(n, 0, false)
	return w.String()
}

type writer struct {
	strings.Builder
	Style
}

// emit writes n at an indent, inline behind "- ", where the first line has none.
func (w *writer) emit(n *Node, indent int, inline bool) {
	pad := strings.Repeat(" ", indent)
	switch {
	case n.Kind == Map && len(n.Entries) > 0:
		for i, e := range n.Entries {
			if i > 0 || !inline {
				w.WriteString(pad)
			}
			w.WriteString(w.Key(e.Key) + ":")
			w.emitValue(e.Value, indent)
		}
	case n.Kind == List && len(n.Items) > 0:
		for i, item := range n.Items {
			if i > 0 || !inline {
				w.WriteString(pad)
			}
			if w.ListsBelow && item.Kind == List && len(item.Items) > 0 {
				w.WriteString("-\n")
				w.emit(item, indent+2, false)
				continue
			}
			w.WriteString("- ")
			w.emit(item, indent+2, true)
		}
	default:
		if !inline {
			w.WriteString(pad)
		}
		w.WriteString(w.Scalar(n, indent) + "\n")
	}
}

func (w *writer) emitValue(n *Node, indent int) {
	switch {
	case n.Kind == Map && len(n.Entries) > 0:
		w.WriteString("\n")
		w.emit(n, indent+2, false)
	case n.Kind == List && len(n.Items) > 0:
		w.WriteString("\n")
		w.emit(n, indent, false)
	default:
		w.WriteString(" " + w.Scalar(n, indent+2) + "\n")
	}
}

func scalarText(n *Node) string {
	switch n.Kind {
	case Map:
		return "{}"
	case List:
		return "[]"
	case Null, Broken:
		return "null"
	case Text:
		return quoteScalar(n.Text)
	}
	switch value := n.Value.(type) {
	case bool:
		return strconv.FormatBool(value)
	case float64:
		return floatText(value)
	default:
		return fmt.Sprint(value)
	}
}

// floatText writes a whole number without a fraction, as encoding/json does.
func floatText(value float64) string {
	switch {
	case math.IsNaN(value):
		return ".nan"
	case math.IsInf(value, 1):
		return ".inf"
	case math.IsInf(value, -1):
		return "-.inf"
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}
