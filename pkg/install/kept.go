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

// Read reads a result that is kept for the cluster of a name, such as "kubeconfig". It returns the path
// and the content of the file, and the id of the cluster that it belongs to, "" where nothing says so. The error is
// fs.ErrNotExist where nothing is kept.
func (d Directory) Read(cluster, name string) (path string, data []byte, clusterID string, err error) {
	if !filepath.IsLocal(cluster) || strings.ContainsAny(cluster, `/\`) || cluster == "." {
		return "", nil, "", fmt.Errorf("no folder can have the name %q: %w", cluster, fs.ErrNotExist)
	}
	auth := d.auth(model.ClusterRef{Name: cluster})
	if info, err := os.Stat(filepath.Join(string(d), cluster)); err == nil && !info.IsDir() {
		return "", nil, "", fmt.Errorf("%q is no folder: %w", cluster, fs.ErrNotExist)
	}
	path = filepath.Join(auth, name)
	data, err = readRegular(path)
	if err == nil && len(data) > largestResult {
		err = fmt.Errorf("it has more than %d MiB", largestResult>>20)
	}
	return path, data, ownerOf(auth), err
}

// Clusters are the names of the clusters for which a result, such as "kubeconfig", is kept.
func (d Directory) Clusters(name string) ([]string, error) {
	folders, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []string
	for _, folder := range folders {
		if _, _, _, err := d.Read(folder.Name(), name); !errors.Is(err, fs.ErrNotExist) {
			all = append(all, folder.Name())
		}
	}
	return all, nil
}
