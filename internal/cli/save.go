package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/internal/escape"
	"github.com/oaictl/oaictl/pkg/install"
)

// stdoutName stands for standard output where a file is asked for.
const stdoutName = "-"

// saveTo writes a download to a file that its owner alone may read, whole or
// not at all; to standard output for "-"; and into what is no regular file, a
// device or a pipe, as it is. It returns what there is to say of it.
func (a *app) saveTo(path string, write func(io.Writer) error) (document.Download, error) {
	if path == stdoutName {
		if a.io.OutTTY {
			return document.Download{}, usagef("standard output is a terminal; redirect it, or give --to FILE")
		}
		return document.Download{}, filling("standard output", a.io.Out, write)
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return document.Download{}, notWritten(path, errIsFolder)
	case err == nil && !info.Mode().IsRegular():
		return document.Download{File: path}, pourInto(path, write)
	}
	target, err := behindLinks(path)
	if err != nil {
		return document.Download{}, notWritten(path, err)
	}
	size, err := replace(path, target, write)
	if err != nil {
		return document.Download{}, err
	}
	return document.Download{File: path, Bytes: size}, nil
}

// behindLinks is the regular file that path leads to, whether or not it exists
// yet.
func behindLinks(path string) (string, error) {
	const most = 40 // as Linux has it
	for range most {
		next, _ := os.Readlink(path)
		if next == "" {
			return path, nil // no link: the file, or where it will be
		}
		if !filepath.IsAbs(next) {
			next = filepath.Join(filepath.Dir(path), next)
		}
		path = next
	}
	return "", errors.New("too many links lead to one another")
}

// pourInto writes into a device or a pipe. It is opened by the name that the
// user gave: what stands behind /dev/stdout need not have one of its own.
func pourInto(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return notWritten(path, err)
	}
	failed := filling(path, file, write)
	if err := file.Close(); failed == nil && err != nil {
		failed = notWritten(path, err)
	}
	return failed
}

// replace writes a file beside target and gives it target's name once it is
// whole. path is what the user calls it.
func replace(path, target string, write func(io.Writer) error) (size int64, err error) {
	file, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".*")
	if err != nil {
		return 0, notWritten(path, err)
	}
	defer func() { _ = os.Remove(file.Name()) }()
	failed := filling(path, file, write)
	size, _ = file.Seek(0, io.SeekEnd)
	if err := file.Close(); failed == nil && err != nil {
		failed = notWritten(path, err)
	}
	if failed != nil {
		return 0, failed
	}
	if err := os.Rename(file.Name(), target); err != nil {
		return 0, notWritten(path, err)
	}
	return size, nil
}

// filling lets write write to w. Where w was what failed, that is the error,
// whatever write made of it.
func filling(path string, w io.Writer, write func(io.Writer) error) error {
	disk := &sink{path: path, w: w}
	if err := write(disk); disk.failed == nil {
		return err
	}
	return disk.failed
}

// sink tells its own failures from those of the service, so that a full disk
// is not taken for a broken connection and tried again.
type sink struct {
	path   string
	w      io.Writer
	failed error
}

func (s *sink) Write(data []byte) (int, error) {
	if s.failed != nil {
		return 0, s.failed
	}
	n, err := s.w.Write(data)
	if err != nil {
		s.failed = notWritten(s.path, err)
		err = s.failed
	}
	return n, err
}

// errIsFolder is what a file to be written is, and must not be.
var errIsFolder = errors.New("it is a folder")

// placeNext is what to do about a file or folder that cannot be written: which flag
// names it, the verb's usage tells.
func placeNext(err error) string {
	switch {
	case errors.Is(err, errIsFolder), errors.Is(err, syscall.EISDIR):
		return "name a file in that folder"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EFBIG):
		return "make room, or name another place"
	case errors.Is(err, fs.ErrNotExist):
		return "make the folder that it is to lie in, or name another"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "name a place that can be written to"
	case errors.Is(err, syscall.EPIPE):
		return ""
	}
	return "name a place that exists and can be written to"
}

// notWritten is the fault that a file of the user's cannot be written.
func notWritten(path string, err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return &install.Fault{
		Code: install.CodeFailure, Op: "could not write", On: path, Err: err, Permanent: true,
		Next: placeNext(err),
	}
}

// takesFiles is the fault that nothing can be written to a folder.
func takesFiles(dir string) error {
	probe, err := os.CreateTemp(dir, ".oaictl.*")
	if err != nil {
		return notWritten(dir, err)
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	return nil
}

// folder makes a folder for results.
func folder(parts ...string) (string, error) {
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", notWritten(dir, err)
	}
	return dir, nil
}

// fileName makes a name that a service gave into the name of one file: it must
// not lead out of its folder.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if escape.Needed(string(r)) || strings.ContainsRune(`/\:`, r) {
			return '_'
		}
		return r
	}, name)
	if strings.Trim(name, ".") == "" {
		return "_" + name
	}
	return name
}
