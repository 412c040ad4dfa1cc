package workloadclient_test

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/shared/workloadclient"
)

// secretText is what a server answers that is not to be shown.
const secretText = "s3cr3t-of-another-server"

func kubeconfigOf(server, more string, ca []byte) []byte {
	return []byte(fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], users: [{name: a, user: {token: t}}],
clusters: [{name: a, cluster: {server: %q, certificate-authority-data: %s%s}}]}`, server, base64.StdEncoding.EncodeToString(ca), more))
}

func serve(t *testing.T, handler http.HandlerFunc) (server *httptest.Server, ca []byte) {
	t.Helper()
	server = httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	return server, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

func local() workloadclient.Connector {
	return workloadclient.Connector{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}
}

// TestWhatIsRefused: a kubeconfig that does not verify its server, names a proxy or a file, or has no https, is not used.
func TestWhatIsRefused(t *testing.T) {
	for says, data := range map[string][]byte{
		"insecure-skip-tls-verify": []byte(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], users: [{name: a, user: {token: t}}],
clusters: [{name: a, cluster: {server: "https://192.0.2.1:6443", insecure-skip-tls-verify: true}}]}`),
		"proxy-url":      kubeconfigOf("https://192.0.2.1:6443", `, proxy-url: "http://192.0.2.9:3128"`, nil),
		"names files":    []byte(`{apiVersion: v1, kind: Config, users: [{name: a, user: {tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token}}]}`),
		"by https":       kubeconfigOf("http://192.0.2.1:8080", "", nil),
		"may have 65536": append(kubeconfigOf("https://192.0.2.1:6443", "", nil), "\n#"+strings.Repeat("x", 64<<10)...),
	} {
		check.Says(t, workloadclient.Check(data), says)
		if config, err := local().Config(data); config != nil || err == nil {
			t.Errorf("%s is used", says)
		}
	}
	check.Do(t, workloadclient.Check(kubeconfigOf("https://api.lab.example.com:6443", "", nil)))
}

// TestAddresses: loopback, link-local, unspecified and metadata addresses are not dialled, however they are written, and
// private ones are.
func TestAddresses(t *testing.T) {
	for host, refused := range map[string]bool{
		"127.0.0.1": true, "127.1.2.3": true, "localhost": true, "[::1]": true, "0.0.0.0": true, "[::]": true, "[::ffff:127.0.0.1]": true, "[::ffff:7f00:1]": true,
		"[64:ff9b::7f00:1]": true, "169.254.169.254": true, "[fe80::1]": true, "[fd00:ec2::254]": true, "100.100.100.200": true, "168.63.129.16": true,
		"255.255.255.255": true, "224.0.0.1": true, "0.1.2.3": true, "[64:ff9b::a9fe:a9fe]": true, "[64:ff9b:1::a9fe:a9fe]": true, "[fd00:42::42]": true,
	} {
		t.Run(host, func(t *testing.T) {
			config, err := workloadclient.Connector{}.Config(kubeconfigOf("https://"+host+":6443", "", nil))
			if err != nil {
				t.Fatal(err)
			}
			_, err = config.Dial(t.Context(), "tcp", strings.TrimPrefix(config.Host, "https://"))
			if is := err != nil && strings.Contains(err.Error(), "--allow-endpoint"); is != refused {
				t.Errorf("it says %v", err)
			}
		})
	}
	server, _ := serve(t, func(http.ResponseWriter, *http.Request) {})
	at := strings.TrimPrefix(server.URL, "https://")
	config := must.Get(local().Config(kubeconfigOf(server.URL, "", nil)))(t)
	connection := must.Get(config.Dial(t.Context(), "tcp", at))(t, "an allowed address")
	_ = connection.Close()
}

// TestRedirects: no request is sent on to where a server redirects it, with or without a body.
func TestRedirects(t *testing.T) {
	var asked atomic.Int32
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(inner.Close)
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		outer, ca := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inner.URL+"/elsewhere", code) })
		config := must.Get(local().Config(kubeconfigOf(outer.URL, "", ca)))(t)
		over := must.Get(rest.HTTPClientFor(config))(t)
		for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPatch} {
			request := must.Get(http.NewRequestWithContext(t.Context(), method, outer.URL+"/api/v1/nodes/a", strings.NewReader("{}")))(t)
			response, err := over.Do(request)
			if err == nil {
				_ = response.Body.Close()
			}
			if says := fmt.Sprintf("it answers %d %s, and not as an API server does", code, http.StatusText(code)); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s, %d: %v", method, code, err)
			}
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests were sent on", n)
	}
}

