package hub

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// query is a filter of the language jq: what it makes of a value. It is the part
// of jq that questions about an inventory are asked in: paths, comparisons,
// arithmetic, "and", "or", alternatives, lists, and the functions that functions
// knows.
type query func(any) ([]any, error)

// parser reads a query.
type parser struct {
	tokens []string
	at     int
	depth  int
}

// deepest is how deeply a query may be nested.
const deepest = 200

// parseQuery reads a query.
func parseQuery(text string) (query, error) {
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	q, err := p.pipe()
	if err != nil {
		return nil, err
	}
	if p.at < len(p.tokens) {
		return nil, fmt.Errorf("unexpected token %q", p.tokens[p.at])
	}
	return q, nil
}

// scan cuts a query into tokens. A text keeps its quotation marks.
func scan(text string) ([]string, error) {
	var tokens []string
	for text != "" {
		switch c := rune(text[0]); {
		case unicode.IsSpace(c):
			text = text[1:]
			continue
		case c == '"':
			end := 1
			for end < len(text) && text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(text) {
				return nil, fmt.Errorf("unterminated string literal")
			}
			tokens, text = append(tokens, text[:end+1]), text[end+1:]
			continue
		}
		n := tokenLength(text)
		if n == 0 {
			return nil, fmt.Errorf("unexpected character %q", text[0])
		}
		tokens, text = append(tokens, text[:n]), text[n:]
	}
	return tokens, nil
}

// tokenLength is how long the token is that a text begins with; 0 if it is none.
func tokenLength(text string) int {
	for _, mark := range []string{"==", "!=", "<=", ">=", "//"} {
		if strings.HasPrefix(text, mark) {
			return len(mark)
		}
	}
	if strings.ContainsRune("|,()[]<>+-*/%;?.", rune(text[0])) {
		return 1
	}
	word := func(c byte, number bool) bool {
		return c == '_' || c >= '0' && c <= '9' || !number && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') || number && c == '.'
	}
	number := text[0] >= '0' && text[0] <= '9'
	n := 0
	for n < len(text) && word(text[n], number) {
		n++
	}
	return n
}

func (p *parser) peek() string {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return ""
}

// accept takes the next token if it is one of those.
func (p *parser) accept(tokens ...string) (string, bool) {
	if next := p.peek(); next != "" && slices.Contains(tokens, next) {
		p.at++
		return next, true
	}
	return "", false
}

func (p *parser) expect(token string) error {
	if _, ok := p.accept(token); !ok {
		return fmt.Errorf("expected %q, not %q", token, p.peek())
	}
	return nil
}

// levels are the operators from those that bind least to those that bind most.
func levels() [][]string {
	return [][]string{{"|"}, {","}, {"//"}, {"or"}, {"and"}, {"==", "!=", "<", "<=", ">", ">="}, {"+", "-"}, {"*", "/", "%"}}
}

func (p *parser) pipe() (query, error) {
	if p.depth++; p.depth > deepest {
		return nil, fmt.Errorf("the query is nested too deeply")
	}
	defer func() { p.depth-- }()
	return p.level(0)
}

func (p *parser) level(n int) (query, error) {
	if n == len(levels()) {
		return p.postfix()
	}
	left, err := p.level(n + 1)
	for err == nil {
		operator, more := p.accept(levels()[n]...)
		if !more {
			return left, nil
		}
		var right query
		if right, err = p.level(n + 1); err == nil {
			left = operation(operator, left, right)
		}
	}
	return nil, err
}

// postfix reads a term and the path that follows it.
func (p *parser) postfix() (query, error) {
	q, err := p.term()
	for err == nil {
		switch {
		case p.peek() == "." && p.at+1 < len(p.tokens) && isName(p.tokens[p.at+1]):
			p.at += 2
			q = then(q, keyed(unquoted(p.tokens[p.at-1])))
		case p.peek() == "[":
			q, err = p.index(q)
		case p.peek() == "?":
			p.at++
			q = forgiving(q)
		default:
			return q, nil
		}
	}
	return nil, err
}

// index reads what stands in brackets behind a term.
func (p *parser) index(of query) (query, error) {
	p.at++
	if _, all := p.accept("]"); all {
		return then(of, each), nil
	}
	at, err := p.pipe()
	if err != nil {
		return nil, err
	}
	return indexed(of, at), p.expect("]")
}

func isName(token string) bool {
	return token != "" && (token[0] == '"' || token[0] == '_' || unicode.IsLetter(rune(token[0])))
}

func unquoted(token string) string {
	var text string
	if json.Unmarshal([]byte(token), &text) == nil {
		return text
	}
	return token
}

func (p *parser) term() (query, error) {
	token := p.peek()
	p.at++
	switch {
	case token == "":
		return nil, fmt.Errorf("unexpected end of the query")
	case token == ".":
		if isName(p.peek()) {
			p.at++
			return keyed(unquoted(p.tokens[p.at-1])), nil
		}
		return identity, nil
	case token == "(":
		q, err := p.pipe()
		if err != nil {
			return nil, err
		}
		return q, p.expect(")")
	case token == "[":
		if _, empty := p.accept("]"); empty {
			return constant([]any{}), nil
		}
		q, err := p.pipe()
		if err != nil {
			return nil, err
		}
		return collect(q), p.expect("]")
	case token == "-":
		q, err := p.postfix()
		return operation("-", constant(0.0), q), err
	case token[0] >= '0' && token[0] <= '9':
		number, err := strconv.ParseFloat(token, 64)
		return constant(number), err
	case token[0] == '"':
		var text string
		if err := json.Unmarshal([]byte(token), &text); err != nil {
			return nil, fmt.Errorf("invalid string literal %s", token)
		}
		return constant(text), nil
	case isName(token):
		return p.named(token)
	}
	return nil, fmt.Errorf("unexpected token %q", token)
}

// named reads a word: a constant, or a function with its arguments.
func (p *parser) named(word string) (query, error) {
	switch word {
	case "true", "false":
		return constant(word == "true"), nil
	case "null":
		return constant(nil), nil
	}
	var args []query
	if _, open := p.accept("("); open {
		for {
			arg, err := p.pipe()
			if err != nil {
				return nil, err
			}
			args = append(args, arg)
			if _, more := p.accept(";"); !more {
				break
			}
		}
		if err := p.expect(")"); err != nil {
			return nil, err
		}
	}
	return function(word, args)
}
