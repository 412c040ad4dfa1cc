package agentmedia

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/yamltree"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// largestFile is in bytes: the networks of hundreds of hosts take some hundred kB.
const largestFile = 8 << 20

type document struct {
	path string
	body *yamltree.Node
}

func badFile(path string, err error) error {
	return &model.Fault{Code: model.CodeInput, Op: "read", On: path, Permanent: true, Err: err}
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
	return nil, badFile(path, withoutPath(err))
}

// withoutPath is an error of a file without its name.
func withoutPath(err error) error {
	if cause, is := errors.AsType[*fs.PathError](err); is {
		return cause.Err
	}
	return err
}

// readOptional is readFile for a file that may be missing.
func readOptional(path string) ([]byte, error) {
	data, err := readFile(path)
	if missing(err) {
		return nil, nil
	}
	return data, err
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

// invalid is what is wrong with the YAML, without a word of it: it may be a password.
func invalid(p yamltree.Problem) error {
	message := strings.TrimPrefix(p.Discreet(), "is not valid YAML: ")
	if p.Remedy != "" {
		message += "; " + p.Remedy
	}
	return fmt.Errorf("%sit is not valid YAML: %s", positionText(p.At), message)
}

// optional are the documents of a file that may be missing.
func optional(path string) ([]document, error) {
	data, err := readOptional(path)
	if err != nil {
		return nil, err
	}
	return documents(path, data)
}

// positionText is "line 3, column 5: ".
func positionText(at yamltree.Position) string {
	return fmt.Sprintf("line %d, column %d: ", at.Line, at.Column)
}

// into reads the document into a value; unknown fields are named with their places. The
// case of names counts.
func (d document) into(value any) (unknown []string, err error) {
	data, err := json.Marshal(d.body.Plain())
	if err != nil {
		return nil, badFile(d.path, err)
	}
	strict, err := kjson.UnmarshalStrict(data, value)
	if err != nil {
		// The strict reader keeps the field to itself; the value is lost anyway.
		if wrong, is := errors.AsType[*json.UnmarshalTypeError](json.Unmarshal(data, value)); is {
			kind, _, _ := strings.Cut(wrong.Value, " ") // "number 12": values are not shown
			have := cmp.Or(map[string]string{"array": "a list", "object": "a map", "bool": "true or false"}[kind], "a "+kind)
			return nil, badFile(d.path, fmt.Errorf("%s%s is %s where it should be %s",
				d.at(wrong.Field), cmp.Or(wrong.Field, "the document"), have,
				goKind(wrong.Type)))
		}
		return nil, badFile(d.path, errors.New(strings.TrimPrefix(err.Error(), "json: ")))
	}
	for _, e := range strict {
		field := strings.TrimSuffix(strings.TrimPrefix(e.Error(), `unknown field "`), `"`)
		if strings.HasPrefix(e.Error(), "unknown field") {
			unknown = append(unknown, d.at(field)+"unknown field "+field)
		} else {
			unknown = append(unknown, e.Error())
		}
	}
	return unknown, nil
}

// goKind is a Go type in the words for kinds of JSON values.
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
	return d.known(d.into(value))
}

// known is the error for unknown fields, if there is no other.
func (d document) known(unknown []string, err error) error {
	if err == nil && len(unknown) > 0 {
		err = badFile(d.path, errors.New(strings.Join(unknown, "; ")))
	}
	return err
}

// at is where a field such as spec.networking.clusterNetwork[0].cidr stands, or the
// nearest one around it.
func (d document) at(field string) string {
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
	return positionText(found)
}

// secret is a Kubernetes Secret, as far as a pull secret needs it.
type secret struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata,omitzero"`
	Type            string            `json:"type,omitempty"`
	Immutable       *bool             `json:"immutable,omitempty"`
	Data            map[string][]byte `json:"data,omitempty"`
	StringData      map[string]string `json:"stringData,omitempty"`
}

func object[T any](path, kind string) (*T, error) {
	value, unknown, err := looseObject[T](path, kind)
	return value, document{path: path}.known(unknown, err)
}

// looseObject is object for kinds with more fields than oaictl knows: they are handed
// back.
func looseObject[T any](path, kind string) (value *T, unknown []string, err error) {
	data, err := readFile(path)
	if err != nil {
		return nil, nil, err
	}
	docs, err := documents(path, data)
	switch {
	case err != nil:
		return nil, nil, err
	case len(docs) == 0:
		return nil, nil, badFile(path, errors.New("it is empty"))
	case len(docs) > 1:
		return nil, nil, badFile(path, fmt.Errorf("%sit has a second document; one %s is expected", docs[1].at(""), kind))
	}
	value = new(T)
	unknown, err = docs[0].object(kind, value)
	return value, unknown, err
}

func (d document) object(kind string, value any) (unknown []string, err error) {
	var meta metav1.TypeMeta
	if _, err := d.into(&meta); err != nil {
		return nil, err
	}
	want := hubapi.GroupVersionKind(kind)
	switch have := meta.GroupVersionKind(); {
	case meta.Kind == "" || meta.APIVersion == "":
		return nil, badFile(d.path, fmt.Errorf("%sit has no apiVersion and kind; %s is expected", d.at(""), one(kind)))
	case have.Kind != kind || have.Group != want.Group:
		return nil, badFile(d.path, fmt.Errorf("%sit is %s of %s; %s of %s is expected",
			d.at("kind"), one(meta.Kind), meta.APIVersion, one(kind),
			want.GroupVersion()))
	}
	return d.into(value)
}

func one(kind string) string {
	if strings.ContainsAny(kind[:1], "AEIOaeio") || strings.HasPrefix(kind, "NMState") {
		return "an " + kind
	}
	return "a " + kind
}

// readPullSecret reads stringData, which wins as it does for Kubernetes, or data.
func readPullSecret(path string) (spec.Secret, error) {
	s, err := object[secret](path, hubapi.KindSecret)
	if err != nil {
		return spec.Secret{}, err
	}
	text := cmp.Or(s.StringData[hubapi.KeyPullSecret], string(s.Data[hubapi.KeyPullSecret]))
	var content struct {
		Auths map[string]json.RawMessage `json:"auths"`
	}
	switch {
	case strings.TrimSpace(text) == "":
		return spec.Secret{}, badFile(path, fmt.Errorf("neither stringData nor data has the key %s", hubapi.KeyPullSecret))
	case json.Unmarshal([]byte(text), &content) != nil || content.Auths == nil:
		return spec.Secret{}, badFile(path, fmt.Errorf("the value of %s is not JSON with auths", hubapi.KeyPullSecret))
	}
	return spec.NewSecret(text), nil
}
