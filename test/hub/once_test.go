//go:build e2e

package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// fetch reads a collection of the service.
func fetch[T any](ctx context.Context, address, path string) (out T, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/api/assisted-install"+path, nil)
	if err != nil {
		return out, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return out, err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return out, fmt.Errorf("GET %s: %s %w", path, response.Status, err)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return out, fmt.Errorf("GET %s: %w", path, err)
	}
	return out, nil
}

// named reads a collection of the service, as far as it is of that name.
func (x *site) named(t testing.TB, path, name string) []map[string]any {
	t.Helper()
	found := must.Get(fetch[[]map[string]any](t.Context(), x.service.URL(), path))(t)
	return slices.DeleteFunc(found, func(o map[string]any) bool { return o["name"] != name })
}

// once checks that there is one of everything, in the service and on the hub, and
// that the installation was started once.
func (x *site) once(t testing.TB) {
	t.Helper()
	name := x.cluster.Metadata.Name
	clusters := x.named(t, "/v2/clusters", name)
	if len(clusters) != 1 || clusters[0]["status"] != "installed" && clusters[0]["status"] != "adding-hosts" {
		t.Fatalf("%d clusters: %v", len(clusters), clusters)
	}
	if envs := x.named(t, "/v2/infra-envs", name); len(envs) != 1 {
		t.Errorf("%d InfraEnvs", len(envs))
	}
	starts := 0
	events := must.Get(fetch[[]map[string]any](t.Context(), x.service.URL(), "/v2/events?cluster_id="+fmt.Sprint(clusters[0]["id"])))(t)
	for _, e := range events {
		if e["name"] == "cluster_prepare_installation_started" {
			starts++
		}
	}
	if starts != 1 {
		t.Errorf("the installation was started %d times", starts)
	}
	for what, kind := range map[string]schema.GroupVersionResource{
		"ClusterDeployment": hubapi.Resource(hubapi.KindClusterDeployment), "AgentClusterInstall": hubapi.Resource(hubapi.KindAgentClusterInstall), "InfraEnv": hubapi.Resource(hubapi.KindInfraEnv),
	} {
		if list := x.ours(t, kind); len(list) != 1 {
			t.Errorf("%d times %s", len(list), what)
		}
	}
}

// ours are the objects of a kind in the site's namespace that carry the label of
// its cluster.
func (x *site) ours(t testing.TB, kind schema.GroupVersionResource) []unstructured.Unstructured {
	t.Helper()
	list := must.Get(x.client.Resource(kind).Namespace(x.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: hubapi.LabelCluster + "=" + x.cluster.Metadata.Name}))(t)
	return list.Items
}

// object makes an object.
func object(apiVersion, kind, namespace, name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	for key, value := range fields {
		u.Object[key] = value
	}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// asSomebody makes an object of another owner. While an operator registers its webhooks, and on a machine that is busy,
// the API server may not reach them in time: it is asked again then.
func (x *site) asSomebody(t testing.TB, kind schema.GroupVersionResource, u *unstructured.Unstructured) {
	t.Helper()
	x.eventually(t, u.GetKind()+" of somebody else", func() bool {
		_, err := x.client.Resource(kind).Namespace(x.namespace).Create(t.Context(), u, metav1.CreateOptions{FieldManager: "somebody"})
		switch {
		case err == nil, apierrors.IsAlreadyExists(err): // made by the try before
			return true
		case apierrors.IsInternalError(err), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), apierrors.IsTooManyRequests(err):
			t.Logf("make a %s of somebody else: %v", u.GetKind(), err)
			return false
		}
		t.Fatalf("make a %s of somebody else: %v", u.GetKind(), err)
		return false
	})
}

// strangers puts objects of another owner into the site's namespace, and returns a check that they were not touched.
func (x *site) strangers(t testing.TB) (untouched func()) {
	t.Helper()
	agentInstall := hubapi.GroupAgentInstall + "/" + hubapi.VersionAgentInstall
	made := map[*unstructured.Unstructured]schema.GroupVersionResource{
		object("v1", "Secret", x.namespace, "theirs", map[string]any{"stringData": map[string]any{"password": "theirs"}}):                                  hubapi.Resource(hubapi.KindSecret),
		object("v1", "ConfigMap", x.namespace, "theirs", map[string]any{"data": map[string]any{"a": "b"}}):                                                 hubapi.Resource(hubapi.KindConfigMap),
		object(agentInstall, "InfraEnv", x.namespace, "theirs", map[string]any{"spec": map[string]any{"pullSecretRef": map[string]any{"name": "theirs"}}}): hubapi.Resource(hubapi.KindInfraEnv),
		object(agentInstall, "NMStateConfig", x.namespace, "theirs", map[string]any{"spec": map[string]any{
			"interfaces": []any{map[string]any{"name": "eth0", "macAddress": "52:54:00:99:99:99"}}, "config": map[string]any{}}}): hubapi.Resource(hubapi.KindNMStateConfig),
		object(hubapi.GroupHive+"/"+hubapi.VersionHive, "ClusterDeployment", x.namespace, "theirs", map[string]any{"spec": map[string]any{
			"clusterName": "theirs", "baseDomain": "example.com", "platform": map[string]any{"agentBareMetal": map[string]any{"agentSelector": map[string]any{}}},
			"pullSecretRef": map[string]any{"name": "theirs"}}}): hubapi.Resource(hubapi.KindClusterDeployment),
	}
	for u, kind := range made {
		x.asSomebody(t, kind, u)
	}
	before := map[*unstructured.Unstructured]any{}
	content := func(u *unstructured.Unstructured, kind schema.GroupVersionResource) any {
		live, err := x.client.Resource(kind).Namespace(x.namespace).Get(t.Context(), u.GetName(), metav1.GetOptions{})
		if err != nil {
			t.Fatalf("%s of somebody else: %v", u.GetKind(), err)
		}
		for _, entry := range live.GetManagedFields() {
			if strings.HasPrefix(entry.Manager, hubapi.FieldManager) && !strings.Contains(entry.Manager, "simulator") {
				t.Errorf("%s has written to the %s of somebody else", entry.Manager, u.GetKind())
			}
		}
		// The operator fills in what it likes: the check above shows which clients have written.
		return []any{live.Object["data"], string(live.GetUID()), live.GetDeletionTimestamp()}
	}
	for u, kind := range made {
		before[u] = content(u, kind)
	}
	return func() {
		t.Helper()
		for u, kind := range made {
			if diff := cmp.Diff(before[u], content(u, kind)); diff != "" {
				t.Errorf("%s of somebody else: %s", u.GetKind(), diff)
			}
		}
	}
}
