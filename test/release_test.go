//go:build e2e

package test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestRelease looks into a release that was made beforehand: `make
// release-snapshot` makes one and runs this on it.
func TestRelease(t *testing.T) {
	dist := os.Getenv("OAICTL_DIST")
	if dist == "" {
		t.Skip("OAICTL_DIST names no folder with a release")
	}
	archives := match(t, dist, "oaictl_*.tar.gz", "*.zip")
	if len(archives) != 6 {
		t.Fatalf("there are %d archives, not 6: %v", len(archives), archives)
	}
	hosts := match(t, dist, "oaictl-host_*.tar.gz")
	if len(hosts) != 2 {
		t.Errorf("there are %d archives of the machine's side, not 2: %v", len(hosts), hosts)
	}
	for _, name := range hosts {
		if content := contents(t, name); !slices.Contains(content, "oaictl-host") || !slices.Contains(content, "docs/host.md") {
			t.Errorf("%s has %q", filepath.Base(name), content)
		}
	}
	t.Run("archives", func(t *testing.T) {
		for _, name := range archives {
			program := "oaictl"
			if filepath.Ext(name) == ".zip" {
				program += ".exe"
			}
			content := contents(t, name)
			for _, file := range []string{
				program, "LICENSE", "README.md", "CHANGELOG.md", "man/oaictl.1", "man/oaictl-create-cluster.1",
				"completions/oaictl.bash", "completions/oaictl.zsh", "completions/oaictl.fish", "completions/oaictl.ps1",
			} {
				if !slices.Contains(content, file) {
					t.Errorf("%s lacks %s", filepath.Base(name), file)
				}
			}
			if _, err := os.Stat(name + ".sbom.json"); err != nil {
				t.Errorf("%s has no bill of materials: %v", filepath.Base(name), err)
			}
		}
	})
	t.Run("checksums", func(t *testing.T) {
		sums := must.Get(os.ReadFile(filepath.Join(dist, "checksums.txt")))(t)
		for _, name := range append(archives, match(t, dist, "*.deb", "*.rpm", "*.sbom.json")...) {
			check.Contains(t, string(sums), sum(t, name)+"  "+filepath.Base(name), "checksums.txt has no line")
		}
	})
	t.Run("providers", func(t *testing.T) { checkProviders(t, dist) })
	t.Run("krew", func(t *testing.T) { checkKrew(t, dist, archives) })
	t.Run("packages", func(t *testing.T) { checkPackages(t, dist) })
	t.Run("names", func(t *testing.T) { checkNames(t, dist) })
}

// checkProviders looks for what clusterctl reads of a release, and holds it to be checked by its sums.
func checkProviders(t *testing.T, dist string) {
	sums := must.Get(os.ReadFile(filepath.Join(dist, "checksums.txt")))(t)
	folder := filepath.Join(filepath.Dir(dist), "bin", "release", "capi")
	for _, name := range []string{
		"bootstrap-components.yaml", "control-plane-components.yaml", "infrastructure-components.yaml", "metadata.yaml", "clusterctl.yaml",
		"cluster-template.yaml", "cluster-template-compact.yaml", "clusterclass-openshift-assisted.yaml",
	} {
		check.Contains(t, string(sums), sum(t, filepath.Join(folder, name))+"  "+name, "checksums.txt has no line")
	}
}

