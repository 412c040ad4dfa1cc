package convert_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/convert"
)

// leaves are the scalars of a YAML stream, by reference.
func leaves(t *testing.T, data []byte) (docs []*yaml.Node, found []*yaml.Node) {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		if decoder.Decode(&doc) != nil {
			break
		}
		docs = append(docs, &doc)
	}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
			found = append(found, n)
		}
		for i, c := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 0 {
				continue
			}
			walk(c)
		}
	}
	for _, doc := range docs {
		walk(doc)
	}
	return docs, found
}

func stream(t *testing.T, docs []*yaml.Node) []byte {
	t.Helper()
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	for _, doc := range docs {
		must.Do(t, encoder.Encode(doc))
	}
	return out.Bytes()
}

// changed is another value of the same kind.
func changed(n *yaml.Node) string {
	switch n.ShortTag() {
	case "!!bool":
		return fmt.Sprint(n.Value != "true")
	case "!!int":
		return n.Value + "1"
	}
	return n.Value + "x"
}

// everything is all that a conversion tells: another input that tells the same
// had something dropped without a word.
func everything(t *testing.T, m memory, name string) string {
	t.Helper()
	o := readOptions(name)
	o.Env = m.env()
	c, err := convert.Read(t.Context(), readPath(t, name), o)
	if err != nil {
		return "error: " + err.Error()
	}
	return report(t, c)
}

// TestReadDropsNothing changes every scalar of every input, one by one: each
// change is seen in the document, in a file beside it, in the report or in an
// error. Texts of secrets in the report all look alike, so these are left out.
func TestReadDropsNothing(t *testing.T) {
	for _, name := range readCases(t) {
		t.Run(name, func(t *testing.T) {
			files := memoryOf(t, name)
			before := everything(t, files, name)
			if strings.HasPrefix(before, "error") {
				t.Fatal(before)
			}
			n := 0
			for file, data := range files {
				if ext := filepath.Ext(file); ext != ".yaml" && ext != ".yml" {
					continue
				}
				docs, found := leaves(t, data)
				for _, leaf := range found {
					was := leaf.Value
					leaf.Value = changed(leaf)
					one := memory{}
					for other, data := range files {
						one[other] = data
					}
					one[file] = stream(t, docs)
					if after := everything(t, one, name); after == before && !strings.Contains(was, "hunter2") && !isRedacted(was) {
						t.Errorf("%s:%d:%d: %q was dropped", file, leaf.Line, leaf.Column, was)
					}
					leaf.Value = was
					n++
				}
			}
			if n < 10 {
				t.Errorf("only %d values were looked at", n)
			}
		})
	}
}

// isRedacted reports whether a value of the inputs is a secret that is reported without being shown.
func isRedacted(value string) bool {
	switch value {
	case "ipmi-pass", "YWRtaW4=", "aHVudGVyMg==":
		return true
	}
	return false
}

// TestReadTellsEveryUnknownKey adds a key to every map of every input: each is
// told, or refused.
func TestReadTellsEveryUnknownKey(t *testing.T) {
	const key = "nobodyKnowsThis"
	for _, name := range readCases(t) {
		t.Run(name, func(t *testing.T) {
			files := memoryOf(t, name)
			before := everything(t, files, name)
			for file, data := range files {
				if ext := filepath.Ext(file); ext != ".yaml" && ext != ".yml" || strings.Contains(file, "/openshift/") || strings.Contains(file, "/manifests/") {
					continue
				}
				docs, _ := leaves(t, data)
				var walk func(n *yaml.Node)
				walk = func(n *yaml.Node) {
					for _, c := range n.Content {
						walk(c)
					}
					if n.Kind != yaml.MappingNode {
						return
					}
					was := n.Content
					n.Content = append(append([]*yaml.Node{}, was...), &yaml.Node{Kind: yaml.ScalarNode, Value: key}, &yaml.Node{Kind: yaml.ScalarNode, Value: "v"})
					one := memory{}
					for other, data := range files {
						one[other] = data
					}
					one[file] = stream(t, docs)
					if after := everything(t, one, name); after == before {
						t.Errorf("%s:%d:%d: another key was dropped", file, n.Line, n.Column)
					}
					n.Content = was
				}
				for _, doc := range docs {
					walk(doc)
				}
			}
		})
	}
}
