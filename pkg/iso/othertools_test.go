package iso_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/pkg/iso"
)

// The Assisted Installer rebuilds its minimal ISO with further ramdisks, and leaves the kernel
// arguments' description behind. Such an image is made here by xorriso.
func TestInspectAssistedMinimal(t *testing.T) {
	xorriso, err := exec.LookPath("xorriso")
	if err != nil {
		t.Skip("xorriso is not installed")
	}
	zip := func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }
	area := make([]byte, 256<<10)
	copy(area, packed(t, archive(t, map[string]string{"config.ign": secretive}), zip))
	custom := make([]byte, 1<<20)
	copy(custom, packed(t, archive(t, map[string]string{"etc/assisted/network/host1/eno1.nmconnection": keyfile}), zip))
	const args = "coreos.live.rootfs_url=http://user:secret@images/rootfs ignition.firstboot"
	menu := "linux /images/pxeboot/vmlinuz " + args + "\n"
	for _, tail := range []string{strings.Repeat("#", 100), "# COREOS_KARG_EMBED_AREA\n"} {
		menu += tail
	}
	root := t.TempDir()
	for path, data := range map[string][]byte{
		"coreos/igninfo.json":                  []byte(`{"file":"images/ignition.img"}`),
		"coreos/kargs.json":                    []byte(`{"default":"` + args + `","size":170,"files":[{"path":"EFI/redhat/grub.cfg","offset":30}]}`),
		"EFI/redhat/grub.cfg":                  []byte(menu),
		"images/ignition.img":                  area,
		"images/assisted_installer_custom.img": custom,
		"images/nmstate.img":                   packed(t, archive(t, map[string]string{"agent-files/agent-tui": "ELF"}), zip),
		"images/pxeboot/initrd.img":            packed(t, archive(t, nil), zip),
		"images/pxeboot/vmlinuz":               append(bytes.Repeat([]byte{'M'}, 0x202), "HdrS"...),
	} {
		file := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	image := filepath.Join(t.TempDir(), "minimal.iso")
	if out, err := exec.Command(xorriso, "-as", "mkisofs", "-quiet", "-V", "rhcos-418.94.202501221327-0", "-rational-rock", "-J", "-joliet-long", "-o", image, root).CombinedOutput(); err != nil {
		t.Fatalf("xorriso: %v\n%s", err, out)
	}

	got := inspect(t, openFile(t, image))
	if got.Version != "418.94.202501221327-0" || got.Arch != "x86_64" || got.Kargs.Current != args || got.Ignition.Compression != "gzip" {
		t.Errorf("report %+v", got)
	}
	want := []iso.Ramdisk{
		{Path: "images/assisted_installer_custom.img", Compression: "gzip", Members: []iso.Member{{Name: "etc/assisted/network/host1/eno1.nmconnection", Bytes: int64(len(keyfile)), Mode: "0600"}}},
		{Path: "images/nmstate.img", Compression: "gzip", Members: []iso.Member{{Name: "agent-files/agent-tui", Bytes: 3, Mode: "0600"}}},
	}
	if diff := cmp.Diff(want, got.Ramdisks); diff != "" {
		t.Errorf("ramdisks (-want +got):\n%s", diff)
	}
	var secrets []string
	for _, s := range got.Secrets {
		secrets = append(secrets, s.Kind)
	}
	if want := []string{"pull-secret", "url-credentials"}; !slices.Equal(secrets, want) {
		t.Errorf("secrets %+v, want %v", got.Secrets, want)
	}
	if len(got.Network) != 2 || len(got.Problems) > 0 {
		t.Errorf("network %+v, problems %v", got.Network, got.Problems)
	}
}

func TestWarnings(t *testing.T) {
	base := open(t, layout(t, "x86_64-2023-07"))
	decimal := strings.Replace(config, `"mode":420`, `"mode":644`, 1)
	_, result := customize(t, base, iso.Customization{Ignition: []byte(decimal), Kargs: iso.KargEdit{Append: []string{"console=ttyS0"}}})
	text := strings.Join(result.Warnings, "\n")
	for _, want := range []string{"the Ignition config:1:", "644", "console=ttyS0"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the warnings:\n%s", want, text)
		}
	}
}
