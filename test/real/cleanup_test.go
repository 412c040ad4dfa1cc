//go:build e2e

package real

import (
	"context"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
)

// cleanUpTime is how long it may take to delete what a test has made.
const cleanUpTime = 2 * time.Minute

// cleanUp deletes at the test's end what it has made on a service that is given, even if the test has failed: what has
// the name that only this test knows, and nothing else. It is called before the machines boot, so that they are off by
// then.
func (x *site) cleanUp(t testing.TB) {
	t.Helper()
	t.Cleanup(func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(t.Context()), cleanUpTime)
		defer stop()
		remove := x.removeFromService
		if x.hub {
			remove = x.removeFromHub
		}
		for {
			left, err := remove(ctx)
			if err == nil && !left {
				return
			}
			if clock.Real().Sleep(ctx, time.Second) != nil {
				t.Errorf("deleting what the test has made: %v; look for %s", err, x.cluster.Metadata.Name)
				return
			}
		}
	})
}

// removeFromService takes one step towards a service without the cluster. It says
// whether something is left.
func (x *site) removeFromService(ctx context.Context) (left bool, err error) {
	name := x.cluster.Metadata.Name
	clusters, err := x.wire.named(ctx, "/v2/clusters", name)
	if err != nil {
		return true, err
	}
	for _, c := range clusters {
		if status, refused := x.wire.do(ctx, http.MethodDelete, "/v2/clusters/"+c.ID, nil, nil); status == http.StatusConflict {
			err = refused
			_, _ = x.wire.do(ctx, http.MethodPost, "/v2/clusters/"+c.ID+"/actions/cancel", nil, nil)
		}
	}
	environments, listed := x.wire.named(ctx, "/v2/infra-envs", name)
	if listed != nil {
		return true, listed
	}
	for _, env := range environments {
		var hosts []thing
		if _, err := x.wire.do(ctx, http.MethodGet, "/v2/infra-envs/"+env.ID+"/hosts", nil, &hosts); err != nil {
			return true, err
		}
		for _, h := range hosts {
			_, _ = x.wire.do(ctx, http.MethodDelete, "/v2/infra-envs/"+env.ID+"/hosts/"+h.ID, nil, nil)
		}
		if _, refused := x.wire.do(ctx, http.MethodDelete, "/v2/infra-envs/"+env.ID, nil, nil); refused != nil {
			err = refused
		}
	}
	return len(clusters)+len(environments) > 0, err
}

// hubKinds are the kinds of objects that a cluster is made of, in the order in which
// they are deleted.
func hubKinds() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		hubapi.Resource(hubapi.KindClusterDeployment), hubapi.Resource(hubapi.KindAgentClusterInstall),
		hubapi.Resource(hubapi.KindAgent), hubapi.Resource(hubapi.KindBareMetalHost),
		hubapi.Resource(hubapi.KindInfraEnv),
		hubapi.Resource(hubapi.KindNMStateConfig), hubapi.Resource(hubapi.KindSecret), hubapi.Resource(hubapi.KindConfigMap),
	}
}

// removeFromHub takes one step towards a hub without the cluster's namespace, which no other test uses.
func (x *site) removeFromHub(ctx context.Context) (left bool, err error) {
	for _, kind := range hubKinds() {
		objects := x.client.Resource(kind).Namespace(x.namespace)
		list, err := objects.List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue // the hub does not have the kind
		}
		if err != nil {
			return true, err
		}
		for i := range list.Items {
			item := &list.Items[i]
			if kind == hubapi.Resource(hubapi.KindConfigMap) && item.GetName() == "kube-root-ca.crt" {
				continue // every namespace has it
			}
			left = true
			if item.GetDeletionTimestamp() != nil {
				continue
			}
			if err := objects.Delete(ctx, item.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return true, err
			}
		}
		if len(list.Items) > 0 && kind == hubapi.Resource(hubapi.KindAgentClusterInstall) {
			return true, nil // what it holds on to goes after it
		}
	}
	if left {
		return true, nil
	}
	namespaces := x.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	if err := namespaces.Delete(ctx, x.namespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return true, err
	}
	return false, nil
}

// nothingLeft checks that a hub has no object of the cluster, beside what Kubernetes
// collects in its own time since its owner is gone.
func (x *site) nothingLeft(t testing.TB) {
	t.Helper()
	for _, kind := range hubKinds() {
		list, err := x.client.Resource(kind).Namespace(x.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		if err != nil {
			continue
		}
		for _, item := range list.Items {
			collected := kind == hubapi.Resource(hubapi.KindSecret) && len(item.GetOwnerReferences()) > 0
			if !collected && item.GetName() != "kube-root-ca.crt" {
				t.Errorf("%s %s is left", kind.Resource, item.GetName())
			}
		}
	}
}
