package iso

import (
	"errors"
	"fmt"

	"github.com/oaictl/oaictl/pkg/iso/extent"
	"github.com/oaictl/oaictl/pkg/iso/internal/embed"
)

// sector is the unit of files' sizes and places on the medium, in bytes.
const sector = 2048

// mostXZGain is how many times the room a gzip archive may take for xz to be tried: xz needs a second
// for a megabyte, and does not make a half of what gzip left.
const mostXZGain = 2

// embed puts the members into the image's Ignition area, which is moved to the end of the image and
// made as large as it needs to be where they do not fit.
func (b *Base) embed(image *extent.Image, members []embed.Member, noGrow bool, result *Result) error {
	archive, compression, err := b.pack(members, noGrow)
	if err != nil {
		return err
	}
	result.Compression, result.IgnitionBytes = compression, int64(len(archive))
	if int64(len(archive)) > b.area.length {
		return b.grow(image, archive, result)
	}
	if err := b.clear(image); err != nil {
		return err
	}
	image.Overlay(b.area.offset, archive)
	return nil
}

// pack makes the archive: with gzip where that fits, with xz where only that does, and else with gzip
// again, for an area that is to grow.
func (b *Base) pack(members []embed.Member, noGrow bool) (archive []byte, compression string, err error) {
	archive, compression, err = b.packer.Pack(members, 0)
	if err != nil {
		return nil, "", fmt.Errorf("packing the archive: %w", err)
	}
	need, room := int64(len(archive)), b.area.length
	if need <= room {
		return archive, compression, nil
	}
	if need <= mostXZGain*room {
		tight, with, err := b.packer.Pack(members, room)
		var tooLarge *embed.TooLarge
		switch {
		case err == nil:
			return tight, with, nil
		case !errors.As(err, &tooLarge):
			return nil, "", fmt.Errorf("packing the archive: %w", err)
		}
		need = tooLarge.Need
	}
	if noGrow || !b.info.Growable {
		return nil, "", b.tooLarge(need, noGrow, members)
	}
	return archive, compression, nil
}

// clear takes out what the area holds. A pristine one is left to the base, which saves an extent.
func (b *Base) clear(image *extent.Image) error {
	held, err := b.contents()
	if held.used > 0 {
		image.Zero(b.area.offset, b.area.length)
		return nil
	}
	return err
}

// grow appends a larger area behind all else and makes the filesystem's records of the file point
// there. The old area stays where it was, empty.
func (b *Base) grow(image *extent.Image, archive []byte, result *Result) error {
	if err := b.clear(image); err != nil {
		return err
	}
	length := alignUp(int64(len(archive)), sector)
	offset, size := b.volume.RoomFor(length)
	patches, err := b.volume.Relocate(b.area.file, offset, length, size)
	if err != nil {
		return fmt.Errorf("moving %s to make it larger: %w", b.area.place(), err)
	}
	image.Truncate(size)
	image.Overlay(offset, archive)
	for _, p := range patches {
		image.Overlay(p.Offset, p.Data)
	}
	if b.area.header {
		image.Overlay(legacyOffset, legacyHeader(offset, length))
	}
	result.AreaBytes, result.Grown = length, true
	return nil
}

func alignUp(n, to int64) int64 { return (n + to - 1) / to * to }
