package convert_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/convert"
)

// TestWriteFilesLeavesNoPart has the second file be where the first is no folder.
func TestWriteFilesLeavesNoPart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	files := []convert.File{{Path: "a", Content: []byte("hunter2"), Secret: true}, {Path: "a/b", Content: []byte("x")}}
	if err := convert.WriteFiles(dir, files); err == nil {
		t.Fatal("nothing was wrong")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left (%v)", left, err)
	}
}
