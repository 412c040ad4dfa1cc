package rest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/transport"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func faultOf(t *testing.T, err error) *model.Fault {
	t.Helper()
	var fault *model.Fault
	if !errors.As(err, &fault) {
		t.Fatalf("%v is no *install.Fault", err)
	}
	return fault
}

// Every kind of answer that is not a success becomes a fault that says what was
// done to what, why it failed and what to do.
func TestFaults(t *testing.T) {
	type want struct {
		code                 model.Code
		permanent, ambiguous bool
		text, next           string
	}
	tests := map[string]struct {
		answer http.HandlerFunc
		want   want
	}{
		"service shape":   {with(400, `{"kind":"Error","id":400,"href":"","code":"400","reason":"Invalid NTP source: x"}`), want{model.CodeInput, true, false, "Invalid NTP source: x (400)", "change the file"}},
		"framework shape": {with(400, `{"code":400,"message":"name in body is required"}`), want{model.CodeInput, true, false, "name in body is required (400)", "change the file"}},
		"unknown key":     {with(400, `{"code":"400","reason":"json: unknown field \"publish\""}`), want{model.CodeInput, true, false, "unknown field", "leave publish out of the file"}},
		"unknown field":   {with(400, `{"code":400,"message":"parsing body failed, because json: unknown field \"ntp_sources\""}`), want{model.CodeFailure, true, false, "unknown field", "too old to know spec.network.ntp (it calls it ntp_sources)"}},
		"plain to TLS":    {with(400, "Client sent an HTTP request to an HTTPS server.\n"), want{model.CodeFailure, true, false, "HTTPS server. (400)", "use https:// in --service-url"}},
		"plain to nginx":  {with(400, "<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head></html>"), want{model.CodeFailure, true, false, "HTTPS port (400)", "use https:// in --service-url"}},
		"not a service":   {with(404, "404 page not found\n"), want{model.CodeFailure, true, false, "there is no assisted-service at http://", "check --service-url"}},
		"unauthorized":    {with(401, `{"code":401,"message":"unauthenticated for invalid credentials"}`), want{model.CodeAuth, true, false, "unauthenticated", "--offline-token-file"}},
		"forbidden":       {with(403, `{"code":403,"message":"no access"}`), want{model.CodeAuth, true, false, "no access (403)", "a user who may"}},
		"not found":       {with(404, `{"code":"404","reason":"Object Not Found"}`), want{model.CodeNotFound, true, false, "Object Not Found (404)", "get clusters"}},
		"wrong state":     {with(409, `{"code":"409","reason":"no condition found to run transition"}`), want{model.CodeFailure, false, false, "no condition", ""}},
		"wrong disk":      {with(409, `{"code":"409","reason":"Requested installation disk is not part of the host's valid disks"}`), want{model.CodeFailure, true, false, "valid disks (409)", ""}},
		"bad name":        {with(422, `{"code":"422","reason":"should not include a space"}`), want{model.CodeInput, true, false, "space (422)", ""}},
		"refused by 500":  {with(500, `{"code":"500","reason":"bundle not found"}`), want{model.CodeFailure, false, false, "bundle not found (500)", "in a while"}},
		"500 of a proxy":  {with(502, "<html><head><title>502 Bad\n Gateway</title></head></html>"), want{model.CodeFailure, false, true, "502 Bad Gateway (502)", "in a while"}},
		"empty 503":       {with(503, ""), want{model.CodeFailure, false, true, "Service Unavailable (503)", ""}},
		"not implemented": {with(501, `{"code":"501","reason":"not here"}`), want{model.CodeFailure, true, false, "not here (501)", ""}},
		"login page":      {with(200, "<!DOCTYPE html><title>Log in</title>"), want{model.CodeFailure, false, true, "/api/assisted-install: the answer is a web page, not the service's: Log in", "check --service-url"}},
		"plain text":      {with(201, "ok"), want{model.CodeFailure, false, true, "not JSON", ""}},
		"redirect": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://login.example.com/?token=abcdefgh")
			w.WriteHeader(302)
		}, want{model.CodeFailure, false, true, "sends elsewhere, to https://login.example.com/?token=[redacted]", "--service-url"}},
		"connection reset": {reset, want{model.CodeFailure, false, true, "", ""}},
		"truncated": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "500")
			w.WriteHeader(201)
			_, _ = io.WriteString(w, `{"id":`)
		}, want{model.CodeFailure, false, true, "broke off", "in a while"}},
		"secret in the text": {with(400, `{"code":"400","reason":"bad https://h/x?api_key=eyJhbGciOi.x.y and Bearer abcdefghijk"}`), want{model.CodeInput, true, false, "api_key=[redacted] and Bearer [redacted] (400)", ""}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.on("POST /v2/clusters", test.answer)
			err := f.plane(t).Act(t.Context(), desired(t), model.Action{Kind: model.RegisterCluster, Name: "lab"})
			fault := faultOf(t, err)
			got := want{fault.Code, fault.Permanent, fault.Ambiguous, "", ""}
			if w := (want{test.want.code, test.want.permanent, test.want.ambiguous, "", ""}); got != w {
				t.Errorf("got %+v, want %+v (%v)", got, w, err)
			}
			if !strings.Contains(err.Error(), test.want.text) || !strings.HasPrefix(err.Error(), "register cluster lab.example.com: ") {
				t.Errorf("text %q does not hold %q", err, test.want.text)
			}
			if !strings.Contains(fault.Next.String(), test.want.next) {
				t.Errorf("next %q does not hold %q", fault.Next, test.want.next)
			}
			if calls := f.took(); len(calls) != 1 {
				t.Errorf("a POST that was answered, or may have been carried out, was sent %d times", len(calls))
			}
		})
	}
}

