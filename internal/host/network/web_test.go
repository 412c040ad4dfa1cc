//go:build linux

package network

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func direct() *http.Transport { return http.DefaultTransport.(*http.Transport).Clone() }

const workerIgnition = `{"ignition":{"version":"3.2.0"},"passwd":{"users":[{"name":"core"}]},"storage":{"files":[` +
	`{"path":"/etc/kubernetes/kubeconfig","contents":{"source":"data:,a"}},{"path":"/etc/large","contents":{"source":"data:,b"}},` +
	`{"path":"/etc/kubernetes/manifests/coredns.yaml","contents":{"source":"data:,c"}}],"luks":[{"name":"root","device":"/dev/vda4"}]},` +
	`"systemd":{"units":[{"name":"a.service","contents":"x"}]}}`

func vipQuestion(t *testing.T, request models.APIVipConnectivityRequest) []string {
	return []string{string(must.Get(json.Marshal(request))(t))}
}

func vipAnswer(t *testing.T, stdout string) models.APIVipConnectivityResponse {
	var response models.APIVipConnectivityResponse
	must.Do(t, json.Unmarshal([]byte(stdout), &response))
	return response
}

func TestAPIVIP(t *testing.T) {
	token := "secret"
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		check.Equal(t, r.Header.Get("Accept"), acceptIgnition)
		check.Equal(t, r.Header.Get("Authorization"), "Bearer secret")
		check.Equal(t, r.Header.Get("X-Pool"), "one")
		_, _ = fmt.Fprint(w, workerIgnition)
	}))
	defer server.Close()
	url := server.URL + "/config/worker"
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	request := models.APIVipConnectivityRequest{URL: &url, CaCertificate: &ca, IgnitionEndpointToken: &token,
		RequestHeaders: []*models.APIVipConnectivityAdditionalRequestHeader{nil, {Key: "X-Pool", Value: "one"}}}
	vip := APIVIP{direct(), testLog(t)}
	code, stdout, stderr := vip.Execute(t.Context(), vipQuestion(t, request))
	check.Equal(t, code, 0)
	check.Equal(t, stderr, "")
	response := vipAnswer(t, stdout)
	check.Equal(t, response.IsSuccess, true)
	check.Equal(t, response.URL, url)
	check.Equal(t, response.DownloadError, "")
	check.Contains(t, response.Ignition, `"luks":[{`)
	check.Contains(t, response.Ignition, `"passwd":{"users":[{`)
	for _, absent := range []string{"/etc/large", "a.service"} {
		check.Equal(t, strings.Contains(response.Ignition, absent), false, absent)
	}
	coredns, kubeconfig := strings.Index(response.Ignition, "coredns.yaml"), strings.Index(response.Ignition, "kubeconfig")
	check.Equal(t, coredns > 0 && coredns < kubeconfig, true, "the files of interest, in order")

	request.CaCertificate = nil
	code, stdout, stderr = vip.Execute(t.Context(), vipQuestion(t, request))
	check.Equal(t, fmt.Sprint(code, " ", stderr), "0 ignition download error")
	check.Contains(t, vipAnswer(t, stdout).DownloadError, "certificate")
	check.Equal(t, strings.Contains(stdout, "secret"), false)
}

func TestAPIVIPFails(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/absent":
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, "no \x1b[31msuch pool"+strings.Repeat("x", 2*shown))
		case "/empty":
		case "/page":
			_, _ = fmt.Fprint(w, "<html>"+strings.Repeat("x", 2*shown))
		case "/newer":
			_, _ = fmt.Fprint(w, `{"ignition":{"version":"3.4.0"}}`)
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		case "/circle":
			http.Redirect(w, r, "/circle", http.StatusFound)
		case "/away":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = fmt.Fprint(w, "short")
		}
	}))
	defer server.Close()
	for url, reason := range map[string]string{
		server.URL + "/absent":  `bad status code: 404. server response: no \u001b[31msuch pool`,
		server.URL + "/empty":   "the response was empty",
		server.URL + "/page":    "response is not a valid ignition file, it begins with:\n<html>",
		server.URL + "/newer":   "response is not a valid ignition file",
		server.URL + "/endless": "has more than 33554432 bytes",
		server.URL + "/circle":  "more than 10 times",
		server.URL + "/away":    "only http and https",
		server.URL + "/cut":     "after 5 bytes",
		"file:///etc/passwd":    `the scheme "file"`,
		"http://":               "names no server",
		"http://u:secret@x/":    "a user name or a password",
		"http://[":              "cannot be read",
		"--help":                `the scheme ""`,
	} {
		code, stdout, stderr := APIVIP{direct(), testLog(t)}.Execute(t.Context(), vipQuestion(t, models.APIVipConnectivityRequest{URL: &url}))
		check.Equal(t, fmt.Sprint(code, " ", stderr), "0 ignition download error", url)
		response := vipAnswer(t, stdout)
		check.Equal(t, response.IsSuccess, false, url)
		check.Contains(t, response.DownloadError, reason, url)
		check.Equal(t, response.URL, url)
		if len(response.DownloadError) > 2*shown {
			t.Errorf("%s: the error has %d bytes", url, len(response.DownloadError))
		}
	}
}

