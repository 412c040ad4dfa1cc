package iso9660

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Patch replaces bytes of the image.
type Patch struct {
	Offset int64
	Data   []byte
}

const mebibyte = 1 << 20

// RoomFor says where a file of size bytes fits behind everything that the image has: the offset for it, and the size
// that the image then needs. A partitioned image keeps whole MiB, as isohybrid made it, with room for its backup GPT.
func (v *Volume) RoomFor(size int64) (offset, volumeSize int64) {
	offset = alignUp(v.Size, SectorSize)
	if v.GPT == nil {
		return offset, alignUp(offset+size, SectorSize)
	}
	return offset, alignUp(offset+size+v.GPT.tail(), mebibyte)
}

// Relocate returns the patches after which a file lies at newOffset with newSize bytes in an image of newVolumeSize
// bytes, in ascending order: its directory records, the volume's size, and the GPT with its backup in the last blocks.
// Nothing else changes; the bytes of the file are the caller's to put there. It refuses boot images, whose place
// firmware and boot loaders know, files of several extents, and places that the structures cannot say.
func (v *Volume) Relocate(f File, newOffset, newSize, newVolumeSize int64) ([]Patch, error) {
	found, err := v.Find(f.Path)
	if err != nil {
		return nil, err
	}
	if err := v.checkMove(f, found, newOffset, newSize, newVolumeSize); err != nil {
		return nil, fmt.Errorf("moving %s to %d: %w", f.Path, newOffset, err)
	}
	var patches []Patch
	for _, r := range found.records {
		patches = append(patches, Patch{r.at + recordPlace, place(newOffset, newSize)})
	}
	for _, d := range v.descriptors {
		space := make([]byte, 8)
		putBoth32(space, uint32(newVolumeSize/SectorSize))
		patches = append(patches, Patch{d.offset + atVolumeSpace, space})
	}
	if v.GPT != nil {
		patches = append(patches, v.GPT.move(newVolumeSize)...)
	}
	slices.SortFunc(patches, func(a, b Patch) int { return cmp.Compare(a.Offset, b.Offset) })
	return patches, nil
}

// checkMove refuses a move after which the image would not be what its structures say. asked is what the caller holds,
// found is what the image says.
func (v *Volume) checkMove(asked, found File, newOffset, newSize, newVolumeSize int64) error {
	if asked.Offset != found.Offset || asked.Size != found.Size {
		return fmt.Errorf("the image has it at %d with %d bytes, not at %d with %d", found.Offset, found.Size, asked.Offset, asked.Size)
	}
	for _, d := range v.descriptors {
		if d.enhanced {
			return fmt.Errorf("the image has a third tree, described at %d, which is not supported", d.offset)
		}
	}
	for _, r := range found.records {
		if r.flags&flagMultiExtent != 0 {
			return fmt.Errorf("it has several extents")
		}
	}
	for _, b := range v.BootImages {
		if b.Offset == found.Offset && found.Size > 0 {
			return fmt.Errorf("it is a boot image, and the boot catalog knows its place")
		}
	}
	return v.checkPlace(newOffset, newSize, newVolumeSize)
}

func (v *Volume) checkPlace(newOffset, newSize, newVolumeSize int64) error {
	end := newOffset + newSize
	if v.GPT != nil {
		if v.GPT.array == nil {
			return fmt.Errorf("the GPT cannot be kept: %s", v.GPT.Trouble[0])
		}
		end += v.GPT.tail()
	}
	switch {
	case newOffset%SectorSize != 0 || newVolumeSize%SectorSize != 0:
		return fmt.Errorf("the place and the image's size, %d, must be whole sectors", newVolumeSize)
	case newOffset < v.Size:
		return fmt.Errorf("the image has %d bytes, and the file would lie upon them", v.Size)
	case newOffset > newVolumeSize:
		return fmt.Errorf("an image of %d bytes ends before it", newVolumeSize)
	case newSize < 0 || newSize > math.MaxUint32:
		return fmt.Errorf("a directory record cannot say %d bytes", newSize)
	case end > newVolumeSize:
		return fmt.Errorf("an image of %d bytes does not hold %d bytes there and what follows them", newVolumeSize, newSize)
	case newVolumeSize/SectorSize > math.MaxUint32:
		return fmt.Errorf("a volume descriptor cannot say %d bytes", newVolumeSize)
	}
	return nil
}
