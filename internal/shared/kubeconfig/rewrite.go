package kubeconfig

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	sigsyaml "sigs.k8s.io/yaml"
)

// entry is an item of one of the lists of a kubeconfig. whole says that nothing of what it
// was is to stay.
type entry struct {
	list, name string
	whole      bool
}

// errOther is that a kubeconfig is written in a way that nothing can be put into.
var errOther = errors.New("it cannot be changed without changing what else is in it, as where YAML anchors tie entries together")

// rewritten is the text of a kubeconfig that says what is wanted. It differs in the entries
// that were touched and in the current context; all else stays as it was written.
func (c *Config) rewritten(want *api.Config, touched []entry) ([]byte, error) {
	plain, err := clientcmd.Write(*want)
	if err != nil {
		return nil, err
	}
	text, err := document(c.text) // a copy of its own
	if err != nil {
		return nil, err
	}
	now, err := document(plain)
	if err != nil {
		return nil, err
	}
	if text.whole == nil { // there is nothing to keep but comments
		return c.verified(append(withNewline(c.text), plain...), plain)
	}
	if text.root == nil {
		text.whole.Content[0] = now.root
	} else if err := c.overlay(text.root, now.root, touched); err != nil {
		return nil, err
	}
	out, err := encoded(text.whole)
	if err != nil {
		return nil, err
	}
	if text.root != nil && !reflect.DeepEqual(untouched(c.text, touched), untouched(out, touched)) {
		return nil, errOther
	}
	return c.verified(out, plain)
}

// overlay brings what was touched into root, where now is what kubectl would write.
func (c *Config) overlay(root, now *yaml.Node, touched []entry) error {
	before, err := clientcmd.Write(*c.api)
	if err != nil {
		return err
	}
	old, err := document(before)
	if err != nil {
		return err
	}
	for _, e := range touched {
		overlayEntry(root, old.root, now, e)
	}
	if current := scalarOf(now, "current-context"); current != c.api.CurrentContext {
		setField(root, "current-context", cloned(valueOf(now, "current-context")))
	}
	return nil
}

func withNewline(text []byte) []byte {
	text = bytes.Clone(text)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	return text
}

// verified reads what is to be written: kubectl finds there what it would write itself, and nothing else.
func (c *Config) verified(text, plain []byte) ([]byte, error) {
	back, err := Parse(c.Path, text)
	if err != nil {
		return nil, errOther
	}
	is, err := clientcmd.Write(*back.api)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(is, plain) {
		return nil, errOther
	}
	return text, nil
}

// untouched is all that a text says but for the entries that were touched and the current
// context, nil where it cannot be read.
func untouched(text []byte, touched []entry) map[string]any {
	var tree map[string]any
	if sigsyaml.Unmarshal(text, &tree) != nil {
		return nil
	}
	delete(tree, "current-context")
	for _, list := range []string{clustersList, usersList, contextsList} {
		var left []any
		items, _ := tree[list].([]any)
		for _, item := range items {
			fields, _ := item.(map[string]any)
			named := func(e entry) bool { return e.list == list && fields["name"] == e.name }
			if !slices.ContainsFunc(touched, named) {
				left = append(left, item)
			}
		}
		tree[list] = left
	}
	return tree
}

// overlayEntry brings an entry into root: the fields that differ between old and now, as kubectl
// would write them. Others stay, also those that kubectl does not know.
func overlayEntry(root, old, now *yaml.Node, e entry) {
	shall := itemNamed(now, e.list, e.name)
	items := ownList(root, e.list)
	at := slices.IndexFunc(items.Content, func(item *yaml.Node) bool { return scalarOf(item, "name") == e.name })
	if at < 0 {
		items.Content = append(items.Content, cloned(shall))
		return
	}
	items.Content[at] = own(items.Content[at])
	item, name := items.Content[at], fieldOf(e.list)
	field := indexOf(item, name)
	if e.whole || field < 0 || resolved(item.Content[field]).Kind != yaml.MappingNode {
		setField(item, name, cloned(valueOf(shall, name)))
		return
	}
	item.Content[field] = own(item.Content[field])
	overlayFields(item.Content[field], valueOf(itemNamed(old, e.list, e.name), name), valueOf(shall, name))
}

func overlayFields(mapping, old, now *yaml.Node) {
	for i := 0; i+1 < len(now.Content); i += 2 {
		field := now.Content[i].Value
		if !alike(valueOf(old, field), now.Content[i+1]) {
			setField(mapping, field, cloned(now.Content[i+1]))
		}
	}
	if old == nil {
		return
	}
	for i := 0; i+1 < len(old.Content); i += 2 {
		if field := old.Content[i].Value; valueOf(now, field) == nil {
			dropField(mapping, field)
		}
	}
}

