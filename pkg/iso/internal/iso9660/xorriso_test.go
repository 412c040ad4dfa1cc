//go:build e2e

package iso9660

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/internal/isotest"
)

// TestImagesOfXorriso reads, walks and grows an image that xorriso made by itself, with its own MBR and GPT.
func TestImagesOfXorriso(t *testing.T) {
	if _, err := exec.LookPath("xorriso"); err != nil {
		t.Skip("xorriso is not installed (apt-get install xorriso)")
	}
	dir := t.TempDir()
	long := "a-long-name-" + strings.Repeat("x", 200) + ".conf"
	files := map[string][]byte{
		"images/ignition.img":   make([]byte, 262144),
		"images/efiboot.img":    bytes.Repeat([]byte("efi"), 20_000),
		"isolinux/isolinux.bin": bytes.Repeat([]byte("bin"), 8_000),
		"coreos/igninfo.json":   []byte(`{"file":"images/ignition.img"}`),
		"coreos/" + long:        []byte("found by a name that goes on elsewhere"),
		"empty":                 {},
	}
	for name, data := range files {
		path := filepath.Join(dir, "tree", name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, data, 0o644))
	}
	mbr := filepath.Join(dir, "mbr")
	must.Do(t, os.WriteFile(mbr, bytes.Repeat([]byte{0x90}, 432), 0o644))
	image := filepath.Join(dir, "x.iso")
	out, err := exec.Command("xorriso", "-as", "mkisofs", "-quiet", "-V", "field-1.2", "-rational-rock", "-J", "-joliet-long",
		"-isohybrid-mbr", mbr, "-b", "isolinux/isolinux.bin", "-c", "isolinux/boot.cat", "-no-emul-boot", "-boot-load-size", "4",
		"-boot-info-table", "-eltorito-alt-boot", "-e", "images/efiboot.img", "-no-emul-boot", "-isohybrid-gpt-basdat",
		"-o", image, filepath.Join(dir, "tree")).CombinedOutput()
	if err != nil {
		t.Fatalf("xorriso: %v\n%s", err, out)
	}

	v, _ := open(t, image)
	if want := (Boot{BIOSCD: true, BIOSDisk: true, UEFICD: true, UEFIDisk: true}); v.Boot != want || v.ID != "field-1.2" {
		t.Errorf("%q boots by %+v, want all ways", v.ID, v.Boot)
	}
	if v.GPT == nil || len(v.GPT.Trouble) > 0 {
		t.Errorf("GPT: %+v", v.GPT)
	}
	got := walk(t, v)
	for name, data := range files {
		if !slices.Contains(got, name) {
			t.Errorf("%s is not in %q", name, got)
		}
		if read, err := v.ReadFile(name, 1<<20); err != nil || name != "isolinux/isolinux.bin" && !bytes.Equal(read, data) {
			t.Errorf("%s: %d bytes, error %v; want %d bytes", name, len(read), err, len(data))
		}
	}
	before := xorriso(t, image, "-report_el_torito", "plain", "-report_system_area", "plain")
	grow(t, image, ignition, bigContent())
	checkReport(t, before, xorriso(t, image, "-report_el_torito", "plain", "-report_system_area", "plain"))
	for _, names := range []string{"any", "norock"} {
		readBack(t, image, names)
	}
}

// xorriso runs the program on an image; a warning is a failure.
func xorriso(t *testing.T, image string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("xorriso"); err != nil {
		t.Skip("xorriso is not installed (apt-get install xorriso)")
	}
	all := append([]string{"-abort_on", "WARNING", "-report_about", "WARNING", "-indev", image}, args...)
	out, err := exec.Command("xorriso", all...).CombinedOutput()
	if err != nil {
		t.Fatalf("xorriso %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestXorrisoReadsWhatWasMoved lets an implementation that is not ours judge.
func TestXorrisoReadsWhatWasMoved(t *testing.T) {
	for _, name := range []string{"x86_64-2021-09", "x86_64-2023-07", "x86_64-sparse", "x86_64-joliet-only", "aarch64-2023-07", "ppc64le-2023-07"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			image := isotest.Make(t, layout(t, name))
			before := xorriso(t, image, "-report_el_torito", "plain", "-report_system_area", "plain")
			grow(t, image, ignition, bigContent())
			after := xorriso(t, image, "-report_el_torito", "plain", "-report_system_area", "plain")
			checkReport(t, before, after)
			for _, names := range []string{"any", "norock"} { // Rock Ridge, then Joliet
				readBack(t, image, names)
			}
		})
	}
}

// checkReport holds what xorriso says after a move against what it said before: only the size of the image and what
// follows from it may differ.
func checkReport(t *testing.T, before, after string) {
	t.Helper()
	keep := func(report string) []string {
		var lines []string
		for line := range strings.Lines(report) {
			if !strings.HasPrefix(line, "ISO image size/512") && !strings.HasPrefix(line, "GPT lba range") && !strings.HasPrefix(line, "xorriso ") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		return lines
	}
	if strings.Contains(after, "GPT") && strings.Contains(after, "problems") {
		t.Errorf("xorriso sees problems with the GPT:\n%s", after)
	}
	if diff := cmp.Diff(keep(before), keep(after)); diff != "" {
		t.Errorf("report of xorriso (-before +after):\n%s", diff)
	}
}

// readBack lets xorriso extract the moved file by one kind of names.
func readBack(t *testing.T, image, names string) {
	t.Helper()
	v, _ := open(t, image)
	if names == "norock" && !v.Joliet {
		return
	}
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"-abort_on", "WARNING", "-report_about", "WARNING", "-read_fs", names, "-osirrox", "on", "-indev", image, "-extract", "/" + ignition, out}
	if msg, err := exec.Command("xorriso", args...).CombinedOutput(); err != nil {
		t.Fatalf("xorriso -read_fs %s: %v\n%s", names, err, msg)
	}
	got := must.Get(os.ReadFile(out))(t)
	if !bytes.Equal(got, bigContent()) {
		t.Errorf("xorriso -read_fs %s reads other content", names)
	}
}
