package iso9660

import (
	"testing"
)

// TestFindByNamesCutShort: a tool may rename kargs.json to kargs.jso, its Rock Ridge name too. A file that has a longer
// name of its own is never mistaken for another.
func TestFindByNamesCutShort(t *testing.T) {
	entries := []entry{
		{name: "kargs.jsonx", plain: "kargs.jso"},
		{name: "IGNINFO.JSO", plain: "igninfo.jso"},
		{name: "k.jso", plain: "k.jso"},
	}
	for name, want := range map[string]string{"igninfo.json": "IGNINFO.JSO", "kargs.json": "", "kargs.jsonx": "kargs.jsonx", "k.json": "k.jso"} {
		got := ""
		if e := pick(entries, name); e != nil {
			got = e.name
		}
		if got != want {
			t.Errorf("%s leads to %q, want %q", name, got, want)
		}
	}
}
