// Package texttemplate puts values into templates. It knows the part of text/template's language that the templates of this
// tree use, and has text/template's own parser read it.
//
// text/template itself stays out of the program. It finds methods by names that are known only once it runs, so the
// linker keeps every exported method of every type: that is a quarter of the program. This package calls no methods.
package texttemplate

import (
	"bytes"
	"fmt"
	"strings"
	"text/template/parse"
)

// Values are what a template names: strings, bools, and lists, which are []any, of strings or of further Values.
type Values map[string]any

// Text is a template with the values put in. A name that has no value is an error.
func Text(name, text string, values Values) ([]byte, error) {
	known := map[string]any{}
	for _, function := range []string{"eq", "ne", "not", "quote"} {
		known[function] = function
	}
	trees, err := parse.Parse(name, text, "", "", known)
	if err != nil {
		return nil, err
	}
	f := &filler{tree: trees[name], values: values}
	if err := f.write(f.tree.Root, values); err != nil {
		return nil, err
	}
	return f.out.Bytes(), nil
}

// Quote is a text as a YAML string.
func Quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

type filler struct {
	tree   *parse.Tree
	values Values
	out    bytes.Buffer
}

// write writes what a node comes to, where the dot is a value.
func (f *filler) write(node parse.Node, dot any) error {
	switch node := node.(type) {
	case *parse.ListNode:
		if node == nil { // an else that is not there
			return nil
		}
		for _, part := range node.Nodes {
			if err := f.write(part, dot); err != nil {
				return err
			}
		}
		return nil
	case *parse.TextNode:
		f.out.Write(node.Text)
		return nil
	case *parse.ActionNode:
		value, err := f.value(node.Pipe, dot)
		if err != nil {
			return err
		}
		text, is := value.(string)
		if !is {
			return f.fault(node, "is a %T, not a text", value)
		}
		f.out.WriteString(text)
		return nil
	case *parse.IfNode:
		value, err := f.value(node.Pipe, dot)
		if err != nil {
			return err
		}
		if isEmpty(value) {
			return f.write(node.ElseList, dot)
		}
		return f.write(node.List, dot)
	case *parse.RangeNode:
		value, err := f.value(node.Pipe, dot)
		if err != nil {
			return err
		}
		list, is := value.([]any)
		if !is || node.ElseList != nil {
			return f.fault(node, "is a %T, not a list without an else", value)
		}
		for _, element := range list {
			if err := f.write(node.List, element); err != nil {
				return err
			}
		}
		return nil
	}
	return f.fault(node, "is not known here")
}

// value is what an expression comes to.
func (f *filler) value(node parse.Node, dot any) (any, error) {
	switch node := node.(type) {
	case *parse.PipeNode:
		if len(node.Cmds) != 1 || len(node.Decl) > 0 {
			return nil, f.fault(node, "has another form than one function or one value")
		}
		return f.value(node.Cmds[0], dot)
	case *parse.CommandNode:
		if function, is := node.Args[0].(*parse.IdentifierNode); is {
			return f.call(node, function.Ident, dot)
		}
		if len(node.Args) == 1 {
			return f.value(node.Args[0], dot)
		}
	case *parse.DotNode:
		return dot, nil
	case *parse.StringNode:
		return node.Text, nil
	case *parse.FieldNode:
		values, is := dot.(Values)
		if is && len(node.Ident) == 1 {
			return f.named(node, values, node.Ident[0])
		}
	case *parse.VariableNode:
		if len(node.Ident) == 2 && node.Ident[0] == "$" {
			return f.named(node, f.values, node.Ident[1])
		}
	}
	return nil, f.fault(node, "is not known here")
}

func (f *filler) named(node parse.Node, values Values, name string) (any, error) {
	value, there := values[name]
	if !there {
		return nil, f.fault(node, "has no value")
	}
	return value, nil
}

// call is what a function makes of its arguments.
func (f *filler) call(node *parse.CommandNode, function string, dot any) (any, error) {
	var given []any
	for _, argument := range node.Args[1:] {
		value, err := f.value(argument, dot)
		if err != nil {
			return nil, err
		}
		given = append(given, value)
	}
	switch {
	case function == "eq" && len(given) == 2:
		return given[0] == given[1], nil
	case function == "ne" && len(given) == 2:
		return given[0] != given[1], nil
	case function == "not" && len(given) == 1:
		return isEmpty(given[0]), nil
	case function == "quote" && len(given) == 1:
		if text, is := given[0].(string); is {
			return Quote(text), nil
		}
	}
	return nil, f.fault(node, "has other arguments than %s takes", function)
}

func isEmpty(value any) bool {
	list, is := value.([]any)
	return value == nil || value == "" || value == false || is && len(list) == 0
}

// fault says where in a template something is wrong, and what.
func (f *filler) fault(node parse.Node, format string, arguments ...any) error {
	at, text := f.tree.ErrorContext(node)
	return fmt.Errorf("template %s: %s "+format, append([]any{at, text}, arguments...)...)
}
