package fieldpath

import (
	"reflect"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
)

type common struct {
	Name string `json:"label" yaml:"name,omitempty"`
}

type machine struct {
	common

	Next  *machine  `json:"next"  yaml:"next"`
	Disks []machine `json:"disks" yaml:"disks"`
	Note  string    `json:"-"     yaml:"note"`
}

// TestPaths: a field is found through pointers, lists and embedded structs. Only Reach fills pointers in.
func TestPaths(t *testing.T) {
	m := &machine{Disks: []machine{{}, {common: common{"sda"}}}}
	v := reflect.ValueOf(m)
	check.Equal(t, Find(v, "disks[1].name", "yaml").String(), "sda", "of a list")
	check.Equal(t, Find(v, "disks[1].label", "json").String(), "sda", "in another format")
	check.Equal(t, Find(v, "", "yaml").Interface().(machine).Disks[1].Name, "sda", "of the empty path")
	check.Equal(t, Find(v, "next.name", "yaml").IsValid(), false, "behind a nil pointer")
	check.Equal(t, m.Next, nil, "after Find")
	Reach(v, "next.name", "yaml").SetString("b")
	check.Equal(t, m.Next.Name, "b", "after Reach")
	note, _ := reflect.TypeFor[machine]().FieldByName("Note")
	check.Equal(t, Key(note, "json")+" "+Key(note, "yaml"), " note", "keys")
}

// TestNoSuchField: a path that leads nowhere is a mistake in the program.
func TestNoSuchField(t *testing.T) {
	defer func() { check.Equal(t, recover(), any("fieldpath: fieldpath.machine has no field disk"), "panic") }()
	Find(reflect.ValueOf(&machine{}), "disk", "yaml")
}
