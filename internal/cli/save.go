package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/internal/cli/printer"
)

// stdoutName stands for standard output where a file is asked for.
const stdoutName = "-"

// saveTo writes a download to a file that its owner alone may read, whole or
// not at all; to standard output for "-". It returns what there is to say of
// it.
func (a *app) saveTo(path string, write func(io.Writer) error) (document.Download, error) {
	if path == stdoutName {
		if a.io.OutTTY {
			return document.Download{}, usagef("standard output is a terminal; redirect it, or give --to FILE")
		}
		return document.Download{}, write(a.io.Out)
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return document.Download{}, fileFault("write", path, err)
	}
	defer func() { _ = os.Remove(file.Name()) }()
	failed := write(file)
	size, _ := file.Seek(0, io.SeekEnd)
	if err := file.Close(); failed == nil && err != nil {
		failed = fileFault("write", path, err)
	}
	if failed != nil {
		return document.Download{}, failed
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return document.Download{}, fileFault("write", path, err)
	}
	return document.Download{File: path, Bytes: size}, nil
}

// saved prints what was downloaded: the files, one a line.
func (a *app) saved(files []document.Download) error {
	kept := files[:0:0]
	names := make([]string, 0, len(files))
	for _, file := range files {
		if file.File != "" { // not on standard output
			kept = append(kept, file)
			names = append(names, file.File)
		}
	}
	if len(files) > 0 && len(kept) == 0 {
		return nil
	}
	return a.print(printer.Result{Data: document.List(kept), Names: names, Text: func(w io.Writer) error {
		for _, file := range kept {
			if _, err := fmt.Fprintln(w, file.File); err != nil {
				return err
			}
		}
		return nil
	}})
}

// folder makes a folder for results.
func folder(parts ...string) (string, error) {
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fileFault("make the folder", dir, err)
	}
	return dir, nil
}