// A token that has no shape to be known by is in no error and no trace, however a server
// repeats it.
func TestTokensAreNotRepeated(t *testing.T) {
	const token = `opaque/token+of=someone`
	pad := strings.Repeat("x", 190) // what is cut off must not leave the beginning of it
	for name, body := range map[string]string{
		"framework": `{"code":401,"message":"the token ` + token + ` has expired"}`,
		"slashes":   `{"code":401,"message":"the token opaque\/token+of=someone has expired"}`,
		"escapes":   `{"code":401,"message":"` + pad + ` \u006fpaque/token+of=someone"}`,
		"plain":     pad + token,
		"page":      "<title>Bearer " + token + "</title>",
		"query":     "see https://login.example.com/?" + url.Values{"t": {token}}.Encode(),
	} {
		t.Run(name, func(t *testing.T) {
			var heard []string
			trace := func(c *Config) {
				c.Auth = transport.StaticToken(spec.NewSecret(token))
				c.Trace = func(e install.Call) { heard = append(heard, fmt.Sprint(e)) }
			}
			f := newFake(t)
			f.on("GET /v2/clusters", with(401, body))
			_, failed := f.plane(t, trace).ListClusters(t.Context())
			if failed == nil || len(heard) == 0 {
				t.Fatalf("error %v, heard %v", failed, heard)
			}
			exchange, err := Credentials{OfflineToken: spec.NewSecret(token), SSOURL: f.URL + apiPath + "/v2/token"}.Authorise(f.Client(), "", f.clock)
			if err != nil {
				t.Fatal(err)
			}
			f.on("POST /v2/token", with(401, strings.NewReplacer("401", `"401"`, "message", "error_description").Replace(body)))
			_, _, refused := exchange.Header(t.Context())
			for _, text := range append(heard, failed.Error(), refused.Error()) {
				if strings.Contains(text, "opaque") || !strings.Contains(text, "401") {
					t.Errorf("%s", text)
				}
			}
		})
	}
}

// Only what was made from the user's file is the file's fault.
func TestRefusalOfWhatIsNotInTheFile(t *testing.T) {
	f := newFake(t)
	f.on("DELETE /v2/infra-envs/"+infraEnvID, with(400, `{"code":"400","reason":"2 hosts are still associated"}`))
	f.on("POST /v2/clusters/"+clusterID+"/actions/install", with(400, `{"code":"400","reason":"not now"}`))
	p := f.plane(t)
	for _, err := range []error{
		p.DeleteInfraEnv(t.Context(), infraEnvID, install.DeleteOptions{}),
		p.Act(t.Context(), desired(t), model.Action{Kind: model.StartInstall, Target: clusterID}),
	} {
		if fault := faultOf(t, err); fault.Code != model.CodeFailure || !fault.Permanent || strings.Contains(fault.Next.String(), "file") {
			t.Errorf("got %+v", fault)
		}
	}
}

