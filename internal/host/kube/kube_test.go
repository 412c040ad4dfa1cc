package kube_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

type object = map[string]any

// serve answers in place of a network.
type serve func(http.ResponseWriter, *http.Request)

// RoundTrip implements http.RoundTripper.
func (s serve) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	s(w, r)
	return w.Result(), nil
}

func client(t testing.TB, s serve) *kube.Client {
	t.Helper()
	return must.Get(kube.New(&rest.Config{Host: "http://api", Transport: s}))(t)
}

func reply(w http.ResponseWriter, status int, o object) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(o)
}

func refuse(w http.ResponseWriter, status int, reason string) {
	reply(w, status, object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "reason": reason, "message": "as said"})
}

// TestEndlessPages: a list ends although each of its pages is empty and promises another.
func TestEndlessPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client(t, func(w http.ResponseWriter, _ *http.Request) {
			reply(w, http.StatusOK, object{"kind": "NodeList", "apiVersion": "v1", "metadata": object{"continue": "more"}, "items": []any{}})
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := c.Nodes(ctx)
		check.Says(t, err, "there are more than 10000")
	})
}

// TestPages: a list is read to its end, and no further than a cluster can have objects.
func TestPages(t *testing.T) {
	for _, c := range []struct {
		has, gets int
		err       error
	}{{0, 0, nil}, {1, 1, nil}, {250, 250, nil}, {251, 251, nil}, {1000, 1000, nil}, {10_000, 10_000, nil}, {10_400, 10_000, kube.ErrTooMany}} {
		nodes, err := client(t, func(w http.ResponseWriter, r *http.Request) {
			start, _ := strconv.Atoi(r.URL.Query().Get("continue"))
			limit := must.Get(strconv.Atoi(r.URL.Query().Get("limit")))(t)
			items, meta := []any{}, object{}
			for i := start; i < min(start+limit, c.has); i++ {
				items = append(items, object{"kind": "Node", "apiVersion": "v1", "metadata": object{"name": fmt.Sprint("n-", i)}})
			}
			if start+limit < c.has {
				meta["continue"] = fmt.Sprint(start + limit)
			}
			reply(w, http.StatusOK, object{"kind": "NodeList", "apiVersion": "v1", "metadata": meta, "items": items})
		}).Nodes(t.Context())
		check.Equal(t, len(nodes), c.gets, c.has)
		if !errors.Is(err, c.err) {
			t.Errorf("%d: %v", c.has, err)
		}
	}
}

// TestErrors: errors say what was asked, and can be told apart.
func TestErrors(t *testing.T) {
	for status, is := range map[int]func(error) bool{
		http.StatusNotFound: kube.NotFound, http.StatusForbidden: kube.Forbidden, http.StatusUnauthorized: kube.Forbidden,
	} {
		_, err := client(t, func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, status, map[int]string{404: "NotFound", 403: "Forbidden", 401: "Unauthorized"}[status])
		}).ClusterOperator(t.Context(), "console")
		check.Says(t, err, `read clusteroperators "console"`)
		check.Equal(t, is(err), true, status)
	}
	_, err := client(t, func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, object{"kind": "ClusterOperator", "apiVersion": "config.openshift.io/v1", "metadata": object{"name": 5}})
	}).ClusterOperator(t.Context(), "console")
	if err == nil {
		t.Error("an object of a wrong form was read")
	}
	for _, body := range []string{"", "{", "[]", `"a"`, strings.Repeat("[", 100_000)} {
		_, err := client(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }).Nodes(t.Context())
		if err == nil {
			t.Errorf("%.10q was read", body)
		}
	}
}

// TestHugeAnswers: an answer without an end is cut off.
func TestHugeAnswers(t *testing.T) {
	endless := func(_ http.ResponseWriter, _ *http.Request) {}
	c := must.Get(kube.New(&rest.Config{Host: "http://api", Transport: body{serve(endless)}}))(t)
	_, err := c.Nodes(t.Context())
	check.Says(t, err, "the answer of the API server is too long")
	log := must.Get(c.PodLog(t.Context(), "a", "b", time.Minute, 1000))(t)
	check.Equal(t, len(log), 1000)
	file := must.Get(c.NodeFile(t.Context(), "n", "wtmp", 500))(t)
	check.Equal(t, len(file), 500)
}

// body answers with a body without an end.
type body struct{ serve }

func (b body) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.serve.RoundTrip(r)
	response.Body = io.NopCloser(zeros{})
	return response, err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestApply: kinds are found by what the API server says, and objects without a namespace are put into default.
