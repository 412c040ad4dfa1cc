package nmstate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
)

// FuzzParse checks that no document makes a panic, that every problem has a place, and that an accepted document gives
// the same keyfiles every time, which NetworkManager would not refuse to read.
func FuzzParse(f *testing.F) {
	documents := must.Get(filepath.Glob("testdata/*.yaml"))(f)
	for _, path := range documents {
		data := must.Get(os.ReadFile(path))(f)
		f.Add(data)
	}
	f.Add([]byte("interfaces: [{name: a, <<: {type: vlan}, vlan: {id: !!int 1, base-iface: b}}]"))
	f.Add([]byte("? [a]\n: &x {b: *x}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		state, err := nmstate.Parse("x", data)
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "x:") {
					t.Fatalf("%q has no place", line)
				}
			}
			return
		}
		files, err := state.Keyfiles(macs())
		if err != nil {
			return
		}
		again, _ := state.Keyfiles(macs())
		if diff := cmp.Diff(files, again); diff != "" {
			t.Fatal(diff)
		}
		for _, file := range files {
			if err := nmstate.CheckKeyfile(file.Name, file.Content); err != nil {
				t.Fatalf("%v\n%s", err, file.Content)
			}
		}
	})
}

// FuzzCheckKeyfile wants no panic of any keyfile.
func FuzzCheckKeyfile(f *testing.F) {
	f.Add("a.nmconnection", []byte("[connection]\nid=a\ntype=bond\n[ipv4]\naddress1=10.0.0.1/24,10.0.0.254\n"))
	f.Add("b", []byte("[a\n]=\n=\n\x00"))
	f.Fuzz(func(_ *testing.T, name string, data []byte) {
		if nmstate.CheckKeyfile(name, data) == nil {
			nmstate.Conflicts([]nmstate.Machine{{Name: "m", Keyfiles: []nmstate.Keyfile{{Name: name, Content: data}}}})
		}
	})
}
