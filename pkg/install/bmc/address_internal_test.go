package bmc

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]address{
		"10.0.0.1":                     {endpoint: "https://10.0.0.1"},
		"10.0.0.1:8443":                {endpoint: "https://10.0.0.1:8443"},
		"fd00::1":                      {endpoint: "https://[fd00::1]"},
		"[fd00::1]:8443":               {endpoint: "https://[fd00::1]:8443"},
		"bmc.example.com":              {endpoint: "https://bmc.example.com"},
		"https://10.0.0.1/redfish/v1/": {endpoint: "https://10.0.0.1"},
		"http://10.0.0.1:8000/redfish/v1/Systems/a-b/":                             {endpoint: "http://10.0.0.1:8000", system: "/redfish/v1/Systems/a-b"},
		"redfish+http://10.0.0.1/redfish/v1/Systems/1":                             {endpoint: "http://10.0.0.1", system: "/redfish/v1/Systems/1"},
		"redfish-virtualmedia+https://10.0.0.1/redfish/v1/Systems/1":               {endpoint: "https://10.0.0.1", system: "/redfish/v1/Systems/1"},
		"redfish-virtualmedia://10.0.0.1/redfish/v1/Systems/1":                     {endpoint: "https://10.0.0.1", system: "/redfish/v1/Systems/1"},
		"idrac-virtualmedia+https://10.0.0.1/redfish/v1/Systems/System.Embedded.1": {endpoint: "https://10.0.0.1", system: "/redfish/v1/Systems/System.Embedded.1"},
		"ilo5-virtualmedia://[fd00::1]/redfish/v1/Systems/1":                       {endpoint: "https://[fd00::1]", system: "/redfish/v1/Systems/1"},
	} {
		check.Equal(t, must.Get(parseAddress(text))(t), want, text)
	}
	for _, text := range []string{"", "https://", "https://root:pw@10.0.0.1", "://", "a b"} {
		if got, err := parseAddress(text); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add("redfish-virtualmedia+https://[fd00::1]:8443/redfish/v1/Systems/1")
	f.Fuzz(func(t *testing.T, text string) {
		if a, err := parseAddress(text); err == nil && (len(a.endpoint) < len("http://x") || a.system != "" && a.system[0] != '/') {
			t.Errorf("%q is read as %+v", text, a)
		}
	})
}

func TestIsOurs(t *testing.T) {
	const ours = "http://10.0.0.9:8080/i/k3jx7.iso"
	for held, want := range map[string]bool{
		ours: true, "k3jx7.iso": true, `\i\k3jx7.iso`: true, "http://192.0.2.1/i/k3jx7.iso": true,
		"": false, "http://10.0.0.9:8080/i/other.iso": false, "http://10.0.0.9:8080/": false,
	} {
		check.Equal(t, isOwnImage(held, ours), want, held)
	}
}
