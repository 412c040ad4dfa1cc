//go:build e2e

package real

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/rest"
)

// wire is how the tests themselves ask the service, beside oaictl: what it has, and for
// what oaictl has no word.
type wire struct {
	base   string
	client *http.Client
	auth   rest.TokenSource // nil for none
	token  string           // of the simulated operator, which no real service gives away
}

// do sends a request and reads the answer; into may be nil.
func (w wire) do(ctx context.Context, method, path string, body, into any) (status int, err error) {
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		content = bytes.NewReader(data)
	}
	base := strings.TrimSuffix(strings.TrimSuffix(w.base, "/"), "/api/assisted-install")
	request, err := http.NewRequestWithContext(ctx, method, base+"/api/assisted-install"+path, content)
	if err != nil {
		return 0, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if w.auth != nil {
		name, value, err := w.auth.Header(ctx)
		if err != nil {
			return 0, err
		}
		if name != "" {
			request.Header.Set(name, value)
		}
	}
	if w.token != "" {
		request.Header.Set("Authorization", w.token)
	}
	client := w.client
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return response.StatusCode, err
	case response.StatusCode == http.StatusUnauthorized:
		return response.StatusCode, fmt.Errorf("%s %s: %w: %s", method, path, errRefused, data)
	case response.StatusCode >= 300:
		return response.StatusCode, fmt.Errorf("%s %s: %s: %s", method, path, response.Status, data)
	case into == nil:
		return response.StatusCode, nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return response.StatusCode, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return response.StatusCode, nil
}

// errRefused is a service that does not know users. That behind a hub speaks to the
// machines alone: its users are the hub's.
var errRefused = errors.New("the service does not know us")

// get reads what the service has at a path.
func (w wire) get(t testing.TB, path string, into any) {
	t.Helper()
	must.Get(w.do(t.Context(), http.MethodGet, path, nil, into))(t)
}

// thing is what the tests read of a cluster, an InfraEnv or a host.
type thing struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Status     string `json:"status"`
	StatusInfo string `json:"status_info"`
	ClusterID  string `json:"cluster_id"`
	Hostname   string `json:"requested_hostname"`
}

// named are the clusters of a name, or the InfraEnvs of a cluster of that name, in a list
// of all.
func (w wire) named(ctx context.Context, path, name string) ([]thing, error) {
	var all, out []thing
	if _, err := w.do(ctx, http.MethodGet, path, nil, &all); err != nil {
		return nil, err
	}
	for _, one := range all {
		if one.Name == name || strings.HasPrefix(one.Name, name+"-") {
			out = append(out, one)
		}
	}
	return out, nil
}

// named is what the service has of the cluster, or, where the service refuses the request, what the hub has of it.
func (x *site) named(ctx context.Context, path string) ([]thing, error) {
	list, err := x.wire.named(ctx, path, x.cluster.Metadata.Name)
	if !x.hub || !errors.Is(err, errRefused) {
		return list, err
	}
	kind := map[string]schema.GroupVersionResource{"/v2/clusters": hubapi.Resource(hubapi.KindClusterDeployment), "/v2/infra-envs": hubapi.Resource(hubapi.KindInfraEnv)}[path]
	objects, err := x.client.Resource(kind).Namespace(x.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	list = nil
	for i := range objects.Items {
		list = append(list, thing{ID: string(objects.Items[i].GetUID()), Name: objects.Items[i].GetName()})
	}
	return list, nil
}
