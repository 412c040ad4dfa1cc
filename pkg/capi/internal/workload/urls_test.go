package workload_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/capi/internal/workload"
)

// TestURLsOfUsers reads URLs that users may have written: not from this machine, not by a redirect to another host, and without
// what another server says where it refuses.
func TestURLsOfUsers(t *testing.T) {
	const word = "root:x:0:0"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/sends-on":
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
		case "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/around":
			http.Redirect(w, r, "/around", http.StatusFound)
		case "/refuses":
			http.Error(w, `{"message": "`+word+`"}`, http.StatusForbidden)
		default:
			_, _ = io.WriteString(w, "ISO")
		}
	}))
	defer server.Close()
	allowed := workload.Connector{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	for _, tc := range []struct {
		name, path string
		connector  workload.Connector
		body, says string
	}{
		{name: "this machine", path: "/", says: "127.0.0.1 is a loopback, link-local or metadata address"},
		{name: "allowed", path: "/", connector: allowed, body: "ISO"},
		{name: "redirected", path: "/sends-on", connector: allowed, says: "it sends on to another host, 169.254.169.254"},
		{name: "redirected within its host", path: "/moved", connector: allowed, body: "ISO"},
		{name: "redirected for ever", path: "/around", connector: allowed, says: "it sends on more than 10 times"},
		{name: "refused", path: "/refuses", connector: allowed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client, err := tc.connector.Client(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer client.CloseIdleConnections()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+tc.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := client.Do(request)
			if tc.says != "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Fatalf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			if err = errors.Join(err, answer.Body.Close()); err != nil || string(body) != tc.body {
				t.Errorf("%d %q (%v), want %q", answer.StatusCode, body, err, tc.body)
			}
		})
	}
	if _, err := allowed.Client(&http.Client{Transport: roundTripper{}}); err == nil {
		t.Error("a client whose connections are not seen is taken")
	}
}

// roundTripper is a transport that hides its connections.
type roundTripper struct{ http.RoundTripper }
