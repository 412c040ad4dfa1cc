package iso_test

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/iso"
)

func TestWarnings(t *testing.T) {
	base := open(t, layout(t, "x86_64-2023-07"))
	decimal := strings.Replace(config, `"mode":420`, `"mode":644`, 1)
	_, result := customize(t, base, iso.Customization{Ignition: []byte(decimal), Kargs: iso.KargEdit{Append: []string{"console=ttyS0"}}})
	text := strings.Join(result.Warnings, "\n")
	for _, want := range []string{"the Ignition config:1:", "644", "console=ttyS0"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the warnings:\n%s", want, text)
		}
	}
}
