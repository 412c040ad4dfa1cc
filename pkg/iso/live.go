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
	"strconv"
	"strings"

	"github.com/oaictl/oaictl/pkg/iso/internal/cpio"
	"github.com/oaictl/oaictl/pkg/iso/internal/embed"
)

const (
	// maxInitrd bounds what an initrd unpacks to, in bytes. Those of RHCOS have about 250 MB.
	maxInitrd = 2 << 30
	// maxMember bounds what is kept of one file in it.
	maxMember = 4 << 20
	// maxRootfsMembers is how many members of rootfs.img are looked at for its id, which is the second.
	maxRootfsMembers = 8
	// maxChunk bounds the pieces by which the live system verifies the root filesystem.
	maxChunk = 64 << 20
)

type initrd struct {
	id          string
	hashes      []byte // of the root filesystem, as the live system checks them
	compression string
}

// readInitrd goes through all of the initrd: what is wanted of it is spread over several archives.
// Where added is not nil it is told of every file that a tool put there.
func (b *Base) readInitrd(ctx context.Context, added embed.Visit) (initrd, error) {
	var found initrd
	f, err := b.volume.Find(initrdPath)
	if err != nil {
		return found, err
	}
	seen, err := embed.Walk(b.image.Slice(f.Offset, f.Size), f.Size, maxInitrd, func(h cpio.Header, content io.Reader) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := strings.TrimPrefix(h.Name, "./")
		var err error
		switch {
		case name == initrdIDMember:
			var id []byte
			id, err = io.ReadAll(io.LimitReader(content, maxDescription))
			found.id = strings.TrimSpace(string(id))
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

// addedByTools tells what tools put into initrds from what was built into them.
func addedByTools(name string) bool {
	if name == configMember {
		return true
	}
	for _, dir := range []string{keyfileDir, "agent-files/", "etc/assisted/"} {
		if strings.HasPrefix(name, dir) {
			return true
		}
	}
	return false
}

// rootfsID reads the id of the root filesystem, which follows the one large member of its archive;
// that one is stepped over unread. It is empty where the image has no root filesystem.
func (b *Base) rootfsID() (string, error) {
	f, err := b.volume.Find(rootfsPath)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	image := b.image.Slice(f.Offset, f.Size)
	at := int64(0)
	for range maxRootfsMembers {
		r := cpio.NewReader(io.NewSectionReader(image, at, f.Size-at))
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("%s: member at byte %d: %w", rootfsPath, at, err)
		}
		if strings.TrimPrefix(h.Name, "./") == rootfsIDMember {
			id, err := io.ReadAll(io.LimitReader(r, maxDescription))
			return strings.TrimSpace(string(id)), err
		}
		at += alignUp(110+int64(len(h.Name))+1, 4) + alignUp(h.Size, 4) // header, name and content of newc
		if at >= f.Size {
			return "", fmt.Errorf("%s: a member ends at byte %d of %d", rootfsPath, at, f.Size)
		}
	}
	return "", nil
}

// checkRootfs reads all of the root filesystem and compares it with the hashes that the initrd
// holds: "stream-hash sha256 SIZE" and one hash for every SIZE bytes.
func (b *Base) checkRootfs(ctx context.Context, hashes []byte) error {
	f, err := b.volume.Find(rootfsPath)
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
	content := b.image.Slice(f.Offset, f.Size)
	for at := int64(0); at < f.Size; at += size {
		if err := ctx.Err(); err != nil {
			return err
		}
		digest := sha256.New()
		if _, err := content.WriteRange(digest, at, min(size, f.Size-at)); err != nil {
			return err
		}
		if !lines.Scan() || strings.TrimSpace(lines.Text()) != hex.EncodeToString(digest.Sum(nil)) {
			return fmt.Errorf("%s: bytes %d to %d are not what the initrd expects", rootfsPath, at, min(at+size, f.Size))
		}
	}
	return nil
}
