package bootorder

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/oaictl/oaictl/internal/host/disk/layout"
)

// golden is an option as efibootmgr writes it for the second partition of a disk, from the UEFI specification by hand:
// attributes, size of the path, label, hard drive node, file path node, end.
const golden = "01000000" + "6200" + "52004800000" + "0" +
	"04012a00" + "02000000" + "0010000000000000" + "00c0030000000000" + "00112233445566778899aabbccddeeff" + "0202" +
	"04043400" + "5c004500460049005c007200650064006800610074005c007300680069006d007800360034002e006500660069000000" + "7fff0400"

func TestGolden(t *testing.T) {
	content, err := hex.DecodeString(golden)
	if err != nil {
		t.Fatal(err)
	}
	o, err := parseOption(content)
	if err != nil || o.label != "RH" || o.attributes != active {
		t.Fatalf("%+v, %v", o, err)
	}
	at, is := o.location()
	want := location{
		partition: layout.GUID{0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff},
		number:    2, start: 4096, sectors: 245760, file: `\EFI\redhat\shimx64.efi`,
	}
	if !is || at != want {
		t.Errorf("the location is %+v", at)
	}
	if !bytes.Equal(want.devicePath(), o.path) || !bytes.Equal(o.bytes(), content) {
		t.Errorf("it is written as %x", o.bytes())
	}
}

func TestDamagedOptions(t *testing.T) {
	content, err := hex.DecodeString(golden)
	if err != nil {
		t.Fatal(err)
	}
	for size := range content {
		if o, err := parseOption(content[:size]); err == nil {
			t.Errorf("%d bytes are %+v", size, o)
		}
	}
	o, err := parseOption(content)
	if err != nil {
		t.Fatal(err)
	}
	for size := range o.path {
		if at, is := (option{path: o.path[:size]}).location(); is {
			t.Errorf("%d bytes of a path are %+v", size, at)
		}
	}
	mbr := bytes.Clone(o.path)
	mbr[40], mbr[41] = 1, 1
	if _, is := (option{path: mbr}).location(); is {
		t.Error("a partition of an MBR is taken for one of GPT")
	}
}

func FuzzParseOption(f *testing.F) {
	content, err := hex.DecodeString(golden)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Fuzz(func(t *testing.T, content []byte) {
		o, err := parseOption(content)
		if err != nil {
			return
		}
		_, _ = o.location()
		if again, err := parseOption(o.bytes()); err != nil || !bytes.Equal(again.path, o.path) || !bytes.Equal(again.data, o.data) {
			t.Errorf("%+v becomes %+v, %v", o, again, err)
		}
	})
}
