package iso9660

import "fmt"

// maxDirectory bounds the bytes of one directory: room for more than 30 000 files.
const maxDirectory = 4 << 20

// tree is one of the hierarchies that describe the files of an image.
type tree struct {
	root  record
	names func(*Volume, record) (string, error)
}

// entry is a named thing in a directory.
type entry struct {
	name    string
	plain   string // what the record itself calls it, in lower case
	dir     bool
	offset  int64
	size    int64
	records []record // one, or one for each extent of a file of 4 GiB or more
}

// list reads the entries of a directory, without the two that stand for itself and its parent.
func (v *Volume) list(t tree, dir record, path string) ([]entry, error) {
	if dir.size > maxDirectory {
		return nil, fmt.Errorf("directory /%s at sector %d has %d bytes, more than the %d that are read", path, dir.sector, dir.size, maxDirectory)
	}
	b, err := v.read(dir.offset(), dir.size, "directory /"+path)
	if err != nil {
		return nil, err
	}
	var entries []entry
	open := false // the last entry has an extent yet to come
	err = records(b, dir.offset(), func(r record) error {
		if len(r.id) == 1 && r.id[0] <= 1 {
			return nil
		}
		if open {
			last := &entries[len(entries)-1]
			open = r.flags&flagMultiExtent != 0
			return v.extend(last, r)
		}
		e, err := v.entryOf(t, r)
		if err != nil {
			return err
		}
		open = r.flags&flagMultiExtent != 0
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("directory /%s at sector %d: %w", path, dir.sector, err)
	}
	if open {
		return nil, fmt.Errorf("directory /%s at sector %d: the last extent of %s is missing", path, dir.sector, entries[len(entries)-1].name)
	}
	return entries, nil
}

func (v *Volume) entryOf(t tree, r record) (entry, error) {
	name, err := t.names(v, r)
	if err != nil {
		return entry{}, err
	}
	if err := checkName(name); err != nil {
		return entry{}, err
	}
	plain, _ := plainName(v, r)
	e := entry{name: name, plain: plain, dir: r.flags&flagDirectory != 0, offset: r.offset(), size: r.size, records: []record{r}}
	if e.size == 0 {
		return e, nil // an empty file lies nowhere
	}
	return e, v.holds(e.offset, e.size, name)
}

// extend adds a further extent to a file. Its bytes have to follow those before, as every builder places them.
func (v *Volume) extend(e *entry, r record) error {
	if string(r.id) != string(e.records[0].id) {
		return fmt.Errorf("it follows an extent of %s, which is not the last, and has another name", e.name)
	}
	if r.offset() != e.offset+e.size {
		return fmt.Errorf("the extents of %s do not follow each other: one starts at sector %d, want %d", e.name, r.sector, (e.offset+e.size)/SectorSize)
	}
	e.size += r.size
	e.records = append(e.records, r)
	return v.holds(e.offset, e.size, e.name)
}