// TestEndlessAnswers: of an answer that is small on the wire and large once it is unpacked, as much is read as a list of a large
// cluster has.
func TestEndlessAnswers(t *testing.T) {
	server, ca := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		_, _ = io.WriteString(packed, `{"kind":"NodeList","apiVersion":"v1","items":[],"x":"`)
		for range 200 {
			if _, err := io.WriteString(packed, strings.Repeat("a", 1<<20)); err != nil {
				return
			}
		}
		_, _ = io.WriteString(packed, `"}`)
		_ = packed.Close()
	})
	config := must.Get(local().Config(kubeconfigOf(server.URL, "", ca)))(t)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	c := must.Get(client.New(config, client.Options{Mapper: mapper}))(t)
	check.Says(t, c.List(t.Context(), &corev1.NodeList{}), "it answers with more than 32 MiB", "the list")
}

// TestAnswersThatGrow: of an answer that is small, and large once it is an object of Go, no more is read than a large cluster has.
func TestAnswersThatGrow(t *testing.T) {
	const kind = `{"kind":"NodeList","apiVersion":"v1","items":[`
	for name, test := range map[string]struct{ answer, says string }{
		"items":                {kind + `{}` + strings.Repeat(`,{}`, 30_000) + `]}`, "more than 1000000 values, or with a list of more than 20000 items"},
		"items that are none":  {kind + `null` + strings.Repeat(`,null`, 30_000) + `]}`, "more than 20000 items"},
		"values":               {kind + `{"status":{"images":[{}` + strings.Repeat(`,{}`, 600_000) + `]}}]}`, "more than 1000000 values"},
		"an endless number":    {kind + `{"status":{"capacity":{"cpu":"1e-1000000000"}}}]}`, "a number that cannot be read"},
		"a longer number":      {kind + `{"status":{"capacity":{"cpu":"` + strings.Repeat("1", 100) + `e-1000000000"}}}]}`, "a number that cannot be read"},
		"many long numbers":    {kind + `{"status":{"capacity":{"a":"1e-999999"` + strings.Repeat(`,"b":"1e-999999"`, 10) + `}}}]}`, "a number that cannot be read"},
		"a number as it is":    {kind + `{"status":{"capacity":{"cpu": 1e-1000000000}}}]}`, "a number that cannot be read"},
		"a large cluster":      {kind + `{"metadata":{"name":"1e9","annotations":{"a":"say \"{,[ 1e1000","hash":"1e123456","b":"1e-5"},"uid":"12345678-1234-4e12-8e12-123456789012"},"status":{"capacity":{"cpu":"1e3"}}}` + strings.Repeat(`,{"metadata":{"name":"n"}}`, 5_000) + `]}`, ""},
		"a number in a binary": {"k8s\x00\x0a", "not as an API server does"},
	} {
		t.Run(name, func(t *testing.T) {
			server, ca := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if accepts := r.Header.Get("Accept"); !strings.HasPrefix(accepts, "application/json") || strings.Contains(accepts, "protobuf") {
					t.Errorf("it accepts %q", accepts)
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, test.answer)
			})
			err := nodesOf(t, server.URL, ca).List(t.Context(), &corev1.NodeList{})
			if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("%.300v", err)
			}
		})
	}
}

// nodesOf is a client for the nodes of a server.
func nodesOf(t *testing.T, url string, ca []byte) client.WithWatch {
	t.Helper()
	config := must.Get(local().Config(kubeconfigOf(url, "", ca)))(t)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	return must.Get(client.NewWithWatch(config, client.Options{Mapper: mapper}))(t)
}

