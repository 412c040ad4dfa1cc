package validate

import (
	"cmp"
	"slices"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// LightestFirst orders hosts by how much they have of everything, those with graphics
// cards last.
func LightestFirst(hosts []*model.Host) []*model.Host {
	sorted := slices.Clone(hosts)
	slices.SortStableFunc(sorted, func(a, b *model.Host) int {
		return cmp.Or(cmp.Compare(min(1, len(a.Inv.Gpus)), min(1, len(b.Inv.Gpus))), cmp.Compare(a.Inv.Weight(), b.Inv.Weight()))
	})
	return sorted
}
