package release

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
)

// TestQuietErrors: of what a registry, or where it sends, has said, errors for others show the status and the standard code.
func TestQuietErrors(t *testing.T) {
	const words = "words-of-a-registry"
	answer := func(status int, header, value, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(header, value)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	const manifest = "application/vnd.oci.image.manifest.v1+json"
	for name, tt := range map[string]struct {
		v2, manifests, token http.HandlerFunc
		says, loud           string // loud is printed where the errors are not for others
	}{
		"a message": {
			manifests: answer(http.StatusNotFound, "Content-Type", "application/json",
				`{"errors":[{"code":"MANIFEST_UNKNOWN","message":"`+words+`","detail":"`+words+`"},{"code":"`+words+`"}]}`),
			says: "404 Not Found, MANIFEST_UNKNOWN", loud: words,
		},
		"a page":       {manifests: answer(http.StatusForbidden, "Content-Type", "text/html", words), says: "403 Forbidden"},
		"another kind": {manifests: answer(http.StatusOK, "Content-Type", words, "{}"), says: "it is no image", loud: words},
		"a digest": {
			manifests: answer(http.StatusOK, "Content-Type", manifest, `{"config":{"digest":"`+words+`"}}`), says: "cannot read its manifest", loud: words,
		},
		"an address": {manifests: answer(http.StatusFound, "Location", "ftp://"+words, ""), says: "it does not answer as a registry of images does", loud: words},
		"no address": {manifests: answer(http.StatusFound, "Location", "%zz"+words, ""), says: "it does not answer as a registry of images does", loud: words},
		"no realm":   {v2: answer(http.StatusUnauthorized, "WWW-Authenticate", `Bearer service="`+words+`"`, ""), says: "does not say from where"},
		"no token":   {token: answer(http.StatusOK, "Content-Type", "application/json", `{"secret":"`+words+`"}`), says: "gives none"},
		"a login that is refused": {
			token: answer(http.StatusUnauthorized, "Content-Type", "application/json", `{"errors":[{"code":"DENIED","message":"`+words+`"}]}`),
			says:  "401 Unauthorized, DENIED", loud: words,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(nil)
			server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/v2/" && tt.v2 != nil:
					tt.v2(w, r)
				case r.URL.Path == "/v2/" && tt.token != nil:
					w.Header().Set("WWW-Authenticate", `Bearer realm="`+server.URL+`/token"`)
					w.WriteHeader(http.StatusUnauthorized)
				case r.URL.Path == "/token":
					tt.token(w, r)
				case strings.Contains(r.URL.Path, manifests):
					tt.manifests(w, r)
				}
			})
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.Start()
			t.Cleanup(server.Close)
			o := Options{Clock: &patient{}, Registries: []Registry{{Prefix: hostOf(server), Insecure: true}}}
			for _, o.Quiet = range []bool{true, false} {
				_, err := Read(t.Context(), hostOf(server)+"/ocp/release:1", o)
				if err == nil || o.Quiet && (strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), tt.says)) {
					t.Fatalf("quiet: %t, %v", o.Quiet, err)
				}
				if !o.Quiet && !strings.Contains(err.Error(), tt.loud) {
					t.Errorf("%v does not say %q", err, tt.loud)
				}
			}
		})
	}
}

// TestQuietOfOtherServers: a server that is no registry, and has no HTTP, is not quoted.
func TestQuietOfOtherServers(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = connection.Write([]byte("SSH-2.0-words-of-a-server\r\n"))
			_ = connection.SetReadDeadline(time.Now().Add(time.Second))
			_, _ = connection.Read(make([]byte, 1))
			_ = connection.Close()
		}
	}()
	at := listener.Addr().String()
	_, err = Read(t.Context(), at+"/ocp/release:1", Options{Clock: &patient{}, Quiet: true, Registries: []Registry{{Prefix: at, Insecure: true}}})
	if err == nil || strings.Contains(err.Error(), "words-of-a-server") || !strings.Contains(err.Error(), at) {
		t.Errorf("%v", err)
	}
}

// TestBoundsOfTexts: references, versions and errors are no longer than they need to be.
func TestBoundsOfTexts(t *testing.T) {
	long := "registry.example.com/ocp/release:" + strings.Repeat("!", 200<<10)
	_, err := Read(t.Context(), long, Options{Clock: &patient{}})
	if err == nil || len(err.Error()) > 1000 || !strings.Contains(err.Error(), "at most 512 bytes") {
		t.Errorf("a long reference: %.600v", err)
	}
	mirrors := []Registry{{Prefix: "registry.example.com", Blocked: true, Mirrors: []Mirror{{Location: "127.0.0.1:1/" + strings.Repeat("a", 200<<10)}}}}
	_, err = Read(t.Context(), "registry.example.com/ocp/release:1", Options{Clock: &patient{}, Registries: mirrors})
	check.Says(t, err, "at most 512 bytes", "a long mirror")
	mirrors[0].Mirrors = nil
	for i := range 100 {
		mirrors[0].Mirrors = append(mirrors[0].Mirrors, Mirror{Location: fmt.Sprintf("127.0.0.1:1/mirror-%d", i)})
	}
	_, err = Read(t.Context(), "registry.example.com/ocp/release:1", Options{Clock: &patient{}, Registries: mirrors})
	if err == nil || len(err.Error()) > 16<<10 || !strings.Contains(err.Error(), "100 places") || !strings.Contains(err.Error(), "mirror-15") || strings.Contains(err.Error(), "mirror-16") {
		t.Errorf("many mirrors: %v", err)
	}
	shelf := newShelf(t, false)
	for name, image := range map[string]made{
		"version":    {arch: "amd64", label: "4.20." + strings.Repeat("1", 200)},
		"kubernetes": {arch: "amd64", label: "4.20.33", files: []map[string]string{{imagesFile: `{"spec":{"tags":[{"annotations":{"io.openshift.build.versions":"kubernetes=` + strings.Repeat("1", 200) + `"}}]}}`}}},
	} {
		shelf.put(t, "ocp/release:"+name, image.image(t))
		if info, err := Read(t.Context(), shelf.host()+"/ocp/release:"+name, Options{Clock: &patient{}, CA: shelf.ca(), Kubernetes: true}); err == nil || !strings.Contains(err.Error(), "longer") {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
}
