package test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFieldTouchesFiveFiles counts the files that know a field of cluster.yaml, and compares docs/architecture.md with
// them. The formats of pkg/install/convert document on their own what they do with a field, Cluster API's objects are
// another format, and the simulator is not counted: it plays the service.
func TestFieldTouchesFiveFiles(t *testing.T) {
	page, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "**A field of cluster.yaml**")
	section, _, _ = strings.Cut(section, "`go generate")
	var told []string
	for _, link := range regexp.MustCompile(`\]\(\.\./([^)]+\.go)\)`).FindAllStringSubmatch(section, -1) {
		told = append(told, link[1])
	}
	slices.Sort(told)
	field := regexp.MustCompile(`\b(SchedulableControlPlane|SettingSchedulableControlPlane)\b`)
	var know []string
	for _, root := range []string{"pkg", "internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", root), func(path string, entry fs.DirEntry, err error) error {
			path = filepath.ToSlash(path)
			switch {
			case err != nil:
				return err
			case path == "../pkg/install/convert" || path == "../pkg/capi" || path == "../internal/simulator":
				return fs.SkipDir
			case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			source, err := os.ReadFile(path)
			if field.Match(source) {
				know = append(know, strings.TrimPrefix(path, "../"))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(know)
	if diff := cmp.Diff(told, know); diff != "" || len(know) > 5 {
		t.Errorf("%d files know spec.schedulableControlPlane (-told in docs/architecture.md +know it):\n%s", len(know), diff)
	}
}
