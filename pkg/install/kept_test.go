//go:build unix

package install_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestReadKept reads what a run has left, and to which cluster it belongs, and nothing outside of its folder.
func TestReadKept(t *testing.T) {
	dir := t.TempDir()
	files := install.Directory(dir)
	lab := model.ClusterRef{ID: "c1", Name: "lab"}
	if _, err := files.Claim(t.Context(), lab, func(string) ([]byte, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Save(t.Context(), lab, "kubeconfig", []byte("theirs")); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		"old/auth/kubeconfig": "unmarked", "running/auth/kubeconfig-noingress": "first", "a file": "", "auth/kubeconfig": "outside",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := write(filepath.Join(dir, path), text); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "odd", "auth", "kubeconfig"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"lab": "theirs of c1", "old": "unmarked of "} {
		path, data, owner, err := install.Directory(dir).Read(name, "kubeconfig")
		if got := string(data) + " of " + owner; err != nil || got != want || path != filepath.Join(dir, name, "auth", "kubeconfig") {
			t.Errorf("%s: %q in %s, %v", name, got, path, err)
		}
	}
	for _, name := range []string{"running", "gone", "a file", "", ".", "..", "../lab", "lab/../lab", "/lab", `a\b`} {
		if _, data, _, err := install.Directory(dir).Read(name, "kubeconfig"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %q, %v", name, data, err)
		}
	}
	if _, _, _, err := install.Directory(dir).Read("odd", "kubeconfig"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder is a kubeconfig: %v", err)
	}
	names, err := install.Directory(dir).Clusters("kubeconfig")
	if err != nil || !slices.Equal(names, []string{"lab", "odd", "old"}) {
		t.Errorf("there are %v, %v", names, err)
	}
	if names, err := install.Directory(filepath.Join(dir, "gone")).Clusters("kubeconfig"); err != nil || names != nil {
		t.Errorf("there are %v, %v", names, err)
	}
}
