// Package printer writes what a verb found to standard output, in the format
// that -o names. Every verb hands over the same three things: the data, a
// table of it, and the names in it; so a format means the same everywhere.
package printer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/escape"
)

// Formats are the values that -o takes, in the order in which they are shown.
func Formats() []string {
	return []string{"table", "wide", "json", "yaml", "name", "jsonpath=TEMPLATE"}
}

// Format is a parsed value of -o.
type Format struct {
	kind     string
	template string // as the parser takes it
	text     string // the template as it was given
}

// Result is what a verb found.
type Result struct {
	Data any
	// Table draws the data for a person; wide adds its Wide columns.
	Table func() Table
	// Text stands in for a table where a person wants prose.
	Text func() string
	// Names are printed one a line for name.
	Names []string
}

// Parse reads a value of -o. The empty value is table.
func Parse(value string) (Format, error) {
	kind, template, _ := strings.Cut(value, "=")
	switch {
	case value == "":
		return Format{kind: "table"}, nil
	case kind == "jsonpath" && strings.TrimSpace(template) != "":
		return parseTemplate(template)
	case kind == "jsonpath":
		return Format{}, fmt.Errorf("output format jsonpath needs a template: jsonpath={.items[*].name}")
	case slices.Contains([]string{"table", "wide", "json", "yaml", "name"}, value):
		return Format{kind: value}, nil
	default:
		return Format{}, fmt.Errorf("unknown output format %q; one of %s", value, strings.Join(Formats(), ", "))
	}
}

// parseTemplate lets the braces around a single expression be left out, as kubectl does.
func parseTemplate(text string) (Format, error) {
	if !strings.Contains(text, "{") {
		text = "{." + strings.TrimPrefix(strings.TrimPrefix(text, "$"), ".") + "}"
	}
	given := text
	// The parser reads a lone dot as a field without a name.
	text = wholeDocument().ReplaceAllString(text, "{@}")
	if err := jsonpath.New("output").Parse(text); err != nil {
		return Format{}, fmt.Errorf("read jsonpath template %q: %w", given, err)
	}
	return Format{kind: "jsonpath", template: text, text: given}, nil
}

var wholeDocument = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\s*\.\s*\}`) })

// Machine reports whether the output is for a program rather than for a person.
func (f Format) Machine() bool { return f.kind != "table" && f.kind != "wide" }

// Is reports whether the format is the named one.
func (f Format) Is(kind string) bool { return f.kind == kind }

// Print writes the result.
func (f Format) Print(w io.Writer, result Result) error {
	switch f.kind {
	case "json":
		return printJSON(w, result.Data)
	case "yaml":
		return printYAML(w, result.Data)
	case "name":
		return printNames(w, result.Names)
	case "jsonpath":
		return f.printTemplate(w, result.Data)
	}
	if result.Text != nil {
		_, err := io.WriteString(escape.Writer(w), result.Text())
		return err
	}
	return result.Table().write(w, f.kind == "wide")
}

// PrintLine writes one result of several: JSON on a line, headings before the first only.
func (f Format) PrintLine(w io.Writer, result Result, first bool) error {
	switch f.kind {
	case "json":
		line, err := Encode(result.Data, "")
		if err != nil {
			return err
		}
		_, err = w.Write(line)
		return err
	case "yaml":
		if !first {
			if _, err := io.WriteString(w, "---\n"); err != nil {
				return err
			}
		}
		return printYAML(w, result.Data)
	case "jsonpath":
		// A template may end its line itself.
		var line bytes.Buffer
		if err := f.printTemplate(&line, result.Data); err != nil {
			return err
		}
		if !bytes.HasSuffix(line.Bytes(), []byte("\n")) {
			line.WriteByte('\n')
		}
		_, err := w.Write(line.Bytes())
		return err
	case "name":
		return printNames(w, result.Names)
	}
	table := result.Table()
	table.NoHeadings = !first
	return table.write(w, f.kind == "wide")
}

func printJSON(w io.Writer, data any) error {
	text, err := Encode(data, "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// Encode is data as JSON with a line end, and with <, > and & as they are.
func Encode(data any, indent string) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(data); err != nil {
		return nil, fmt.Errorf("encode output: %w", err)
	}
	return escape.JSON(text.Bytes()), nil
}

func printNames(w io.Writer, names []string) error {
	for _, name := range names {
		if _, err := fmt.Fprintln(w, escape.Word(name)); err != nil {
			return err
		}
	}
	return nil
}

func printYAML(w io.Writer, data any) error {
	document, err := Encode(data, "")
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

var literals = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(?:[^"\\]|\\.)*"`) })

// setAside replaces strings that steer a terminal by names, and returns what puts them back
// in quotes: the YAML encoder refuses some of them and writes others as they are.
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
