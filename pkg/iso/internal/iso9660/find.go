package iso9660

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
)

// File is a file of the image: one run of bytes.
type File struct {
	Path   string // without a leading slash
	Offset int64  // in the image
	Size   int64

	records []record // bare ones, that name it, of the primary and the Joliet tree
}

// Find looks a file up by a path such as "images/ignition.img": by its Rock Ridge names, else by its Joliet ones, else
// by what builders make of names in 8.3 characters ("IMAGES/IGNITION.IMG", "COREOS/KARGS.JSO"). Where there is none
// the error is fs.ErrNotExist. Trees that describe the file differently are an error.
func (v *Volume) Find(name string) (File, error) {
	clean := strings.TrimPrefix(path.Clean("/"+name), "/")
	primary, err := v.lookup(v.primary, clean)
	if err != nil {
		return File{}, err
	}
	joliet, err := v.lookupJoliet(clean)
	if err != nil {
		return File{}, err
	}
	found := joliet
	if primary != nil {
		found = primary
	}
	if found == nil {
		return File{}, fmt.Errorf("looking up %s in the image: %w", clean, fs.ErrNotExist)
	}
	if found.dir {
		return File{}, fmt.Errorf("looking up %s in the image: it is a directory", clean)
	}
	f := File{Path: clean, Offset: found.offset, Size: found.size, records: found.records}
	if primary != nil && joliet != nil {
		if primary.size != joliet.size || primary.size > 0 && primary.offset != joliet.offset {
			return File{}, fmt.Errorf("looking up %s in the image: it has %d bytes at %d, but by its Joliet name %d at %d",
				clean, primary.size, primary.offset, joliet.size, joliet.offset)
		}
		f.records = append(f.records[:len(f.records):len(f.records)], joliet.records...)
	}
	return f, nil
}

func (v *Volume) lookupJoliet(clean string) (*entry, error) {
	if !v.Joliet {
		return nil, nil
	}
	return v.lookup(v.joliet, clean)
}

// lookup walks down one tree. It returns nil where the tree has no such entry.
func (v *Volume) lookup(t tree, clean string) (*entry, error) {
	at := entry{dir: true, records: []record{t.root}}
	done := ""
	for part := range strings.SplitSeq(clean, "/") {
		if part == "" {
			break // the root itself
		}
		if !at.dir {
			return nil, nil
		}
		entries, err := v.list(t, at.records[0], done)
		if err != nil {
			return nil, err
		}
		next := pick(entries, part)
		if next == nil {
			return nil, nil
		}
		at, done = *next, path.Join(done, part)
	}
	for i := range at.records {
		at.records[i] = at.records[i].bare()
	}
	return &at, nil
}

// pick returns the entry of a name, or one that has no better name than the plain one that the name leads to.
func pick(entries []entry, name string) *entry {
	for i := range entries {
		if entries[i].name == name {
			return &entries[i]
		}
	}
	for i := range entries {
		if e := entries[i]; strings.EqualFold(e.name, e.plain) && sameAsPlain(e.plain, name) {
			return &entries[i]
		}
	}
	return nil
}

// ReadFile returns the content of a file of at most most bytes.
func (v *Volume) ReadFile(name string, most int64) ([]byte, error) {
	f, err := v.Find(name)
	if err != nil {
		return nil, err
	}
	if f.Size > most {
		return nil, fmt.Errorf("reading %s in the image: it has %d bytes, more than the %d it may have", f.Path, f.Size, most)
	}
	if f.Size == 0 {
		return []byte{}, nil
	}
	return v.read(f.Offset, f.Size, f.Path)
}

const (
	maxEntries   = 1 << 18  // files and directories that Walk accepts
	maxPathBytes = 16 << 20 // that their paths may take together
)

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

// checkOverlaps finds two things that claim the same bytes. Two names of one file do not count.
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

// Patch replaces bytes of the image.
type Patch struct {
	Offset int64
	Data   []byte
}

const mebibyte = 1 << 20

