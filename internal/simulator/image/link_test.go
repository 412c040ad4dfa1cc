package image

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestLinks(t *testing.T) {
	want := map[Access]string{ByID: "/byid/" + infraEnv + "/4.21/x86_64/full.iso", ByToken: "/bytoken/", ByAPIKey: "/byapikey/"}
	for access, prefix := range want {
		t.Run(string(access), func(t *testing.T) {
			f := newFixture(t, access)
			address, expires, err := f.URL(f.link)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(address, "http://images.example"+prefix) || !strings.HasSuffix(address, "/4.21/x86_64/full.iso") {
				t.Errorf("address %s", address)
			}
			if limited := access == ByToken; limited && !expires.Equal(f.clock.now.Add(4*time.Hour)) || !limited && !expires.IsZero() {
				t.Errorf("the link ends %v", expires)
			}
			initrd, _, err := f.initrdURL(f.link)
			if err != nil {
				t.Fatal(err)
			}
			both := func(want int, when string) {
				t.Helper()
				for _, link := range []string{address, initrd} {
					if answer := f.get(t, "HEAD", link); answer.Code != want {
						t.Errorf("%s: %s answers %d, want %d", when, link, answer.Code, want)
					}
				}
			}
			both(200, "at once")
			if access != ByID {
				if answer := f.get(t, "GET", "/byid/"+infraEnv+"/4.21/x86_64/full.iso"); answer.Code != 401 {
					t.Errorf("the infra-env's id alone opens it: %d", answer.Code)
				}
				if answer := f.get(t, "GET", "/images/"+infraEnv+"/pxe-initrd?arch=x86_64&version=4.21"); answer.Code != 401 {
					t.Errorf("the infra-env's id alone opens its initrd: %d", answer.Code)
				}
			}
			f.clock.now = f.clock.now.Add(LinkLifetime)
			both(map[bool]int{true: 401, false: 200}[access == ByToken], "four hours later")
		})
	}
}

func TestLinksAreTakenBack(t *testing.T) {
	f := newFixture(t, ByToken)
	old, _, _ := f.URL(f.link)
	f.source.SigningKey = []byte("second")
	if answer := f.get(t, "HEAD", old); answer.Code != 401 {
		t.Errorf("a regenerated signing key leaves the old link at %d", answer.Code)
	}
	f.link.SigningKey = []byte("second")
	fresh, _, _ := f.URL(f.link)
	if answer := f.get(t, "HEAD", fresh); answer.Code != 200 {
		t.Errorf("the new link answers %d", answer.Code)
	}
	f.ExpireAll()
	answer := f.get(t, "GET", fresh)
	if answer.Code != 401 || !strings.Contains(answer.Body.String(), "expired") || strings.Contains(answer.Header().Get("Content-Type"), "json") {
		t.Errorf("after ExpireAll: %d %q %s", answer.Code, answer.Body, answer.Header().Get("Content-Type"))
	}
	fresh, _, _ = f.URL(f.link)
	if answer := f.get(t, "HEAD", fresh); answer.Code != 200 {
		t.Errorf("a link made after ExpireAll answers %d", answer.Code)
	}
}

