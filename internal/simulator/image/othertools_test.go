//go:build e2e

package image

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// TestAsOthersReadIt asks the usual tools about the images.
func TestAsOthersReadIt(t *testing.T) {
	for _, tool := range []string{"isoinfo", "xorriso"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed (Debian packages genisoimage and xorriso), so only this package's own reader checks the images", tool)
		}
	}
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	for _, arch := range versions.Architectures() {
		t.Run(arch, func(t *testing.T) {
			made := liveFor(t, "4.21", arch, false)
			path := filepath.Join(t.TempDir(), "live.iso")
			if err := os.WriteFile(path, made.iso.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			about := run("isoinfo", "-d", "-i", path)
			for _, want := range []string{"Volume id: rhcos-9.6.20251212-1", "Rock Ridge signatures version 1 found"} {
				if !strings.Contains(about, want) {
					t.Errorf("isoinfo does not say %q:\n%s", want, about)
				}
			}
			listed := strings.Split(strings.TrimSpace(run("isoinfo", "-R", "-f", "-i", path)), "\n")
			for name := range readISO(t, made.iso.Bytes()) {
				if !slices.Contains(listed, "/"+name) {
					t.Errorf("isoinfo does not find %s in %v", name, listed)
				}
			}
			if got := run("isoinfo", "-R", "-x", "/coreos/igninfo.json", "-i", path); !strings.Contains(got, `"file": "images/`) {
				t.Errorf("igninfo.json as isoinfo reads it: %s", got)
			}
			report := run("xorriso", "-indev", path, "-report_el_torito", "plain", "-find", "/", "-type", "f")
			if regexp.MustCompile(`(?i)(SORRY|FAILURE|FATAL|WARNING) :`).MatchString(report) {
				t.Errorf("xorriso complains:\n%s", report)
			}
			for _, want := range bootReports(arch) {
				if !regexp.MustCompile(want).MatchString(report) {
					t.Errorf("xorriso's report lacks %q:\n%s", want, report)
				}
			}
		})
	}
}

func bootReports(arch string) []string {
	switch arch {
	case "x86_64":
		return []string{`El Torito boot img :   1  BIOS  y   none`, `El Torito boot img :   2  UEFI  y   none`, `/isolinux/isolinux.bin`, `/images/efiboot.img`}
	case "arm64":
		return []string{`El Torito boot img :   1  UEFI  y   none`}
	case "s390x":
		return []string{`El Torito boot img :   1  BIOS  y   none`, `/images/cdboot.img`}
	}
	return nil
}
