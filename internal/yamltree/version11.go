package yamltree

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// isPlain says whether a scalar is written without quotes, and not as a block of text.
func isPlain(from ast.Node) bool {
	switch from.(type) {
	case *ast.NullNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return true
	case *ast.StringNode:
		tk := from.GetToken()
		return tk.Type != token.SingleQuoteType && tk.Type != token.DoubleQuoteType
	}
	return false
}

// plain11 is what a plain scalar means in YAML 1.1. What no JSON has, such as .inf, is
// text.
func plain11(text string) (Kind, any) {
	switch {
	case text == "~" || text == "" || isWord(text, "null"):
		return Null, nil
	case isWord(text, "true", "yes", "on"):
		return Bool, true
	case isWord(text, "false", "no", "off"):
		return Bool, false
	}
	if kind, number := number11(text); number != nil {
		return kind, number
	}
	return Text, text
}

// isWord says whether text is one of some words, in small letters, in capitals, or with
// a capital at its beginning.
func isWord(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return text == word || text == strings.ToUpper(word) || text == strings.ToUpper(word[:1])+word[1:]
	})
}

var floats = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
})

// number11 is a number, nil for what is none. A zero at its beginning makes it octal,
// save where a digit is none of those: 08 is eight.
func number11(text string) (Kind, any) {
	if !strings.ContainsRune("+-.0123456789", rune(text[0])) {
		return Text, nil
	}
	clean := strings.ReplaceAll(text, "_", "")
	for _, base := range []int{0, 10} {
		if whole, err := strconv.ParseInt(clean, base, 64); err == nil {
			return Int, whole
		}
		if whole, err := strconv.ParseUint(clean, base, 64); err == nil {
			return Int, whole
		}
	}
	if floats().MatchString(clean) {
		if number, err := strconv.ParseFloat(clean, 64); err == nil {
			return Float, number
		}
	}
	return Text, nil
}
