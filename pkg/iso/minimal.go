package iso

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"sync"

	"github.com/oaictl/oaictl/pkg/iso/internal/iso9660"
	"github.com/oaictl/oaictl/pkg/iso/internal/kargs"
	"github.com/oaictl/oaictl/pkg/iso/internal/miniso"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

// rootfsArgument is the argument by which the live system of a minimal ISO finds its root filesystem.
const rootfsArgument = "coreos.live.rootfs_url"

// minimal keeps the minimal image of a base once its digest was verified, which reads all of it.
type minimal struct {
	mu    sync.Mutex
	image *overlay.Image // nil until then
}

// Minimal returns the minimal ISO that the base was built with, as a base of its own that reads from b: a few hundred
// KiB in memory, nothing on disk. It boots in all ways that b does, and fetches its root filesystem from rootfsURL
// (http, https or tftp). If the URL is empty, the caller adds the kernel argument coreos.live.rootfs_url.
//
// The first call for a base reads about 100 MB to verify the digest. A base that was customised has no
// minimal ISO: the recipe is for the one as it was built, which AsBuilt gives. Where another tool
// rebuilt it the error is ErrRebuilt.
func (b *Base) Minimal(ctx context.Context, rootfsURL string) (made *Base, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: minimal ISO: %w", b.name, err)
		}
	}()
	if err := checkRootfsURL(rootfsURL); err != nil {
		return nil, err
	}
	built, err := b.builtMinimal(ctx)
	if err != nil {
		return nil, err
	}
	image, err := b.retargeted(built, rootfsURL)
	if err != nil {
		return nil, err
	}
	if made, err = read(b.name+" (minimal)", image); err != nil {
		return nil, err
	}
	made.identity = b.identity // the tag of an image counts in where its extents are
	return made, nil
}

// AsBuilt returns the base without what it carries and with the kernel arguments that it was built
// with, as a base of its own that reads from b. Other changes stay: the digest reports whether Minimal
// takes it.
func (b *Base) AsBuilt() (*Base, error) {
	image, _, err := b.Customize(Customization{Existing: Replace, Kargs: KargEdit{Reset: b.kargs != nil}})
	if err != nil {
		return nil, err
	}
	built, err := read(b.name, image)
	if err != nil {
		return nil, err
	}
	built.identity = b.identity
	return built, nil
}

func checkRootfsURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("the root filesystem's URL cannot be parsed")
	}
	if !slices.Contains([]string{"http", "https", "tftp"}, u.Scheme) {
		return fmt.Errorf("the root filesystem's URL begins with %q; the live system supports http, https and tftp", u.Scheme)
	}
	if u.Host == "" {
		return errors.New("the root filesystem's URL has no host")
	}
	return nil
}

// builtMinimal returns the minimal image as it was built, verified.
func (b *Base) builtMinimal(ctx context.Context) (*overlay.Image, error) {
	b.minimal.mu.Lock()
	defer b.minimal.mu.Unlock()
	if b.minimal.image != nil {
		return b.minimal.image, nil
	}
	if err := b.checkPristine(); err != nil {
		return nil, err
	}
	image, recipe, err := b.assembleMinimal()
	if err != nil {
		return nil, cmp.Or(b.checkRebuilt(), err)
	}
	digest, err := image.Digest(ctx)
	if err != nil {
		return nil, fmt.Errorf("verifying it: %w", err)
	}
	if digest != recipe.Digest {
		return nil, cmp.Or(b.checkRebuilt(), fmt.Errorf("its digest is %x, expected %x: the image is damaged or was changed",
			digest, recipe.Digest))
	}
	b.minimal.image = image
	return image, nil
}

// assembleMinimal follows the recipe in miniso.dat.
func (b *Base) assembleMinimal() (*overlay.Image, *miniso.Recipe, error) {
	recipe, err := b.recipe()
	if err != nil {
		return nil, nil, err
	}
	pieces, err := recipe.Pieces(b.image.Size())
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", minisoPath, err)
	}
	image := b.image.Slice(0, 0)
	for _, p := range pieces {
		if p.Data != nil {
			image.Overlay(image.Size(), p.Data)
		} else {
			image.OverlayFrom(image.Size(), b.image, p.Full, p.Length)
		}
	}
	return image, recipe, nil
}