// What is safe to repeat is repeated, a bounded number of times.
func TestRetries(t *testing.T) {
	down, ok := with(503, ""), with(200, `[]`)
	tests := map[string]struct {
		method, path string
		answer       http.HandlerFunc
		do           func(p *Plane) error
		calls        int
		fails        bool
	}{
		"get recovers":      {"GET", "/v2/clusters", answering(down, with(500, "x"), ok), listAll, 3, false},
		"get gives up":      {"GET", "/v2/clusters", down, listAll, mostTries, true},
		"get after reset":   {"GET", "/v2/clusters", answering(reset, reset, ok), listAll, 0, false}, // net/http repeats some by itself
		"get not json":      {"GET", "/v2/clusters", answering(with(200, "<html>"), ok), listAll, 2, false},
		"get empty":         {"GET", "/v2/clusters", answering(with(200, ""), ok), listAll, 2, false},
		"get other shape":   {"GET", "/v2/clusters", answering(with(200, `{"a":`), ok), listAll, 2, false},
		"get 429":           {"GET", "/v2/clusters", answering(with(429, ""), ok), listAll, 2, false},
		"get 404":           {"GET", "/v2/clusters", with(404, ""), listAll, 1, true},
		"delete was done":   {"DELETE", "/v2/clusters/" + clusterID, answering(down, with(404, "")), remove, 2, false},
		"delete not there":  {"DELETE", "/v2/clusters/" + clusterID, with(404, ""), remove, 1, true},
		"post 429":          {"POST", "/v2/clusters/" + clusterID + "/actions/cancel", answering(with(429, ""), with(202, "{}")), cancel, 2, false},
		"post empty answer": {"POST", "/v2/clusters/" + clusterID + "/actions/cancel", with(202, ""), cancel, 1, false},
		"post 503":          {"POST", "/v2/clusters/" + clusterID + "/actions/cancel", down, cancel, 1, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.on(test.method+" "+test.path, test.answer)
			err := test.do(f.plane(t))
			if (err != nil) != test.fails {
				t.Fatalf("error %v", err)
			}
			if calls := f.took(); test.calls > 0 && len(calls) != test.calls {
				t.Errorf("%d calls, want %d", len(calls), test.calls)
			}
			var slept time.Duration
			for _, d := range f.clock.slept {
				slept += d
			}
			if slept > time.Minute {
				t.Errorf("waited %s", slept)
			}
		})
	}
}

func listAll(p *Plane) error { _, err := p.ListClusters(background()); return err }
func remove(p *Plane) error  { return p.DeleteCluster(background(), clusterID, install.DeleteOptions{}) }
func cancel(p *Plane) error  { return p.CancelInstall(background(), clusterID) }

// A wish to be left alone for a while is heeded; one that is too long to wait
// for is handed on.
func TestRetryAfter(t *testing.T) {
	limited := func(after string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", after)
			w.WriteHeader(503)
		}
	}
	f := newFake(t)
	date := f.clock.Now().Add(20 * time.Second).Format(http.TimeFormat)
	f.on("GET /v2/clusters", answering(limited("7"), limited(date), with(200, "[]")))
	if err := listAll(f.plane(t)); err != nil {
		t.Fatal(err)
	}
	if s := f.clock.slept; len(s) != 2 || s[0] != 7*time.Second || s[1] < 12*time.Second {
		t.Errorf("slept %v", s)
	}
	f.on("GET /v2/clusters", limited("600"))
	f.took()
	fault := faultOf(t, listAll(f.plane(t)))
	if calls := f.took(); len(calls) != 1 || fault.RetryAfter != 10*time.Minute {
		t.Errorf("%d calls, retry after %s", len(calls), fault.RetryAfter)
	}
}

