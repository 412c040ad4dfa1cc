package workloadclient_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/shared/workloadclient"
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
	allowed := workloadclient.Connector{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	for _, tc := range []struct {
		name, path string
		connector  workloadclient.Connector
		body, says string
	}{
		{name: "this machine", path: "/", says: "127.0.0.1 is a loopback, link-local or metadata address"},
		{name: "allowed", path: "/", connector: allowed, body: "ISO"},
		{name: "redirected", path: "/sends-on", connector: allowed, says: "it redirects to another host, which is not followed"},
		{name: "redirected within its host", path: "/moved", connector: allowed, body: "ISO"},
		{name: "redirected for ever", path: "/around", connector: allowed, says: "it redirects more than 10 times"},
		{name: "refused", path: "/refuses", connector: allowed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client := must.Get(tc.connector.Client(nil))(t)
			defer client.CloseIdleConnections()
			request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+tc.path, nil))(t)
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

// TestURLsShowNoAnswers keeps what servers say out of errors, also where they speak no HTTP.
func TestURLsShowNoAnswers(t *testing.T) {
	const word = "s3cr3t"
	for name, answer := range map[string]string{
		"a header":        "HTTP/1.1 200 OK\r\nthe password is " + word + "\r\n\r\n",
		"a banner":        word + "-OpenSSH_9.6\r\n",
		"a status":        "HTTP/1.1 " + word + " OK\r\n\r\n",
		"a length":        "HTTP/1.1 200 OK\r\nContent-Length: " + word + "\r\n\r\n",
		"an encoding":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + word + "\r\n\r\n",
		"a redirect":      "HTTP/1.1 302 Found\r\nLocation: http://a b/" + word + "\r\nContent-Length: 0\r\n\r\n",
		"another scheme":  "HTTP/1.1 302 Found\r\nLocation: " + word + "://host/\r\nContent-Length: 0\r\n\r\n",
		"a host":          "HTTP/1.1 302 Found\r\nLocation: http://" + word + ".invalid/\r\nContent-Length: 0\r\n\r\n",
		"a trailer":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n" + word + "\r\n\r\n",
		"a broken chunk":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + word + "\r\n",
		"a 100 Continue":  "HTTP/1.1 100 " + word + "\r\n" + word + "\r\n\r\n",
		"a version":       "HTTP/9." + word + " 200 OK\r\n\r\n",
		"no answer":       "",
		"an early ending": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + word,
	} {
		t.Run(name, func(t *testing.T) {
			listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
			defer func() { _ = listener.Close() }()
			go func() {
				for {
					connection, err := listener.Accept()
					if err != nil {
						return
					}
					_, _ = bufio.NewReader(connection).ReadString('\n')
					_, _ = io.WriteString(connection, answer)
					_ = connection.Close()
				}
			}()
			client := must.Get(workloadclient.Connector{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}.Client(nil))(t)
			defer client.CloseIdleConnections()
			request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String(), nil))(t)
			response, err := client.Do(request)
			if err == nil {
				_, err = io.ReadAll(response.Body)
				_ = response.Body.Close()
			}
			if wrapped, is := errors.AsType[*url.Error](err); is {
				err = wrapped.Err // without the URL, as the callers show it
			}
			if err == nil || strings.Contains(err.Error(), word) {
				t.Errorf("it says %v", err)
			}
		})
	}
}

// roundTripper is a transport that hides its connections.
type roundTripper struct{ http.RoundTripper }
