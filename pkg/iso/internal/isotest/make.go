package isotest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Make writes the ISO of a layout into a directory that goes with the test, and returns its path. Holes stay holes, so
// that the one of more than 4 GiB takes about 2 MB of disk.
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
	tb.Fatalf("the fixture %s has no content of its own for %s", l.Name, path)
	return nil
}

// Paths are the files of a layout, sorted.
func Paths(l Layout) []string {
	var paths []string
	for _, f := range contents(l) {
		paths = append(paths, f.path)
	}
	if path := catalogPath(l); path != "" {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}
