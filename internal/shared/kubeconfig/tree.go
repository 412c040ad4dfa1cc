package kubeconfig

import (
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

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
