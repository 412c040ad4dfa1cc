package iso

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/oaictl/oaictl/pkg/iso/ignition"
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

// Verify lists what is damaged in the base; none is a sound image. What an image has no checksum for
// can not be verified. That another tool rebuilt an image is no damage: Rebuilt says so, and Inspect
// has it among the report's Problems.
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

// structures checks the partition table and the header of old images. The directories were all read
// when the base was.
func (v *verification) structures() {
	if gpt := v.base.volume.GPT; gpt != nil {
		for _, trouble := range gpt.Trouble {
			v.add("partition table", trouble)
		}
	}
	legacy, err := v.base.legacyArea()
	if err == nil && legacy.offset != v.base.area.offset {
		v.add("system area", fmt.Sprintf("its header has the Ignition area at byte %d, where %s is not", legacy.offset, v.base.area.place()))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.err("system area", err)
	}
}

func (v *verification) area() {
	place := v.base.area.place()
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
	// Who rebuilds an image may leave the description of the areas behind, for menus that it no longer
	// fits; Inspect still tells of that.
	if v.base.checkRebuilt() == nil {
		for _, damage := range v.base.kargs.Damage {
			v.add("kernel arguments", damage)
		}
	}
	for _, argument := range v.base.kargs.Current {
		label, is := strings.CutPrefix(argument, liveArgument+"=")
		if is && label != v.base.info.VolumeID {
			v.add("kernel arguments", fmt.Sprintf("%s: the image is labelled %q, so that the live system would not find it", argument, v.base.info.VolumeID))
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
		v.add(rootfsPath, fmt.Sprintf("it is of build %q, the initrd of build %q", id, initrd.id))
	}
	if initrd.hashes == nil {
		return // older images have none
	}
	if err := v.base.checkRootfs(ctx, initrd.hashes); err != nil {
		v.err(rootfsPath, err)
	}
}

// minimal checks nearly all other files by the digest of the minimal image, which has them too. That
// takes an image as it was built; one that another tool rebuilt is changed and not damaged.
func (v *verification) minimal(ctx context.Context) {
	if !v.base.info.Minimal || v.base.checkPristine() != nil {
		return
	}
	_, err := v.base.builtMinimal(ctx)
	if err != nil && !errors.Is(err, miniso.ErrEmpty) && !errors.Is(err, ErrRebuilt) {
		v.err(minisoPath, err)
	}
}
