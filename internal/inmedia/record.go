package inmedia

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/oaictl/oaictl/pkg/install"
)

// readRecord reads the variables of an EnvironmentFile; none where there is no
// file.
func readRecord(path string) (map[string]string, error) {
	data, err := readOptional(path)
	if err != nil {
		return nil, err
	}
	variables := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found {
			variables[name] = strings.Trim(value, `"'`)
		}
	}
	return variables, nil
}

// writeWhole writes a file whole or not at all, and leaves one with the same
// content as it is. Its folder is made.
func writeWhole(path string, content []byte) error {
	if data, err := os.ReadFile(path); err == nil && bytes.Equal(data, content) {
		return nil
	}
	fail := func(err error) error {
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return &install.Fault{Code: install.CodeFailure, Op: "write", On: path, Err: err}
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fail(err)
	}
	file, err := os.CreateTemp(folder, "."+filepath.Base(path)+"-")
	if err != nil {
		return fail(err)
	}
	_, err = file.Write(content)
	// The units that read it may run as other users; it holds no secret.
	err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fail(errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !missing(err) {
		return &install.Fault{Code: install.CodeFailure, Op: "remove", On: path, Err: err}
	}
	return nil
}