func TestApply(t *testing.T) {
	var patched []string
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/apis/example.com/v1", r.URL.Path == "/api/v1":
			reply(w, http.StatusOK, object{"kind": "APIResourceList", "resources": []any{
				object{"name": "things/status", "kind": "Thing", "namespaced": true}, object{"name": "things", "kind": "Thing", "namespaced": true},
				object{"name": "worlds", "kind": "World", "namespaced": false},
			}})
		case r.Method == http.MethodPatch:
			content := must.Get(io.ReadAll(r.Body))(t)
			patched = append(patched, r.URL.Path+"?"+r.URL.RawQuery)
			if r.Header.Get("Content-Type") != "application/apply-patch+yaml" {
				t.Errorf("Content-Type %s", r.Header.Get("Content-Type"))
			}
			_, _ = w.Write(content)
		default:
			refuse(w, http.StatusNotFound, "NotFound")
		}
	})
	apply := func(version, kind, space string) error {
		o := object{"apiVersion": version, "kind": kind, "metadata": object{"name": "a"}}
		if space != "" {
			o["metadata"].(object)["namespace"] = space
		}
		return c.Apply(t.Context(), &unstructured.Unstructured{Object: o})
	}
	must.Do(t, apply("example.com/v1", "Thing", "space"))
	must.Do(t, apply("v1", "Thing", ""))
	must.Do(t, apply("example.com/v1", "World", ""))
	check.Slice(t, patched, []string{
		"/apis/example.com/v1/namespaces/space/things/a?fieldManager=assisted-installer-controller&force=true&timeout=2m0s",
		"/api/v1/namespaces/default/things/a?fieldManager=assisted-installer-controller&force=true&timeout=2m0s",
		"/apis/example.com/v1/worlds/a?fieldManager=assisted-installer-controller&force=true&timeout=2m0s",
	})
	for _, version := range []string{"example.com/v1", "other.com/v1"} {
		var unknown *kube.UnknownKindError
		if err := apply(version, "Unknown", ""); !errors.As(err, &unknown) {
			t.Errorf("%s: %v", version, err)
		}
	}
}

// TestEnded: an ended context ends a request.
func TestEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := client(t, func(http.ResponseWriter, *http.Request) { t.Error("there was a request") }).Nodes(ctx)
	check.Says(t, err, "context canceled")
}

const kubeconfig = `
current-context: admin
contexts: [{name: admin, context: {cluster: lab, user: admin}}]
clusters: [{name: lab, cluster: {server: "https://api-int.lab.example.com:6443", certificate-authority-data: Q0E=}}]
users: [{name: admin, user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}}]
`

func TestFromKubeconfig(t *testing.T) {
	config := must.Get(kube.FromKubeconfig([]byte(kubeconfig)))(t)
	check.Equal(t, config.Host, "https://api-int.lab.example.com:6443")
	check.Equal(t, string(config.CAData)+string(config.CertData)+string(config.KeyData), "CACERTKEY")
	for text, says := range map[string]string{
		"": "current context", "[": "not YAML", "current-context: b": "current context is missing",
		strings.Replace(kubeconfig, "user: admin}", "user: other}", 1):                             "the cluster or the user",
		strings.Replace(kubeconfig, "https://", "http://", 1):                                      "not an https URL",
		strings.Replace(kubeconfig, "https://", "unix://", 1):                                      "not an https URL",
		strings.Replace(kubeconfig, "client-certificate-data: Q0VSVA==", "exec: {command: rm}", 1): "neither client-certificate-data nor a token",
		strings.Replace(kubeconfig, "Q0VSVA==", `"secret!"`, 1):                                    "not YAML of the expected form",
	} {
		_, err := kube.FromKubeconfig([]byte(text))
		check.Says(t, err, says)
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows a secret: %v", err)
		}
	}
}

// TestPlainKubeconfig: oc runs programs and reads files that a kubeconfig names, and this one comes from outside.
func TestPlainKubeconfig(t *testing.T) {
	hostile := strings.NewReplacer(
		"client-key-data: S0VZ", "client-key-data: S0VZ, exec: {apiVersion: client.authentication.k8s.io/v1, command: rm}, tokenFile: /etc/shadow",
		"certificate-authority-data: Q0E=", "certificate-authority-data: Q0E=, proxy-url: 'http://192.0.2.66', insecure-skip-tls-verify: true",
		"current-context", "users2: [rm]\ncurrent-context",
	).Replace(kubeconfig)
	plain := must.Get(kube.PlainKubeconfig([]byte(hostile)))(t)
	for _, word := range []string{"exec", "rm", "tokenFile", "shadow", "192.0.2.66", "insecure"} {
		if strings.Contains(string(plain), word) {
			t.Errorf("it still has %q:\n%s", word, plain)
		}
	}
	want, got := must.Get(kube.FromKubeconfig([]byte(kubeconfig)))(t), must.Get(kube.FromKubeconfig(plain))(t)
	check.Equal(t, got.String(), want.String())
	check.Equal(t, string(got.CAData)+string(got.CertData)+string(got.KeyData), "CACERTKEY")
	check.Contains(t, string(plain), "apiVersion: v1")
	check.Contains(t, string(plain), "kind: Config")
	_, err := kube.PlainKubeconfig([]byte("["))
	check.Says(t, err, "not YAML")
}

