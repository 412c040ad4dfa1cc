// Package objects reads and writes the JSON of the service's objects: what it
// takes for each setting of a cluster, an InfraEnv or a host, and how it shows it.
// A new setting is a row in settings_cluster.go or, for InfraEnvs and hosts, in
// settings_hosts.go. Nothing is sent here.
package objects

import (
	"fmt"
	"maps"
	"slices"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// body is a request's JSON object. Only what was asked for is in it.
type body = map[string]any

// entry ties a setting to the fields of a request that set it and to those of
// an object W that show it.
type entry[W any] struct {
	key   model.Setting
	names []string // of the fields in a request
	write func(model.Value) (body, error)
	read  func(*W) (model.Value, bool)
	// keeping is what the service does with the setting of such an object now; nil
	// where that is what the drift table has for every service.
	keeping func(*W) model.Keeping
}

// kept is the entry with what the service does with its setting.
func (e entry[W]) kept(keeping func(*W) model.Keeping) entry[W] {
	e.keeping = keeping
	return e
}

// row makes an entry from two functions over the setting's own shape T. A read
// that reports false: the service does not say.
func row[W, T any](key model.Setting, write func(T) body, read func(*W) (T, bool)) entry[W] {
	var zero T
	return entry[W]{
		key: key, names: slices.Sorted(maps.Keys(write(zero))),
		write: func(v model.Value) (body, error) {
			var value T
			if err := v.Decode(&value); err != nil {
				return nil, err
			}
			return write(value), nil
		},
		read: func(w *W) (model.Value, bool) {
			value, said := read(w)
			if !said {
				return "", false
			}
			return model.ValueOf(value), true
		},
	}
}

// Table is everything that can be set on one kind of object.
type Table[W any] []entry[W]

// Fields are what a request has to hold to set the given settings. A setting
// that this kind of object does not have is an error.
func (t Table[W]) Fields(settings model.Settings) (body, error) {
	out := body{}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		i := slices.IndexFunc(t, func(e entry[W]) bool { return e.key == key })
		if i < 0 {
			return nil, fmt.Errorf("the service has no field for %s here", key)
		}
		fields, err := t[i].write(settings[key])
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", key, err)
		}
		maps.Copy(out, fields)
	}
	return out, nil
}

// SetBy are the settings that fields of a request stand for.
func (t Table[W]) SetBy(fields []string) []model.Setting {
	var out []model.Setting
	for _, e := range t {
		if slices.ContainsFunc(e.names, func(name string) bool { return slices.Contains(fields, name) }) {
			out = append(out, e.key)
		}
	}
	return out
}

// Settings are what an object says of itself.
func (t Table[W]) Settings(w *W) model.Settings {
	out := make(model.Settings, len(t))
	for _, e := range t {
		if value, said := e.read(w); said {
			out[e.key] = value
		}
	}
	return out
}

// Keeping is what the service does with the settings of an object, as far as that
// is something of this service.
func (t Table[W]) Keeping(w *W) map[model.Setting]model.Keeping {
	out := map[model.Setting]model.Keeping{}
	for _, e := range t {
		if e.keeping != nil {
			out[e.key] = e.keeping(w)
		}
	}
	return out
}

// Tables are the settings of the three kinds of object.
type Tables struct {
	Cluster  Table[Cluster]
	InfraEnv Table[InfraEnv]
	Host     Table[Host]
}

// NewTables are the tables of all kinds of object.
func NewTables() Tables {
	return Tables{Cluster: clusterTable(), InfraEnv: infraEnvTable(), Host: hostTable()}
}

// FieldOf is the field of the file that a key of a request is made of, "" for none.
func (t *Tables) FieldOf(key string) string {
	keys := []string{key}
	for _, settings := range [][]model.Setting{t.Cluster.SetBy(keys), t.InfraEnv.SetBy(keys), t.Host.SetBy(keys)} {
		if len(settings) > 0 {
			return string(settings[0])
		}
	}
	return ""
}

// text is a row for a text field. An empty one in an answer is not said.
func text[W any](key model.Setting, field string, read func(*W) string) entry[W] {
	return row(key, func(v string) body { return body{field: v} }, func(w *W) (string, bool) {
		value := read(w)
		return value, value != ""
	})
}
