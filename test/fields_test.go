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

// knowers are the files that know a field of cluster.yaml by one of its names. Tests, packages for tests and generated files
// are not counted.
func knowers(t *testing.T, names *regexp.Regexp) []string {
	t.Helper()
	var know []string
	for _, root := range []string{"pkg", "internal", "cmd"} {
		must.Do(t, filepath.WalkDir(filepath.Join("..", root), func(path string, entry fs.DirEntry, err error) error {
			path = strings.TrimPrefix(filepath.ToSlash(path), "../")
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (entry.Name() == "testdata" || strings.HasSuffix(path, "test") || path == "pkg/capi/manifests/crd"):
				return fs.SkipDir
			case entry.IsDir(), strings.HasSuffix(path, "_test.go"), strings.HasPrefix(entry.Name(), "zz_generated"):
				return nil
			case !slices.Contains([]string{".go", ".yaml"}, filepath.Ext(path)):
				return nil
			}
			source, err := os.ReadFile(filepath.Join("..", path))
			if names.Match(source) {
				know = append(know, path)
			}
			return err
		}))
	}
	slices.Sort(know)
	return know
}

// listedFiles are those that docs/architecture.md names for a field of cluster.yaml.
func listedFiles(t *testing.T) []string {
	t.Helper()
	page := must.Get(os.ReadFile("../docs/architecture.md"))(t)
	_, section, _ := strings.Cut(string(page), "**A field of cluster.yaml**")
	section, _, _ = strings.Cut(section, "`go generate")
	var listed []string
	for _, link := range regexp.MustCompile(`\]\(\.\./([^)]+)\)`).FindAllStringSubmatch(section, -1) {
		listed = append(listed, link[1])
	}
	slices.Sort(listed)
	return listed
}

// TestFieldTouchesFewFiles counts the files that know a field of cluster.yaml: the library, the formats, Cluster API and the
// simulator, which plays the service. A field that is only kept is in ten files at most, those of docs/architecture.md.
func TestFieldTouchesFewFiles(t *testing.T) {
	for _, field := range []struct {
		name, names string
		most        int
	}{
		{"spec.schedulableControlPlane", `(?i)schedulable_?masters|mastersSchedulable|schedulableControlPlane`, 10},
		{"spec.fips", `\b(FIPS|fips)\b`, 10},
		{"spec.network.mtu", `network\.mtu|Network\.MTU|fieldMTU|clusterNetworkMTU|(MTU|mtu) of the pod network`, 10},
		// Code acts on these: pools of machines have hyperthreading one by one, the checks of networks depend on the load
		// balancer, and disk encryption is checked on hosts and read from the installed cluster.
		{"spec.hyperthreading", `(?i)hyperthreading`, 20},
		{"spec.network.loadBalancer", `(?i)load_?balancer`, 27},
		{"spec.diskEncryption", `(?i)disk_?encryption`, 34},
	} {
		know := knowers(t, regexp.MustCompile(field.names))
		if len(know) > field.most {
			t.Errorf("%d files know %s, at most %d:\n%s", len(know), field.name, field.most, strings.Join(know, "\n"))
		}
		if field.name != "spec.schedulableControlPlane" {
			continue
		}
		if diff := cmp.Diff(listedFiles(t), know); diff != "" {
			t.Errorf("files that know %s (-in docs/architecture.md +know it):\n%s", field.name, diff)
		}
	}
}
