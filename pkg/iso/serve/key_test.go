package serve_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

func TestKeyIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results", "media.key")
	var keys [8][]byte
	var group sync.WaitGroup
	for i := range keys {
		group.Go(func() {
			k, err := serve.LoadKey(path)
			if err != nil {
				t.Error(err)
			}
			keys[i] = k
		})
	}
	group.Wait()
	for _, k := range keys {
		if len(k) != 32 || !bytes.Equal(k, keys[0]) {
			t.Errorf("keys %x and %x", keys[0], k)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("the folder holds %q", left)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestBadKeysAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		mode    os.FileMode
		want    string
	}{
		"readable":  {strings.Repeat("ab", 32), 0o644, "chmod 600"},
		"short":     {"abcd", 0o600, "at least 16 bytes"},
		"not hex":   {strings.Repeat("zz", 32), 0o600, "in hexadecimal"},
		"truncated": {"", 0o600, "remove it to get a new key"},
	} {
		path := filepath.Join(t.TempDir(), "media.key")
		must.Do(t, os.WriteFile(path, []byte(test.content), test.mode))
		_, err := serve.LoadKey(path)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v", name, err)
		}
		if test.content != "" && err != nil && strings.Contains(err.Error(), test.content) {
			t.Errorf("%s: the key is told", name)
		}
	}
}
