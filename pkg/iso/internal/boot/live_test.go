//go:build e2e

package boot

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/internal/cpio"
	"github.com/oaictl/oaictl/pkg/iso/internal/iso9660"
	"github.com/oaictl/oaictl/pkg/iso/internal/isotest"
)

const (
	volumeID     = "oaictl-live-1.0"
	markerText   = "the live medium"
	areaLength   = 256 << 10
	kargsComment = " COREOS_KARG_EMBED_AREA\n"
	// The kernel's check of the timer fails on an emulated machine that is slow.
	defaultKargs = "no_timer_check console=ttyS0,115200n8 quiet ignition.platform.id=metal coreos.liveiso=" + volumeID
)

// toolsNeeded are the programs that making and booting the image takes, by the
// Debian package that they come in.
func toolsNeeded() map[string]string {
	return map[string]string{
		"xorriso": "xorriso", "isohybrid": "syslinux-utils", "grub-mkimage": "grub-common", "mkfs.vfat": "dosfstools", "mmd": "mtools", "mcopy": "mtools",
		"qemu-system-x86_64": "qemu-system-x86", "/usr/lib/ISOLINUX/isolinux.bin": "isolinux", "/usr/lib/syslinux/modules/bios/ldlinux.c32": "syslinux-common",
		"/usr/lib/grub/x86_64-efi/moddep.lst": "grub-efi-amd64-bin", "/usr/share/OVMF/OVMF_CODE_4M.fd": "ovmf", "/usr/lib/ipxe/qemu/pxe-virtio.rom": "ipxe-qemu",
		"dpkg-deb": "dpkg", "apt-get": "apt",
	}
}

// TestPackagesAreListed holds the list that is installed from to what is needed.
func TestPackagesAreListed(t *testing.T) {
	listed := strings.Fields(string(read(t, "../../../../test/packages")))
	for tool, debian := range toolsNeeded() {
		if debian != "apt" && debian != "dpkg" && !slices.Contains(listed, debian) {
			t.Errorf("%s is missing from test/packages; %s needs it", debian, tool)
		}
	}
}

// needTools skips the test where a program is missing, and says how to get it.
func needTools(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("boots emulated machines; left out of -short")
	}
	var missing []string
	for tool, debian := range toolsNeeded() {
		_, err := os.Stat(program(tool))
		if err != nil && !slices.Contains(missing, debian) {
			missing = append(missing, debian)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		t.Skipf("cannot boot media here; on Debian: apt-get install --no-install-recommends %s", strings.Join(missing, " "))
	}
}

// program is where a program is: on the PATH, or where Debian has those of root.
// A path stays what it is.
func program(name string) string {
	if found, err := exec.LookPath(name); err == nil || filepath.IsAbs(name) {
		return cmp.Or(found, name)
	}
	return filepath.Join("/usr/sbin", name)
}

// command runs a program that has to succeed.
func command(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	c := exec.CommandContext(t.Context(), program(name), args...)
	c.Dir = dir
	var said, failed bytes.Buffer
	c.Stdout, c.Stderr = &said, &failed
	if err := c.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(c.Args, " "), err, failed.String())
	}
	return said.Bytes()
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, data, 0o644))
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(path))(t)
}

// kernel is a Linux kernel of Debian's for virtual machines, with its modules:
// taken out of the package, which is fetched once, and installed nowhere.
type kernel struct {
	image   []byte
	modules map[string][]byte
}

// drivers are what the live image needs to read a CD or a disk.
func drivers() []string {
	return []string{
		"libata", "ata_piix", "ata_generic", "scsi_common", "scsi_mod", "sr_mod", "sd_mod", "cdrom", "isofs", "t10-pi",
		"crc-t10dif", "crct10dif_common", "crct10dif_generic", "crc64-rocksoft", "crc64-rocksoft_generic", "crc64", "zlib_inflate", "nls_base",
	}
}

func debianKernel(t *testing.T) kernel {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("no place to keep a kernel in: %v", err)
	}
	dir := filepath.Join(cache, "oaictl", "debian")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Skipf("no place to keep a kernel in: %v", err)
	}
	packages := must.Get(filepath.Glob(filepath.Join(dir, "linux-image-*.deb")))(t)
	if len(packages) == 0 {
		name := kernelPackage(t)
		c := exec.CommandContext(t.Context(), "apt-get", "download", name)
		c.Dir = dir
		if said, err := c.CombinedOutput(); err != nil {
			t.Skipf("cannot fetch Debian's package %s (apt-get update may help): %v\n%s", name, err, said)
		}
		if packages, err = filepath.Glob(filepath.Join(dir, "linux-image-*.deb")); err != nil || len(packages) == 0 {
			t.Fatalf("apt-get download %s left no package: %v", name, err)
		}
	}
	return unpackKernel(t, slices.Max(packages))
}

