package isowriter

import (
	"strings"
	"testing"
)

func TestWriteRefusesClashes(t *testing.T) {
	tests := []struct {
		paths []string
		want  string
	}{
		{[]string{"a/b", "a/b"}, "a/b is there twice"},
		{[]string{"a/b", "a"}, "a is there twice"},
		{[]string{"a", "a/b/c"}, "a/b/c is there twice"},
		{[]string{"installation-1.img", "installation-2.img"}, "called INSTALLA.IMG;1 like installation-2.img"},
	}
	for _, tt := range tests {
		var files []File
		for _, path := range tt.paths {
			files = append(files, File{Path: path, Data: Zeros(1)})
		}
		if _, err := (Volume{ID: "v", Files: files}).Write(); err == nil || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %s", tt.paths, err, tt.want)
		}
	}
	if _, err := (Volume{ID: "v", Boot: []BootFile{{Path: "none"}}, Catalog: "boot.cat"}).Write(); err == nil {
		t.Error("a missing file is booted")
	}
}
