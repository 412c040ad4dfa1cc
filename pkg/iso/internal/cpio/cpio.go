// Package cpio reads and writes archives of the "new ASCII" form (newc), the
// form that the Linux kernel unpacks into its initial root file system. The
// fields and the padding are those of the kernel's
// Documentation/driver-api/early-userspace/buffer-format.rst.
//
// What is written depends on nothing but what is given: no times, no owners,
// no inode numbers of a real file system.
package cpio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"
)

// ErrFormat is wrapped by every error of bytes that are no archive of this form.
var ErrFormat = errors.New("no newc archive")

// Reader reads archives that follow each other, with any number of zeros
// between them, as the kernel does. It holds one name in memory, never a content.
type Reader struct {
	in      io.Reader
	offset  int64 // bytes taken from in
	left    int64 // of the current member's content
	archive int
	inside  bool // between an archive's first header and its trailer
	closed  bool // the bytes behind the last archive are no archive
	header  [headerSize]byte
	name    []byte
}

// NewReader reads from in, which stands at the start of an archive or of zeros before
// one, and should be buffered.
func NewReader(in io.Reader) *Reader { return &Reader{in: in} }

// Archives is the number of archives that were read to their end.
func (r *Reader) Archives() int { return r.archive }

// Next goes to the next member. At the end, and where neither zeros nor an archive follow the last archive, the error
// is io.EOF; Rest distinguishes the two.
func (r *Reader) Next() (Header, error) {
	if r.closed {
		return Header{}, io.EOF
	}
	for {
		if err := r.skipContent(); err != nil {
			return Header{}, err
		}
		start, err := r.readHeader()
		if err != nil {
			return Header{}, err
		}
		h, nameSize, err := r.parseHeader(start)
		if err != nil {
			return Header{}, err
		}
		if err := r.readName(&h, start, nameSize); err != nil {
			return Header{}, err
		}
		r.left = h.Size
		if h.Name != trailer {
			return h, nil
		}
		if err := r.skipContent(); err != nil {
			return Header{}, err
		}
		r.inside = false
		r.archive++
	}
}

// Read reads the current member's content.
func (r *Reader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > r.left {
		p = p[:r.left]
	}
	n, err := r.in.Read(p)
	r.offset += int64(n)
	r.left -= int64(n)
	switch {
	case errors.Is(err, io.EOF) && r.left > 0:
		return n, r.short("content")
	case errors.Is(err, io.EOF):
		return n, nil
	}
	return n, err
}

// Rest reports whether bytes follow the last archive that are no archive: at is
// the offset of the first of them, and the last byte that was read.
func (r *Reader) Rest() (at int64, found bool) {
	if !r.closed {
		return 0, false
	}
	return r.offset, true
}

// readHeader skips zeros between archives and fills r.header.
func (r *Reader) readHeader() (start int64, err error) {
	if err := r.fill(r.header[:1]); err != nil {
		return 0, r.atEnd(err)
	}
	for !r.inside && r.header[0] == 0 {
		r.offset++
		if err := r.fill(r.header[:1]); err != nil {
			return 0, r.atEnd(err)
		}
	}
	start = r.offset
	if r.header[0] != magicPlain[0] && !r.inside && r.archive > 0 {
		r.closed = true
		return 0, io.EOF
	}
	if err := r.fill(r.header[1:]); err != nil {
		return 0, r.short("header")
	}
	r.offset += headerSize
	if start%alignment != 0 {
		return 0, fmt.Errorf("%w: header at byte %d, which is no multiple of %d", ErrFormat, start, alignment)
	}
	return start, nil
}

func (r *Reader) parseHeader(start int64) (Header, int64, error) {
	if m := string(r.header[:len(magicPlain)]); m != magicPlain && m != magicSum {
		return Header{}, 0, fmt.Errorf("%w: no header at byte %d", ErrFormat, start)
	}
	var fields [13]uint32
	for i := range fields {
		at := len(magicPlain) + 8*i
		n, err := strconv.ParseUint(string(r.header[at:at+8]), 16, 32)
		if err != nil {
			return Header{}, 0, fmt.Errorf("%w: header at byte %d: field %d is no hexadecimal number", ErrFormat, start, i)
		}
		fields[i] = uint32(n)
	}
	r.inside = true
	return Header{
		Inode: fields[0], Mode: fields[1], Links: fields[4],
		Size: int64(fields[6]), Device: [2]uint32{fields[7], fields[8]}, Archive: r.archive,
	}, int64(fields[11]), nil
}