// kernelPackage is the package that Debian's newest kernel for virtual machines
// comes in.
func kernelPackage(t *testing.T) string {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), "apt-cache", "depends", "linux-image-cloud-amd64").Output()
	if err == nil {
		for _, word := range strings.Fields(string(said)) {
			if strings.HasPrefix(word, "linux-image-") && word != "linux-image-cloud-amd64" && !strings.Contains(word, "unsigned") {
				return word
			}
		}
	}
	t.Skipf("apt knows no kernel for virtual machines (apt-get update may help): %v", err)
	return ""
}

func unpackKernel(t *testing.T, deb string) kernel {
	t.Helper()
	k := kernel{modules: map[string][]byte{}}
	archive := tar.NewReader(bytes.NewReader(command(t, "", "dpkg-deb", "--fsys-tarfile", deb)))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(header.Name)
		wanted := strings.HasPrefix(base, "vmlinuz-") || slices.Contains(drivers(), strings.TrimSuffix(base, ".ko"))
		if header.Typeflag != tar.TypeReg || !wanted {
			continue
		}
		data := must.Get(io.ReadAll(archive))(t)
		if strings.HasPrefix(base, "vmlinuz-") {
			k.image = data
		} else {
			k.modules[base] = data
		}
	}
	if k.image == nil || k.modules["isofs.ko"] == nil {
		t.Fatalf("%s holds no kernel that can be used", deb)
	}
	return k
}

// makeLive makes a live image as CoreOS has it, hybrid and with every area to
// write into.
func makeLive(t *testing.T) (path string) {
	t.Helper()
	k := debianKernel(t)
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	write(t, filepath.Join(tree, "marker"), []byte(markerText+"\n"))
	write(t, filepath.Join(tree, "images/pxeboot/vmlinuz"), k.image)
	write(t, filepath.Join(tree, "images/pxeboot/initrd.img"), initrd(t, k))
	write(t, filepath.Join(tree, "images/pxeboot/rootfs.img"), rootfs(t))
	write(t, filepath.Join(tree, "images/ignition.img"), make([]byte, areaLength))
	write(t, filepath.Join(tree, "coreos/igninfo.json"), []byte(`{"file": "images/ignition.img"}`))
	write(t, filepath.Join(tree, "coreos/features.json"), []byte(`{"installer-config": true, "live-initrd-network": true}`))
	write(t, filepath.Join(tree, "coreos/miniso.dat"), make([]byte, 16<<10))

	menu := bootMenus(t, tree)
	write(t, filepath.Join(tree, "coreos/kargs.json"), menu)
	write(t, filepath.Join(tree, "isolinux/isolinux.bin"), read(t, "/usr/lib/ISOLINUX/isolinux.bin"))
	write(t, filepath.Join(tree, "isolinux/ldlinux.c32"), read(t, "/usr/lib/syslinux/modules/bios/ldlinux.c32"))
	efiBoot(t, dir, filepath.Join(tree, "images/efiboot.img"))

	full, small := filepath.Join(dir, "live.iso"), filepath.Join(dir, "minimal.iso")
	master(t, tree, full)
	for _, left := range []string{"images/pxeboot/rootfs.img", "coreos/miniso.dat"} {
		must.Do(t, os.Remove(filepath.Join(tree, left)))
	}
	master(t, tree, small)
	writeRecipe(t, full, small)
	return full
}

