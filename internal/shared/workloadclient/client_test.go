package workloadclient_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/shared/workloadclient"
)

// TestConnect: all clients of a cluster pass their requests through the guard and what the caller adds.
func TestConnect(t *testing.T) {
	server, ca := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "reason": "NotFound", "code": 404, "message": "a secret of the server"}`))
	})
	data := kubeconfigOf(server.URL, "", ca)
	seen := 0
	count := func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) { seen++; return next.RoundTrip(r) })
	}
	options := workloadclient.Options{Config: local().Config, Timeout: time.Minute, Wrap: count}
	c, err := workloadclient.Connect(data, options)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Core.Nodes().Get(t.Context(), "a", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) || strings.Contains(err.Error(), "secret") || seen != 1 || c.Host != server.URL || c.HTTP.Timeout != time.Minute {
		t.Errorf("%v after %d requests of %s, which may take %s", err, seen, c.Host, c.HTTP.Timeout)
	}
	options.Config = workloadclient.Connector{}.Config
	c = must.Get(workloadclient.Connect(data, options))(t)
	check.Says(t, check.Err(c.Core.Nodes().Get(t.Context(), "a", metav1.GetOptions{})), "--allow-endpoint", "of an address that is refused")
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// TestClientsAreKept as long as the kubeconfig of their cluster stays the same.
func TestClientsAreKept(t *testing.T) {
	var kept workloadclient.Clients
	cluster := types.NamespacedName{Namespace: "ns", Name: "lab"}
	get := func(server string) *workloadclient.Client {
		return must.Get(kept.Get(cluster, kubeconfigOf(server, "", nil), workloadclient.Options{}))(t)
	}
	first := get("https://a")
	if get("https://a") != first || get("https://b") == first {
		t.Error("the wrong client is kept")
	}
	if _, err := kept.Get(cluster, []byte("{"), workloadclient.Options{}); err == nil {
		t.Error("there is a client of no kubeconfig")
	}
	second := get("https://b")
	kept.Forget(cluster)
	if get("https://b") == second {
		t.Error("the client of a forgotten cluster is kept")
	}
}
