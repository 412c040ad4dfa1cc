package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// KeptResult is a result as [NewFiles] keeps it, with whose it is.
type KeptResult struct {
	Path string
	Data []byte
	// ClusterID is the id of the cluster that it belongs to, "" where nothing says so.
	ClusterID string
}

// ReadKept reads what is kept below dir for the cluster of a name, such as "kubeconfig". The
// error is fs.ErrNotExist where nothing is.
func ReadKept(dir, cluster, name string) (KeptResult, error) {
	if !filepath.IsLocal(cluster) || strings.ContainsAny(cluster, `/\`) || cluster == "." {
		return KeptResult{}, fmt.Errorf("no folder can have the name %q: %w", cluster, fs.ErrNotExist)
	}
	auth := directory(dir).auth(model.ClusterRef{Name: cluster})
	if info, err := os.Stat(filepath.Join(dir, cluster)); err == nil && !info.IsDir() {
		return KeptResult{}, fmt.Errorf("%q is no folder: %w", cluster, fs.ErrNotExist)
	}
	kept := KeptResult{Path: filepath.Join(auth, name), ClusterID: ownerOf(auth)}
	var err error
	kept.Data, err = readRegular(kept.Path)
	if err == nil && len(kept.Data) > largestResult {
		err = fmt.Errorf("it has more than %d MiB", largestResult>>20)
	}
	return kept, err
}

// KeptClusters are the names of the clusters for which a result, such as "kubeconfig", is kept
// below dir.
func KeptClusters(dir, name string) ([]string, error) {
	folders, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []string
	for _, folder := range folders {
		if _, err := ReadKept(dir, folder.Name(), name); !errors.Is(err, fs.ErrNotExist) {
			all = append(all, folder.Name())
		}
	}
	return all, nil
}