// TestEventsAreNotShown passes on the events of a watch, and of an error only its code and reason.
func TestEventsAreNotShown(t *testing.T) {
	server, ca := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"type":"ADDED","object":{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}}}
			{"object":{"kind":"Status","apiVersion":"v1","status":"Failure","message":"`+secretText+`","reason":"Expired","code":410},"type":"ERROR"}
			{"type":"`+secretText+`","object":{}}`)
	})
	watch := must.Get(nodesOf(t, server.URL, ca).Watch(t.Context(), &corev1.NodeList{}))(t)
	defer watch.Stop()
	var seen []string
	for event := range watch.ResultChan() {
		switch o := event.Object.(type) {
		case *corev1.Node:
			seen = append(seen, o.Name)
		case *metav1.Status:
			seen = append(seen, fmt.Sprint(o.Code, o.Reason, o.Message))
		}
	}
	if text := fmt.Sprint(seen); !strings.HasPrefix(text, "[a 410Expired410 Gone, Expired") || strings.Contains(text, secretText) {
		t.Errorf("seen: %s", text)
	}
}

// TestAnswersAreNotShown: of what a server answers that is no API server, nothing is in an error but the HTTP status and the
// reason that Kubernetes has for it. An API server's errors keep what programs go by.
func TestAnswersAreNotShown(t *testing.T) {
	status := func(code int, reason string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":%q,"reason":%q,"details":{"name":%[1]q,"causes":[{"message":%[1]q}]},"code":%[3]d}`, secretText, reason, code)
		}
	}
	body := func(code int, kind, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Warning", `299 - "`+secretText+`"`)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, text)
		}
	}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		says   string
		is     func(error) bool
	}{
		"an object of no kind":  {body(200, "application/json", `{"password":"`+secretText+`"}`), "it answers 200 OK, and not as an API server does", nil},
		"a page":                {body(200, "text/html", "<html>"+secretText), "not as an API server does", nil},
		"YAML":                  {body(200, "application/yaml", "password: "+secretText), "not as an API server does", nil},
		"an error page":         {body(500, "text/plain", secretText), "500 Internal Server Error", nil},
		"an error's JSON":       {body(403, "application/json", `{"message":"`+secretText+`"}`), "403 Forbidden", nil},
		"no content type":       {body(200, "", `{"a":"`+secretText+`"}`), "not as an API server does", nil},
		"forbidden":             {status(403, "Forbidden"), "403 Forbidden", apierrors.IsForbidden},
		"not found":             {status(404, "NotFound"), "404 Not Found", apierrors.IsNotFound},
		"a conflict":            {status(409, "Conflict"), "409 Conflict", apierrors.IsConflict},
		"exists":                {status(409, "AlreadyExists"), "409 Conflict, AlreadyExists", apierrors.IsAlreadyExists},
		"an unknown reason":     {status(400, secretText), "400 Bad Request", nil},
		"many requests":         {status(429, "TooManyRequests"), "429 Too Many Requests", apierrors.IsTooManyRequests},
		"a failure with 200":    {status(200, "Forbidden"), "with the HTTP status of success", nil},
		"a redirect to nowhere": {body(302, "text/plain", secretText), "302 Found, and not as an API server does", nil},
	} {
		t.Run(name, func(t *testing.T) {
			server, ca := serve(t, test.answer)
			config := must.Get(local().Config(kubeconfigOf(server.URL, "", ca)))(t)
			mapper := meta.NewDefaultRESTMapper(nil)
			version := schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "ClusterVersion"}
			mapper.Add(version, meta.RESTScopeRoot)
			mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
			c := must.Get(client.New(config, client.Options{Mapper: mapper}))(t)
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(version)
			for what, object := range map[string]client.Object{"without a type": u, "of a type": &corev1.Node{}} {
				err := c.Get(t.Context(), client.ObjectKey{Name: "version"}, object)
				if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), secretText) {
					t.Errorf("%s: it says %v", what, err)
				}
				if test.is != nil && !test.is(err) {
					t.Errorf("%s: %v is another error", what, err)
				}
			}
		})
	}
	server, ca := serve(t, body(200, "application/json", `{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}}`))
	config := must.Get(local().Config(kubeconfigOf(server.URL, "", ca)))(t)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	c := must.Get(client.New(config, client.Options{Mapper: mapper}))(t)
	node := &corev1.Node{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "a"}, node); err != nil || node.Name != "a" {
		t.Errorf("%+v, %v", node, err)
	}
}

// TestCertificateIsNotShown: what is in the certificate of a server that is not trusted is not shown.
func TestCertificateIsNotShown(t *testing.T) {
	server, _ := serve(t, func(http.ResponseWriter, *http.Request) {})
	_, other := serve(t, func(http.ResponseWriter, *http.Request) {})
	config := must.Get(local().Config(kubeconfigOf(server.URL, `, tls-server-name: other.example.org`, other)))(t)
	http := must.Get(rest.HTTPClientFor(config))(t)
	response, err := http.Get(server.URL + "/readyz")
	if err == nil {
		_ = response.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "does not trust the certificate") || strings.Contains(err.Error(), "example.com") {
		t.Errorf("it says %v", err)
	}
}
