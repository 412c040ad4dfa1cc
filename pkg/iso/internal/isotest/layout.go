// Package isotest makes live ISOs for tests: small ones in the layouts that CoreOS builds have had since 2020, and a
// sparse one whose embed area lies beyond 4 GiB. They carry every structure that a reader or patcher of media looks at
// (volume descriptors, Rock Ridge and Joliet trees, El Torito, MBR, GPT, Ignition and kernel argument areas,
// miniso.dat) around small replacements of the bulky files. Nothing in them boots.
//
// The bytes depend on the Layout alone: the same layout gives the same image, on every machine.
package isotest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Layout says what a fixture contains. The zero value of a switch means that the thing is absent.
type Layout struct {
	Name     string // of the fixture, for subtests and file names
	Arch     string // x86_64, aarch64, ppc64le or s390x
	VolumeID string // at most 32 bytes; coreos.liveiso= names it too

	IgnInfo       bool // /coreos/igninfo.json
	KargsJSON     bool // /coreos/kargs.json
	KargsPadEnd   bool // its entries say pad and end
	LegacyHeaders bool // "coreiso+" and "coreKarg" at the end of the system area
	NoKargs       bool // no kernel argument areas at all, with any other switches
	Features      bool // /coreos/features.json
	MiniISO       bool // /coreos/miniso.dat, filled so that it leads to Minimal(l)

	Joliet    bool // a second tree of UCS-2 names
	RockRidge bool // real names and modes beside the 8.3 ones
	Hybrid    bool // MBR, GPT and padding to whole MiB as isohybrid --uefi leaves them

	// Payload is the size in bytes of /data/registry.tar, a hole that precedes the images; 0 leaves it out.
	// From 4 GiB on it takes several extents.
	Payload int64
}

const volumeID = "rhcos-9.6.20250523-0"

// Layouts are the generations found in the field, oldest first, and the odd ones after them.
func Layouts() []Layout {
	legacy := Layout{Arch: "x86_64", VolumeID: "rhcos-46.82.202009222340-0", LegacyHeaders: true, Joliet: true, RockRidge: true, Hybrid: true}
	current := Layout{Arch: "x86_64", VolumeID: volumeID, IgnInfo: true, KargsJSON: true, KargsPadEnd: true, Features: true, MiniISO: true,
		Joliet: true, RockRidge: true, Hybrid: true}
	return []Layout{
		legacy.with("x86_64-2020-09", func(l *Layout) { l.NoKargs = true }),
		legacy.with("x86_64-2021-01", func(*Layout) {}),
		legacy.with("x86_64-2021-09", func(l *Layout) { l.KargsJSON = true }),
		legacy.with("x86_64-2021-12", func(l *Layout) { l.KargsJSON, l.MiniISO = true, true }),
		legacy.with("x86_64-2022-02", func(l *Layout) { l.KargsJSON, l.MiniISO, l.LegacyHeaders = true, true, false }),
		current.with("x86_64-2022-09", func(l *Layout) { l.IgnInfo, l.KargsPadEnd = false, false }),
		current.with("x86_64-2023-03", func(l *Layout) { l.KargsPadEnd = false }),
		current.with("x86_64-2023-07", func(*Layout) {}),
		current.with("aarch64-2023-07", func(l *Layout) { l.Arch, l.Hybrid = "aarch64", false }),
		current.with("ppc64le-2023-07", func(l *Layout) { l.Arch, l.Hybrid = "ppc64le", false }),
		legacy.with("s390x-2022-02", func(l *Layout) { l.Arch, l.Hybrid, l.NoKargs = "s390x", false, true }),
		current.with("s390x-2023-03", func(l *Layout) { l.Arch, l.Hybrid, l.KargsJSON, l.KargsPadEnd = "s390x", false, false, false }),
		current.with("s390x-2023-07", func(l *Layout) { l.Arch, l.Hybrid = "s390x", false }),
		current.with("x86_64-rockridge-only", func(l *Layout) { l.Joliet = false }),
		current.with("x86_64-joliet-only", func(l *Layout) { l.RockRidge = false }),
		current.with("x86_64-plain-names", func(l *Layout) { l.Joliet, l.RockRidge = false, false }),
		current.with("x86_64-sparse", func(l *Layout) { l.Payload = 9<<29 + 12345 }),
	}
}

// ByName returns the layout of that name, false if there is none.
func ByName(name string) (Layout, bool) {
	for _, l := range Layouts() {
		if l.Name == name {
			return l, true
		}
	}
	return Layout{}, false
}

func (l Layout) with(name string, change func(*Layout)) Layout {
	l.Name = name
	change(&l)
	return l
}

// DefaultKargs are the kernel arguments that the fixture's areas hold.
func (l Layout) DefaultKargs() string {
	return "coreos.liveiso=" + l.VolumeID + " ignition.firstboot ignition.platform.id=metal"
}

// hasKargs reports whether the boot menus have areas for kernel arguments. On s390x they came with kargs.json.
func (l Layout) hasKargs() bool {
	return !l.NoKargs && (l.Arch != "s390x" || l.KargsJSON)
}

// Make writes the ISO of a layout into a directory that is removed with the test, and returns its path. Holes stay
// holes, so that the one of more than 4 GiB takes about 2 MB of disk.
func Make(tb testing.TB, l Layout) (path string) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), l.Name+".iso")
	if err := Write(path, l); err != nil {
		tb.Fatal(err)
	}
	return path
}

// Write writes the ISO of a layout to a file.
func Write(path string, l Layout) error {
	im, err := build(l, contents(l))
	if err == nil && l.MiniISO {
		err = im.fillMiniISO()
	}
	if err != nil {
		return fmt.Errorf("making the fixture %s: %w", l.Name, err)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(im.Store(f), f.Close()); err != nil {
		return fmt.Errorf("writing the fixture %s: %w", l.Name, err)
	}
	return nil
}

// Minimal returns the minimal ISO of a layout, as the build packed it into miniso.dat: without the root filesystem and
// without miniso.dat, its kernel arguments still the default ones.
func Minimal(tb testing.TB, l Layout) []byte {
	tb.Helper()
	im, err := buildMinimal(l)
	if err != nil {
		tb.Fatalf("making the minimal ISO of the fixture %s: %v", l.Name, err)
	}
	return im.Bytes()
}

// Content returns what the fixture has under a path such as "images/pxeboot/initrd.img", byte for byte. Files that the
// build rewrites when it places them (isolinux.bin, boot.cat, miniso.dat) and the payload are not known to it.
func Content(tb testing.TB, l Layout, path string) []byte {
	tb.Helper()
	for _, f := range contents(l) {
		if f.path == path && f.data != nil && !f.placed {
			return f.data
		}
	}
	tb.Fatalf("the fixture %s has no content for %s", l.Name, path)
	return nil
}

// Paths are the files of a layout, sorted.
func Paths(l Layout) []string {
	var paths []string
	for _, f := range contents(l) {
		paths = append(paths, f.path)
	}
	if path := l.machine().catalog; path != "" {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}
