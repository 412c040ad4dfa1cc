package catalogue

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/spelling"
)

// suggestions is the most that Suggest returns.
const suggestions = 5

// Suggest returns the names of that kind that an unknown name may have been
// meant to be, the likeliest first: names within a few letters of it, then
// names that contain it. At most five, none for the empty name.
func Suggest(kind Kind, name string) []string {
	if _, rest, qualified := strings.Cut(name, "/"); qualified {
		name = rest
	}
	wanted := plain(name)
	if wanted == "" {
		return nil
	}
	type candidate struct {
		name     string
		distance int
	}
	var candidates []candidate
	limit := max(2, len(wanted)/3)
	for _, r := range of(kind).all {
		distance := spelling.Distance(wanted, plain(r.ref.ID))
		if distance > limit {
			if len(wanted) < 3 || !strings.Contains(plain(r.ref.ID), wanted) {
				continue
			}
			distance += limit // a part of a name is a worse guess than a slip of the finger
		}
		if len(candidates) > 0 && candidates[len(candidates)-1].name == r.ref.ID {
			continue // of host and cluster
		}
		candidates = append(candidates, candidate{r.ref.ID, distance})
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, c := range candidates[:min(len(candidates), suggestions)] {
		names = append(names, c.name)
	}
	return names
}