func TestAPIVIPRefuses(t *testing.T) {
	for question, reason := range map[string]string{`{}`: "the URL: the service sent no value", `[]`: "cannot read the argument"} {
		code, stdout, stderr := APIVIP{direct(), testLog(t)}.Execute(t.Context(), []string{question})
		check.Equal(t, fmt.Sprint(code, " ", stderr), "-1 ignition download error")
		check.Contains(t, vipAnswer(t, stdout).DownloadError, reason)
		check.Equal(t, vipAnswer(t, stdout).URL, noURL)
	}
	url, bad := "https://127.0.0.1:1/", "%"
	none := base64.StdEncoding.EncodeToString([]byte("no certificate"))
	many := make([]*models.APIVipConnectivityAdditionalRequestHeader, mostHeaders+1)
	for reason, request := range map[string]models.APIVipConnectivityRequest{
		"not valid base64":      {URL: &url, CaCertificate: &bad},
		"is no PEM certificate": {URL: &url, CaCertificate: &none},
		"65 headers":            {URL: &url, RequestHeaders: many},
		"invalid header field":  {URL: &url, RequestHeaders: []*models.APIVipConnectivityAdditionalRequestHeader{{Key: "X", Value: "secret\r\n"}}},
	} {
		_, stdout, _ := APIVIP{direct(), testLog(t)}.Execute(t.Context(), vipQuestion(t, request))
		check.Contains(t, vipAnswer(t, stdout).DownloadError, reason)
		check.Equal(t, strings.Contains(stdout, "secret"), false)
	}
}

func tangQuestion(t *testing.T, servers ...tangServer) []string {
	list := string(must.Get(json.Marshal(servers))(t))
	return []string{string(must.Get(json.Marshal(models.TangConnectivityRequest{TangServers: &list}))(t))}
}

// TestLogOfPassword: the address of a server is logged without the password that it must not have.
func TestLogOfPassword(t *testing.T) {
	var log strings.Builder
	url := "http://user:hunter2@server.example.com/config"
	vip := APIVIP{direct(), slog.New(slog.NewTextHandler(&log, nil))}
	vip.Execute(t.Context(), vipQuestion(t, models.APIVipConnectivityRequest{URL: &url}))
	check.Contains(t, log.String(), "server.example.com")
	check.Equal(t, strings.Contains(log.String(), "hunter2"), false, log.String())
}

func TestTang(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/adv/good-print_1":
			_, _ = fmt.Fprint(w, `{"payload":"eyJ","signatures":[{"protected":"p","signature":"s"}]}`)
		case "/adv/absent":
			w.WriteHeader(http.StatusNotFound)
		case "/adv/page":
			_, _ = fmt.Fprint(w, "<html>")
		case "/adv/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		}
	}))
	defer server.Close()
	tang := Tang{direct(), testLog(t)}
	good := tangServer{server.URL, "good-print_1"}
	code, stdout, stderr := tang.Execute(t.Context(), tangQuestion(t, good, good))
	one := `{"payload":"eyJ","signatures":[{"protected":"p","signature":"s"}],"tang_url":"` + server.URL + `/adv/good-print_1"}`
	check.Equal(t, code, 0)
	check.Equal(t, stdout, `{"is_success":true,"tang_server_response":[`+one+`,`+one+`]}`)
	check.Equal(t, stderr, "")

	for reason, wrong := range map[string]tangServer{
		"answers with the status 404": {server.URL, "absent"}, "no advertisement of keys": {server.URL, "page"}, "answers with nothing": {server.URL, "empty"},
		"more than 1048576 bytes": {server.URL, "endless"}, "which is none": {server.URL, "../../etc"}, "only http and https": {"file:///etc", "x"},
		"a user name or a password": {"http://u:secret@x", "x"}, `thumbprint ""`: {server.URL, ""},
		`a user name`: {"http://u:secret@x", "&"},
	} {
		code, stdout, stderr := tang.Execute(t.Context(), tangQuestion(t, good, wrong))
		check.Equal(t, fmt.Sprint(code, stdout), `-1{"tang_server_response":null}`, reason)
		check.Contains(t, stderr, reason)
		check.Equal(t, strings.Contains(stderr, "secret"), false)
	}
	for question, reason := range map[string]string{
		`{}`: "the service sent no value", `{"tang_servers":"{}"}`: "cannot read the list", `[]`: "cannot read the argument",
	} {
		code, _, stderr := tang.Execute(t.Context(), []string{question})
		check.Equal(t, code, -1)
		check.Contains(t, stderr, reason)
	}
	_, _, stderr = tang.Execute(t.Context(), tangQuestion(t, make([]tangServer, mostTangServers+1)...))
	check.Contains(t, stderr, "65 servers")
}

// FuzzArguments gives each step that asks servers any argument, and no network.
func FuzzArguments(f *testing.F) {
	f.Add(`{"url":"http://127.0.0.1:1","ca_certificate":"YQ==","request_headers":[null,{"key":"a","value":"b"}]}`)
	f.Add(`{"tang_servers":"[{\"url\":\"http://127.0.0.1:1\",\"thumbprint\":\"a\"}]"}`)
	f.Fuzz(func(t *testing.T, question string) {
		nowhere := direct()
		nowhere.Proxy = nil
		nowhere.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no network") }
		for _, step := range []Executor{APIVIP{nowhere, testLog(t)}, Tang{nowhere, testLog(t)}} {
			if _, stdout, _ := step.Execute(t.Context(), []string{question}); !json.Valid([]byte(stdout)) {
				t.Errorf("answered %q", stdout)
			}
		}
	})
}
