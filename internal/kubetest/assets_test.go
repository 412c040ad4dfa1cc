//go:build e2e

package kubetest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAssetsAreWholeOrRefused writes a folder with everything, opens a hub from it outside of the source tree, and gets
// an error that says what another folder lacks.
func TestAssetsAreWholeOrRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a hub")
	}
	if _, err := Build(t.Context(), t.Output()); err != nil {
		giveUp(t, err)
	}
	folder := filepath.Join(t.TempDir(), "assets")
	for range 2 { // the second time over the first
		if err := WriteAssets(t.Context(), folder, t.Output()); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(folder, ServeName))
	if err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("%s is no program: %v", ServeName, err)
	}
	t.Chdir(t.TempDir())
	c, err := OpenFrom(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	resources, err := c.Client.Discovery().ServerResourcesForGroupVersion("metal3.io/v1alpha1")
	if err != nil || len(resources.APIResources) == 0 {
		t.Errorf("it has no kinds of Metal3: %v", err)
	}
	names := programs()
	lost := names[slices.IndexFunc(names, func(p program) bool { return p.name == coreManager })].name
	if err := os.Remove(filepath.Join(folder, lost)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFrom(t.Context(), folder); err == nil || !strings.Contains(err.Error(), lost) {
		t.Errorf("without %s: %v", lost, err)
	}
}
