package cpio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strings"
)

// modeOfParents is that of directories that are made because a member is below
// them: the kernel drops files whose directory is missing.
const modeOfParents = TypeDirectory | 0o755

// Writer writes one archive. Directories above a member are written before it,
// once. Everything belongs to root, and no member has a time.
type Writer struct {
	out    io.Writer
	offset int64
	inode  uint32
	names  map[string]uint32 // name → mode
	buffer []byte
	closed bool
}

// NewWriter writes an archive to out, which needs no alignment of its own as long
// as the archive is compressed as a whole.
func NewWriter(out io.Writer) *Writer {
	return &Writer{out: out, names: map[string]uint32{}}
}

// Write adds a file, a symbolic link, whose content is its target, or a directory,
// unless it is there with just this mode.
func (w *Writer) Write(name string, mode uint32, content []byte) error {
	switch mode & TypeMask {
	case TypeRegular:
	case TypeDirectory:
		if known, there := w.names[name]; there && known == mode {
			return nil
		}
	case TypeSymlink:
		if len(content) == 0 || len(content) > MaxName || bytes.IndexByte(content, 0) >= 0 {
			return fmt.Errorf("write %q into an archive: its target is no path", name)
		}
		mode = TypeSymlink | 0o777
	default:
		return fmt.Errorf("write %q into an archive: mode %#o is that of a device, pipe or socket", name, mode)
	}
	if mode&^(TypeMask|0o7777) != 0 {
		return fmt.Errorf("write %q into an archive: mode %#o holds more than kind and permissions", name, mode)
	}
	return w.add(name, mode, content)
}

// Close ends the archive. It does not close what is below.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	return w.record(trailer, 0, 0, nil)
}

func (w *Writer) add(name string, mode uint32, content []byte) error {
	if w.closed {
		return errors.New("write into an archive that is closed")
	}
	if err := CheckName(name); err != nil {
		return fmt.Errorf("write into an archive: %w", err)
	}
	if int64(len(content)) > math.MaxUint32 {
		return fmt.Errorf("write %q into an archive: %d bytes are more than the form can say", name, len(content))
	}
	if _, there := w.names[name]; there {
		return fmt.Errorf("write %q into an archive: the name is there already", name)
	}
	if err := w.parents(name); err != nil {
		return err
	}
	w.names[name] = mode
	w.inode++
	return w.record(name, mode, w.inode, content)
}

func (w *Writer) parents(name string) error {
	for at := strings.IndexByte(name, '/'); at >= 0; {
		above := name[:at]
		mode, there := w.names[above]
		switch {
		case there && mode&TypeMask != TypeDirectory:
			return fmt.Errorf("write %q into an archive: %q is no directory", name, above)
		case !there:
			w.names[above] = modeOfParents
			w.inode++
			if err := w.record(above, modeOfParents, w.inode, nil); err != nil {
				return err
			}
		}
		next := strings.IndexByte(name[at+1:], '/')
		if next < 0 {
			return nil
		}
		at += 1 + next
	}
	return nil
}

func (w *Writer) record(name string, mode, inode uint32, content []byte) error {
	links := 1
	if mode&TypeMask == TypeDirectory {
		links = 2
	}
	b := fmt.Appendf(w.buffer[:0], "%s%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
		magicPlain, inode, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(name)+1, 0)
	b = append(b, name...)
	b = append(b, 0)
	b = append(b, "\x00\x00\x00"[:pad(w.offset+int64(len(b)))]...)
	w.buffer = b
	if err := w.write(b); err != nil {
		return err
	}
	if err := w.write(content); err != nil {
		return err
	}
	return w.write([]byte("\x00\x00\x00")[:pad(w.offset)])
}

func (w *Writer) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	n, err := w.out.Write(p)
	w.offset += int64(n)
	if err != nil {
		return fmt.Errorf("write an archive: %w", err)
	}
	return nil
}

// CheckName says why a name cannot stand in an archive that is unpacked below a
// root: it must be a clean relative path.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("the name is empty")
	case len(name) > MaxName:
		return fmt.Errorf("name %.40q… has %d bytes, more than the %d of a path", name, len(name), MaxName)
	case strings.ContainsRune(name, 0):
		return fmt.Errorf("name %q holds a zero byte", name)
	case name[0] == '/':
		return fmt.Errorf("name %q begins with a slash", name)
	case path.Clean(name) != name || name == "." || name == ".." || strings.HasPrefix(name, "../"):
		return fmt.Errorf("name %q is no clean path below the root", name)
	case name == trailer:
		return fmt.Errorf("name %q is that of the archive's end", name)
	}
	return nil
}
