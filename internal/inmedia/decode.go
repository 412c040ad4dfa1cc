package inmedia

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
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
	body  ast.Node
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

func blank(lines [][]byte) bool {
	return !slices.ContainsFunc(lines, func(line []byte) bool { return len(bytes.TrimSpace(line)) > 0 })
}

// parse finds out where things stand. The YAML library is kept behind a recover,
// for its input may be anything.
func (d *document) parse() (err error) {
	defer func() {
		if recover() != nil {
			d.body, err = nil, errors.New("it cannot be read as YAML")
		}
	}()
	file, err := parser.ParseBytes(d.text, 0)
	if err != nil {
		var at interface {
			GetMessage() string
			GetToken() *token.Token
		}
		if errors.As(err, &at) && at.GetToken() != nil {
			return fmt.Errorf("%sit is not valid YAML: %s", d.placeOf(at.GetToken()), at.GetMessage())
		}
		return errors.New("it is not valid YAML") // the library's own text would quote the file
	}
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType || doc.Body.Type() == ast.CommentType {
			continue
		}
		if d.body != nil { // only the first would be read
			return fmt.Errorf("%sanother document begins here: write --- before it, on a line of its own", d.placeOf(doc.Body.GetToken()))
		}
		d.body = doc.Body
	}
	return nil
}

// placeOf is "line 3, column 5: ", by the lines of the file.
func (d *document) placeOf(t *token.Token) string {
	if t == nil || t.Position == nil {
		return ""
	}
	return fmt.Sprintf("line %d, column %d: ", d.lines+t.Position.Line, t.Position.Column)
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
	at := d.body
	found := at.GetToken()
	for _, step := range strings.FieldsFunc(strings.ReplaceAll(field, "[", ".["), func(r rune) bool { return r == '.' }) {
		index, err := strconv.Atoi(strings.Trim(step, "[]"))
		if strings.HasPrefix(step, "[") && err == nil {
			list, ok := at.(*ast.SequenceNode)
			if !ok || index >= len(list.Values) {
				break
			}
			at = list.Values[index]
			found = at.GetToken()
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
func entry(node ast.Node, name string) (*token.Token, ast.Node) {
	var values []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	}
	for _, v := range values {
		if key := v.Key.GetToken(); key != nil && key.Value == name {
			return key, v.Value
		}
	}
	return nil, nil
}