// checkKrew holds the plugin's manifest to the archives beside it.
func checkKrew(t *testing.T, dist string, archives []string) {
	text := must.Get(os.ReadFile(filepath.Join(dist, "krew", "oai.yaml")))(t)
	var manifest struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			Version, Homepage, ShortDescription, Description, Caveats string
			Platforms                                                 []struct {
				Bin, URI, SHA256 string
				Selector         struct{ MatchLabels map[string]string }
			}
		}
	}
	must.Do(t, yaml.Unmarshal(text, &manifest))
	if manifest.Metadata.Name != "oai" || len(manifest.Spec.Platforms) != len(archives) {
		t.Errorf("the manifest is for %s with %d platforms", manifest.Metadata.Name, len(manifest.Spec.Platforms))
	}
	// What krew's own check asks of a manifest.
	if manifest.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || manifest.Kind != "Plugin" || !strings.HasPrefix(manifest.Spec.Version, "v") {
		t.Errorf("it is a %s %s of version %q", manifest.APIVersion, manifest.Kind, manifest.Spec.Version)
	}
	if short := manifest.Spec.ShortDescription; short == "" || len(short) > 50 || strings.HasSuffix(short, ".") {
		t.Errorf("its short description is %q", short)
	}
	if manifest.Spec.Homepage == "" || manifest.Spec.Description == "" || !strings.Contains(manifest.Spec.Caveats, "kubectl_complete-oai") {
		t.Errorf("it does not describe itself: %+v", manifest.Spec)
	}
	var platforms []string
	for _, platform := range manifest.Spec.Platforms {
		platforms = append(platforms, platform.Selector.MatchLabels["os"]+"/"+platform.Selector.MatchLabels["arch"])
		if !strings.HasPrefix(platform.URI, "https://") {
			t.Errorf("%s is not read over HTTPS", platform.URI)
		}
		if found := contents(t, filepath.Join(dist, platform.URI[strings.LastIndex(platform.URI, "/")+1:])); !slices.Contains(found, "LICENSE") {
			t.Errorf("%s has no licence", platform.URI)
		}
		name := filepath.Join(dist, platform.URI[strings.LastIndex(platform.URI, "/")+1:])
		if got := sum(t, name); got != platform.SHA256 {
			t.Errorf("%s: the manifest says %s, the file is %s", name, platform.SHA256, got)
		}
		if !slices.Contains(contents(t, name), platform.Bin) {
			t.Errorf("%s has no %s", name, platform.Bin)
		}
	}
	slices.Sort(platforms)
	want := []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64", "windows/arm64"}
	check.Slice(t, platforms, want, "it is for")
}

// checkPackages looks for the names by which kubectl and clusterctl find the
// program, where there is a tool that reads packages.
func checkPackages(t *testing.T, dist string) {
	if packages := match(t, dist, "*.deb", "*.rpm"); len(packages) != 4 {
		t.Errorf("there are %d packages, not 4: %v", len(packages), packages)
	}
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("no dpkg-deb to look into a package with")
	}
	for _, name := range match(t, dist, "*.deb") {
		out := must.Get(exec.CommandContext(t.Context(), "dpkg-deb", "-c", name).Output())(t)
		for _, line := range []string{
			"./usr/bin/kubectl-oai -> oaictl", "./usr/bin/kubectl_complete-oai -> oaictl", "./usr/bin/clusterctl-oai -> oaictl",
			"./usr/share/man/man1/oaictl.1", "./usr/share/bash-completion/completions/oaictl", "./usr/share/zsh/site-functions/_oaictl",
		} {
			if !strings.Contains(string(out), line) {
				t.Errorf("%s lacks %s", filepath.Base(name), line)
			}
		}
	}
}

// checkNames runs this platform's program under each of its names.
func checkNames(t *testing.T, dist string) {
	programs := match(t, dist, "oaictl_"+runtime.GOOS+"_"+runtime.GOARCH+"*/oaictl*")
	if len(programs) != 1 {
		t.Fatalf("programs for this platform: %v", programs)
	}
	program := must.Get(filepath.Abs(programs[0]))(t)
	dir := t.TempDir()
	for name, want := range map[string]string{"oaictl": "oaictl ", "kubectl-oai": "kubectl oai ", "clusterctl-oai": "clusterctl oai "} {
		link := filepath.Join(dir, name)
		must.Do(t, os.Symlink(program, link))
		out, err := exec.CommandContext(t.Context(), link, "--help").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "\n  "+want) {
			t.Errorf("%s --help does not speak of %q (%v):\n%s", name, want, err, out)
		}
	}
	link := filepath.Join(dir, "kubectl_complete-oai")
	must.Do(t, os.Symlink(program, link))
	out, err := exec.CommandContext(t.Context(), link, "versio").Output()
	if err != nil || !strings.HasPrefix(string(out), "version\t") {
		t.Errorf("kubectl_complete-oai completes versio to %q (%v)", out, err)
	}
}

func match(t *testing.T, dir string, patterns ...string) []string {
	t.Helper()
	var found []string
	for _, pattern := range patterns {
		names := must.Get(filepath.Glob(filepath.Join(dir, pattern)))(t)
		found = append(found, names...)
	}
	return found
}

func sum(t *testing.T, name string) string {
	t.Helper()
	data := must.Get(os.ReadFile(name))(t)
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:])
}

// contents are the files in an archive.
func contents(t *testing.T, name string) []string {
	t.Helper()
	data := must.Get(os.ReadFile(name))(t)
	var files []string
	if filepath.Ext(name) == ".zip" {
		archive := must.Get(zip.NewReader(bytes.NewReader(data), int64(len(data))))(t, name)
		for _, file := range archive.File {
			files = append(files, file.Name)
		}
		return files
	}
	plain := must.Get(gzip.NewReader(bytes.NewReader(data)))(t, name)
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		files = append(files, header.Name)
	}
}
