package convert_test

import (
	"errors"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/oaictl/oaictl/pkg/install/convert"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// odd are values that stand where others are meant.
func odd() []*yaml.Node {
	scalar := func(tag, text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text} }
	list := func(of ...*yaml.Node) *yaml.Node { return &yaml.Node{Kind: yaml.SequenceNode, Content: of} }
	object := func(of ...*yaml.Node) *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Content: of} }
	return []*yaml.Node{
		scalar("!!null", "null"), scalar("!!int", "7"), scalar("!!str", ""), scalar("!!str", "a: [\n\x7f\u2028é, \"x\\"), scalar("!!bool", "true"), scalar("!!float", "-1e300"),
		list(), list(scalar("!!null", "null")), list(object(scalar("!!str", "x"), list())), object(), object(scalar("!!str", "name"), scalar("!!int", "1")),
		scalar("!!str", `{"a": [1, {"b": null}]}`), scalar("!!str", "{"), scalar("!!str", "  two\n lines \n\n"),
	}
}

// TestReadOddValues puts something else into every place of every input: nothing
// panics, what is refused is refused with its place, and what is converted loads.
func TestReadOddValues(t *testing.T) {
	for _, name := range readCases(t) {
		t.Run(name, func(t *testing.T) {
			files := memoryOf(t, name)
			turn := 0
			for file, data := range files {
				if ext := filepath.Ext(file); ext != ".yaml" && ext != ".yml" {
					continue
				}
				docs, _ := leaves(t, data)
				var walk func(n *yaml.Node)
				walk = func(n *yaml.Node) {
					for i, c := range n.Content {
						if n.Kind == yaml.MappingNode && i%2 == 0 {
							continue
						}
						walk(c)
						turn++
						n.Content[i] = odd()[turn%len(odd())]
						one := memory{}
						for other, data := range files {
							one[other] = data
						}
						one[file] = stream(t, docs)
						tryToRead(t, one, name)
						n.Content[i] = c
					}
				}
				for _, doc := range docs {
					walk(doc)
				}
			}
		})
	}
}

func tryToRead(t *testing.T, m memory, name string) {
	t.Helper()
	o := readOptions(name)
	o.Env, o.AcceptUnknownHosts, o.Name = m.env(), true, "c"
	c, err := convert.Read(t.Context(), readPath(t, name), o)
	var problems *spec.Problems
	switch {
	case err == nil:
		if _, err := spec.Parse(t.Context(), "cluster.yaml", c.Document, c.Env("cluster.yaml", spec.Env{})); err != nil {
			t.Errorf("the document does not load:\n%v\n%s", err, c.Document)
		}
	case !errors.As(err, &problems) && !errors.Is(err, convert.ErrIsCluster):
		t.Errorf("got %v", err)
	}
}
