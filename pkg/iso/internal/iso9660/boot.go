package iso9660

// Boot says by which ways firmware starts the image, as far as its tables tell.
type Boot struct {
	BIOSCD   bool // an El Torito entry for BIOS; on s390x it is what firmware loads there
	BIOSDisk bool // boot code and an active partition in the MBR
	UEFICD   bool // an El Torito entry for UEFI
	UEFIDisk bool // an EFI system partition in the MBR or the GPT
}

const mbrEFISystem = 0xEF

// efiSystem is the GPT type C12A7328-F81F-11D2-BA4B-00A0C93EC93B as it is stored.
var efiSystem = [16]byte{0x28, 0x73, 0x2A, 0xC1, 0x1F, 0xF8, 0xD2, 0x11, 0xBA, 0x4B, 0x00, 0xA0, 0xC9, 0x3E, 0xC9, 0x3B}

func (v *Volume) bootWays() Boot {
	var b Boot
	efiImage := int64(-1)
	for _, i := range v.BootImages {
		switch {
		case i.Bootable && i.Platform == platformBIOS:
			b.BIOSCD = true
		case i.Bootable && i.Platform == platformUEFI:
			b.UEFICD = true
			efiImage = i.Offset
		}
	}
	for _, p := range v.MBR {
		b.BIOSDisk = b.BIOSDisk || p.Active && v.mbrHasCode
		b.UEFIDisk = b.UEFIDisk || p.Type == mbrEFISystem
	}
	if v.GPT == nil {
		return b
	}
	for _, p := range v.GPT.Partitions {
		// isohybrid gives the type of basic data to the partition of the UEFI boot image; firmware looks inside.
		b.UEFIDisk = b.UEFIDisk || p.Type == efiSystem || p.First*BlockSize == efiImage
	}
	return b
}
