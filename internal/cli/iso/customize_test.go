package iso

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/pkg/iso"
)

func TestReplacement(t *testing.T) {
	current := []string{"quiet", "console=tty0", "ignition.platform.id=metal", "a=b=c"}
	for text, want := range map[string]iso.Replacement{
		"quiet=debug":                     {Old: "quiet", New: "debug"},
		"quiet=console=ttyS0":             {Old: "quiet", New: "console=ttyS0"},
		"console=tty0=console=ttyS0":      {Old: "console=tty0", New: "console=ttyS0"},
		"console=tty0=ttyS0":              {Old: "console=tty0", New: "console=ttyS0"},
		"ignition.platform.id=metal=qemu": {Old: "ignition.platform.id=metal", New: "ignition.platform.id=qemu"},
		"a=b=c=a=x":                       {Old: "a=b=c", New: "a=x"},
		"root=old=new":                    {Old: "root=old", New: "root=new"},
		"":                                {},
		"quiet":                           {},
		"quiet=":                          {},
		"=debug":                          {},
	} {
		got, err := replacement(text, current)
		if (err == nil) != (want.Old != "") {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