func TestRefusals(t *testing.T) {
	f := newFixture(t, ByID)
	tests := []struct {
		method, path string
		code         int
	}{
		{"GET", "/byid/00000000-0000-0000-0000-000000000000/4.21/x86_64/full.iso", 404},
		{"GET", "/byid/" + infraEnv + "/4.99/x86_64/full.iso", 400},
		{"GET", "/byid/" + infraEnv + "/4.21/sparc/full.iso", 400},
		{"GET", "/byid/" + infraEnv + "/4.21/x86_64/other.iso", 400},
		{"GET", "/byid/" + infraEnv + "/4.21/x86_64/full", 400},
		{"GET", "/byid/" + infraEnv + "/4.21/aarch64/full.iso", 200},
		{"GET", "/byid/" + infraEnv + "/4.21/x86_64/disconnected.iso", 200},
		{"POST", "/byid/" + infraEnv + "/4.21/x86_64/full.iso", 405},
		{"GET", "/bytoken/x.y.z/4.21/x86_64/full.iso", 401},
		{"GET", "/images/" + infraEnv + "?version=4.21&arch=x86_64&type=full-iso", 200},
		{"GET", "/images/" + infraEnv + "?version=4.21&arch=x86_64", 400},
		{"GET", "/images/" + infraEnv + "/s390x-initrd-addrsize?version=4.21", 400},
		{"GET", "/boot-artifacts/kernel", 400},
		{"GET", "/health", 200},
		{"GET", "/live", 200},
		{"GET", "/else", 404},
	}
	for _, tt := range tests {
		if answer := f.get(t, tt.method, tt.path); answer.Code != tt.code {
			t.Errorf("%s %s: %d %.80s, want %d", tt.method, tt.path, answer.Code, answer.Body, tt.code)
		}
	}
	noise := make([]byte, 300<<10)
	_, _ = rand.Read(noise)
	f.source.Ignition = noise
	if answer := f.get(t, "GET", "/byid/"+infraEnv+"/4.21/x86_64/full.iso"); answer.Code != 500 || !strings.Contains(answer.Body.String(), "exceeds embed area size (262144)") {
		t.Errorf("a config of 300 KiB: %d %s", answer.Code, answer.Body)
	}
	f.source = Source{KernelArguments: []string{strings.Repeat("x", 1100)}}
	if answer := f.get(t, "GET", "/byid/"+infraEnv+"/4.21/x86_64/full.iso"); answer.Code != 500 {
		t.Errorf("arguments of 1100 bytes: %d", answer.Code)
	}
	if _, _, err := f.URL(Link{Type: "full"}); err == nil {
		t.Error("a link to an image of no type")
	}
	for _, config := range []Config{{}, {Clock: f.clock}, {Clock: f.clock, Lookup: f.config.Lookup, Access: "zzz"}, {Clock: f.clock, Lookup: f.config.Lookup, Access: ByAPIKey}} {
		if _, err := New(config); err == nil {
			t.Errorf("%+v makes a service", config)
		}
	}
}

func FuzzPath(f *testing.F) {
	byID, byToken := newFixture(f, ByID), newFixture(f, ByToken)
	good, _, err := byToken.URL(byToken.link)
	if err != nil {
		f.Fatal(err)
	}
	parsed, err := url.Parse(good)
	if err != nil {
		f.Fatal(err)
	}
	token := strings.Split(parsed.Path, "/")[2]
	for _, seed := range []string{
		parsed.Path, "/byid/" + infraEnv + "/4.21/x86_64/full.iso", "/bytoken/a.b.c/4.21/x86_64/full.iso",
		"/images/" + infraEnv + "/pxe-initrd", "/boot-artifacts/rootfs", "/byid//4.21/x86_64/.iso", "/../health",
	} {
		f.Add(seed, "arch=x86_64&version=4.21")
	}
	f.Fuzz(func(t *testing.T, path, query string) {
		for _, service := range []*fixture{byID, byToken} {
			request := &http.Request{Method: http.MethodHead, URL: &url.URL{Path: path, RawQuery: query}, Host: "images.example", Header: http.Header{}}
			answer := httptest.NewRecorder()
			service.Handler().ServeHTTP(answer, request)
			if answer.Code >= 500 {
				t.Errorf("%q answers %d", path, answer.Code)
			}
			private := strings.HasPrefix(path, "/bytoken/") || strings.HasPrefix(path, "/images/")
			if service == byToken && private && answer.Code == 200 && !strings.Contains(path+query, token) {
				t.Errorf("%q?%q is opened without the token", path, query)
			}
		}
	})
}

// initrdURL is the link to an infra-env's netboot initrd, which its iPXE script names.
func (s *Service) initrdURL(link Link) (string, time.Time, error) {
	proof, expires, err := s.proof(link)
	if err != nil {
		return "", time.Time{}, err
	}
	address, err := url.JoinPath(link.Base, "images", link.InfraEnvID, "pxe-initrd")
	query := url.Values{"arch": {link.Arch}, "version": {link.Version}}
	switch s.config.Access {
	case ByToken:
		query.Set("image_token", proof)
	case ByAPIKey:
		query.Set("api_key", proof)
	}
	return address + "?" + query.Encode(), expires, err
}
