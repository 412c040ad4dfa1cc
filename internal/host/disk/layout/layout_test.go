package layout_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/host/disk/disktest"
	"github.com/oaictl/oaictl/internal/host/disk/layout"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func TestReadBothTables(t *testing.T) {
	for _, sector := range []int64{512, 4096} {
		image := disktest.Image(sector, 4<<20, disktest.Part{
			Number: 3, Type: disktest.ESP(), GUID: layout.GUID{1, 2, 3, 4}, Label: "EFI-SYSTEM", Offset: 1 << 20, Bytes: 1 << 20,
		})
		want := layout.Partition{
			Number: 3, Type: layout.TypeESP, GUID: layout.GUID{1, 2, 3, 4}, Label: "EFI-SYSTEM", Offset: 1 << 20, Bytes: 1 << 20, Sector: sector,
		}
		for name, read := range map[string]func() (layout.Table, error){
			"unknown sector": func() (layout.Table, error) { return layout.Read(bytes.NewReader(image), 0) },
			"known sector":   func() (layout.Table, error) { return layout.Read(bytes.NewReader(image), sector) },
			"backup":         func() (layout.Table, error) { return layout.ReadBackup(bytes.NewReader(image), sector, 4<<20) },
		} {
			table, err := read()
			if err != nil || table.Size != 4<<20 || table.Sector != sector || len(table.Partitions) != 1 || table.Partitions[0] != want {
				t.Errorf("%s, %d: %+v, %v", name, sector, table, err)
			}
		}
		if _, err := layout.Read(bytes.NewReader(image), 512+4096-sector); !errors.Is(err, layout.ErrNoTable) {
			t.Errorf("a table of another sector size is taken: %v", err)
		}
	}
}

func TestDamagedTables(t *testing.T) {
	whole := disktest.RHCOS()
	for name, damage := range map[string]func([]byte){
		"no signature of the MBR": func(b []byte) { b[510] = 0 },
		"no protective partition": func(b []byte) { b[446+4] = 0x83 },
		"no header":               func(b []byte) { clear(b[512:1024]) },
		"header":                  func(b []byte) { b[512+40]++ },
		"entries":                 func(b []byte) { b[1024+40]++ },
		"header's size":           func(b []byte) { b[512+12]++ },
		"zeros":                   func(b []byte) { clear(b[:1<<20]) },
	} {
		image := bytes.Clone(whole)
		damage(image)
		if _, err := layout.Read(bytes.NewReader(image), 512); !errors.Is(err, layout.ErrNoTable) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := layout.ReadBackup(bytes.NewReader(image), 512, int64(len(image))); err != nil {
			t.Errorf("%s: the backup: %v", name, err)
		}
	}
	for _, size := range []int{0, 100, 512, 1000} {
		if _, err := layout.Read(bytes.NewReader(whole[:size]), 512); err == nil {
			t.Errorf("%d bytes have a table", size)
		}
	}
	if _, err := layout.ReadBackup(bytes.NewReader(nil), 512, 0); !errors.Is(err, layout.ErrNoTable) {
		t.Errorf("an empty disk: %v", err)
	}
}

func TestLabelled(t *testing.T) {
	image := disktest.RHCOS()
	table := must.Get(layout.Read(bytes.NewReader(image), 0))(t)
	boot, system, err := table.Labelled(bytes.NewReader(image), "boot")
	if err != nil || boot.Number != 3 || boot.Offset != 6<<20 || system.Type != "ext4" {
		t.Errorf("boot is %+v, %+v, %v", boot, system, err)
	}
	if _, _, err := table.Labelled(bytes.NewReader(image), "root"); err == nil || !strings.Contains(err.Error(), `3: "boot"`) {
		t.Errorf("no file system has the label root: %v", err)
	}
	copy(image[3<<20:], image[6<<20:7<<20])
	if _, _, err := table.Labelled(bytes.NewReader(image), "boot"); err == nil || !strings.Contains(err.Error(), "2 partitions") {
		t.Errorf("two file systems have the label: %v", err)
	}
	if esp, found := table.OfType(layout.TypeESP); !found || esp.Number != 2 {
		t.Errorf("the ESP is %+v", esp)
	}
	if _, found := table.OfType(layout.TypePReP); found {
		t.Error("there is no PReP partition")
	}
}

func TestProbe(t *testing.T) {
	super := func(set func(b []byte)) []byte {
		b := make([]byte, 8192)
		set(b)
		return b
	}
	for name, test := range map[string]struct {
		content []byte
		want    layout.FileSystem
	}{
		"short": {[]byte("XFSB"), layout.FileSystem{}},
		"zeros": {make([]byte, 8192), layout.FileSystem{}},
		"ext4": {super(func(b []byte) {
			binary.LittleEndian.PutUint16(b[0x438:], 0xef53)
			copy(b[0x478:], "sixteen-letters-and-more")
		}), layout.FileSystem{Type: "ext4", Label: "sixteen-letters-"}},
		"xfs":   {super(func(b []byte) { copy(b, "XFSB"); copy(b[108:], "root") }), layout.FileSystem{Type: "xfs", Label: "root"}},
		"fat16": {super(func(b []byte) { fat(b, 0x36, "FAT16", 0x2b) }), layout.FileSystem{Type: "vfat", Label: "EFI-SYSTEM"}},
		"fat32": {super(func(b []byte) { fat(b, 0x52, "FAT32", 0x47) }), layout.FileSystem{Type: "vfat", Label: "EFI-SYSTEM"}},
	} {
		got, err := layout.Probe(bytes.NewReader(test.content))
		if err != nil || got != test.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := layout.Probe(broken{}); err == nil {
		t.Error("a disk that cannot be read has a file system")
	}
}

func fat(b []byte, at int, kind string, label int) {
	b[510], b[511] = 0x55, 0xaa
	copy(b[at:], kind)
	copy(b[label:], "EFI-SYSTEM ")
}

type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) { return 0, io.ErrUnexpectedEOF }

// FuzzRead gives headers and entries any content, with checksums that fit.
func FuzzRead(f *testing.F) {
	const entries = 1024
	image := disktest.Image(512, 64<<10, disktest.Part{Number: 1, Label: "boot", Offset: 32 << 10, Bytes: 4096, Boot: true})
	f.Add(image[512:604], image[1024:1024+entries])
	f.Fuzz(func(t *testing.T, header, table []byte) {
		image := make([]byte, 64<<10)
		image[446+4], image[510], image[511] = 0xee, 0x55, 0xaa
		copy(image[512:604], header)
		copy(image[1024:1024+entries], table)
		order := binary.LittleEndian
		if size := int64(order.Uint32(image[512+80:])) * int64(order.Uint32(image[512+84:])); size >= 0 && size <= 62<<10 {
			order.PutUint32(image[512+88:], crc32.ChecksumIEEE(image[1024:1024+size]))
		}
		clear(image[512+16 : 512+20])
		order.PutUint32(image[512+16:], crc32.ChecksumIEEE(image[512:604]))
		read, err := layout.Read(bytes.NewReader(image), 512)
		if err != nil {
			return
		}
		if read.Size <= 0 {
			t.Errorf("the size is %d", read.Size)
		}
		for _, p := range read.Partitions {
			if p.Offset < 0 || p.Bytes <= 0 {
				t.Errorf("partition %+v", p)
			}
		}
		_, _, _ = read.Labelled(bytes.NewReader(image), "boot")
	})
}
