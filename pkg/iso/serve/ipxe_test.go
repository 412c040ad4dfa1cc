package serve_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// netboot is a server with one host that boots from the network.
func netboot(t *testing.T, c serve.Config) *serve.Server {
	t.Helper()
	s := newServer(t, c)
	set(t, s, "m-0",
		serve.File{Kind: serve.Kernel, Image: overlay.Bytes([]byte("kernel"))},
		serve.File{Kind: serve.Initrd, Image: overlay.Bytes([]byte("initrd"))},
		serve.File{Kind: serve.AddrSize, Image: overlay.Bytes(make([]byte, 16))},
		serve.File{Kind: serve.Ins, Image: overlay.Bytes([]byte("kernel 0x0\n"))},
		serve.File{Kind: serve.IPXE, Script: func(kernel, initrd, rootfs string) string {
			return fmt.Sprintf("#!ipxe\nkernel %s coreos.live.rootfs_url=%s\ninitrd %s\nboot\n", kernel, rootfs, initrd)
		}})
	must.Do(t, s.SetMACs("m-0", "52:54:00:00:00:0A", "52-54-00-00-00-0b"))
	return s
}

func TestScriptsNameTheHostsFiles(t *testing.T) {
	for name, test := range map[string]struct {
		url, host, want string
	}{
		"configured":     {"https://media.example:8443", "elsewhere", "https://media.example:8443/n/"},
		"as asked":       {"", "192.0.2.1:8080", "http://192.0.2.1:8080/n/"},
		"as asked, IPv6": {"", "[2001:db8::1]:8080", "http://[2001:db8::1]:8080/n/"},
		"hostile":        {"", "x/ || shell\n", "kernel /n/"},
	} {
		s := netboot(t, serve.Config{URL: test.url})
		path, boot := strings.TrimPrefix(s.URL("m-0", serve.IPXE), test.url), strings.TrimPrefix(s.BootURL(), test.url)
		get := func(target string) *httptest.ResponseRecorder {
			r := httptest.NewRequest("GET", target, nil)
			r.Host = test.host
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			return w
		}
		byID := get(path)
		if byID.Code != 200 || !strings.Contains(byID.Body.String(), test.want) || strings.Contains(byID.Body.String(), "shell") {
			t.Errorf("%s: %d %s", name, byID.Code, byID.Body)
		}
		for _, mac := range []string{"52:54:00:00:00:0a", "52-54-00-00-00-0A", "5254.0000.000b", "52540000000b"} {
			if byMAC := get(boot + "?mac=" + mac); byMAC.Body.String() != byID.Body.String() {
				t.Errorf("%s: %s: %d %s", name, mac, byMAC.Code, byMAC.Body)
			}
		}
		chain := get(boot)
		if !strings.HasPrefix(chain.Body.String(), "#!ipxe\n") || !strings.Contains(chain.Body.String(), boot+"?mac=${netX/mac:hexhyp}\n") {
			t.Errorf("%s: chain script %s", name, chain.Body)
		}
	}
	s := netboot(t, serve.Config{})
	for kind, want := range map[serve.Kind]string{serve.Kernel: "kernel", serve.Initrd: "initrd", serve.Ins: "kernel 0x0\n"} {
		if got := ask(s, "GET", s.URL("m-0", kind)); got.Body.String() != want {
			t.Errorf("%s: %d %s", kind, got.Code, got.Body)
		}
	}
}

func TestMACsAreChecked(t *testing.T) {
	s := netboot(t, serve.Config{})
	set(t, s, "m-1", iso(overlay.Bytes([]byte("x"))))
	for mac, want := range map[string]string{
		"52:54:00:00:00:0a": "is that of m-0",
		"52:54:00":          "not a MAC address",
		"52:54:00:00:00:zz": "not a MAC address",
	} {
		check.Says(t, s.SetMACs("m-1", mac), want, mac)
	}
	check.Says(t, s.SetMACs("m-2", "52:54:00:00:00:0c"), "m-2")
	// A host gives up those that it is not given again.
	must.Do(t, s.SetMACs("m-0", "52:54:00:00:00:0c"))
	check.Do(t, s.SetMACs("m-1", "52:54:00:00:00:0a"))
}

// TestMACsCannotBeTried tries addresses, as an attacker would who knows a vendor's prefix.
func TestMACsCannotBeTried(t *testing.T) {
	clk := newClock()
	s := netboot(t, serve.Config{Clock: clk})
	from := func(client, mac string) int {
		r := httptest.NewRequest("GET", s.BootURL()+"?mac="+mac, nil)
		r.RemoteAddr = client
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	found := 0
	for i := range 256 {
		if from("192.0.2.9:1000", fmt.Sprintf("52:54:00:00:00:%02x", 255-i)) == 200 {
			found++
		}
	}
	for i := range 256 { // a client has all of its /64
		if from(fmt.Sprintf("[2001:db8::%x]:1000", i), fmt.Sprintf("52:54:00:00:00:%02x", 255-i)) == 200 {
			found++
		}
	}
	if found != 0 {
		t.Errorf("%d of 2 hosts were found", found)
	}
	if from("192.0.2.10:1000", "52:54:00:00:00:0a") != 200 {
		t.Error("another client pays for it")
	}
	clk.pass(time.Minute)
	if from("192.0.2.9:1000", "52:54:00:00:00:0a") != 200 {
		t.Error("the client is never answered again")
	}
}
