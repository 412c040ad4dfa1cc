package cloud

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
)

func TestAtLeast(t *testing.T) {
	for version, want := range map[string]bool{
		"4.15.0": true, "4.15": true, "4.14.9": false, "4.15.0-rc.1": true, "4.16.0-rc.1": true, "5.0": true, "5.0.0": true, "4.15-ec": true,
		"3.99.0": false, "": false, "x.y": false, "4": false, "4.x": false,
	} {
		check.Equal(t, AtLeast(version, 4, 15), want, version)
	}
}

func TestHasCredentials(t *testing.T) {
	vCenter := func(server, user, password string) string {
		return `{"platform":{"vsphere":{"vcenters":[{"server":"` + server + `","user":"` + user + `","password":"` + password + `"}]}}}`
	}
	for overrides, want := range map[string]bool{
		vCenter("vc.example.com", "u", "p"):                   true,
		vCenter("vcenterplaceholder", "u", "p"):               false,
		vCenter("vc.example.com", "usernameplaceholder", "p"): false,
		vCenter("vc.example.com", "u", "passwordplaceholder"): false,
		vCenter("vc.example.com", "", "p"):                    false,
		`{"platform":{"vsphere":{"vcenters":[]}}}`:            false,
		`{"platform":{"vsphere":[]}}`:                         false,
		"{":                                                   false, "": false,
	} {
		check.Equal(t, HasCredentials(overrides), want, overrides)
	}
}
