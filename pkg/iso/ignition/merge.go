package ignition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/coreos/go-semver/semver"
	ignitionerrors "github.com/coreos/ignition/v2/config/shared/errors"
	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_0"
	"github.com/coreos/ignition/v2/config/v3_1"
	"github.com/coreos/ignition/v2/config/v3_2"
	"github.com/coreos/ignition/v2/config/v3_3"
	"github.com/coreos/ignition/v2/config/v3_4"
	"github.com/coreos/ignition/v2/config/v3_5"
	"github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/coreos/vcontext/path"
	"github.com/coreos/vcontext/report"
)

// Merge makes one config of several by the rules of the specification: of two
// that speak of the same file, unit or user, the later one wins, field by field.
// The result follows the newest specification among the configs: an image reads it
// if it reads each of them. The same configs give the same bytes; a single one comes
// back as it is. A config with Errors is an *Invalid, in which configs are called
// "config 1" and so on. Warnings are left out: Validate has them.
func Merge(configs ...[]byte) ([]byte, error) { return merge(valid, configs) }

// merge merges configs that check finds valid, each under the name that it is
// given.
func merge(check func(name string, data []byte) (semver.Version, error), configs [][]byte) ([]byte, error) {
	if len(configs) == 0 {
		return nil, errors.New("merge Ignition configs: there are none")
	}
	var newest semver.Version
	for i, data := range configs {
		version, err := check(fmt.Sprintf("config %d", i+1), data)
		if err != nil {
			return nil, fmt.Errorf("merge Ignition configs: %w", err)
		}
		if newest.LessThan(version) {
			newest = version
		}
	}
	if len(configs) == 1 {
		return bytes.Clone(configs[0]), nil
	}
	s, err := specificationOf(newest)
	if err != nil {
		return nil, fmt.Errorf("merge Ignition configs: %w", err)
	}
	merged, err := s.merge(configs)
	if err != nil {
		return nil, err
	}
	if _, err := valid("the merged config", merged); err != nil {
		return nil, fmt.Errorf("merge Ignition configs: %w", err)
	}
	return merged, nil
}

// valid is Validate without places, which are most of the work, where all is in order.
func valid(name string, data []byte) (semver.Version, error) {
	if version, _, err := versionOf(data); err == nil {
		s, err := specificationOf(version)
		if err == nil && s.judge(data, false) < fatal && carriesWell(data) {
			return version, nil
		}
	}
	r, err := Validate(name, data)
	if err != nil {
		return semver.Version{}, err
	}
	return r.version()
}

func carriesWell(data []byte) bool {
	var config types.Config
	if json.Unmarshal(data, &config) != nil {
		return false
	}
	var found report.Report
	checkResources(config, 0, &found)
	return !found.IsFatal()
}

// mergeAs merges valid configs in the types of one specification. One of just this
// specification is read without applying the rules once more.
func mergeAs[Config any](
	translate func([]byte) (Config, report.Report, error),
	merge func(parent, child Config) Config,
	minor int64,
	configs [][]byte,
) ([]byte, error) {
	var merged Config
	for i, data := range configs {
		version, _, err := versionOf(data)
		var config Config
		switch {
		case err != nil:
		case version.Minor == minor:
			err = json.Unmarshal(data, &config)
		default:
			config, _, err = translate(data)
		}
		if err != nil {
			return nil, fmt.Errorf("merge Ignition configs: config %d: %w", i+1, err)
		}
		if i == 0 {
			merged = config
			continue
		}
		merged = merge(merged, config)
	}
	data, err := json.Marshal(merged)
	if err != nil {
		return nil, fmt.Errorf("write the merged Ignition config: %w", err)
	}
	return data, nil
}

// Newest is the newest stable specification that is understood.
const Newest = "3.6.0"

type specification struct {
	// check applies the rules to a config of just this specification. judge costs less: it returns only how bad what it
	// finds is, without places.
	check func(data []byte) (report.Report, error)
	judge func(data []byte, strict bool) verdict
	// merge takes configs that are valid, of this and of earlier specifications.
	merge func(configs [][]byte) ([]byte, error)
}

// specifications are those of 3.N.0, by N.
func specifications() []specification {
	return []specification{
		specified(0, v3_0.Parse, v3_0.ParseCompatibleVersion, v3_0.Merge),
		specified(1, v3_1.Parse, v3_1.ParseCompatibleVersion, v3_1.Merge),
		specified(2, v3_2.Parse, v3_2.ParseCompatibleVersion, v3_2.Merge),
		specified(3, v3_3.Parse, v3_3.ParseCompatibleVersion, v3_3.Merge),
		specified(4, v3_4.Parse, v3_4.ParseCompatibleVersion, v3_4.Merge),
		specified(5, v3_5.Parse, v3_5.ParseCompatibleVersion, v3_5.Merge),
		specified(6, v3_6.Parse, v3_6.ParseCompatibleVersion, v3_6.Merge),
	}
}

// specified brings the functions of one specification with its types into one form.
func specified[Config any](
	minor int64,
	parse, translate func([]byte) (Config, report.Report, error),
	merge func(parent, child Config) Config,
) specification {
	return specification{
		check: func(data []byte) (report.Report, error) {
			_, found, err := parse(data)
			return found, err
		},
		judge: judge[Config],
		merge: func(configs [][]byte) ([]byte, error) { return mergeAs(translate, merge, minor, configs) },
	}
}

func specificationOf(version semver.Version) (specification, error) {
	known := specifications()
	stable := version.Major == 3 && version.Patch == 0 && version.PreRelease == "" && version.Metadata == ""
	if !stable || version.Minor < 0 || version.Minor >= int64(len(known)) {
		return specification{}, ignitionerrors.ErrUnknownVersion
	}
	return known[version.Minor], nil
}

func versionOf(data []byte) (semver.Version, report.Report, error) {
	version, found, err := util.GetConfigVersion(data)
	if err != nil && len(found.Entries) == 0 && !errors.Is(err, ignitionerrors.ErrEmpty) {
		err = ignitionerrors.ErrInvalidVersion
	}
	return version, found, err
}

// The rules of the specification are methods of its types. The library applies them
// with the place of every value in hand, which is most of the time and memory that
// it takes; most configs have nothing wrong with them, and need no places. ruleWalk
// applies the same rules without.

// verdict is how bad the worst finding is.
type verdict int

const (
	clean   verdict = iota // nothing at all
	remarks                // warnings or less
	fatal
)

// judge applies the rules of one specification. Where strict, unknown keys are remarks.
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

// fields goes into a structure. Its embedder has applied the rules of an embedded one.
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
