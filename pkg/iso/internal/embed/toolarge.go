package embed

import (
	"fmt"
	"slices"
	"strings"
)

// mostNamed is how many of the heaviest members a TooLarge names.
const mostNamed = 3

// TooLarge says that members do not fit into an area, however compressed.
type TooLarge struct {
	// Need is the size in bytes of the smallest archive that was made of them.
	Need int64
	// Have is what the area holds, in bytes.
	Have int64
	// Largest are the heaviest members, heaviest first.
	Largest []Member
}

func newTooLarge(members []Member, need, have int64) *TooLarge {
	heaviest := slices.SortedStableFunc(slices.Values(members), func(a, b Member) int { return len(b.Data) - len(a.Data) })
	return &TooLarge{Need: need, Have: have, Largest: heaviest[:min(mostNamed, len(heaviest))]}
}

// Error says by how much, and which members weigh most before compression. It
// says nothing of their content.
func (e *TooLarge) Error() string {
	named := make([]string, 0, len(e.Largest))
	for _, m := range e.Largest {
		named = append(named, fmt.Sprintf("%s (%d bytes)", m.Name, len(m.Data)))
	}
	return fmt.Sprintf("the compressed archive takes %d bytes, %d more than the %d of the embed area; the largest before compression: %s",
		e.Need, e.Need-e.Have, e.Have, strings.Join(named, ", "))
}
