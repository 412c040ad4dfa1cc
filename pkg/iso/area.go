package iso

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/oaictl/oaictl/pkg/iso/internal/iso9660"
)

const (
	// maxArea bounds an Ignition area, in bytes: 256 KiB as built, some MiB where it was grown.
	maxArea = 64 << 20

	// Images before 2022 describe the area in the last 24 bytes of the system area: a magic, an
	// offset and a length, 64 bits each, little endian.
	legacyOffset = 32<<10 - 24
	legacyMagic  = "coreiso+"

	// On s390x the area follows the initrd in images/cdboot.img; where that is stands there in the
	// kernel's own fields, 64 bits each, big endian.
	cdbootFields   = 66568
	cdbootAreaSize = 256 << 10
)

// ErrNoArea says that an image has no place for an Ignition config, so that it is not a live image
// of CoreOS.
var ErrNoArea = errors.New("no Ignition area: this is not a live image of CoreOS")

type area struct {
	file           iso9660.File // that holds it; the zero value where only a header describes the area
	offset, length int64        // in the image, bytes
	whole          bool         // the area is all of file, which can therefore be moved
	header         bool         // the legacy header describes it as well
}

func (a area) position() string {
	if a.file.Path == "" {
		return fmt.Sprintf("Ignition area at byte %d", a.offset)
	}
	return a.file.Path
}

// readArea finds the Ignition area: by igninfo.json, by the name that the file always had, by the
// legacy header, and by the fields of cdboot.img.
func (b *Base) readArea() error {
	for _, find := range []func() (area, error){b.describedArea, b.namedArea, b.legacyArea, b.cdbootArea} {
		found, err := find()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := b.check(found); err != nil {
			return err
		}
		legacy, err := b.legacyArea()
		found.header = err == nil && legacy.offset == found.offset
		b.area = found
		b.info.AreaBytes = found.length
		b.info.Growable = found.whole && b.info.Arch != zseries
		return nil
	}
	return ErrNoArea
}

func (b *Base) check(a area) error {
	switch {
	case a.length <= 0:
		return fmt.Errorf("%s has a size of zero", a.position())
	case a.length > maxArea:
		return fmt.Errorf("%s has %d bytes, more than the limit of %d", a.position(), a.length, maxArea)
	case a.offset < 0 || a.offset > b.image.Size()-a.length:
		return fmt.Errorf("%s ends at byte %d of an image of %d", a.position(), a.offset+a.length, b.image.Size())
	}
	return nil
}

// ignInfo is coreos/igninfo.json.
type ignInfo struct {
	File   string `json:"file"`
	Offset *int64 `json:"offset"` // within File; its start where it is absent
	Length *int64 `json:"length"` // up to the end of File where it is absent
}

func parseIgnInfo(data []byte) (ignInfo, error) {
	var info ignInfo
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&info); err != nil {
		return info, fmt.Errorf("%s: %w", igninfoPath, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return info, fmt.Errorf("%s: more follows the object", igninfoPath)
	}
	if info.File == "" {
		return info, fmt.Errorf("%s: names no file", igninfoPath)
	}
	return info, nil
}

// within returns the range of a file of size bytes that is meant.
func (i ignInfo) within(size int64) (offset, length int64, err error) {
	if i.Offset != nil {
		offset = *i.Offset
	}
	if offset < 0 || offset >= size {
		return 0, 0, fmt.Errorf("%s: offset %d lies outside of %s, which has %d bytes", igninfoPath, offset, i.File, size)
	}
	length = size - offset
	if i.Length != nil {
		length = *i.Length
	}
	if length <= 0 || length > size-offset {
		return 0, 0, fmt.Errorf("%s: length %d at offset %d does not fit into %s, which has %d bytes",
			igninfoPath, length, offset, i.File, size)
	}
	return offset, length, nil
}

func (b *Base) describedArea() (area, error) {
	data, err := b.volume.ReadFile(igninfoPath, maxDescription)
	if err != nil {
		return area{}, err
	}
	info, err := parseIgnInfo(data)
	if err != nil {
		return area{}, err
	}
	f, err := b.volume.Find(info.File)
	if err != nil {
		// Not fs.ErrNotExist: the image contradicts itself, and guessing on would hide that.
		return area{}, fmt.Errorf("%s names %q: %s", igninfoPath, info.File, err.Error())
	}
	offset, length, err := info.within(f.Size)
	if err != nil {
		return area{}, err
	}
	return area{file: f, offset: f.Offset + offset, length: length, whole: info.Offset == nil && info.Length == nil}, nil
}

func (b *Base) namedArea() (area, error) {
	f, err := b.volume.Find(ignitionPath)
	if err != nil {
		return area{}, err
	}
	return area{file: f, offset: f.Offset, length: f.Size, whole: true}, nil
}

