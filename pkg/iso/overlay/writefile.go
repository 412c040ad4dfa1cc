package overlay

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	names := map[Method]string{Reflink: "reflink", CopyFileRange: "copy_file_range", Copy: "copy"}
	return cmp.Or(names[m], fmt.Sprintf("method %d", uint8(m)))
}

// WriteOptions are the choices of WriteFile.
type WriteOptions struct {
	// Overwrite lets the file replace another one of its name. Without it that
	// is an fs.ErrExist.
	Overwrite bool
	// Sync waits until the file and its name are on the disk. Without it a
	// crash of the machine may lose them, as it does with cp.
	Sync bool
	// Mode is the file's, before the umask. Zero is 0600: images hold secrets.
	Mode fs.FileMode
	// Progress is called now and then with the number of the image's bytes that are done.
	Progress func(done, total int64)
}

// ErrSameFile says that the output is a file that the image takes its bytes from.
var ErrSameFile = errors.New("the output is the file that the image is made from")

// ErrBusy says that another process is putting a file under the output's name.
var ErrBusy = errors.New("another process is writing this file")

// WriteFile writes the image to a file of the given name. The name refers to the whole image or, after any failure, to
// what it referred to before: the bytes go to a file without a name where the filesystem knows such, else to a hidden
// one beside it, which goes when the write fails, or when the same name is written again after a kill. A symbolic link
// is followed; what is replaced must be a regular file, and none that the image is made of (ErrSameFile). Zeros, and
// holes of the base, become holes.
func (m *Image) WriteFile(ctx context.Context, path string, o WriteOptions) (method Method, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing %s: %w", path, err)
		}
	}()
	o.Mode = cmp.Or(o.Mode, 0o600)
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
	if method, err = m.fill(ctx, out.File, o.Progress); err != nil {
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

// staged is a file on its way to its name: it has none yet, or a private one.
type staged struct {
	*os.File
	target  string // the name that it shall have
	private string // the name that it has or may get until then
	named   bool   // it has the private name now
}

// stage opens an empty file in target's folder, and removes what a killed
// process may have left of the same target.
func stage(target string, mode fs.FileMode) (*staged, error) {
	private := privateName(target)
	if err := removeAbandoned(private); err != nil {
		return nil, err
	}
	if file, err := openUnnamed(filepath.Dir(target), mode); err == nil {
		return hold(&staged{File: file, target: target, private: private})
	}
	return stageNamed(target, private, mode)
}

// stageNamed is stage for filesystems where each file has a name.
func stageNamed(target, private string, mode fs.FileMode) (*staged, error) {
	file, err := os.OpenFile(private, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		err = ErrBusy
	}
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		// The private name would mean nothing to the user.
		err = fmt.Errorf("creating a file in %s: %w", filepath.Dir(target), pathErr.Err)
	}
	if err != nil {
		return nil, err
	}
	return hold(&staged{File: file, target: target, private: private, named: true})
}

// privateName is where a file is kept that shall become target: the same name each
// time, so that the next run finds what was left, and short enough for any folder.
func privateName(target string) string {
	sum := sha256.Sum256([]byte(filepath.Base(target)))
	return filepath.Join(filepath.Dir(target), ".oaictl-"+hex.EncodeToString(sum[:8])+".partial")
}

// hold locks the staged file, so that no other process takes it for abandoned.
func hold(s *staged) (*staged, error) {
	if err := lock(s.File); err != nil {
		s.Close() // the holder of the lock is about to remove the file
		return nil, err
	}
	return s, nil
}

func (s *staged) publish(overwrite bool) error {
	if !s.named {
		err := linkUnnamed(s.File, s.target)
		if err == nil || !overwrite || !errors.Is(err, fs.ErrExist) {
			return err
		}
		// A link replaces nothing, a rename does, and needs a name to rename.
		err = linkUnnamed(s.File, s.private)
		if errors.Is(err, fs.ErrExist) {
			err = ErrBusy
		}
		if err != nil {
			return err
		}
		s.named = true
	}
	rename := renameNew
	if overwrite {
		rename = os.Rename
	}
	if err := s.closeToRename(); err != nil {
		return err
	}
	if err := rename(s.private, s.target); err != nil {
		return err
	}
	s.named = false
	return nil
}

// discard closes the file; without a name of its own it is gone then.
func (s *staged) discard() {
	if s.named {
		// Some systems remove no open file, others must not release the lock first.
		if os.Remove(s.private) != nil {
			s.Close()
			os.Remove(s.private)
		}
	}
	s.Close()
}

// linkNew gives a file a new name by a second link, where there are such: that
// fails where the name is taken. Else it looks first, and then renames.
func linkNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		return os.Remove(from)
	}
	if errors.Is(err, fs.ErrExist) {
		return fs.ErrExist
	}
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return os.Rename(from, to)
}
