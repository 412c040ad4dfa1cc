// Package kubeconfig reads the kubeconfigs that people have, and puts the access to a cluster into them. Everything
// else stays: other entries, fields that this package does not know, and comments. The package sends no request, and
// its errors have no secret in them.
package kubeconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	yaml "go.yaml.in/yaml/v3"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Largest bounds a kubeconfig, in bytes.
const Largest = 32 << 20

// Config is a kubeconfig as it was read.
type Config struct {
	// Path is where it lies; relative paths in it go from there.
	Path string

	text []byte
	api  *api.Config
}

// Parse reads a kubeconfig as kubectl does. One without any text is an empty one.
func Parse(path string, text []byte) (*Config, error) {
	if len(text) > Largest {
		return nil, fmt.Errorf("it is no kubeconfig: it has more than %d MiB", Largest>>20)
	}
	read, err := document(text)
	if err != nil {
		return nil, err
	}
	if err := onceEach(read.root); err != nil {
		return nil, err
	}
	loaded, err := clientcmd.Load(text)
	if err != nil {
		return nil, errors.New(whyNone(read.root, err))
	}
	return &Config{Path: path, text: text, api: completed(loaded)}, nil
}

// tree is a document of YAML: the node with its comments, and its mapping. Both are nil where
// there are only comments, and the mapping where there is only null.
type tree struct{ whole, root *yaml.Node }

func document(text []byte) (tree, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF):
		return tree{}, nil
	case err != nil:
		return tree{}, errors.New("it is not valid YAML" + lineOf(err))
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return tree{}, errors.New("it has more than one YAML document, and kubectl reads the first alone")
	}
	switch root := first.Content[0]; {
	case root.ShortTag() == "!!null":
		return tree{whole: &first}, nil
	case root.Kind == yaml.MappingNode:
		return tree{&first, root}, nil
	}
	return tree{}, errors.New("it is no kubeconfig: it has no fields")
}

// lineOf is the line that an error of YAML names. The rest of its words may be of the text.
func lineOf(err error) string {
	if found := patterns().line.FindStringSubmatch(err.Error()); found != nil {
		return ": line " + found[1]
	}
	return ""
}

type errorPatterns struct{ line, field, kind *regexp.Regexp }

// patterns pick out of errors what no secret can be in.
var patterns = sync.OnceValue(func() errorPatterns {
	return errorPatterns{
		line:  regexp.MustCompile(`\bline (\d+)\b`),
		field: regexp.MustCompile(`cannot unmarshal ([a-z]+)\b.* into Go struct field \w+\.([\w.-]+) of type`),
		kind:  regexp.MustCompile(`^no kind "([^"]*)" is registered for version "([^"]*)"`),
	}
})

// whyNone says what is wrong with a text that kubectl cannot read either.
func whyNone(root *yaml.Node, err error) string {
	const none = "it is no kubeconfig"
	text := err.Error()
	if found := patterns().field.FindStringSubmatch(text); found != nil {
		return fmt.Sprintf("%s: its %s is wrong: of the kind %s", none, found[2], found[1])
	}
	if found := patterns().kind.FindStringSubmatch(text); found != nil {
		return fmt.Sprintf("%s: it is a %s of %s", none, found[1], found[2])
	}
	switch {
	case strings.Contains(text, "illegal base64"):
		return none + ": one of its certificates or keys is no base64"
	case root == nil || valueOf(root, clustersList) == nil && valueOf(root, contextsList) == nil:
		return none
	}
	return none + ": kubectl cannot read it either"
}

// onceEach refuses two entries of one name: it is not defined which of them counts.
func onceEach(root *yaml.Node) error {
	for _, list := range []string{clustersList, usersList, contextsList} {
		seen := map[string]bool{}
		for _, item := range itemsOf(root, list) {
			name := scalarOf(item, "name")
			if seen[name] {
				return fmt.Errorf("it has two %s named %q", list, name)
			}
			seen[name] = true
		}
	}
	return nil
}

// completed has no map that is nil, and no entry.
func completed(c *api.Config) *api.Config {
	if c.Clusters == nil {
		c.Clusters = map[string]*api.Cluster{}
	}
	if c.AuthInfos == nil {
		c.AuthInfos = map[string]*api.AuthInfo{}
	}
	if c.Contexts == nil {
		c.Contexts = map[string]*api.Context{}
	}
	return c
}

// Current is the name of the current context, "" for none.
func (c *Config) Current() string { return c.api.CurrentContext }