func (b *Base) legacyArea() (area, error) {
	var header [24]byte
	if _, err := b.image.ReadAt(header[:], legacyOffset); err != nil && !errors.Is(err, io.EOF) {
		return area{}, fmt.Errorf("reading the system area: %w", err)
	}
	if string(header[:8]) != legacyMagic {
		return area{}, fs.ErrNotExist
	}
	offset, length := binary.LittleEndian.Uint64(header[8:]), binary.LittleEndian.Uint64(header[16:])
	if offset > uint64(b.image.Size()) || length > uint64(b.image.Size()) {
		return area{}, fmt.Errorf("header of the Ignition area at byte %d: %d bytes at byte %d are outside of the image", legacyOffset, length,
			offset)
	}
	return area{offset: int64(offset), length: int64(length), header: true}, nil
}

func (b *Base) cdbootArea() (area, error) {
	f, err := b.volume.Find(cdbootPath)
	if err != nil {
		return area{}, err
	}
	var fields [16]byte
	if f.Size < cdbootFields+int64(len(fields)) {
		return area{}, fmt.Errorf("%s has only %d bytes", cdbootPath, f.Size)
	}
	if _, err := b.image.ReadAt(fields[:], f.Offset+cdbootFields); err != nil {
		return area{}, fmt.Errorf("%s: %w", cdbootPath, err)
	}
	start, size := binary.BigEndian.Uint64(fields[:]), binary.BigEndian.Uint64(fields[8:])
	if start > uint64(f.Size) || size > uint64(f.Size) || start+size+cdbootAreaSize > uint64(f.Size) {
		return area{}, fmt.Errorf("%s: the initrd of %d bytes at byte %d leaves no space for an Ignition area", cdbootPath, size, start)
	}
	return area{file: f, offset: f.Offset + int64(start+size), length: cdbootAreaSize}, nil
}

// needed are files that stop working once a config is written over them, beside those of the boot catalog and the boot
// menus.
var needed = [...]string{
	kernelPath, kernelPathZ, initrdPath, rootfsPath, igninfoPath, kargsPath, featuresPath, minisoPath,
}

type span struct{ offset, length int64 }

func (s span) overlaps(o span) bool {
	return s.offset < o.offset+o.length && o.offset < s.offset+s.length
}

func (s span) holds(o span) bool {
	return s.offset <= o.offset && o.offset+o.length <= s.offset+s.length
}

// checkPosition reads all directories, which finds directories that go in a circle and files that overlap, and compares
// the Ignition area with what the machine needs to boot: a config is never written over anything else, even if the
// image describes its area wrongly.
func (b *Base) checkPosition() error {
	room := span{b.area.offset, b.area.length}
	inFile, overBoot := false, ""
	err := b.volume.Walk(func(f iso9660.File) error {
		file := span{f.Offset, f.Size}
		inFile = inFile || file.holds(room)
		if b.info.Arch != zseries && file.overlaps(room) && b.boots(file) {
			overBoot = f.Path
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case !inFile:
		return b.misplaced("in no file of the image")
	case overBoot != "":
		return b.misplaced("in the boot image " + overBoot)
	case b.info.Arch == zseries:
		if err := b.checkBehindInitrd(); err != nil {
			return err
		}
	}
	if b.kargs != nil {
		for _, f := range b.kargs.Files {
			if room.overlaps(span{f.Offset, f.Size}) {
				return b.misplaced(fmt.Sprintf("over the area for kernel arguments at byte %d", f.Offset))
			}
		}
	}
	return b.checkNeeded(room)
}

func (b *Base) misplaced(where string) error {
	return fmt.Errorf("the Ignition area, %d bytes at byte %d, lies %s", b.area.length, b.area.offset, where)
}

// boots reports whether firmware loads a file. Only its place shows that: the catalog may state any number of blocks.
func (b *Base) boots(file span) bool {
	for _, i := range b.volume.BootImages {
		if file.holds(span{i.Offset, 1}) {
			return true
		}
	}
	return false
}

func (b *Base) checkNeeded(room span) error {
	for _, path := range needed {
		f, err := b.volume.Find(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if room.overlaps(span{f.Offset, f.Size}) {
			return b.misplaced("in " + path)
		}
	}
	return nil
}

// checkBehindInitrd compares the area with images/cdboot.img, which s390x boots: the one place for it there is behind
// the initrd.
func (b *Base) checkBehindInitrd() error {
	f, err := b.volume.Find(cdbootPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	room := span{b.area.offset, b.area.length}
	if !room.overlaps(span{f.Offset, f.Size}) {
		return nil
	}
	behind, err := b.cdbootArea()
	if err != nil {
		return err
	}
	if room.offset < max(behind.offset, f.Offset+cdbootFields+16) {
		return b.misplaced("in " + cdbootPath + ", not behind its initrd")
	}
	return nil
}
