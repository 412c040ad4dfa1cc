package boot

import "testing"

// TestFullImage finds the full image where a service names the minimal one.
func TestFullImage(t *testing.T) {
	for minimal, want := range map[string]string{
		"https://a/byid/1/4.20/x86_64/minimal.iso":                     "https://a/byid/1/4.20/x86_64/full.iso",
		"https://a/byid/1/4.20/x86_64/full.iso":                        "https://a/byid/1/4.20/x86_64/full.iso",
		"https://a/images/1?arch=x86_64&type=minimal-iso&version=4.20": "https://a/images/1?arch=x86_64&type=full-iso&version=4.20",
		"https://a/bytoken/minimal.iso.x/4.20/x86_64/minimal.iso?a=b":  "https://a/bytoken/minimal.iso.x/4.20/x86_64/full.iso?a=b",
	} {
		if got := fullImage(minimal); got != want {
			t.Errorf("%s becomes %s", minimal, got)
		}
	}
}
