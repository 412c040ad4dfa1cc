package hub

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A release is newer than every candidate, the tenth candidate newer than the
// ninth, and what is no version is the last to be taken.
func TestCompareVersions(t *testing.T) {
	want := []string{"", "nightly", "4.9.0-rc.1", "4.21.0-ec.3", "4.21.0-rc.9", "4.21.0-rc.10", "4.9.50", "4.20.3", "4.20.11"}
	got := slices.Clone(want)
	rand.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	slices.SortFunc(got, compareVersions)
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