func FuzzFromKubeconfig(f *testing.F) {
	f.Add([]byte(kubeconfig))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, content []byte) {
		config, err := kube.FromKubeconfig(content)
		if err != nil {
			return
		}
		if !strings.HasPrefix(strings.ToLower(config.Host), "https://") || config.ExecProvider != nil || config.BearerTokenFile != "" ||
			config.CertFile != "" || config.KeyFile != "" || config.CAFile != "" || config.Insecure {
			t.Errorf("%+v", config)
		}
	})
}

// FuzzNodes reads what an API server may answer.
func FuzzNodes(f *testing.F) {
	f.Add([]byte(`{"kind":"NodeList","apiVersion":"v1","items":[{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"},"spec":{"taints":[{"key":"b"}]},` +
		`"status":{"conditions":[{"type":"Ready","status":"True"}],"addresses":[{"type":"InternalIP","address":"10.0.0.1"}]}}]}`))
	f.Add([]byte(`{"kind":"NodeList","items":[{"kind":"Node","metadata":{"name":1}}]}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		nodes, err := client(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("continue") != "" {
				refuse(w, http.StatusGone, "Expired")
				return
			}
			_, _ = w.Write(content)
		}).Nodes(t.Context())
		if err != nil {
			return
		}
		for i := range nodes {
			_, _, _ = nodes[i].Ready(), nodes[i].Addresses(), nodes[i].Uninitialized()
		}
	})
}

// TestReads: what is read of each kind.
func TestReads(t *testing.T) {
	objects := map[string]object{
		"/apis/config.openshift.io/v1/proxies/cluster":                         {"status": object{"httpProxy": "a", "httpsProxy": "b", "noProxy": "c"}},
		"/apis/machineconfiguration.openshift.io/v1/machineconfigs/rendered":   {"metadata": object{"name": "rendered"}},
		"/apis/operators.coreos.com/v1alpha1/namespaces/s/subscriptions/empty": {},
		"/apis/metal3.io/v1alpha1/provisionings/provisioning-configuration":    {"metadata": object{"name": "provisioning-configuration"}},
		"/apis/machineconfiguration.openshift.io/v1/machineconfigpools/worker": {"spec": object{"paused": true}},
		"/apis/config.openshift.io/v1/clusterversions/version":                 {"status": object{"capabilities": object{"knownCapabilities": []any{"Console", "Build"}, "enabledCapabilities": []any{"Build"}}}},
		"/api/v1/namespaces/s/events":                                          {"kind": "EventList", "items": []any{object{"kind": "Event", "apiVersion": "v1", "metadata": object{"name": "e"}, "reason": "R", "message": "M"}}},
		"/apis/certificates.k8s.io/v1/certificatesigningrequests":              {"kind": "CertificateSigningRequestList", "items": []any{object{"kind": "C", "apiVersion": "v1", "spec": object{"request": base64.StdEncoding.EncodeToString([]byte("pem"))}}}},
	}
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		o, found := objects[r.URL.Path]
		if !found || r.Method != http.MethodGet {
			refuse(w, http.StatusNotFound, "NotFound")
			return
		}
		whole := object{"kind": "Object", "apiVersion": "v1"}
		for name, value := range o {
			whole[name] = value
		}
		reply(w, http.StatusOK, whole)
	})
	ctx := t.Context()
	check.Equal(t, must.Get(c.Proxy(ctx))(t), kube.Proxy{HTTP: "a", HTTPS: "b", No: "c"})
	check.Equal(t, must.Get(c.MachineConfig(ctx, "rendered"))(t).Name, "rendered")
	check.Says(t, check.Err(c.MachineConfig(ctx, "other")), `read machineconfigs "other"`)
	check.Says(t, check.Err(c.CurrentServiceVersion(ctx, "s", "empty")), "no status.currentCSV yet")
	check.Equal(t, must.Get(c.HasProvisioning(ctx))(t), true)
	must.Do(t, c.PausePool(ctx, "worker", true))
	check.Says(t, c.PausePool(ctx, "worker", false), `change machineconfigpools "worker"`)
	version := must.Get(c.ClusterVersion(ctx))(t)
	for name, has := range map[string]bool{"Console": false, "Build": true, "Unknown": true} {
		check.Equal(t, version.HasCapability(name), has, name)
	}
	check.Equal(t, must.Get(c.Events(ctx, "s"))(t)[0].Message, "M")
	check.Equal(t, string(must.Get(c.Requests(ctx))(t)[0].Spec.PEM), "pem")
	must.Do(t, c.DeleteJob(ctx, "s", "gone"))
}
