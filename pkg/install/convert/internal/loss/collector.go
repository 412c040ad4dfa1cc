package loss

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Collector collects what of a cluster.yaml a format has no place for.
type Collector struct {
	Cluster *spec.Cluster
	List    []Loss
}

// Lose notes one value.
func (l *Collector) Lose(path string, value any, why string) {
	l.List = append(l.List, Loss{Path: path, Value: value, Why: why})
}

// LoseHost notes one value of a host.
func (l *Collector) LoseHost(h *spec.Host, name string, value any, why string) {
	l.Lose(l.Cluster.HostField(h, name), value, why)
}

// LoseAll notes whatever the file says of the fields in a table, by their paths
// without indices, such as spec.hosts.labels.
func (l *Collector) LoseAll(why map[string]string) {
	l.walk(reflect.ValueOf(l.Cluster).Elem(), "", "", why)
}

// walk looks at a field and everything below it. path has indices, name has not.
func (l *Collector) walk(v reflect.Value, path, name string, why map[string]string) {
	if v.IsZero() || (path != "" && !l.Said(path)) {
		return
	}
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if reason, lost := why[name]; lost {
		if value, something := plain(v); something {
			l.Lose(path, value, reason)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if key := fieldName(v.Type().Field(i)); key != "" {
				l.walk(v.Field(i), dotted(path, key), dotted(name, key), why)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			at := fmt.Sprintf("%s[%d]", path, i)
			if host, is := v.Index(i).Addr().Interface().(*spec.Host); is {
				at = l.Cluster.HostField(host, "")
			}
			l.walk(v.Index(i), at, name, why)
		}
	}
}

// Said tells what the file says from what was filled in. In a cluster that was
// made in Go and not resolved all that is not zero is said.
func (l *Collector) Said(path string) bool {
	return l.Cluster.Present(path) || !l.Cluster.Present("metadata.name")
}

func dotted(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func fieldName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	return strings.TrimPrefix(name, "-")
}