// checkPristine refuses a base that was customised, in better words than "wrong digest".
func (b *Base) checkPristine() error {
	held, err := b.contents()
	if err != nil {
		return err
	}
	if len(held.members) > 0 {
		return fmt.Errorf("%w: %s contains %s; a minimal ISO can only be made from the original image",
			ErrCustomized, b.area.position(), held.names())
	}
	if b.kargs != nil && (len(b.kargs.Damage) > 0 || !slices.Equal(b.kargs.Current, b.kargs.Default)) {
		return fmt.Errorf("%w: its kernel arguments were changed; a minimal ISO can only be made from the original image", ErrCustomized)
	}
	return nil
}

// retargeted changes the kernel arguments from finding the root filesystem on the medium to fetching
// it, also as what a reset goes back to.
func (b *Base) retargeted(built *overlay.Image, rootfsURL string) (*overlay.Image, error) {
	mini, err := read("as built", built)
	if err != nil {
		return nil, err
	}
	if mini.kargs == nil {
		return nil, kargs.ErrNone
	}
	edit := kargs.Edit{Delete: slices.DeleteFunc(slices.Clone(mini.kargs.Current), func(a string) bool { return !isLive(a) })}
	if rootfsURL != "" {
		edit.Append = []string{rootfsArgument + "=" + rootfsURL}
	}
	args, patches, _, err := mini.kargs.Apply(edit)
	if err != nil {
		return nil, err
	}
	image := built.Clone()
	applyPatches(image, patches)
	return image, mini.setDefaultKargs(image, args)
}

// setDefaultKargs rewrites kargs.json, at the end of the image where its place is too small.
func (b *Base) setDefaultKargs(image *overlay.Image, args string) error {
	f, err := b.volume.Find(kargsPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the oldest images keep no defaults that a reset could go back to
	}
	if err != nil {
		return err
	}
	text, err := b.describeKargs(args)
	if err != nil {
		return err
	}
	if room := f.Size - int64(len(text)); room >= 0 {
		image.Overlay(f.Offset, append(text, bytes.Repeat([]byte{' '}, int(room))...))
		return nil
	}
	_, err = b.move(image, f, text, int64(len(text)))
	return err
}

// describeKargs is kargs.json with other default arguments, and all else as it was.
func (b *Base) describeKargs(args string) ([]byte, error) {
	old, err := b.volume.ReadFile(kargsPath, maxDescription)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(old))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return nil, fmt.Errorf("%s: %w", kargsPath, err)
	}
	fields["default"] = args
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // a URL's "&" is to stay one byte
	if err := encoder.Encode(fields); err != nil {
		return nil, fmt.Errorf("%s: %w", kargsPath, err)
	}
	return out.Bytes(), nil
}

// ErrRebuilt says that another tool took the image apart and put it together again, as the Assisted
// Installer and the agent-based installer do. That is no damage, but there is no minimal ISO of it.
var ErrRebuilt = errors.New("another tool rebuilt the image: its files are not at their original places")

// Rebuilt reports whether another tool rebuilt the image, as far as it has the recipe of a minimal ISO.
func (b *Base) Rebuilt() bool { return errors.Is(b.checkRebuilt(), ErrRebuilt) }

// checkRebuilt compares the image's files with the places that the recipe of its minimal ISO has.
func (b *Base) checkRebuilt() error {
	recipe, _ := b.recipe() // the callers that need one report why there is none
	if recipe == nil {
		return nil
	}
	sizes := map[int64]int64{} // by where a file begins, in whole sectors
	err := b.volume.Walk(func(f iso9660.File) error {
		sizes[f.Offset] = alignUp(f.Size, sector)
		return nil
	})
	if err != nil {
		return err
	}
	// An Ignition area that was made larger has left its place, and only that.
	moved, most := 0, 1
	for _, e := range recipe.Table {
		at := int64(e.Full) * miniso.Sector
		if at == b.area.offset {
			most = 0
		}
		if e.Length > 0 && sizes[at] != alignUp(int64(e.Length), sector) {
			moved++
		}
	}
	if moved > most {
		return fmt.Errorf("%s: %w", minisoPath, ErrRebuilt)
	}
	return nil
}

// recipe is that of the minimal ISO, in miniso.dat.
func (b *Base) recipe() (*miniso.Recipe, error) {
	data, err := b.volume.ReadFile(minisoPath, miniso.MaxSize)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	recipe, err := miniso.Parse(data) // nothing is an ErrEmpty
	if err != nil {
		return nil, fmt.Errorf("%s: %w", minisoPath, err)
	}
	return recipe, nil
}
