package hubobjects

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// Path is the way to a field of an object.
type Path []string

// Row ties a setting to the fields of one kind of object that hold it.
type Row struct {
	Setting model.Setting
	Paths   []Path // the fields that hold it
	// follows are fields that the setting decides together with others: the code that makes the object sets them.
	follows []Path
	write   func(object Fields, v model.Value) error
	read    func(object Fields) (model.Value, bool, error)
	absent  model.Value // the value that an object without any of the fields means; "" for nothing
}

// Table is all settings that one kind of object holds.
type Table []Row

// Write sets the fields of settings in an object. Settings that such objects do not hold
// are left to others.
func (t Table) Write(object Fields, settings model.Settings) error {
	for _, row := range t {
		value, said := settings[row.Setting]
		if !said {
			continue
		}
		if err := row.write(object, value); err != nil {
			return fmt.Errorf("write %s: %w", row.Setting, err)
		}
	}
	return nil
}

// ReadSettings are the settings that an object names. Fields that cannot be read are left out,
// and are the error.
func (t Table) ReadSettings(object Fields) (model.Settings, error) {
	out, unreadable := t.said(object)
	var all []error
	for _, row := range t {
		all = append(all, unreadable[row.Setting])
	}
	return out, errors.Join(all...)
}

func (t Table) said(object Fields) (out model.Settings, unreadable map[model.Setting]error) {
	out, unreadable = model.Settings{}, map[model.Setting]error{}
	for _, row := range t {
		value, said, err := row.read(object)
		if err != nil {
			unreadable[row.Setting] = err
		}
		if said {
			out[row.Setting] = value
		}
	}
	return out, unreadable
}

// Settings are what an object asks for: what it names, and what it means to leave a field out. A value that cannot be
// read is not known, and the service has to report what is wrong with it.
func (t Table) Settings(object Fields) model.Settings {
	out, unreadable := t.said(object)
	for _, row := range t {
		if _, said := out[row.Setting]; !said && unreadable[row.Setting] == nil && row.absent != "" {
			out[row.Setting] = row.absent
		}
	}
	return out
}

// PathsOf are the fields that settings are written to, with those that follow from them.
func (t Table) PathsOf(settings model.Settings) []Path {
	var out []Path
	for _, row := range t {
		if _, said := settings[row.Setting]; said {
			out = append(append(out, row.Paths...), row.follows...)
		}
	}
	return out
}

// Row is the row of a setting.
func (t Table) Row(name model.Setting) (Row, bool) {
	i := slices.IndexFunc(t, func(r Row) bool { return r.Setting == name })
	if i < 0 {
		return Row{}, false
	}
	return t[i], true
}

// Read is a setting as an object has it, in the setting's own type; false where the
// object does not name it.
func Read[T any](t Table, name model.Setting, object Fields) (value T, said bool, err error) {
	row, known := t.Row(name)
	if !known {
		return value, false, fmt.Errorf("no such object holds %s", name)
	}
	read, said, err := row.read(object)
	if said {
		err = errors.Join(err, read.Decode(&value))
	}
	return value, said, err
}

// row makes a row from two functions over the setting's own type T. A read that reports
// false: the object does not say.
func row[T any](name model.Setting, paths []Path, write func(Fields, T) error, read func(Fields) (T, bool, error)) Row {
	return Row{
		Setting: name, Paths: paths,
		write: func(object Fields, v model.Value) error {
			var value T
			if err := v.Decode(&value); err != nil {
				return err
			}
			return write(object, value)
		},
		read: func(object Fields) (model.Value, bool, error) {
			value, said, err := read(object)
			if !said {
				return "", false, err
			}
			return model.ValueOf(value), true, err
		},
	}
}

// form is how a value of type T is written in a field. write returns nil for a value that is expressed by leaving the
// field out.
type form[T any] struct {
	write func(T) any
	read  func(any) (T, error)
}

func field[T any](name model.Setting, f form[T], path ...string) Row {
	return row(name, []Path{path}, func(object Fields, value T) error {
		content := f.write(value)
		if content == nil {
			unstructured.RemoveNestedField(object, path...)
			return nil
		}
		return unstructured.SetNestedField(object, content, path...)
	}, func(object Fields) (T, bool, error) {
		content, found := at(object, path...)
		if !found {
			var none T
			return none, false, nil
		}
		value, err := f.read(content)
		var inside *insideError
		if errors.As(err, &inside) {
			return value, true, fmt.Errorf("%s.%w", strings.Join(path, "."), err)
		}
		if err != nil {
			return value, false, fmt.Errorf("%s %w", strings.Join(path, "."), err)
		}
		return value, true, nil
	})
}

// insideError is about a part of a field; the rest of the field can be read.
type insideError struct{ text string }

func (e *insideError) Error() string { return e.text }

// meaning is the row with the value that an object without any of its fields means.
func (r Row) meaning(absent any) Row {
	r.absent = model.ValueOf(absent)
	return r
}

