package iso

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/oaictl/oaictl/pkg/iso/internal/iso9660"
)

// needed are files that stop to work once a config is written over them, besides those of the boot
// catalog and the boot menus.
var needed = [...]string{
	kernelPath, kernelPathZ, initrdPath, rootfsPath, igninfoPath, kargsPath, featuresPath, minisoPath,
}

// span is a run of bytes of the image.
type span struct{ offset, length int64 }

func (s span) overlaps(o span) bool {
	return s.offset < o.offset+o.length && o.offset < s.offset+s.length
}

func (s span) holds(o span) bool {
	return s.offset <= o.offset && o.offset+o.length <= s.offset+s.length
}

// checkPlace reads all directories, which finds those that go in a circle and files that overlap,
// and holds the Ignition area against what the machine needs to boot: whatever description an image
// has of its area, a config is never written over anything else.
func (b *Base) checkPlace() error {
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

// boots reports whether firmware loads a file. Its place alone tells: the catalog may say any number
// of blocks.
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

// checkBehindInitrd holds the area against images/cdboot.img, which s390x boots: the one place for it
// there is behind the initrd.
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
		return b.misplaced("in " + cdbootPath + ", and not behind its initrd")
	}
	return nil
}
