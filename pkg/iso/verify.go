package iso

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/oaictl/oaictl/pkg/iso/ignition"
	"github.com/oaictl/oaictl/pkg/iso/internal/cpio"
	"github.com/oaictl/oaictl/pkg/iso/internal/embedarea"
	"github.com/oaictl/oaictl/pkg/iso/internal/miniso"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
)

// Damage is something in an image that will not work.
type Damage struct {
	Place   string `json:"place"` // in the image
	Problem string `json:"problem"`
}

func (d Damage) String() string {
	if d.Place == "" {
		return d.Problem
	}
	return d.Place + ": " + d.Problem
}

// Verify lists what is damaged in the base, as far as it has checksums; none is a sound image. That
// another tool rebuilt an image is no damage: Rebuilt says so, and Inspect's report.
func (b *Base) Verify(ctx context.Context) ([]Damage, error) {
	v := verification{base: b}
	v.structures()
	v.area()
	v.kargs()
	v.live(ctx)
	v.minimal(ctx)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", b.name, err)
	}
	return v.found, nil
}

type verification struct {
	base  *Base
	found []Damage
}

func (v *verification) add(place, problem string) {
	v.found = append(v.found, Damage{Place: place, Problem: problem})
}

// err adds an error, without repeating the names of image and place.
func (v *verification) err(place string, err error) {
	text := strings.TrimPrefix(err.Error(), v.base.name+": ")
	v.add(place, strings.TrimPrefix(text, place+": "))
}

// structures checks the partition table and the header of old images. The directories were read when
// the base was.
func (v *verification) structures() {
	if gpt := v.base.volume.GPT; gpt != nil {
		for _, trouble := range gpt.Trouble {
			v.add("partition table", trouble)
		}
	}
	legacy, err := v.base.legacyArea()
	if err == nil && legacy.offset != v.base.area.offset {
		v.add("system area", fmt.Sprintf("its header has the Ignition area at byte %d, where %s is not", legacy.offset, v.base.area.position()))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.err("system area", err)
	}
}

func (v *verification) area() {
	place := v.base.area.position()
	config, err := v.base.Ignition()
	if err != nil {
		v.err(place, err)
		return
	}
	if config != nil {
		if _, err := ignition.Validate(configMember, config); err != nil {
			v.err(place, err)
		}
	}
	keyfiles, err := v.base.Keyfiles()
	if err != nil {
		v.err(place, err)
	}
	for _, k := range keyfiles {
		if err := nmstate.CheckKeyfile(k.Name, k.Content); err != nil {
			v.err(place, err)
		}
	}
}

// kargs checks the areas against each other, and the medium's label.
func (v *verification) kargs() {
	if v.base.kargs == nil {
		return
	}
	// A tool that rebuilds an image may leave a description of areas that no longer fits; Inspect reports that.
	if v.base.checkRebuilt() == nil {
		for _, damage := range v.base.kargs.Damage {
			v.add("kernel arguments", damage)
		}
	}
	for _, argument := range v.base.kargs.Current {
		label, is := strings.CutPrefix(argument, liveArgument+"=")
		if is && label != v.base.info.VolumeID {
			v.add("kernel arguments", fmt.Sprintf("%s: the label of the image is %q, so the live system would not find it", argument,
				v.base.info.VolumeID))
		}
	}
}

// live checks that initrd and root filesystem belong together.
func (v *verification) live(ctx context.Context) {
	initrd, err := v.base.readInitrd(ctx, nil)
	if err != nil {
		v.err(initrdPath, err)
		return
	}
	id, err := v.base.rootfsID()
	if err != nil {
		v.err(rootfsPath, err)
		return
	}
	if !v.base.has(rootfsPath) {
		return // a minimal image
	}
	if id != initrd.id {
		v.add(rootfsPath, fmt.Sprintf("it is from build %q, but the initrd is from build %q", id, initrd.id))
	}
	if initrd.hashes == nil {
		return // older images have none
	}
	if err := v.base.checkRootfs(ctx, initrd.hashes); err != nil {
		v.err(rootfsPath, err)
	}
}

// minimal checks nearly all other files by the digest of the minimal image, which has them too, for an
// image as it was built; one that another tool rebuilt is changed and not damaged.
func (v *verification) minimal(ctx context.Context) {
	if !v.base.info.Minimal || v.base.checkPristine() != nil {
		return
	}
	_, err := v.base.builtMinimal(ctx)
	if err != nil && !errors.Is(err, miniso.ErrEmpty) && !errors.Is(err, ErrRebuilt) {
		v.err(minisoPath, err)
	}
}

