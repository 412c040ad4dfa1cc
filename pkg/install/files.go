package install

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// Directory is the path of a folder that keeps results: DIR/CLUSTER/auth/NAME, readable by their
// owner alone, and beside them .cluster, with the id of the cluster that they
// belong to. It implements [Files].
type Directory string

// ownerFile names the cluster that the results beside it belong to.
const ownerFile = ".cluster"

func resultFiles() []string {
	return []string{model.NoIngressFile, model.KubeconfigFile, model.PasswordFile}
}

// largestResult bounds what is read of a file that may be anything.
const largestResult = 4 << 20

func (d Directory) auth(cluster model.ClusterRef) string {
	return filepath.Join(string(d), cluster.Name, "auth")
}

// Observe implements [Files].
func (d Directory) Observe(_ context.Context, cluster model.ClusterRef) (map[string]model.SavedResult, error) {
	auth := d.auth(cluster)
	if _, err := os.Lstat(auth); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &model.Fault{Op: "look for results in", On: auth, Code: model.CodeFailure, Err: err, Permanent: true,
			Next: "check the folder given with --dir"}
	}
	if ownerOf(auth) != cluster.ID {
		return nil, nil
	}
	kept := map[string]model.SavedResult{}
	for _, name := range resultFiles() {
		path := filepath.Join(auth, name)
		if data, err := readRegular(path); err == nil {
			kept[name] = model.SavedResult{Digest: model.Digest(data), Private: isPrivate(path), Path: path}
		}
	}
	return kept, nil
}

// Claim implements [Files].
func (d Directory) Claim(_ context.Context, cluster model.ClusterRef, read func(name string) ([]byte, error)) (aside string, err error) {
	auth := d.auth(cluster)
	if cluster.ID != "" && ownerOf(auth) == cluster.ID {
		return "", nil
	}
	theirs, err := anothers(auth, read)
	if err != nil {
		return "", err
	}
	if theirs {
		if aside, err = putAside(auth); err != nil {
			return "", err
		}
	}
	if cluster.ID == "" {
		return aside, nil
	}
	if err := os.MkdirAll(auth, 0o700); err != nil {
		return aside, notSaved(auth, err)
	}
	owner := filepath.Join(auth, ownerFile)
	return aside, notSaved(owner, writeWhole(owner, []byte(cluster.ID+"\n")))
}

// Save implements [Files].
func (d Directory) Save(_ context.Context, cluster model.ClusterRef, name string, data []byte) (aside string, err error) {
	path := filepath.Join(d.auth(cluster), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", notSaved(path, err)
	}
	if err := makePrivate(path); err != nil {
		return "", notSaved(path, err)
	}
	have, err := readRegular(path)
	switch {
	case err == nil && bytes.Equal(have, data):
		return "", nil
	case errors.Is(err, fs.ErrNotExist), err == nil && len(have) == 0:
	default:
		if aside, err = putAside(path); err != nil {
			return "", err
		}
	}
	return aside, notSaved(path, writeWhole(path, data))
}

// Append implements [Files].
func (d Directory) Append(_ context.Context, cluster model.ClusterRef, name string, line []byte) error {
	folder := filepath.Join(string(d), cluster.Name)
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return notSaved(path, err)
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return notSaved(path, errNotRegular)
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return notSaved(path, err)
	}
	err = file.Chmod(0o600)
	if err == nil {
		_, err = file.Write(line)
	}
	return notSaved(path, errors.Join(err, file.Close()))
}

