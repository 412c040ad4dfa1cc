package iso9660

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/internal/isotest"
)

// open reads a file as an ISO.
func open(t testing.TB, path string) (*Volume, *os.File) {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	t.Cleanup(func() { f.Close() })
	st := must.Get(f.Stat())(t)
	v := must.Get(Read(f, st.Size()))(t, "Read")
	return v, f
}

func layout(t testing.TB, name string) isotest.Layout {
	t.Helper()
	l, ok := isotest.ByName(name)
	if !ok {
		t.Fatalf("no layout %s", name)
	}
	return l
}

func TestReadEveryLayout(t *testing.T) {
	ways := map[string]Boot{
		"x86_64":  {BIOSCD: true, BIOSDisk: true, UEFICD: true, UEFIDisk: true},
		"aarch64": {UEFICD: true},
		"ppc64le": {},
		"s390x":   {BIOSCD: true},
	}
	for _, l := range isotest.Layouts() {
		t.Run(l.Name, func(t *testing.T) {
			v, _ := open(t, isotest.Make(t, l))
			check.Equal(t, v.ID, l.VolumeID, "ID is")
			if v.Joliet != l.Joliet || v.RockRidge != l.RockRidge {
				t.Errorf("Joliet %t and RockRidge %t, want %t and %t", v.Joliet, v.RockRidge, l.Joliet, l.RockRidge)
			}
			if diff := cmp.Diff(ways[l.Arch], v.Boot); diff != "" {
				t.Errorf("ways to boot (-want +got):\n%s", diff)
			}
			if (v.GPT != nil) != l.Hybrid {
				t.Errorf("GPT is %v, hybrid is %t", v.GPT, l.Hybrid)
			}
			if v.GPT != nil && len(v.GPT.Trouble) > 0 {
				t.Errorf("trouble with a sound GPT: %q", v.GPT.Trouble)
			}
		})
	}
}

func TestFindReadsEveryFile(t *testing.T) {
	for _, l := range isotest.Layouts() {
		t.Run(l.Name, func(t *testing.T) {
			v, _ := open(t, isotest.Make(t, l))
			for _, path := range []string{"images/pxeboot/initrd.img", "/images/pxeboot/rootfs.img"} {
				got := must.Get(v.ReadFile(path, 1<<20))(t)
				if !bytes.Equal(got, isotest.Content(t, l, strings.TrimPrefix(path, "/"))) {
					t.Errorf("%s has other content", path)
				}
			}
			for _, path := range isotest.Paths(l) {
				f, err := v.Find(path)
				if err != nil {
					t.Errorf("Find: %v", err)
					continue
				}
				trees := 1
				if l.Joliet {
					trees = 2
				}
				if len(f.records) < trees {
					t.Errorf("%s has %d records, want at least %d", path, len(f.records), trees)
				}
			}
		})
	}
}

func TestFindRefuses(t *testing.T) {
	v, _ := open(t, isotest.Make(t, layout(t, "x86_64-2023-07")))
	for _, path := range []string{"images/none.img", "none/ignition.img", "images/ignition.img/x", "../etc/passwd"} {
		if _, err := v.Find(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Find(%q): %v, want fs.ErrNotExist", path, err)
		}
	}
	for _, path := range []string{"images", "", "/"} {
		if _, err := v.Find(path); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Find(%q): %v, want an error about a directory", path, err)
		}
	}
	if _, err := v.ReadFile("images/ignition.img", 1000); err == nil {
		t.Error("ReadFile reads more than it may")
	}
}

func TestFindBeyondFourGiB(t *testing.T) {
	l := layout(t, "x86_64-sparse")
	v, f := open(t, isotest.Make(t, l))
	payload := must.Get(v.Find("data/registry.tar"))(t)
	if payload.Size != l.Payload {
		t.Errorf("the payload has %d bytes, want %d", payload.Size, l.Payload)
	}
	initrd := must.Get(v.Find("images/pxeboot/initrd.img"))(t)
	if initrd.Offset <= 4<<30 {
		t.Fatalf("the initrd lies at %d, which tests nothing", initrd.Offset)
	}
	got := make([]byte, initrd.Size)
	if _, err := f.ReadAt(got, initrd.Offset); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	if !bytes.Equal(got, isotest.Content(t, l, "images/pxeboot/initrd.img")) {
		t.Error("other content lies at the offset that Find says")
	}
}

func TestWalkFindsEveryFile(t *testing.T) {
	for _, l := range isotest.Layouts() {
		if !l.RockRidge && !l.Joliet {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			v, _ := open(t, isotest.Make(t, l))
			got := walk(t, v)
			slices.Sort(got)
			if diff := cmp.Diff(isotest.Paths(l), got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("plain names", func(t *testing.T) {
		v, _ := open(t, isotest.Make(t, layout(t, "x86_64-plain-names")))
		if got := walk(t, v); !slices.Contains(got, "coreos/kargs.jso") {
			t.Errorf("no coreos/kargs.jso in %q", got)
		}
	})
}

func walk(t *testing.T, v *Volume) []string {
	t.Helper()
	var paths []string
	must.Do(t, v.Walk(func(f File) error {
		paths = append(paths, f.Path)
		return nil
	}), "Walk")
	return paths
}

func TestWalkStopsAtAnError(t *testing.T) {
	v, _ := open(t, isotest.Make(t, layout(t, "x86_64-2023-07")))
	stop, calls := errors.New("stop"), 0
	err := v.Walk(func(File) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("Walk returned %v after %d calls, want the error of the first", err, calls)
	}
}
