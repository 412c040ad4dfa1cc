package iso

import (
	"errors"
	"fmt"

	"github.com/oaictl/oaictl/pkg/iso/internal/iso9660"
	"github.com/oaictl/oaictl/pkg/iso/internal/miniso"
)

// ErrRebuilt says that another tool took the image apart and put it together again, as the Assisted
// Installer and the agent-based installer do. That is no damage, but what describes the image as it
// was built fits no more: there is no minimal ISO of it.
var ErrRebuilt = errors.New("another tool rebuilt the image: its files are not where they were built")

// Rebuilt says whether another tool rebuilt the image, as ErrRebuilt has it. An image without the
// recipe of a minimal ISO does not tell, and is taken for one as it was built.
func (b *Base) Rebuilt() bool { return errors.Is(b.checkRebuilt(), ErrRebuilt) }

// checkRebuilt is an ErrRebuilt where the image's files are not where the recipe of its minimal ISO
// has them. An image without a recipe does not tell.
func (b *Base) checkRebuilt() error {
	recipe := b.recipe()
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

// recipe is that of the minimal ISO, nil where it can not be read: whoever needs it says why.
func (b *Base) recipe() *miniso.Recipe {
	data, err := b.volume.ReadFile(minisoPath, miniso.MaxSize)
	if err != nil {
		return nil
	}
	recipe, err := miniso.Parse(data)
	if err != nil {
		return nil
	}
	return recipe
}
