package iso9660

import (
	"fmt"
	"io/fs"
	"path"
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
