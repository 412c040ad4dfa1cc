//go:build e2e

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

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/internal/isotest"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
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
		must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must.Do(t, os.WriteFile(file, data, 0o600))
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

// Another reader of the filesystem finds in every output what was put there.
func TestXorrisoReadsEveryOutput(t *testing.T) {
	xorriso, err := exec.LookPath("xorriso")
	if err != nil {
		t.Skip("xorriso is not installed")
	}
	for _, name := range []string{"x86_64-2021-12", "x86_64-2023-07", "aarch64-2023-07", "ppc64le-2023-07"} {
		base := open(t, layout(t, name))
		mini := must.Get(base.Minimal(t.Context(), rootfsURL))(t)
		for kind, from := range map[string]*iso.Base{"full": base, "minimal": mini} {
			for size, config := range map[string][]byte{"small": []byte(config), "grown": noise(280_000)} {
				t.Run(name+"/"+kind+"/"+size, func(t *testing.T) {
					image, result := customize(t, from, iso.Customization{Ignition: config})
					dir := t.TempDir()
					path, area := filepath.Join(dir, "out.iso"), filepath.Join(dir, "ignition.img")
					must.Get(image.WriteFile(t.Context(), path, overlay.WriteOptions{}))(t)
					out, err := exec.Command(xorriso, "-indev", path, "-report_system_area", "plain", "-osirrox", "on", "-extract", "/images/ignition.img", area).CombinedOutput()
					if err != nil {
						t.Fatalf("xorriso: %v\n%s", err, out)
					}
					got := must.Get(os.ReadFile(area))(t)
					if want := embedded(t, image, result); !bytes.HasPrefix(got, want) {
						t.Errorf("xorriso extracts another Ignition area\n%s", out)
					}
				})
			}
		}
	}
}

// The same with a tool that does rebuild images.
func TestVerifyWhatXorrisoRebuilt(t *testing.T) {
	xorriso, err := exec.LookPath("xorriso")
	if err != nil {
		t.Skip("xorriso is not installed")
	}
	from, tree, to := isotest.Make(t, layout(t, "x86_64-2023-07")), t.TempDir(), filepath.Join(t.TempDir(), "rebuilt.iso")
	for _, args := range [][]string{
		{"-osirrox", "on", "-indev", from, "-extract", "/", tree},
		{"-as", "mkisofs", "-quiet", "-V", "rhcos-9.6.20250523-0", "-rational-rock", "-J", "-joliet-long", "-o", to, tree},
	} {
		if out, err := exec.Command(xorriso, args...).CombinedOutput(); err != nil {
			t.Fatalf("xorriso: %v\n%s", err, out)
		}
	}
	if damage, err := openFile(t, to).Verify(t.Context()); err != nil || len(damage) > 0 {
		t.Errorf("damage %v, error %v", damage, err)
	}
}