// A request that never left is not ambiguous, and is tried again.
func TestRefusedConnection(t *testing.T) {
	f := newFake(t)
	p := f.plane(t)
	f.Close()
	fault := faultOf(t, p.Act(t.Context(), desired(t), model.Action{Kind: model.RegisterCluster}))
	if fault.Ambiguous || fault.Permanent || !strings.Contains(fault.Next.String(), "check that the service runs") {
		t.Errorf("got %+v", fault)
	}
	if len(f.clock.slept) != mostTries-1 {
		t.Errorf("tried %d times", len(f.clock.slept)+1)
	}
}

// TLS is verified, unless switched off; a wrong CA says what to do.
func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(with(200, "[]"))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(ca, data, 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(t.TempDir(), "wrong.pem")
	if err := os.WriteFile(wrong, otherCA(t), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		config Config
		next   string
		text   string
	}{
		"unknown CA":  {Config{URL: server.URL}, "--ca-file", "the certificate of " + server.Listener.Addr().String() + " is signed by nobody"},
		"wrong CA":    {Config{URL: server.URL, CAFile: wrong}, "--ca-file", "the certificate of " + server.Listener.Addr().String() + " is signed by none in " + wrong},
		"wrong name":  {Config{URL: strings.Replace(server.URL, "127.0.0.1", "localhost", 1), CAFile: ca}, "a name that the certificate was made for", "the certificate of localhost:"},
		"given CA":    {Config{URL: server.URL, CAFile: ca}, "", ""},
		"insecure":    {Config{URL: server.URL, Insecure: true}, "", ""},
		"plain to it": {Config{URL: strings.Replace(server.URL, "https:", "http:", 1)}, "use https://", ""},
	} {
		t.Run(name, func(t *testing.T) {
			test.config.Clock = newFakeClock()
			p, err := New(test.config)
			if err != nil {
				t.Fatal(err)
			}
			err = listAll(p)
			if test.next == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if fault := faultOf(t, err); !strings.Contains(fault.Next.String(), test.next) || !fault.Permanent || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, next %q", fault, fault.Next)
			}
		})
	}
	f := newFake(t)
	p, err := New(Config{URL: strings.Replace(f.URL, "http:", "https:", 1), Clock: f.clock})
	if err != nil {
		t.Fatal(err)
	}
	if fault := faultOf(t, listAll(p)); !strings.Contains(fault.Next.String(), "does not speak TLS") {
		t.Errorf("got %v, next %q", fault, fault.Next)
	}
}

// otherCA is a certificate that has signed nothing, in PEM.
func otherCA(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "other"}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, made, made, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestServiceURL(t *testing.T) {
	for _, text := range []string{"", "api.example.com", "ftp://x", "https://", "https://user:geheim@x", "https://x:y"} {
		_, err := New(Config{URL: text})
		if err == nil || model.FaultOf(err).Code != model.CodeUsage || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := New(Config{URL: "https://x", CAFile: "/nowhere"}); model.FaultOf(err).Code != model.CodeUsage {
		t.Error(err)
	}
}

// A hanging service is left after a while, and a canceled context at once.
func TestDeadlines(t *testing.T) {
	f := newFake(t)
	gone := make(chan struct{})
	f.on("GET /v2/clusters", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done(); close(gone) })
	stop := errors.New("told to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for len(f.took()) == 0 {
		}
		cancel(stop)
	}()
	if _, err := f.plane(t).ListClusters(ctx); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	<-gone
}

// What only a hub can do is refused, and nothing is deleted.
func TestRefusalOfWhatOnlyAHubCanDo(t *testing.T) {
	p := newFake(t).plane(t)
	for _, err := range []error{
		p.DeleteCluster(t.Context(), clusterID, install.DeleteOptions{ReturnToPool: true}),
		p.DeleteHost(t.Context(), infraEnvID, clusterID, install.DeleteOptions{RemoveNode: true}),
		p.ReleaseCluster(t.Context(), clusterID),
	} {
		if fault := faultOf(t, err); fault.Code != model.CodeUsage || !fault.Permanent {
			t.Errorf("got %+v", fault)
		}
	}
}
