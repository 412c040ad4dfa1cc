package ignition

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/vcontext/path"
	"github.com/coreos/vcontext/report"
)

// The rules of the specification are methods of its types. The library applies them
// with the place of every value in hand, which is most of the time and memory that
// it takes; most configs have nothing wrong with them, and need no places. This walk
// applies the same rules and tells only how bad the worst finding is.

// verdict is how bad the worst finding is.
type verdict int

const (
	clean   verdict = iota // nothing at all
	remarks                // warnings or less
	fatal
)

// judge reads a config of one specification and applies its rules. Where strict,
// keys that mean nothing are remarks.
func judge[Config any](data []byte, strict bool) verdict {
	var config Config
	decoder := json.NewDecoder(bytes.NewReader(data))
	if strict {
		decoder.DisallowUnknownFields()
	}
	if err := decoder.Decode(&config); err != nil {
		if strict {
			return max(remarks, judge[Config](data, false))
		}
		return fatal
	}
	w := ruleWalk{ruled: map[reflect.Type]bool{}}
	w.value(reflect.ValueOf(&config).Elem())
	return w.worst
}

type ruled interface {
	Validate(path.ContextPath) report.Report
}

type ruleWalk struct {
	worst verdict
	ruled map[reflect.Type]bool
}

func (w *ruleWalk) value(v reflect.Value) {
	if w.isRuled(v.Type()) {
		w.take(v.Addr().Interface().(ruled).Validate(path.ContextPath{Tag: "json"}))
	}
	switch v.Kind() {
	case reflect.Struct:
		w.duplicates(v)
		w.fields(v)
	case reflect.Slice:
		for i := range v.Len() {
			w.value(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			w.value(v.Elem())
		}
	}
}

// fields goes into a structure. The rules of one that is embedded are its
// embedder's as well, and were applied there.
func (w *ruleWalk) fields(v reflect.Value) {
	for i := range v.NumField() {
		if v.Type().Field(i).Anonymous {
			w.fields(v.Field(i))
			continue
		}
		w.value(v.Field(i))
	}
}

func (w *ruleWalk) isRuled(t reflect.Type) bool {
	is, known := w.ruled[t]
	if !known {
		is = t.Kind() != reflect.Pointer && t.Implements(reflect.TypeFor[ruled]())
		w.ruled[t] = is
	}
	return is
}

func (w *ruleWalk) take(found report.Report) {
	switch {
	case found.IsFatal():
		w.worst = fatal
	case len(found.Entries) > 0:
		w.worst = max(w.worst, remarks)
	}
}

// duplicates applies the rule that no two entries of a list, or of lists that
// share their keys as files, links and directories do, speak of the same thing.
func (w *ruleWalk) duplicates(v reflect.Value) {
	l := lists{seen: map[listKey]bool{}}
	if i, ok := v.Addr().Interface().(util.IgnoresDups); ok {
		l.ignored = i.IgnoreDuplicates()
	}
	if m, ok := v.Addr().Interface().(util.MergesKeys); ok {
		l.shared = m.MergedKeys()
	}
	if l.repeat(v) {
		w.worst = fatal
	}
}

type listKey struct{ list, key string }

type lists struct {
	ignored map[string]struct{}
	shared  map[string]string // list → name for all that share its keys
	seen    map[listKey]bool
}

func (l *lists) repeat(v reflect.Value) bool {
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		if field.Anonymous {
			if l.repeat(value) {
				return true
			}
			continue
		}
		if _, ignored := l.ignored[field.Name]; ignored || value.Kind() != reflect.Slice {
			continue
		}
		list := field.Name
		if name, shared := l.shared[list]; shared {
			list = name
		}
		for j := range value.Len() {
			k := listKey{list, keyOf(value.Index(j))}
			if l.seen[k] {
				return true
			}
			l.seen[k] = true
		}
	}
	return false
}

func keyOf(v reflect.Value) string {
	if v.Kind() == reflect.String {
		return v.String()
	}
	return v.Addr().Interface().(util.Keyed).Key()
}