// Record implements [Files].
func (d Directory) Record(_ context.Context, cluster model.ClusterRef, name string) ([]byte, error) {
	data, err := readRegular(filepath.Join(string(d), cluster.Name, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// ownerOf is the id of the cluster that the results in a folder belong to, "" where no file records it. A link to a
// folder is not one of ours.
func ownerOf(auth string) string {
	if info, err := os.Lstat(auth); err != nil || !info.IsDir() {
		return ""
	}
	data, err := readRegular(filepath.Join(auth, ownerFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// anothers reports whether a folder holds another cluster's results: files that differ from what read returns, and
// files for which read returns nothing.
func anothers(auth string, read func(name string) ([]byte, error)) (bool, error) {
	info, err := os.Lstat(auth)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, notSaved(auth, err)
	case !info.IsDir():
		return true, nil
	}
	unknown, equal := false, false
	for _, name := range resultFiles() {
		path := filepath.Join(auth, name)
		if err := makePrivate(path); err != nil {
			return false, notSaved(path, err)
		}
		have, err := readRegular(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(have) == 0 {
			continue
		}
		if errors.Is(err, errNotRegular) {
			return true, nil
		}
		if err != nil {
			return false, notSaved(path, err)
		}
		switch want, err := read(name); {
		case err != nil:
			return false, err
		case want == nil:
			unknown = true
		case !bytes.Equal(have, want):
			return true, nil
		default:
			equal = true
		}
	}
	return unknown && !equal, nil
}

// putAside renames what lies at path to the first free of path.1, path.2 and so
// on, and leaves it to its owner alone.
func putAside(path string) (string, error) {
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s.%d", path, n)
		if _, err := os.Lstat(to); err == nil {
			continue
		}
		if err := os.Rename(path, to); err != nil {
			return "", &model.Fault{Code: model.CodeFailure, Op: "put aside the results of another cluster in", On: path, Err: err, Permanent: true,
				Next: "move them yourself, or give another folder with --dir"}
		}
		if info, err := os.Lstat(to); err == nil && info.IsDir() {
			for _, name := range resultFiles() {
				if err := makePrivate(filepath.Join(to, name)); err != nil {
					return to, notSaved(to, err)
				}
			}
		}
		return to, nil
	}
}

// errNotRegular is what a result must not be.
var errNotRegular = errors.New("it is no regular file")

// readRegular reads a file that must not be a link, a folder or a pipe.
func readRegular(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errNotRegular}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, largestResult+1))
}

// isPrivate reports whether its owner alone can read a file, and can. Windows says nothing of that in a mode.
func isPrivate(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && (info.Mode().Perm() == 0o600 || runtime.GOOS == "windows")
}

// makePrivate mends the mode of a regular file, if it is there.
func makePrivate(path string) error {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().IsRegular() && !isPrivate(path) {
		return os.Chmod(path, 0o600)
	}
	return nil
}

// writeWhole writes a temporary file beside path and renames it when it is complete, so that no reader ever sees half a
// kubeconfig.
func writeWhole(path string, data []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
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

// notSaved is the fault that a result cannot be written.
func notSaved(path string, err error) error {
	if err == nil {
		return nil
	}
	return &model.Fault{Code: model.CodeFailure, Op: "write", On: path, Err: err, Permanent: true,
		Next: "make room, or give another folder with --dir"}
}

// resultsOf names a cluster as its results are kept: by the name in the file.
func resultsOf(desired *model.Desired, id string) model.ClusterRef {
	return model.ClusterRef{ID: id, Name: desired.Spec.Metadata.Name}
}

// observeFiles reads which results are on disk, and are the service's.
func (client *Client) observeFiles(ctx context.Context, desired *model.Desired, observed *model.Observed) error {
	cluster := observed.Cluster
	switch {
	case cluster == nil:
		return nil
	case client.files == nil:
		observed.Results = model.Results{NoIngress: true, Kubeconfig: true, Password: true}
		return nil
	}
	kept, err := client.files.Observe(ctx, resultsOf(desired, cluster.ID))
	if err != nil || cluster.State.BeforeInstall() { // what is there then is of an install before
		return err
	}
	there := func(name string, offered bool) bool {
		file, is := kept[name]
		return is && observed.Known.Agrees(name, file, offered, func(name string) ([]byte, error) {
			return client.Credential(ctx, cluster.ID, name)
		})
	}
	observed.Results = model.Results{
		NoIngress: there(model.NoIngressFile, cluster.NoIngress), Kubeconfig: there(model.KubeconfigFile, cluster.Kubeconfig),
		Password: there(model.PasswordFile, cluster.Kubeconfig), KubeconfigPath: kubeconfigPath(kept),
	}
	return nil
}

// kubeconfigPath is where a kubeconfig of the cluster lies.
func kubeconfigPath(kept map[string]model.SavedResult) string {
	return cmp.Or(kept[model.KubeconfigFile].Path, kept[model.NoIngressFile].Path)
}

// saveResult fetches a result and writes it. What lies in its place and is
// another's is kept, and named.
func (client *Client) saveResult(ctx context.Context, desired *model.Desired, observed *model.Observed, a model.Action,
	report func(model.Event)) error {
	data, err := client.Credential(ctx, a.Target, a.Name)
	if err != nil {
		return err
	}
	if err := client.claim(ctx, desired, a.Target, report); err != nil {
		return err
	}
	aside, err := client.files.Save(ctx, resultsOf(desired, a.Target), a.Name, data)
	if aside != "" {
		report(model.Event{Type: model.EventHint, Key: "cluster/results/" + a.Name, Reason: "ResultsPutAside",
			Message: "what lay where " + a.Name + " belongs is kept in " + aside})
	}
	if err == nil {
		observed.Known.Save(a.Name, data)
	}
	return err
}

// claim makes the folder of results that of the cluster with an id, or of one that
// is about to be registered: a run that is killed in between finds nothing there
// that it would take for the new cluster's. The results of another cluster are
// kept: the service may have forgotten a cluster that still runs.
func (client *Client) claim(ctx context.Context, desired *model.Desired, id string, report func(model.Event)) error {
	if client.files == nil {
		return nil
	}
	aside, err := client.files.Claim(ctx, resultsOf(desired, id), func(name string) ([]byte, error) {
		if id == "" {
			return nil, nil
		}
		return client.offered(ctx, id, name)
	})
	if aside != "" {
		report(model.Event{Type: model.EventHint, Key: "cluster/results", Reason: "ResultsPutAside",
			Message: "the credentials of another cluster of this name are kept in " + aside})
	}
	return err
}

// notThere reports whether the service has no such result, has none yet, or is older than its name.
func notThere(err error) bool {
	fault, is := errors.AsType[*model.Fault](err)
	return is && slices.Contains([]int{statusBadRequest, statusNotFound, statusConflict, statusUnprocessable}, fault.Status)
}
