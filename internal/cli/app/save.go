package app

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// StdoutName means standard output where a file is asked for.
const StdoutName = "-"

// SaveTo writes a download to a file that its owner alone may read, whole or
// not at all; to standard output for "-"; and into what is no regular file, a
// device or a pipe, as it is. It returns what there is to say of it.
func (a *App) SaveTo(path string, write func(io.Writer) error) (output.Download, error) {
	if path == StdoutName {
		if a.IO.OutTTY {
			return output.Download{}, Usagef("standard output is a terminal; redirect it, or give --to FILE")
		}
		return output.Download{}, filling("standard output", a.IO.Out, write)
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return output.Download{}, NotWritten(path, ErrIsFolder)
	case err == nil && !info.Mode().IsRegular():
		return output.Download{File: path}, writeInto(path, write)
	}
	target, err := resolveLinks(path)
	if err != nil {
		return output.Download{}, NotWritten(path, err)
	}
	size, err := replace(path, target, write)
	if err != nil {
		return output.Download{}, err
	}
	return output.Download{File: path, Bytes: size}, nil
}

// resolveLinks is the regular file that path leads to, which need not exist yet.
func resolveLinks(path string) (string, error) {
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
	return "", errors.New("there are too many symbolic links")
}

// writeInto opens by the given name: what is behind /dev/stdout need not have its own.
func writeInto(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return NotWritten(path, err)
	}
	failed := filling(path, file, write)
	if err := file.Close(); failed == nil && err != nil {
		failed = NotWritten(path, err)
	}
	return failed
}

// replace gives a file target's name once it is whole. path is what the user calls it.
func replace(path, target string, write func(io.Writer) error) (size int64, err error) {
	file, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".*")
	if err != nil {
		return 0, NotWritten(path, err)
	}
	defer func() { _ = os.Remove(file.Name()) }()
	failed := filling(path, file, write)
	size, _ = file.Seek(0, io.SeekEnd)
	if err := file.Close(); failed == nil && err != nil {
		failed = NotWritten(path, err)
	}
	if failed != nil {
		return 0, failed
	}
	if err := os.Rename(file.Name(), target); err != nil {
		return 0, NotWritten(path, err)
	}
	return size, nil
}

// filling prefers the error of w to the one that write returned for it.
func filling(path string, w io.Writer, write func(io.Writer) error) error {
	disk := &Sink{Path: path, W: w}
	if err := write(disk); disk.Failed == nil {
		return err
	}
	return disk.Failed
}

// Sink keeps its own failures: a full disk is no broken connection to try again.
type Sink struct {
	Path   string
	W      io.Writer
	Failed error
}

func (s *Sink) Write(data []byte) (int, error) {
	if s.Failed != nil {
		return 0, s.Failed
	}
	n, err := s.W.Write(data)
	if err != nil {
		s.Failed = NotWritten(s.Path, err)
		err = s.Failed
	}
	return n, err
}

// ErrIsFolder is what a file to be written is, and must not be.
var ErrIsFolder = errors.New("it is a folder")

// WriteAdvice is what to do about a file or folder that cannot be written.
func WriteAdvice(err error) model.Advice {
	switch {
	case errors.Is(err, ErrIsFolder), errors.Is(err, syscall.EISDIR):
		return "name a file in that folder"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EFBIG):
		return "free some space, or give another path"
	case errors.Is(err, fs.ErrNotExist):
		return "create its folder, or give another path"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "give a path that can be written to"
	case errors.Is(err, syscall.EPIPE):
		return ""
	}
	return "give a path that exists and can be written to"
}

// NotWritten is the fault that a file of the user's cannot be written.
func NotWritten(path string, err error) error {
	err = WithoutPath(err)
	return &model.Fault{
		Code: model.CodeFailure, Op: "could not write", On: path, Err: err, Permanent: true,
		Next: WriteAdvice(err),
	}
}

// TakesFiles is the fault that nothing can be written to a folder.
func TakesFiles(dir string) error {
	probe, err := os.CreateTemp(dir, ".oaictl.*")
	if err != nil {
		return NotWritten(dir, err)
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	return nil
}

// Folder makes a folder for results.
func Folder(parts ...string) (string, error) {
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", NotWritten(dir, err)
	}
	return dir, nil
}

// FileName makes a service's name one of a file, which does not lead out of its folder.
func FileName(name string) string {
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
