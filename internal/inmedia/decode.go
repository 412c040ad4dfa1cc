package inmedia

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	tree "go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/pkg/install"
)

// largestFile bounds a file of the medium, in bytes: the networks of hundreds of
// hosts take some hundred kB.
const largestFile = 8 << 20

// document is one YAML document of a file.
type document struct {
	path  string
	lines int // of the file, before it
	text  []byte
	body  *tree.Node
}

// badFile is the error for a file that is not as it should be.
func badFile(path string, err error) error {
	return &install.Fault{Code: install.CodeInput, Op: "read", On: path, Permanent: true, Err: err}
}

// readFile reads a file of the medium.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
	case info.IsDir():
		err = errors.New("it is a folder")
	case info.Size() > largestFile:
		err = fmt.Errorf("it is larger than %d MiB", largestFile>>20)
	default:
		var data []byte
		if data, err = os.ReadFile(path); err == nil {
			return data, nil
		}
	}
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return nil, badFile(path, err)
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// documents takes a YAML file apart; empty documents are left out.
func documents(path string, data []byte) ([]document, error) {
	var docs []document
	add := func(from int, lines [][]byte) error {
		if blank(lines) {
			return nil
		}
		d := document{path: path, lines: from, text: bytes.Join(lines, []byte("\n"))}
		if err := d.parse(); err != nil {
			return badFile(path, err)
		}
		if d.body != nil {
			docs = append(docs, d)
		}
		return nil
	}
	const most = 10_000 // there are no clusters of more hosts
	lines := bytes.Split(data, []byte("\n"))
	from := 0
	for i, line := range lines {
		if line = bytes.TrimRight(line, " \t\r"); string(line) != "---" && !bytes.HasPrefix(line, []byte("--- #")) {
			continue
		}
		if err := add(from, lines[from:i]); err != nil {
			return nil, err
		}
		if len(docs) > most {
			return nil, badFile(path, fmt.Errorf("it has more than %d documents", most))
		}
		from = i + 1
	}
	return docs, add(from, lines[from:])
}

// optional are the documents of a file that may be missing.
func optional(path string) ([]document, error) {
	data, err := readFile(path)
	if missing(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return documents(path, data)
}

// blank says whether lines hold nothing but comments, and directives of the
// document that comes after them.
func blank(lines [][]byte) bool {
	return !slices.ContainsFunc(lines, func(line []byte) bool {
		text := bytes.TrimSpace(line)
		return len(text) > 0 && text[0] != '#' && line[0] != '%'
	})
}

// parse finds out where things stand. The YAML library is kept behind a recover,
// for its input may be anything.
func (d *document) parse() (err error) {
	defer func() {
		if recover() != nil {
			d.body, err = nil, errors.New("it cannot be read as YAML")
		}
	}()
	for decoder := tree.NewDecoder(bytes.NewReader(d.text)); ; {
		var doc tree.Node
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var all any
		if err == nil {
			err = doc.Decode(&all) // with what is wrong beyond its form: keys twice, aliases that explode
		}
		switch {
		case err != nil:
			return d.invalid(err)
		case all == nil:
		case d.body != nil: // only the first would be read
			return fmt.Errorf("%sanother document begins here: write --- before it, on a line of its own", d.placeOf(doc.Content[0]))
		default:
			d.body = doc.Content[0]
		}
	}
}

// where matches the line in a message of the YAML library.
var where = regexp.MustCompile(`^\s*(?:line (\d+): )?`)

// invalid is the library's message with the line of the file, and without what the
// library quotes of it, which may be a password.
func (d *document) invalid(err error) error {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:\n")
	first, _, _ := strings.Cut(text, "\n")
	parts := where.FindStringSubmatch(first)
	place := ""
	if line, err := strconv.Atoi(parts[1]); err == nil {
		place = fmt.Sprintf("line %d: ", d.lines+line)
	}
	message := strings.TrimPrefix(first, parts[0])
	if strings.HasPrefix(message, "mapping key ") {
		message = "a key stands in its map a second time"
	}
	if cut := strings.IndexAny(message, "`'\""); cut > 0 && !strings.Contains(message, "expected '") {
		message = strings.TrimSpace(message[:cut])
	}
	return fmt.Errorf("%sit is not valid YAML: %s", place, message)
}

// placeOf is "line 3, column 5: ", by the lines of the file.
func (d *document) placeOf(n *tree.Node) string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf("line %d, column %d: ", d.lines+n.Line, n.Column)
}

// into reads the document into a value. Fields that it has no place for are
// unknown, each with its place; names of fields count in the case in which they
// are written.
func (d document) into(value any) (unknown []string, err error) {
	data, err := yaml.YAMLToJSONStrict(d.text)
	if err != nil {
		text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "), "yaml: ")
		return nil, badFile(d.path, fmt.Errorf("in the document that begins on line %d: %s", d.lines+1, text))
	}
	strict, err := kjson.UnmarshalStrict(data, value)
	if err != nil {
		// The strict reader keeps the field to itself; the value is lost anyway.
		var wrong *json.UnmarshalTypeError
		if errors.As(json.Unmarshal(data, value), &wrong) {
			return nil, badFile(d.path, fmt.Errorf("%s%s is %s where it should be %s", d.place(wrong.Field), orDocument(wrong.Field), aKind(wrong.Value), goKind(wrong.Type)))
		}
		return nil, badFile(d.path, errors.New(strings.TrimPrefix(err.Error(), "json: ")))
	}
	for _, e := range strict {
		field := strings.TrimSuffix(strings.TrimPrefix(e.Error(), `unknown field "`), `"`)
		if strings.HasPrefix(e.Error(), "unknown field") {
			unknown = append(unknown, d.place(field)+"unknown field "+field)
		} else {
			unknown = append(unknown, e.Error())
		}
	}
	return unknown, nil
}

func orDocument(field string) string {
	if field == "" {
		return "the document"
	}
	return field
}

// aKind is JSON's word for a kind of value, with an article.
func aKind(kind string) string {
	kind, _, _ = strings.Cut(kind, " ") // "number 12": values are not shown
	switch kind {
	case "array":
		return "a list"
	case "object":
		return "a map"
	case "bool":
		return "true or false"
	}
	return "a " + kind
}

// goKind is a Go type in the same words.
func goKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct, reflect.Pointer:
		return "a map"
	}
	return "a whole number"
}

// strict is into for what has to be known to the last field.
func (d document) strict(value any) error {
	unknown, err := d.into(value)
	if err == nil && len(unknown) > 0 {
		err = badFile(d.path, errors.New(strings.Join(unknown, "; ")))
	}
	return err
}

// place is where a field such as spec.networking.clusterNetwork[0].cidr stands,
// or what is left of it in the document.
func (d document) place(field string) string {
	at, found := d.body, d.body
	for _, step := range strings.FieldsFunc(strings.ReplaceAll(field, "[", ".["), func(r rune) bool { return r == '.' }) {
		index, err := strconv.Atoi(strings.Trim(step, "[]"))
		if strings.HasPrefix(step, "[") && err == nil {
			if at.Kind != tree.SequenceNode || index >= len(at.Content) {
				break
			}
			at = at.Content[index]
			found = at
			continue
		}
		key, value := entry(at, step)
		if value == nil {
			break
		}
		at, found = value, key
	}
	return d.placeOf(found)
}

// entry is a key of a map and its value, nil if there is none.
func entry(node *tree.Node, name string) (key, value *tree.Node) {
	if node.Kind != tree.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i], node.Content[i+1]
		}
	}
	return nil, nil
}
