package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// NewFiles keeps results under dir: DIR/CLUSTER/auth/NAME, readable by their
// owner alone.
func NewFiles(dir string) Files { return directory(dir) }

type directory string

func (d directory) path(cluster, name string) string {
	return filepath.Join(string(d), cluster, "auth", name)
}

func (d directory) Observe(_ context.Context, cluster string) (Results, error) {
	var results Results
	for name, there := range map[string]*bool{
		"kubeconfig-noingress": &results.NoIngress, "kubeconfig": &results.Kubeconfig, "kubeadmin-password": &results.Password,
	} {
		switch _, err := os.Stat(d.path(cluster, name)); {
		case err == nil:
			*there = true
		case !errors.Is(err, fs.ErrNotExist):
			return Results{}, &Fault{Op: "look for results in", On: filepath.Dir(d.path(cluster, name)), Code: CodeFailure, Err: err, Permanent: true, Next: "check the folder given with --dir"}
		}
	}
	return results, nil
}

// PutAside renames the folder with the results of a cluster, so that they are not
// taken for those of the next one of its name: auth becomes auth.1, or the first
// such name that is free. It returns the new name, "" where there are no results.
func (d directory) PutAside(ctx context.Context, cluster string) (string, error) {
	results, err := d.Observe(ctx, cluster)
	if err != nil || results == (Results{}) {
		return "", err
	}
	from := d.path(cluster, "")
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s.%d", from, n)
		if _, err := os.Lstat(to); err == nil {
			continue
		}
		if err := os.Rename(from, to); err != nil {
			return "", &Fault{Code: CodeFailure, Op: "put aside the results of an earlier cluster in", On: from, Err: err, Permanent: true, Next: "move them yourself, or give another folder with --dir"}
		}
		return to, nil
	}
}

func (d directory) Save(_ context.Context, cluster, name string, data []byte) (err error) {
	path := d.path(cluster, name)
	defer func() {
		if err != nil {
			err = &Fault{Code: CodeFailure, Op: "write", On: path, Err: err, Permanent: true, Next: "make room, or give another folder with --dir"}
		}
	}()
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, data) {
		return os.Chmod(path, 0o600)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// A temporary file beside it is renamed when it is whole, so that nobody
	// ever reads half a kubeconfig.
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+name+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary.Name()) }()
	_, err = temporary.Write(data)
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write a temporary file: %w", err)
	}
	return os.Rename(temporary.Name(), path)
}
