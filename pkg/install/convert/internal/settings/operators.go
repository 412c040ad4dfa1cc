package settings

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Operators carries operators over: names, and properties as a map or as JSON in
// a text.
func (r *Reader) Operators(n *source.Node) {
	for _, item := range r.ListOf(n) {
		field := fmt.Sprintf("spec.operators[%d]", len(r.Cluster.Spec.Operators))
		var operator spec.Operator
		if item.Kind == source.TextNode {
			operator.Name = r.Text(item)
			r.From(field, item)
			r.Cluster.Spec.Operators = append(r.Cluster.Spec.Operators, operator)
			continue
		}
		if item = r.MapOf(item); item == nil {
			continue
		}
		r.From(field, item)
		source.SetText(r.Account, field+".name", &operator.Name, item.Get("name"))
		if properties := item.Get("properties"); properties != nil && !(properties.Kind == source.TextNode && properties.Text == "") {
			if properties = r.MapOf(r.Embed(properties)); properties != nil {
				operator.Properties, _ = properties.Plain().(map[string]any)
				r.From(field+".properties", properties)
				properties.Take()
			}
		} else {
			r.Text(properties)
		}
		r.Cluster.Spec.Operators = append(r.Cluster.Spec.Operators, operator)
	}
}

// Ignored carries ids of validations over, which stand in one text with commas.
func (r *Reader) Ignored(field string, to *[]string, n *source.Node) {
	if n == nil {
		return
	}
	list := []string{}
	// The service takes a JSON list too.
	if n.Kind == source.TextNode && strings.HasPrefix(strings.TrimSpace(n.Text), "[") {
		list = r.Texts(r.Embed(n))
	} else {
		for part := range strings.SplitSeq(r.Text(n), ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
	}
	*to = list
	r.From(field, n)
}

// tagWords is what the service takes for a tag. A label may hold more.
var tagWords = regexp.MustCompile(`^\w+( \w+)*$`)

// Tag carries the tag over that a label gives the cluster in the service.
func (r *Reader) Tag(n *source.Node) {
	if n == nil || n.Kind == source.TextNode && !tagWords.MatchString(n.Text) {
		r.Lose(n, "cannot be a tag, which has letters, digits and underscores only")
		return
	}
	r.Cluster.Metadata.Tags = []string{r.Text(n)}
	r.From("metadata.tags[0]", n)
}
