package printer

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	wholejson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"
)

// printTemplate takes the names of the JSON form. As with kubectl, an absent value is empty;
// a name that the data's type does not have is an error, and nothing is written then.
func (f Format) printTemplate(w io.Writer, data any) error {
	encoded, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode output: %w", err)
	}
	text, err := f.search(encoded, data)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func (f Format) search(encoded []byte, data any) ([]byte, error) {
	found, err := f.execute(encoded, nil, false)
	if err == nil {
		return found, nil
	}
	if found, err = f.execute(encoded, nil, true); err == nil {
		// Is it only not there now, or never?
		_, err = f.execute(encoded, reflect.TypeOf(data), false)
	}
	if err != nil {
		return nil, &TemplateError{Template: f.text, Err: err}
	}
	return found, nil
}

// execute completes the data to what t has, if given. Executing a template changes it.
func (f Format) execute(encoded []byte, t reflect.Type, allowMissing bool) ([]byte, error) {
	var generic any
	// This decoder keeps whole numbers whole: others make 1.7e+10 of 16 GiB.
	if err := wholejson.Unmarshal(encoded, &generic); err != nil {
		return nil, err
	}
	if t != nil {
		generic = complete(generic, t)
	}
	template := jsonpath.New("output").AllowMissingKeys(allowMissing)
	if err := template.Parse(f.template); err != nil {
		return nil, err
	}
	var found bytes.Buffer
	err := template.Execute(&found, generic)
	return found.Bytes(), err
}

// complete adds all that the type of a value has and that its JSON form leaves out as empty.
// An empty list gets an element. within are the made-up types around one: recursion ends.
func complete(value any, t reflect.Type, within ...reflect.Type) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch kind := t.Kind(); {
	case formsItself(t) && value == nil, value == nil && kind == reflect.String:
		return ""
	case formsItself(t):
	case kind == reflect.Struct:
		return completeObject(value, t, within)
	case kind == reflect.Slice || kind == reflect.Array:
		list, _ := value.([]any)
		if len(list) == 0 {
			list = []any{nil}
		}
		for i := range list {
			list[i] = complete(list[i], t.Elem(), within...)
		}
		return list
	case value == nil && kind == reflect.Bool:
		return false
	case value == nil && reflect.Zero(t).CanConvert(reflect.TypeFor[float64]()):
		return int64(0)
	}
	return value
}

func completeObject(value any, t reflect.Type, within []reflect.Type) any {
	object, _ := value.(map[string]any)
	if object == nil {
		object = map[string]any{}
		for _, outer := range within {
			if outer == t {
				return object
			}
		}
		within = append(within[:len(within):len(within)], t)
	}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = field.Name
		}
		if name != "-" && field.IsExported() && !field.Anonymous {
			object[name] = complete(object[name], field.Type, within...)
		}
	}
	return object
}

func formsItself(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return pointer.Implements(reflect.TypeFor[json.Marshaler]()) || pointer.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// TemplateError is a jsonpath template that does not fit what was found.
type TemplateError struct {
	Template string // as it was given
	Err      error
}

func (e *TemplateError) Error() string {
	return fmt.Sprintf("apply jsonpath template %s: %v", e.Template, e.Err)
}

func (e *TemplateError) Unwrap() error { return e.Err }
