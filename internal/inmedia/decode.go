package inmedia

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/oaictl/oaictl/internal/yamltree"
	"github.com/oaictl/oaictl/pkg/install"
)

// largestFile bounds a file of the medium, in bytes: the networks of hundreds of
// hosts take some hundred kB.
const largestFile = 8 << 20

type document struct {
	path string
	body *yamltree.Node
}

func badFile(path string, err error) error {
	return &install.Fault{Code: install.CodeInput, Op: "read", On: path, Permanent: true, Err: err}
}

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
	const most = 10_000 // there are no clusters of more hosts
	bodies, problems := yamltree.Options{MaxSize: largestFile, Version11: true}.Parse(data)
	if len(problems) > 0 {
		return nil, badFile(path, invalid(problems[0]))
	}
	var docs []document
	for _, body := range bodies {
		if body.Kind != yamltree.Null {
			docs = append(docs, document{path, body})
		}
	}
	if len(docs) > most {
		return nil, badFile(path, fmt.Errorf("it has more than %d documents", most))
	}
	return docs, nil
}

// invalid is what is wrong with the YAML, without a word of the file, which may be a
// password.
func invalid(p yamltree.Problem) error {
	message := strings.TrimPrefix(p.Discreet(), "is not valid YAML: ")
	if p.Remedy != "" {
		message += "; " + p.Remedy
	}
	return fmt.Errorf("%sit is not valid YAML: %s", placeOf(p.At), message)
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

// placeOf is "line 3, column 5: ".
func placeOf(at yamltree.Place) string {
	return fmt.Sprintf("line %d, column %d: ", at.Line, at.Column)
}

// into reads the document into a value. Fields that it has no place for are
// unknown, each with its place; names of fields count in the case in which they
// are written.
func (d document) into(value any) (unknown []string, err error) {
	data, err := json.Marshal(d.body.Plain())
	if err != nil {
		return nil, badFile(d.path, err)
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
	at, found := d.body, d.body.At
	for _, step := range strings.FieldsFunc(strings.ReplaceAll(field, "[", ".["), func(r rune) bool { return r == '.' }) {
		index, err := strconv.Atoi(strings.Trim(step, "[]"))
		if strings.HasPrefix(step, "[") && err == nil {
			if index >= len(at.Items) {
				break
			}
			at = at.Items[index]
			found = at.At
			continue
		}
		i := slices.IndexFunc(at.Entries, func(e yamltree.Entry) bool { return e.Key == step })
		if i < 0 {
			break
		}
		at, found = at.Entries[i].Value, at.Entries[i].At
	}
	return placeOf(found)
}
