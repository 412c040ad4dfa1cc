package printer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/escape"
)

func printYAML(w io.Writer, data any) error {
	document, err := encode(data, "")
	if err != nil {
		return err
	}
	document, quoted, err := setAside(document)
	if err != nil {
		return fmt.Errorf("encode output: %w", err)
	}
	text, err := yaml.JSONToYAML(document)
	if err != nil {
		return fmt.Errorf("encode output: %w", err)
	}
	_, err = io.WriteString(w, quoted.Replace(string(text)))
	return err
}

// literals finds the strings of a JSON document.
var literals = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(?:[^"\\]|\\.)*"`) })

// setAside puts a name in the place of each string in which something steers a
// terminal, and returns what puts the string there again, in quotes and with
// escapes: the YAML encoder refuses some of them and writes others as they are.
func setAside(document []byte) ([]byte, *strings.Replacer, error) {
	prefix := "word"
	for bytes.Contains(document, []byte(prefix)) {
		prefix += "-word"
	}
	var back []string
	var failed error
	out := literals().ReplaceAllFunc(document, func(literal []byte) []byte {
		var text string
		if err := json.Unmarshal(literal, &text); err != nil {
			failed = err
		}
		if !escape.Needed(strings.ReplaceAll(text, "\n", "")) {
			return literal
		}
		name := fmt.Sprintf("%s-%d-set-aside", prefix, len(back))
		back = append(back, name, strconv.Quote(text))
		return []byte(strconv.Quote(name))
	})
	return out, strings.NewReplacer(back...), failed
}