// alike reports whether two nodes that kubectl wrote say the same.
func alike(a, b *yaml.Node) bool {
	return a != nil && b != nil && a.Kind == b.Kind && a.Value == b.Value && slices.EqualFunc(a.Content, b.Content, alike)
}

// ownList is a list of root that can be added to.
func ownList(root *yaml.Node, list string) *yaml.Node {
	at := indexOf(root, list)
	if at < 0 || resolved(root.Content[at]).Kind != yaml.SequenceNode {
		setField(root, list, &yaml.Node{Kind: yaml.SequenceNode})
		at = indexOf(root, list)
	}
	root.Content[at] = own(root.Content[at])
	items := root.Content[at]
	if len(items.Content) == 0 {
		items.Style = 0 // in lines, where it was []
	}
	return items
}

// own is a copy of the node that an alias refers to.
func own(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return cloned(node.Alias)
	}
	return node
}

// encoded writes a tree as kubectl indents.
func encoded(root *yaml.Node) ([]byte, error) {
	spellOut(root, false)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(root); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// spellOut has the writer write what stands there: it gives "<<" a tag, and takes nothing
// between braces for an empty text.
func spellOut(node *yaml.Node, flow bool) {
	if node.Tag == "!!merge" {
		node.Tag = ""
	}
	flow = flow || node.Style&yaml.FlowStyle != 0
	if flow && node.Kind == yaml.ScalarNode && node.Value == "" && node.ShortTag() == "!!null" {
		node.Value = "null"
	}
	for _, child := range node.Content {
		spellOut(child, flow)
	}
}

// The lists of a kubeconfig.
const clustersList, usersList, contextsList = "clusters", "users", "contexts"

// fieldOf is the field that items of a list have beside their name.
func fieldOf(list string) string { return strings.TrimSuffix(list, "s") }

// resolved is the node that an alias refers to.
func resolved(node *yaml.Node) *yaml.Node {
	for node != nil && node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// indexOf is where the value of a mapping's field is among its content, -1 for none. Of
// several of one name the last one counts, as where kubectl reads.
func indexOf(mapping *yaml.Node, field string) int {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return -1
	}
	for i := len(mapping.Content) - 2; i >= 0; i -= 2 {
		if key := mapping.Content[i]; key.Kind == yaml.ScalarNode && key.Value == field {
			return i + 1
		}
	}
	return -1
}

// valueOf is the value of a mapping's field, nil for none.
func valueOf(mapping *yaml.Node, field string) *yaml.Node {
	mapping = resolved(mapping)
	if at := indexOf(mapping, field); at >= 0 {
		return resolved(mapping.Content[at])
	}
	return nil
}

// scalarOf is the text of a mapping's field.
func scalarOf(mapping *yaml.Node, field string) string {
	if value := valueOf(mapping, field); value != nil && value.Kind == yaml.ScalarNode {
		return value.Value
	}
	return ""
}

// itemsOf are the items of a list of a mapping.
func itemsOf(mapping *yaml.Node, list string) []*yaml.Node {
	if value := valueOf(mapping, list); value != nil && value.Kind == yaml.SequenceNode {
		return value.Content
	}
	return nil
}

// itemNamed is the item of a list that has a name, nil for none.
func itemNamed(mapping *yaml.Node, list, name string) *yaml.Node {
	for _, item := range itemsOf(mapping, list) {
		if scalarOf(item, "name") == name {
			return item
		}
	}
	return nil
}

// setField gives a mapping's field a value, and keeps what a person wrote beside it.
func setField(mapping *yaml.Node, field string, value *yaml.Node) {
	if at := indexOf(mapping, field); at >= 0 {
		before := mapping.Content[at]
		value.HeadComment, value.LineComment, value.FootComment = before.HeadComment, before.LineComment, before.FootComment
		mapping.Content[at] = value
		return
	}
	mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: field}, value)
}

// dropField takes a field out of a mapping.
func dropField(mapping *yaml.Node, field string) {
	for at := indexOf(mapping, field); at >= 0; at = indexOf(mapping, field) {
		mapping.Content = append(mapping.Content[:at-1], mapping.Content[at+1:]...)
	}
}

// cloned is a node that shares nothing with its origin but what aliases in it stand for.
func cloned(node *yaml.Node) *yaml.Node {
	out := *node
	out.Anchor, out.Content = "", nil
	for _, child := range node.Content {
		out.Content = append(out.Content, cloned(child))
	}
	return &out
}
