package iso

import (
	"testing"

	"github.com/oaictl/oaictl/pkg/iso"
)

// TestVerifiedSaysRebuilt tells that another tool rebuilt an image, which is no damage.
func TestVerifiedSaysRebuilt(t *testing.T) {
	const rebuilt = "another tool rebuilt the image: its files are not where they were built\n"
	damage := []iso.Damage{{Place: "a", Problem: "b"}, {Problem: "c"}}
	for want, v := range map[string]verified{
		"x.iso is sound\n":           {Image: "x.iso", Sound: true},
		"x.iso is sound; " + rebuilt: {Image: "x.iso", Sound: true, Rebuilt: true},
		"a: b\nc\n":                  {Image: "x.iso", Damage: damage},
		"a: b\nc\n" + rebuilt:        {Image: "x.iso", Damage: damage, Rebuilt: true},
	} {
		if got := v.text(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
