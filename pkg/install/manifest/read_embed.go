package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// embed reads the text of n, JSON or YAML, as if it stood in the file as a tree:
// what is in it is carried over or told key by key.
func (r *reader) embed(n *node) *node {
	if n == nil || n.kind == mapNode || n.kind == listNode {
		return n
	}
	r.size += len(n.text)
	root := embedded(n)
	if root == nil || root.kind != mapNode && root.kind != listNode {
		n.taken = true
		r.wrong(n, "has to be JSON in a text, but is not", "")
		return nil
	}
	root.walk(func(c *node) { c.in, c.line, c.col, c.keyLine, c.keyCol = n.in, n.line, n.col, n.line, n.col })
	n.kind, n.children, n.text = root.kind, root.children, ""
	for _, c := range n.children {
		c.parent = n
	}
	return n
}

// embedded is the tree of a text; nil for one that is none. YAML has most of JSON,
// but not its escapes \/ and \ud83d\ude00.
func embedded(n *node) *node {
	if len(n.text) > maxInput {
		return nil
	}
	if json.Valid([]byte(n.text)) {
		root, err := jsonTree([]byte(n.text))
		if err != nil {
			return nil
		}
		return root
	}
	inner := &reader{}
	docs := inner.parse(n.in.file, []byte(n.text))
	if len(inner.problems) > 0 || len(docs) != 1 {
		return nil
	}
	return docs[0].root
}

// jsonTree is a JSON text as a tree, with its keys in their order.
func jsonTree(data []byte) (*node, error) {
	j := &jsonReader{Decoder: json.NewDecoder(bytes.NewReader(data))}
	j.UseNumber()
	return j.value(nil, 0)
}

type jsonReader struct {
	*json.Decoder
	nodes int
}

func (j *jsonReader) value(parent *node, depth int) (*node, error) {
	if j.nodes++; j.nodes > maxInputNodes || depth > maxInputDepth {
		return nil, errors.New("is too large, or nested too deep")
	}
	token, err := j.Token()
	if err != nil {
		return nil, err
	}
	n := &node{parent: parent}
	switch token := token.(type) {
	case json.Delim:
		n.kind = listNode
		if token == '{' {
			n.kind = mapNode
		}
		return n, j.fill(n, depth)
	case bool:
		n.kind, n.text = boolNode, fmt.Sprint(token)
	case json.Number:
		n.kind, n.text = numberNode, token.String()
		if _, is := numberOf(n.text).(string); is {
			n.kind = textNode // too large to be a number
		}
	case string:
		n.kind, n.text = textNode, token
	}
	return n, nil
}

// fill reads the entries of a map or a list, and its end.
func (j *jsonReader) fill(n *node, depth int) error {
	seen := map[string]bool{}
	for j.More() {
		key := ""
		if n.kind == mapNode {
			token, err := j.Token()
			if err != nil {
				return err
			}
			if key, _ = token.(string); seen[key] {
				return fmt.Errorf("the key %q stands there twice", key)
			}
			seen[key] = true
		}
		child, err := j.value(n, depth+1)
		if err != nil {
			return err
		}
		child.key, child.index = key, len(n.children)
		n.children = append(n.children, child)
	}
	_, err := j.Token()
	return err
}
