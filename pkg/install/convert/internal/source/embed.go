package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Embed reads the text of n, JSON or YAML, as if it stood in the file as a tree:
// what is in it is carried over or told key by key.
func (r *Account) Embed(n *Node) *Node {
	if n == nil || n.Kind == MapNode || n.Kind == ListNode {
		return n
	}
	r.size += len(n.Text)
	root := embedded(n)
	if root == nil || root.Kind != MapNode && root.Kind != ListNode {
		n.Taken = true
		r.Wrong(n, "has to be JSON in a text, but is not", "")
		return nil
	}
	root.walk(func(c *Node) { c.In, c.Line, c.Col, c.keyLine, c.keyCol = n.In, n.Line, n.Col, n.Line, n.Col })
	n.Kind, n.Children, n.Text = root.Kind, root.Children, ""
	for _, c := range n.Children {
		c.Parent = n
	}
	return n
}

// embedded is the tree of a text; nil for one that is none. YAML has most of JSON,
// but not its escapes \/ and \ud83d\ude00.
func embedded(n *Node) *Node {
	if len(n.Text) > maxInput {
		return nil
	}
	if json.Valid([]byte(n.Text)) {
		root, err := jsonTree([]byte(n.Text))
		if err != nil {
			return nil
		}
		return root
	}
	inner := &Account{}
	docs := inner.Parse(n.In.File, []byte(n.Text))
	if len(inner.Problems) > 0 || len(docs) != 1 {
		return nil
	}
	return docs[0].Root
}

// jsonTree is a JSON text as a tree, with its keys in their order.
func jsonTree(data []byte) (*Node, error) {
	j := &jsonReader{Decoder: json.NewDecoder(bytes.NewReader(data))}
	j.UseNumber()
	return j.value(nil, 0)
}

type jsonReader struct {
	*json.Decoder
	nodes int
}

func (j *jsonReader) value(parent *Node, depth int) (*Node, error) {
	if j.nodes++; j.nodes > maxInputNodes || depth > maxInputDepth {
		return nil, errors.New("is too large, or nested too deep")
	}
	token, err := j.Token()
	if err != nil {
		return nil, err
	}
	n := &Node{Parent: parent}
	switch token := token.(type) {
	case json.Delim:
		n.Kind = ListNode
		if token == '{' {
			n.Kind = MapNode
		}
		return n, j.fill(n, depth)
	case bool:
		n.Kind, n.Text = BoolNode, fmt.Sprint(token)
	case json.Number:
		n.Kind, n.Text = NumberNode, token.String()
		if _, is := numberOf(n.Text).(string); is {
			n.Kind = TextNode // too large to be a number
		}
	case string:
		n.Kind, n.Text = TextNode, token
	}
	return n, nil
}

// fill reads the entries of a map or a list, and its end.
func (j *jsonReader) fill(n *Node, depth int) error {
	seen := map[string]bool{}
	for j.More() {
		key := ""
		if n.Kind == MapNode {
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
		child.Key, child.index = key, len(n.Children)
		n.Children = append(n.Children, child)
	}
	_, err := j.Token()
	return err
}