// with is the row with fields that follow from its setting, and from others.
func (r Row) with(paths ...Path) Row {
	r.follows = paths
	return r
}

// owning is the row with the fields that are taken away with its value.
func (r Row) owning(paths ...Path) Row {
	r.Paths = paths
	return r
}

// orElse is the row with another field to read where its own says nothing.
func (r Row) orElse(other Row) Row {
	first := r.read
	r.read = func(object Fields) (model.Value, bool, error) {
		value, said, err := first(object)
		if said || err != nil {
			return value, said, err
		}
		return other.read(object)
	}
	return r
}

// at is a field of an object. One that is empty says nothing.
func at(object Fields, path ...string) (any, bool) {
	content, found, err := unstructured.NestedFieldNoCopy(object, path...)
	if err != nil || !found {
		return nil, false
	}
	switch typed := content.(type) {
	case nil:
		return nil, false
	case string:
		found = typed != ""
	case []any:
		found = len(typed) > 0
	}
	return content, found
}

func textAt(object Fields, path ...string) string {
	value, _, _ := unstructured.NestedString(object, path...)
	return value
}

func inSpec(steps ...string) Path { return append(Path{"spec"}, steps...) }

func annotation(name string) Path { return Path{"metadata", "annotations", name} }

func label(name string) Path { return Path{"metadata", "labels", name} }

func setAll(object, fields Fields) error {
	for name, content := range fields {
		if err := unstructured.SetNestedField(object, content, inSpec(name)...); err != nil {
			return fmt.Errorf("set spec.%s: %w", name, err)
		}
	}
	return nil
}

// jsonForm is a value that stands in a field as it is in JSON.
func jsonForm[T any]() form[T] {
	return form[T]{
		write: func(v T) any {
			var content any
			_ = json.Unmarshal([]byte(model.ValueOf(v)), &content) // what was encoded can be decoded
			return content
		},
		read: func(content any) (T, error) {
			var value T
			if model.ValueOf(content).Decode(&value) != nil {
				return value, fmt.Errorf("has to be a %T, and is a %T", value, content)
			}
			return value, nil
		},
	}
}

// orAbsent is a form with no field for a value that says nothing.
func orAbsent[T comparable](f form[T]) form[T] {
	write := f.write
	f.write = func(v T) any {
		var none T
		if v == none {
			return nil
		}
		return write(v)
	}
	return f
}

func text[T ~string]() form[T] { return orAbsent(jsonForm[T]()) }

func texts() form[[]string] {
	return form[[]string]{write: func(v []string) any { return AnyList(v) }, read: readTexts}
}

func under(name string) form[[]string] {
	return form[[]string]{
		write: func(v []string) any { return ListOf(name, v) },
		read: func(content any) ([]string, error) {
			return each(content, func(item Fields) string { return textAt(item, name) })
		},
	}
}

// spelling is a word of cluster.yaml, and how an object spells it.
type spelling[T ~string] struct {
	own    T
	theirs string
}

// word is one of several words that objects spell otherwise.
func word[T ~string](words ...spelling[T]) form[T] {
	return form[T]{
		write: func(v T) any {
			if i := slices.IndexFunc(words, func(w spelling[T]) bool { return w.own == v }); i >= 0 {
				return words[i].theirs
			}
			return nil
		},
		read: func(content any) (T, error) {
			var known []string
			for _, w := range words {
				if w.theirs == content {
					return w.own, nil
				}
				known = append(known, w.theirs)
			}
			last := len(known) - 1
			return "", fmt.Errorf("is %q, and not %s or %s", content, strings.Join(known[:last], ", "), known[last])
		},
	}
}

func wordOf[T ~string](f form[T], value T) string {
	spelt, _ := f.write(value).(string)
	return spelt
}

func inJSON[T any](what string) form[T] {
	return form[T]{
		write: func(v T) any { return string(model.ValueOf(v)) },
		read: func(content any) (T, error) {
			var value T
			written, err := as[string](content)
			if err == nil && json.Unmarshal([]byte(written), &value) != nil {
				err = fmt.Errorf("is not %s", what)
			}
			return value, err
		},
	}
}

func as[T any](content any) (T, error) {
	value, is := content.(T)
	if !is {
		return value, fmt.Errorf("has to be a %T, and is a %T", value, content)
	}
	return value, nil
}

func readTexts(content any) ([]string, error) {
	list, err := as[[]any](content)
	out := make([]string, 0, len(list))
	for _, item := range list {
		if value, is := item.(string); is {
			out = append(out, value)
		}
	}
	return out, err
}

func each[T any](content any, read func(Fields) T) ([]T, error) {
	list, err := as[[]any](content)
	out := make([]T, 0, len(list))
	for _, item := range list {
		if object, is := item.(Fields); is {
			out = append(out, read(object))
		}
	}
	return out, err
}
