//go:build e2e

package isotest

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// xorriso runs the program on an ISO and returns what it says. Warnings are failures: it must find nothing odd.
func xorriso(t *testing.T, path string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("xorriso"); err != nil {
		t.Skip("xorriso is not installed (apt-get install xorriso)")
	}
	out, err := exec.Command("xorriso", append([]string{"-abort_on", "WARNING", "-report_about", "WARNING", "-indev", path}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("xorriso %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// wantFiles are the paths that xorriso must find. It keeps the boot catalog apart, and without a tree of real names it
// shows the plain ones.
func wantFiles(l Layout) []string {
	var want []string
	for _, path := range Paths(l) {
		if path == l.machine().catalog {
			continue
		}
		if !l.RockRidge && !l.Joliet {
			dir, name := filepath.Split(strings.ToUpper(path))
			base, ext, dotted := strings.Cut(name, ".")
			if dotted {
				base += "." + ext[:min(3, len(ext))]
			}
			path = dir + base
		}
		want = append(want, path)
	}
	slices.Sort(want)
	return want
}

// wantBoot is what xorriso must report on how the layout boots.
func wantBoot(l Layout) []string {
	var want []string
	switch l.Arch {
	case "x86_64":
		want = []string{"1  BIOS  y   none", "2  UEFI  y   none", "1  boot-info-table", "2  /images/efiboot.img"}
	case "aarch64":
		want = []string{"1  UEFI  y   none", "1  /images/efiboot.img"}
	case "s390x":
		want = []string{"1  BIOS  y   none", "1  /images/cdboot.img"}
	}
	if l.Hybrid {
		want = append(want, "MBR partition      :   1   0x80  0x00", "0xef", "GPT lba range", "GPT partition path :   2  /images/efiboot.img")
	}
	return want
}

func TestXorrisoReadsEveryFixture(t *testing.T) {
	for _, l := range Layouts() {
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			path := Make(t, l)
			out := xorriso(t, path, "-report_system_area", "plain", "-report_el_torito", "plain", "-find", "/", "-type", "f")
			var got []string
			for line := range strings.Lines(out) {
				if name, ok := strings.CutPrefix(strings.TrimSpace(line), "'/"); ok {
					got = append(got, strings.TrimSuffix(name, "'"))
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(wantFiles(l), got); diff != "" {
				t.Errorf("files (-made +read by xorriso):\n%s", diff)
			}
			for _, want := range wantBoot(l) {
				if !strings.Contains(strings.ToLower(out), strings.ToLower(want)) {
					t.Errorf("xorriso does not report %q:\n%s", want, out)
				}
			}
		})
	}
}