// writeRecipe puts the recipe of the minimal image into its slot in the full one.
func writeRecipe(t *testing.T, full, small string) {
	t.Helper()
	type image struct {
		data   []byte
		volume *iso9660.Volume
	}
	open := func(path string) image {
		data := read(t, path)
		volume := must.Get(iso9660.Read(bytes.NewReader(data), int64(len(data))))(t)
		return image{data, volume}
	}
	from, to := open(full), open(small)
	var shared []isotest.SharedFile
	if err := to.volume.Walk(func(f iso9660.File) error {
		have, err := from.volume.Find(f.Path)
		if err != nil || f.Size == 0 {
			return err
		}
		// The boot loader and the catalog know where they stand.
		if bytes.Equal(from.data[have.Offset:have.Offset+have.Size], to.data[f.Offset:f.Offset+f.Size]) {
			shared = append(shared, isotest.SharedFile{Minimal: uint32(f.Offset / iso9660.SectorSize), Full: uint32(have.Offset / iso9660.SectorSize), Length: f.Size})
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(shared, func(a, b isotest.SharedFile) int { return cmp.Compare(a.Minimal, b.Minimal) })
	encoded := must.Get(isotest.PackMiniISO(to.data, "1", shared))(t)
	slot, err := from.volume.Find("coreos/miniso.dat")
	if err != nil || slot.Size < int64(len(encoded)) {
		t.Fatalf("a recipe of %d bytes does not go into %d: %v", len(encoded), slot.Size, err)
	}
	copy(from.data[slot.Offset:], encoded)
	write(t, full, from.data)
}

// master lays the tree out as an image that boots from CD and disk.
func master(t *testing.T, tree, out string) {
	t.Helper()
	command(t, "", "xorriso", "-as", "mkisofs", "-quiet", "-V", volumeID, "-volset", volumeID, "-rational-rock", "-J", "-joliet-long",
		"-eltorito-boot", "isolinux/isolinux.bin", "-eltorito-catalog", "isolinux/boot.cat", "-no-emul-boot", "-boot-load-size", "4", "-boot-info-table",
		"-eltorito-alt-boot", "-e", "images/efiboot.img", "-no-emul-boot", "-o", out, tree)
	command(t, "", "isohybrid", "--uefi", out)
}

// bootMenus writes the menus of both firmwares and returns the file with the places of the kernel arguments in them.
func bootMenus(t *testing.T, tree string) []byte {
	t.Helper()
	area := defaultKargs + "\n" + strings.Repeat("#", 1024) + kargsComment
	menus := map[string]string{
		"EFI/redhat/grub.cfg":   "set timeout=0\nmenuentry live {\n  linux /images/pxeboot/vmlinuz " + area + "  initrd /images/pxeboot/initrd.img /images/ignition.img\n}\n",
		"isolinux/isolinux.cfg": "default live\nprompt 0\ntimeout 1\nlabel live\n  kernel /images/pxeboot/vmlinuz\n  append initrd=/images/pxeboot/initrd.img,/images/ignition.img " + area,
	}
	type place struct {
		Path   string `json:"path"`
		Offset int    `json:"offset"`
		Pad    string `json:"pad"`
		End    string `json:"end"`
	}
	var places []place
	for path, text := range menus {
		write(t, filepath.Join(tree, path), []byte(text))
		places = append(places, place{Path: path, Offset: strings.Index(text, defaultKargs), Pad: "#", End: "\n"})
	}
	return must.Get(json.Marshal(map[string]any{"default": defaultKargs, "size": strings.Index(area, "#"+kargsComment), "files": places}))(t)
}

// efiBoot makes the FAT image that UEFI boots GRUB from.
func efiBoot(t *testing.T, dir, out string) {
	t.Helper()
	stub, efi := filepath.Join(dir, "stub.cfg"), filepath.Join(dir, "BOOTX64.EFI")
	write(t, stub, fmt.Appendf(nil, "search --no-floppy --set=root --label %s\nset prefix=($root)/EFI/redhat\nconfigfile ($root)/EFI/redhat/grub.cfg\n", volumeID))
	command(t, dir, "grub-mkimage", "-O", "x86_64-efi", "-o", efi, "-p", "/EFI/BOOT", "-c", stub,
		"part_gpt", "part_msdos", "iso9660", "fat", "normal", "configfile", "linux", "search", "search_label", "all_video", "efi_gop", "gzio")
	must.Do(t, os.WriteFile(out, make([]byte, 4<<20), 0o644))
	command(t, dir, "mkfs.vfat", "-n", "EFI-SYSTEM", out)
	command(t, dir, "mmd", "-i", out, "::EFI", "::EFI/BOOT")
	command(t, dir, "mcopy", "-i", out, efi, "::EFI/BOOT/")
}

// initrd holds the program that reports, and drivers.
func initrd(t *testing.T, k kernel) []byte {
	t.Helper()
	reporter := filepath.Join(t.TempDir(), "init")
	c := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", reporter, "./testdata/init")
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if said, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build the guest's program: %v\n%s", err, said)
	}
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := cpio.NewWriter(zip)
	failed := archive.Write("init", 0o100755, read(t, reporter))
	for _, name := range slices.Sorted(maps.Keys(k.modules)) {
		failed = errors.Join(failed, archive.Write("mods/"+name, 0o100644, k.modules[name]))
	}
	for _, dir := range []string{"proc", "sys", "dev"} {
		failed = errors.Join(failed, archive.Write(dir, 0o040755, nil))
	}
	must.Do(t, errors.Join(failed, archive.Close(), zip.Close()))
	// An uncompressed archive may follow only on a boundary of four bytes.
	return append(out.Bytes(), make([]byte, -out.Len()&3)...)
}

// rootfs stands in for the root file system: it only has to be there.
func rootfs(t *testing.T) []byte {
	t.Helper()
	return bytes.Repeat([]byte("root file system "), 1<<18)
}
