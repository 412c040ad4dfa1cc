package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is no token is refused as the mistake on the command line that it is,
// before anything is sent and without showing it.
func TestTokenFiles(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ name, content, says string }{
		{"missing", "", "no such file"},
		{"empty", " \n", "it is empty"},
		{"folder", "", "is a directory"},
		{"two-lines", "geheim-1\ngeheim-2\n", "it is not a token: it has more than one line"},
		{"binary", "geheim\x00\x01\xff", "it is not a token: it is binary"},
		{"large", strings.Repeat("geheim", 20000), "it is not a token: it is too large"},
	} {
		path := filepath.Join(dir, tt.name)
		switch {
		case tt.name == "folder":
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		case tt.content != "":
			if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, flag := range []string{"--token-file", "--offline-token-file"} {
			got := runLive(t, "http://127.0.0.1:1", "", false, "get", "clusters", flag, path)
			if got.code != 2 || !strings.Contains(got.errors, tt.says) || !strings.Contains(got.errors, "Next: give "+flag) || strings.Contains(got.errors, "geheim") {
				t.Errorf("%s %s: code %d\n%s", flag, tt.name, got.code, got.errors)
			}
		}
	}
}
