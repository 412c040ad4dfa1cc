package iso

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/iso/internal/embedarea"
	"github.com/oaictl/oaictl/pkg/iso/internal/iso9660"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

// sector is the unit of files' sizes and places on the medium, in bytes.
const sector = 2048

// maxXZGain is how many times the room a gzip archive may take for xz to be tried, which needs a second for a megabyte
// and does not even halve the size.
const maxXZGain = 2

// embed puts the members into the image's Ignition area, which is moved to the end of the image and
// made larger where they do not fit.
func (b *Base) embed(image *overlay.Image, members []embedarea.Member, noGrow bool, result *Result) error {
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

// pack makes the archive: with xz where only that fits, and else with gzip, for an area to grow.
func (b *Base) pack(members []embedarea.Member, noGrow bool) (archive []byte, compression string, err error) {
	archive, compression, err = b.packer.Pack(members, 0)
	if err != nil {
		return nil, "", fmt.Errorf("packing the archive: %w", err)
	}
	need, room := int64(len(archive)), b.area.length
	if need <= room {
		return archive, compression, nil
	}
	if need <= maxXZGain*room {
		tight, with, err := b.packer.Pack(members, room)
		var tooLarge *embedarea.TooLarge
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
func (b *Base) clear(image *overlay.Image) error {
	held, err := b.contents()
	if held.used > 0 {
		image.Zero(b.area.offset, b.area.length)
		return nil
	}
	return err
}

// grow moves the area behind all else and makes it larger. The old area stays where it was, empty.
func (b *Base) grow(image *overlay.Image, archive []byte, result *Result) error {
	if err := b.clear(image); err != nil {
		return err
	}
	length := alignUp(int64(len(archive)), sector)
	offset, err := b.move(image, b.area.file, archive, length)
	if err != nil {
		return err
	}
	if b.area.header {
		header := binary.LittleEndian.AppendUint64([]byte(legacyMagic), uint64(offset))
		image.Overlay(legacyOffset, binary.LittleEndian.AppendUint64(header, uint64(length)))
	}
	result.AreaBytes, result.Grown = length, true
	return nil
}

// move puts a file at the end of an image and makes the filesystem's records of it point there.
func (b *Base) move(image *overlay.Image, f iso9660.File, content []byte, length int64) (offset int64, err error) {
	offset, size := b.volume.RoomFor(length)
	patches, err := b.volume.Relocate(f, offset, length, size)
	if err != nil {
		return 0, fmt.Errorf("moving %s to make it larger: %w", f.Path, err)
	}
	image.Truncate(size)
	image.Overlay(offset, content)
	applyPatches(image, patches)
	return offset, nil
}

func applyPatches(image *overlay.Image, patches []iso9660.Patch) {
	for _, p := range patches {
		image.Overlay(p.Offset, p.Data)
	}
}

func alignUp(n, to int64) int64 { return (n + to - 1) / to * to }

const maxWeights = 3

// TooLargeError says that a config does not fit into the Ignition area.
type TooLargeError struct {
	// Need is how large the archive is, however compressed; Have is the room. Both in bytes.
	Need, Have int64
	// Largest are the files that weigh most before compression, the heaviest first.
	Largest []Weight
	// Why the area was not made larger.
	Why string
}

// Weight is a file and its size in bytes.
type Weight struct {
	Path  string
	Bytes int64
}

func (e *TooLargeError) Error() string {
	var named []string
	for _, w := range e.Largest {
		named = append(named, fmt.Sprintf("%s (%d bytes)", w.Path, w.Bytes))
	}
	return fmt.Sprintf("the Ignition archive has %d bytes, %d more than its area holds, and %s; the largest in it: %s",
		e.Need, e.Need-e.Have, e.Why, strings.Join(named, ", "))
}

func (b *Base) tooLarge(need int64, noGrow bool, members []embedarea.Member) *TooLargeError {
	why := "this area cannot be made larger in this image"
	switch {
	case b.info.Arch == zseries:
		why = "on s390x this area cannot be made larger"
	case noGrow:
		why = "the options do not permit a larger area"
	}
	var weights []Weight
	for _, m := range members {
		if m.Name == configMember {
			weights = append(weights, configWeights(m.Data)...)
		} else {
			weights = append(weights, Weight{m.Name, int64(len(m.Data))})
		}
	}
	slices.SortStableFunc(weights, func(a, b Weight) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return &TooLargeError{Need: need, Have: b.area.length, Largest: weights[:min(len(weights), maxWeights)], Why: why}
}

// resource is a file's content in a config: the length of its URL is what it weighs there.
type resource struct {
	Source string `json:"source"`
}

// configWeights lists what takes room in a config: the message "config.ign is too large" alone would not help.
func configWeights(config []byte) []Weight {
	var parsed struct {
		Storage struct {
			Files []struct {
				Path     string     `json:"path"`
				Contents resource   `json:"contents"`
				Append   []resource `json:"append"`
			} `json:"files"`
		} `json:"storage"`
		Systemd struct {
			Units []struct {
				Name     string `json:"name"`
				Contents string `json:"contents"`
			} `json:"units"`
		} `json:"systemd"`
	}
	var weights []Weight
	if json.Unmarshal(config, &parsed) == nil {
		for _, f := range parsed.Storage.Files {
			size := len(f.Contents.Source)
			for _, a := range f.Append {
				size += len(a.Source)
			}
			weights = append(weights, Weight{f.Path, int64(size)})
		}
		for _, u := range parsed.Systemd.Units {
			weights = append(weights, Weight{u.Name, int64(len(u.Contents))})
		}
	}
	if len(weights) == 0 {
		return []Weight{{configMember, int64(len(config))}}
	}
	return weights
}
