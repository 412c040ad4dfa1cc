package ignitionurl_test

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/capi/internal/ignitionurl"
)

// TestIPv6AddressesGetBrackets reads a URL as it is written, or with the brackets that are missing.
func TestIPv6AddressesGetBrackets(t *testing.T) {
	for text, want := range map[string]string{
		"https://ignition.example.com/ignition":     "",
		"http://ignition.example.com:8080/a/b?c=d":  "",
		"https://192.0.2.1:30443/ignition":          "",
		"https://[2001:db8::1]:30443/ignition":      "",
		"https://user:word@192.0.2.1:30443/a:b":     "",
		"https://2001:db8::1:30443/ignition":        "https://[2001:db8::1]:30443/ignition",
		"https://2001:db8::1/ignition":              "https://[2001:db8::1]/ignition",
		"https://2001:db8::1":                       "https://[2001:db8::1]",
		"https://2001:db8:0:0:0:0:0:1:443/a":        "https://[2001:db8:0:0:0:0:0:1]:443/a",
		"https://::ffff:192.0.2.1:30443/ignition":   "https://[::ffff:192.0.2.1]:30443/ignition",
		"https://2001:db8::1:30443?where=a:b#there": "https://[2001:db8::1]:30443?where=a:b#there",
	} {
		if want == "" {
			want = text
		}
		if got, err := ignitionurl.Parse(text); err != nil || got.String() != want {
			t.Errorf("%s is %v (%v), want %s", text, got, err, want)
		}
	}
}

// TestWhatIsNoServerIsRefused says how a URL is written, and never what was written: there may be a password in it.
func TestWhatIsNoServerIsRefused(t *testing.T) {
	for _, text := range []string{
		"", "ignition.example.com", "fd00::1:22623", "https://", "https://:443/ignition", "tftp://192.0.2.1/ignition", "data:,{}", "https://fd00::g:30443/ignition",
		"https://fd00::1:3044x/ignition", "https://a:b:443/ignition", "https://user:word@fd00::1:30443/ignition",
	} {
		got, err := ignitionurl.Parse(text)
		if err == nil || !strings.HasPrefix(err.Error(), "is no URL of a server: write it as https://host:port/path") || strings.Contains(err.Error(), "word") {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}
