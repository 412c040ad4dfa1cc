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

	"github.com/oaictl/oaictl/internal/shared/must"
)

// knowers are the files that know a field of cluster.yaml by one of its names. Tests and generated files are not
// counted.
func knowers(t *testing.T, field *regexp.Regexp, left func(path string) bool) []string {
	t.Helper()
	var know []string
	for _, root := range []string{"pkg", "internal", "cmd"} {
		must.Do(t, filepath.WalkDir(filepath.Join("..", root), func(path string, entry fs.DirEntry, err error) error {
			path = strings.TrimPrefix(filepath.ToSlash(path), "../")
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (left(path) || entry.Name() == "testdata"):
				return fs.SkipDir
			case entry.IsDir(), strings.HasSuffix(path, "_test.go"), strings.HasPrefix(entry.Name(), "zz_generated"):
				return nil
			case !strings.HasSuffix(path, ".go") && entry.Name() != "reasons.yaml":
				return nil
			}
			source, err := os.ReadFile(filepath.Join("..", path))
			if field.Match(source) {
				know = append(know, path)
			}
			return err
		}))
	}
	slices.Sort(know)
	return know
}

// TestFieldTouchesFewFiles counts the files that know a field of cluster.yaml. docs/architecture.md has those that every field
// of a service touches. The others are the formats of pkg/install/convert, the objects of Cluster API, the types of a hub's
// objects, and the simulator, which plays the service.
func TestFieldTouchesFewFiles(t *testing.T) {
	page := must.Get(os.ReadFile("../docs/architecture.md"))(t)
	_, section, _ := strings.Cut(string(page), "**A field of cluster.yaml**")
	section, _, _ = strings.Cut(section, "`go generate")
	var listed []string
	for _, link := range regexp.MustCompile(`\]\(\.\./([^)]+\.go)\)`).FindAllStringSubmatch(section, -1) {
		listed = append(listed, link[1])
	}
	slices.Sort(listed)
	ours := regexp.MustCompile(`\b(SchedulableControlPlane|SettingSchedulableControlPlane)\b`)
	know := knowers(t, ours, func(path string) bool {
		return path == "pkg/install/convert" || path == "pkg/capi" || path == "internal/simulator"
	})
	if diff := cmp.Diff(listed, know); diff != "" || len(know) > 5 {
		t.Errorf("%d files know spec.schedulableControlPlane (-in docs/architecture.md +know it):\n%s", len(know), diff)
	}
	const most = 18 // in the whole tree
	every := regexp.MustCompile(`(?i)schedulable_?masters|mastersSchedulable|schedulableControlPlane`)
	if all := knowers(t, every, func(string) bool { return false }); len(all) > most {
		t.Errorf("%d files know it by any of its names, at most %d:\n%s", len(all), most, strings.Join(all, "\n"))
	}
}
