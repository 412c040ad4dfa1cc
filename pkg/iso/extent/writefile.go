package extent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Method is how the bytes of the base came into a file.
type Method uint8

// The methods, fastest first.
const (
	// Reflink shares the base's blocks; nothing of it is read or written.
	Reflink Method = iota
	// CopyFileRange has the kernel copy the bytes.
	CopyFileRange
	// Copy reads and writes the bytes.
	Copy
)

func (m Method) String() string {
	switch m {
	case Reflink:
		return "reflink"
	case CopyFileRange:
		return "copy_file_range"
	case Copy:
		return "copy"
	}
	return fmt.Sprintf("method %d", uint8(m))
}

// WriteOptions are the choices of WriteFile.
type WriteOptions struct {
	// Overwrite lets the file replace another one of its name. Without it that
	// is an fs.ErrExist.
	Overwrite bool
	// Sync waits until the file and its name are on the disk. Without it a
	// crash of the machine may lose them, as it does with cp.
	Sync bool
	// Mode is the permissions of the file, before the umask. Zero is 0600:
	// machine images hold secrets.
	Mode fs.FileMode
	// Progress is told now and then how many of the image's bytes are done.
	Progress func(done, total int64)
}

// ErrSameFile says that the output is a file that the image takes its bytes from.
var ErrSameFile = errors.New("the output is the file that the image is made from")

// ErrBusy says that another process is putting a file under the output's name.
var ErrBusy = errors.New("another process is writing this file")

// WriteFile writes the image to a file of the given name. The name stands for
// the whole image or, after any failure, for what it stood for before: the
// bytes go to a file without a name where the filesystem knows such, else to a
// hidden one beside it, which goes when the write fails, or when the same name is
// written again after a kill. A symbolic link is followed; what it leads to, and
// what is replaced, must be a regular file, and none that the image is made of
// (ErrSameFile). Zeros, and holes of the base, become holes.
func (m *Image) WriteFile(ctx context.Context, path string, o WriteOptions) (Method, error) {
	method, err := m.writeFile(ctx, path, o)
	if err != nil {
		return method, fmt.Errorf("writing %s: %w", path, err)
	}
	return method, nil
}

func (m *Image) writeFile(ctx context.Context, path string, o WriteOptions) (Method, error) {
	if o.Mode == 0 {
		o.Mode = 0o600
	}
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	target, err := m.target(path, o.Overwrite)
	if err != nil {
		return Copy, err
	}
	out, err := stage(target, o.Mode)
	if err != nil {
		return Copy, err
	}
	defer out.discard()
	method, err := m.fill(ctx, out.File, o.Progress)
	if err != nil {
		return method, err
	}
	if o.Sync {
		if err := out.Sync(); err != nil {
			return method, err
		}
	}
	if err := out.publish(o.Overwrite); err != nil {
		return method, err
	}
	if o.Sync {
		return method, syncDir(filepath.Dir(target))
	}
	return method, nil
}

// target is the file that path leads to, where it is one that may be written.
func (m *Image) target(path string, overwrite bool) (string, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			info, err = os.Stat(path)
		}
	}
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errors.New("it is not a regular file")
	case m.isMadeOf(info):
		return "", ErrSameFile
	case !overwrite:
		return "", fs.ErrExist
	}
	return path, nil
}

// isMadeOf reports whether a file is one that the image reads from.
func (m *Image) isMadeOf(info fs.FileInfo) bool {
	asked := map[*os.File]bool{}
	for _, p := range m.pieces {
		if p.kind != Base || p.src.file == nil || asked[p.src.file] {
			continue
		}
		asked[p.src.file] = true
		if own, err := p.src.file.Stat(); err == nil && os.SameFile(own, info) {
			return true
		}
	}
	return false
}
