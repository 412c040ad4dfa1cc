package iso9660

import (
	"cmp"
	"fmt"
	"path"
	"slices"
)

const (
	maxEntries   = 1 << 20  // files and directories that Walk accepts
	maxPathBytes = 64 << 20 // that their paths may take together
	maxDepth     = 64
)

// extent is a run of bytes and what it is.
type extent struct {
	offset, size int64
	what         string
}

// Walk calls fn for every file, a directory's entries in the order in which it lists them, by the best names that the
// image has; plain ones in lower case. Before the first call it has read all directories: a directory that contains
// itself, files that overlap and trees beyond all measure are errors. Walk stops at the first error of fn.
func (v *Volume) Walk(fn func(File) error) error {
	w := &walker{v: v, tree: v.primary, seen: map[int64]string{}}
	if !v.RockRidge && v.Joliet {
		w.tree = v.joliet
	}
	if err := w.directory(w.tree.root, "", 0); err != nil {
		return err
	}
	if err := w.checkOverlaps(); err != nil {
		return err
	}
	for _, f := range w.files {
		if err := fn(f); err != nil {
			return err
		}
	}
	return nil
}

type walker struct {
	v       *Volume
	tree    tree
	seen    map[int64]string // directories by sector
	files   []File
	extents []extent
	entries int
	bytes   int
}

func (w *walker) directory(dir record, name string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("directory /%s lies deeper than %d levels", name, maxDepth)
	}
	if other, ok := w.seen[dir.sector]; ok {
		return fmt.Errorf("directory /%s lies at sector %d, as /%s does: the directories go in a circle", name, dir.sector, other)
	}
	w.seen[dir.sector] = name
	entries, err := w.v.list(w.tree, dir, name)
	if err != nil {
		return err
	}
	w.extents = append(w.extents, extent{dir.offset(), dir.size, "directory /" + name})
	for _, e := range entries {
		full := path.Join(name, e.name)
		w.entries++
		w.bytes += len(full)
		if w.entries > maxEntries || w.bytes > maxPathBytes {
			return fmt.Errorf("directory /%s: the image has more names than are read (%d entries, %d bytes)", name, maxEntries, maxPathBytes)
		}
		if e.dir {
			if err := w.directory(e.records[0], full, depth+1); err != nil {
				return err
			}
			continue
		}
		w.files = append(w.files, File{Path: full, Offset: e.offset, Size: e.size})
		w.extents = append(w.extents, extent{e.offset, e.size, "/" + full})
	}
	return nil
}

// checkOverlaps finds two things that claim the same bytes. Two names of one file are none.
func (w *walker) checkOverlaps() error {
	all := append(w.extents, w.v.extents...)
	all = slices.DeleteFunc(all, func(e extent) bool { return e.size == 0 })
	slices.SortStableFunc(all, func(a, b extent) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.size, b.size))
	})
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], all[i]
		if b.offset < a.offset+a.size && (a.offset != b.offset || a.size != b.size) {
			return fmt.Errorf("%s, %d bytes at %d, and %s, %d bytes at %d, overlap", a.what, a.size, a.offset, b.what, b.size, b.offset)
		}
	}
	return nil
}
