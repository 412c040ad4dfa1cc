package iso9660

import (
	"cmp"
	"fmt"
	"path"
	"slices"
)

const (
	maxEntries   = 1 << 18  // files and directories that Walk accepts
	maxPathBytes = 16 << 20 // that their paths may take together
)

// extent is a run of bytes and what it is.
type extent struct {
	offset, size int64
	what         string
}

// Walk calls fn for every file, by the best names that the image has; plain ones in lower case. The files of a
// directory come in its own order, and before those of the directories in it. Before the first call all directories
// have been read: one that contains itself, files that overlap and trees beyond all measure are errors. Walk stops at
// the first error of fn.
func (v *Volume) Walk(fn func(File) error) error {
	w := &walker{v: v, tree: v.primary, seen: map[int64]string{}}
	if !v.RockRidge && v.Joliet {
		w.tree = v.joliet
	}
	w.pending = []directory{{"", w.tree.root}}
	for len(w.pending) > 0 {
		next := w.pending[len(w.pending)-1]
		w.pending = w.pending[:len(w.pending)-1]
		if err := w.read(next); err != nil {
			return err
		}
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

// directory is one that is still to be read, its record without the bytes around it.
type directory struct {
	path   string
	record record
}

type walker struct {
	v       *Volume
	tree    tree
	pending []directory
	seen    map[int64]string // directories by sector
	files   []File
	extents []extent
	entries int
	bytes   int
}

// read takes in the files of a directory and puts the directories in it on the pile, the first on top.
func (w *walker) read(d directory) error {
	if other, ok := w.seen[d.record.sector]; ok {
		return fmt.Errorf("directory /%s lies at sector %d, as /%s does: the directories go in a circle", d.path, d.record.sector, other)
	}
	w.seen[d.record.sector] = d.path
	entries, err := w.v.list(w.tree, d.record, d.path)
	if err != nil {
		return err
	}
	w.extents = append(w.extents, extent{d.record.offset(), d.record.size, "directory /" + d.path})
	below := len(w.pending)
	for _, e := range entries {
		full := path.Join(d.path, e.name)
		w.entries++
		w.bytes += len(full)
		if w.entries > maxEntries || w.bytes > maxPathBytes {
			return fmt.Errorf("directory /%s: the image has more names than are read (%d, %d bytes)", d.path, maxEntries, maxPathBytes)
		}
		if e.dir {
			w.pending = append(w.pending, directory{full, e.records[0].bare()})
			continue
		}
		w.files = append(w.files, File{Path: full, Offset: e.offset, Size: e.size})
		w.extents = append(w.extents, extent{e.offset, e.size, full})
	}
	slices.Reverse(w.pending[below:])
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