const (
	// maxInitrd bounds what an initrd unpacks to, in bytes. Those of RHCOS have about 250 MB.
	maxInitrd = 2 << 30
	// maxMember bounds what is kept of one file in it.
	maxMember = 4 << 20
	// maxRootfsMembers is how many members of rootfs.img are searched for its id, which is the second.
	maxRootfsMembers = 8
	// maxChunk bounds the pieces by which the live system verifies the root filesystem.
	maxChunk = 64 << 20
)

type initrd struct {
	id          string
	hashes      []byte // of the root filesystem, as the live system checks them
	compression string
}

// readInitrd goes through all archives of the initrd. If added is not nil, it is called for every file that a tool put
// there.
func (b *Base) readInitrd(ctx context.Context, added embedarea.Visit) (initrd, error) {
	var found initrd
	content, err := b.file(initrdPath)
	if err != nil {
		return found, err
	}
	seen, err := embedarea.Walk(content, content.Size(), maxInitrd, func(h cpio.Header, content io.Reader) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		switch name := strings.TrimPrefix(h.Name, "./"); {
		case name == initrdIDMember:
			found.id, err = readID(content)
		case name == rootfsHashes:
			found.hashes, err = io.ReadAll(io.LimitReader(content, maxMember))
		case added != nil && addedByTools(name):
			err = added(h, content)
		}
		return err
	})
	found.compression = strings.Join(seen, "+")
	if err != nil {
		return found, fmt.Errorf("%s: %w", initrdPath, err)
	}
	return found, nil
}

// addedByTools distinguishes what tools put into initrds from what was built into them.
func addedByTools(name string) bool {
	added := []string{keyfileDir, "agent-files/", "etc/assisted/"}
	return name == configMember || slices.ContainsFunc(added, func(dir string) bool { return strings.HasPrefix(name, dir) })
}

// rootfsID reads the id of the root filesystem, which follows the one large member of its archive;
// that one is stepped over unread. It is empty where the image has no root filesystem.
func (b *Base) rootfsID() (string, error) {
	image, err := b.file(rootfsPath)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	at, size := int64(0), image.Size()
	for range maxRootfsMembers {
		r := cpio.NewReader(io.NewSectionReader(image, at, size-at))
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("%s: member at byte %d: %w", rootfsPath, at, err)
		}
		if strings.TrimPrefix(h.Name, "./") == rootfsIDMember {
			return readID(r)
		}
		at += alignUp(110+int64(len(h.Name))+1, 4) + alignUp(h.Size, 4) // header, name and content of newc
		if at >= size {
			return "", fmt.Errorf("%s: a member ends at byte %d of %d", rootfsPath, at, size)
		}
	}
	return "", nil
}

func readID(content io.Reader) (string, error) {
	id, err := io.ReadAll(io.LimitReader(content, maxDescription))
	return strings.TrimSpace(string(id)), err
}

// checkRootfs reads all of the root filesystem and compares it with the hashes that the initrd
// holds: "stream-hash sha256 SIZE" and one hash for every SIZE bytes.
func (b *Base) checkRootfs(ctx context.Context, hashes []byte) error {
	content, err := b.file(rootfsPath)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(bytes.NewReader(hashes))
	lines.Scan()
	header := strings.Fields(lines.Text())
	if len(header) != 3 || header[0] != "stream-hash" || header[1] != "sha256" {
		return nil // another way of checking than is known here
	}
	size, err := strconv.ParseInt(header[2], 10, 64)
	if err != nil || size <= 0 || size > maxChunk {
		return fmt.Errorf("%s: %s: pieces of %q bytes", initrdPath, rootfsHashes, header[2])
	}
	for at := int64(0); at < content.Size(); at += size {
		if err := ctx.Err(); err != nil {
			return err
		}
		digest := sha256.New()
		end := min(at+size, content.Size())
		if _, err := content.WriteRange(digest, at, end-at); err != nil {
			return err
		}
		if !lines.Scan() || strings.TrimSpace(lines.Text()) != hex.EncodeToString(digest.Sum(nil)) {
			return fmt.Errorf("%s: bytes %d to %d differ from what the initrd expects", rootfsPath, at, end)
		}
	}
	return nil
}