func (r *Reader) readName(h *Header, start, size int64) error {
	if size < 1 || size > MaxName+1 {
		return fmt.Errorf("%w: header at byte %d: a name of %d bytes", ErrFormat, start, size)
	}
	padded := size + pad(headerSize+size)
	if int64(cap(r.name)) < padded {
		r.name = make([]byte, MaxName+1+alignment)
	}
	name := r.name[:padded]
	if err := r.fill(name); err != nil {
		return r.short("name")
	}
	r.offset += padded
	h.Name = string(name[:size-1])
	if name[size-1] != 0 || strings.ContainsRune(h.Name, 0) {
		return fmt.Errorf("%w: header at byte %d: the name does not end where the header says", ErrFormat, start)
	}
	return nil
}

func (r *Reader) skipContent() error {
	n, err := io.CopyN(io.Discard, r.in, r.left)
	r.offset += n
	if err != nil {
		return r.broken(err, "content")
	}
	r.left = 0
	if !r.inside {
		return nil
	}
	n, err = io.CopyN(io.Discard, r.in, pad(r.offset))
	r.offset += n
	if err != nil {
		return r.broken(err, "padding")
	}
	return nil
}

func (r *Reader) fill(p []byte) error {
	_, err := io.ReadFull(r.in, p)
	return err
}

// atEnd distinguishes an archive's end from one that is cut off.
func (r *Reader) atEnd(err error) error {
	if errors.Is(err, io.EOF) && !r.inside && r.archive > 0 {
		return io.EOF
	}
	return r.broken(err, "header")
}

func (r *Reader) broken(err error, what string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return r.short(what)
	}
	return fmt.Errorf("read an archive at byte %d: %w", r.offset, err)
}

func (r *Reader) short(what string) error {
	return fmt.Errorf("%w: it breaks off in a %s near byte %d: %w", ErrFormat, what, r.offset, io.ErrUnexpectedEOF)
}

// A header is six characters of magic and thirteen fields of eight hexadecimal digits;
// name and content are each padded to a multiple of four from the archive's start.
const (
	magicPlain = "070701"
	magicSum   = "070702" // with a checksum, which the kernel ignores
	headerSize = 110
	alignment  = 4
	trailer    = "TRAILER!!!"
)

// MaxName is the length of the longest name that the kernel takes: PATH_MAX and no zero.
const MaxName = 4095

// The kinds of members, which are bits of a mode, as stat(2) has them.
const (
	TypeMask      = 0o170000
	TypeDirectory = 0o040000
	TypeRegular   = 0o100000
	TypeSymlink   = 0o120000
)

// Header says what one member is.
type Header struct {
	// Name is the path below the root, as it stands in the archive.
	Name string
	// Mode holds kind and permissions, as stat(2) has them.
	Mode uint32
	// Size is the length of the content, or of a symbolic link's target, in bytes.
	Size int64
	// Links counts the names of the same file. Where it is above 1, the file's
	// content may stand with the last member of the same Inode, Device and Archive.
	Links  uint32
	Inode  uint32
	Device [2]uint32
	// Archive counts the archives that were read before this member's.
	Archive int
}

// Kind is the bits of the mode that say what the member is: TypeRegular and so on.
func (h Header) Kind() uint32 { return h.Mode & TypeMask }

func pad(n int64) int64 { return (alignment - n%alignment) % alignment }

// modeOfParents is that of directories that are made for what is below them: the
// kernel drops files whose directory is missing.
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

// NewWriter writes an archive to out, unaligned: it is to be compressed as a whole.
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
	for at, c := range name {
		if c != '/' {
			continue
		}
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

// CheckName says why a name is no clean path below the root of an archive.
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
