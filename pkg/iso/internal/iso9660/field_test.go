package iso9660

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mbr := filepath.Join(dir, "mbr")
	if err := os.WriteFile(mbr, bytes.Repeat([]byte{0x90}, 432), 0o644); err != nil {
		t.Fatal(err)
	}
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

// TestFindByNamesCutShort: a tool may rename kargs.json to kargs.jso, its Rock Ridge name too. A file that has a longer
// name of its own is never taken for another.
func TestFindByNamesCutShort(t *testing.T) {
	entries := []entry{
		{name: "kargs.jsonx", plain: "kargs.jso"},
		{name: "IGNINFO.JSO", plain: "igninfo.jso"},
		{name: "k.jso", plain: "k.jso"},
	}
	for name, want := range map[string]string{"igninfo.json": "IGNINFO.JSO", "kargs.json": "", "kargs.jsonx": "kargs.jsonx", "k.json": "k.jso"} {
		got := ""
		if e := pick(entries, name); e != nil {
			got = e.name
		}
		if got != want {
			t.Errorf("%s leads to %q, want %q", name, got, want)
		}
	}
}