// RoomFor says where a file of size bytes fits behind everything that the image has: the offset for it, and the size
// that the image then needs. A partitioned image keeps whole MiB, as isohybrid made it, with room for its backup GPT.
func (v *Volume) RoomFor(size int64) (offset, volumeSize int64) {
	offset = alignUp(v.Size, SectorSize)
	if v.GPT == nil {
		return offset, alignUp(offset+size, SectorSize)
	}
	return offset, alignUp(offset+size+v.GPT.tail(), mebibyte)
}

// Relocate returns the patches after which a file lies at newOffset with newSize bytes in an image of newVolumeSize
// bytes, in ascending order: its directory records, the volume's size, and the GPT with its backup in the last blocks.
// Nothing else changes; the bytes of the file are the caller's to put there. It refuses boot images, whose place
// firmware and boot loaders know, files of several extents, and places that the structures cannot say.
func (v *Volume) Relocate(f File, newOffset, newSize, newVolumeSize int64) ([]Patch, error) {
	found, err := v.Find(f.Path)
	if err != nil {
		return nil, err
	}
	if err := v.checkMove(f, found, newOffset, newSize, newVolumeSize); err != nil {
		return nil, fmt.Errorf("moving %s to %d: %w", f.Path, newOffset, err)
	}
	var patches []Patch
	for _, r := range found.records {
		patches = append(patches, Patch{r.at + recordPosition, position(newOffset, newSize)})
	}
	for _, d := range v.descriptors {
		space := make([]byte, 8)
		putBoth32(space, uint32(newVolumeSize/SectorSize))
		patches = append(patches, Patch{d.offset + atVolumeSpace, space})
	}
	if v.GPT != nil {
		patches = append(patches, v.GPT.move(newVolumeSize)...)
	}
	slices.SortFunc(patches, func(a, b Patch) int { return cmp.Compare(a.Offset, b.Offset) })
	return patches, nil
}

// checkMove refuses a move after which the image would not be what its structures say. asked is what the caller holds,
// found is what the image says.
func (v *Volume) checkMove(asked, found File, newOffset, newSize, newVolumeSize int64) error {
	if asked.Offset != found.Offset || asked.Size != found.Size {
		return fmt.Errorf("the image has it at %d with %d bytes, not at %d with %d", found.Offset, found.Size, asked.Offset, asked.Size)
	}
	for _, d := range v.descriptors {
		if d.enhanced {
			return fmt.Errorf("the image has a third tree, described at %d, which is not supported", d.offset)
		}
	}
	for _, r := range found.records {
		if r.flags&flagMultiExtent != 0 {
			return fmt.Errorf("it has several extents")
		}
	}
	for _, b := range v.BootImages {
		if b.Offset == found.Offset && found.Size > 0 {
			return fmt.Errorf("it is a boot image, and the boot catalog knows its place")
		}
	}
	return v.checkPosition(newOffset, newSize, newVolumeSize)
}

func (v *Volume) checkPosition(newOffset, newSize, newVolumeSize int64) error {
	end := newOffset + newSize
	if v.GPT != nil {
		if v.GPT.array == nil {
			return fmt.Errorf("the GPT cannot be kept: %s", v.GPT.Trouble[0])
		}
		end += v.GPT.tail()
	}
	switch {
	case newOffset%SectorSize != 0 || newVolumeSize%SectorSize != 0:
		return fmt.Errorf("the place and the image's size, %d, must be whole sectors", newVolumeSize)
	case newOffset < v.Size:
		return fmt.Errorf("the image has %d bytes, and the file would lie upon them", v.Size)
	case newOffset > newVolumeSize:
		return fmt.Errorf("an image of %d bytes ends before it", newVolumeSize)
	case newSize < 0 || newSize > math.MaxUint32:
		return fmt.Errorf("a directory record cannot say %d bytes", newSize)
	case end > newVolumeSize:
		return fmt.Errorf("an image of %d bytes does not hold %d bytes there and what follows them", newVolumeSize, newSize)
	case newVolumeSize/SectorSize > math.MaxUint32:
		return fmt.Errorf("a volume descriptor cannot say %d bytes", newVolumeSize)
	}
	return nil
}
