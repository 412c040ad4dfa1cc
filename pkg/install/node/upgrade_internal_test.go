package node

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/workloadclient"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/upgrade"
)

// TestUpgradeRefused: what the API server does not take has a code, says whether it is worth another try, and shows no secret.
func TestUpgradeRefused(t *testing.T) {
	of := schema.GroupResource{Group: "config.openshift.io", Resource: "clusterversions"}
	kind := schema.GroupKind{Group: of.Group, Kind: "ClusterVersion"}
	for name, test := range map[string]struct {
		verb  string
		err   error
		code  model.Code
		final bool
		next  string
	}{
		"may not read":   {verb: "get", err: apierrors.NewForbidden(of, "version", errors.New("no")), code: model.CodeAuth, final: true, next: "instead of auth/kubeconfig"},
		"may not write":  {verb: "patch", err: apierrors.NewForbidden(of, "version", errors.New("no")), code: model.CodeAuth, final: true, next: "instead of auth/kubeconfig"},
		"is not known":   {verb: "patch", err: apierrors.NewUnauthorized("no"), code: model.CodeAuth, final: true, next: "instead of auth/kubeconfig"},
		"is not taken":   {verb: "patch", err: apierrors.NewInvalid(kind, "version", field.ErrorList{field.Invalid(field.NewPath("spec"), "x", "no")}), code: model.CodeFailure, final: true},
		"is away":        {verb: "patch", err: errors.New("connection refused by https://me:hunter22@proxy"), code: model.CodeFailure},
		"always changes": {verb: "patch", err: apierrors.NewConflict(of, "version", errors.New("it has changed")), code: model.CodeFailure},
	} {
		t.Run(name, func(t *testing.T) {
			api := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
				clusterVersions: "ClusterVersionList", pools: "MachineConfigPoolList", {Version: "v1", Resource: "nodes"}: "NodeList",
			}, offering("4.20.5"))
			tries := 0
			api.PrependReactor(test.verb, "clusterversions", func(clienttesting.Action) (bool, runtime.Object, error) {
				tries++
				return true, nil, test.err
			})
			at := &connection{Client: &workloadclient.Client{Dynamic: api}, clock: clock.Real(), time: &serverTime{clock: clock.Real()}, from: "auth/kubeconfig"}
			_, _, err := (&Plane{at: at}).Upgrade(t.Context(), &upgrade.Want{Version: "4.20.5"}, true)
			fault, is := errors.AsType[*model.Fault](err)
			if !is || fault.Code != test.code || fault.Permanent != test.final || !strings.Contains(fault.Next.String(), test.next) {
				t.Errorf("it is %+v", fault)
			}
			if strings.Contains(err.Error(), "hunter22") {
				t.Errorf("it says %v", err)
			}
			if most := mostConflicts + 1; tries == 0 || tries > most {
				t.Errorf("it is tried %d times", tries)
			}
		})
	}
	t.Run("is another cluster", func(t *testing.T) {
		api := fake.NewSimpleDynamicClient(runtime.NewScheme(), offering("4.20.5"))
		at := &connection{Client: &workloadclient.Client{Dynamic: api}, clock: clock.Real(), time: &serverTime{clock: clock.Real()}}
		_, _, err := (&Plane{at: at}).Upgrade(t.Context(), &upgrade.Want{Version: "4.20.5", ClusterID: "5c1e2d5e"}, true)
		if fault := model.FaultOf(err); fault.Code != model.CodeInput || !fault.Permanent || fault.Next == "" || len(api.Actions()) != 1 {
			t.Errorf("it is %+v, after %v", fault, api.Actions())
		}
	})
	if _, _, err := (&Plane{}).Upgrade(t.Context(), &upgrade.Want{}, true); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("of no cluster: %v", err)
	}
}

// offering is the ClusterVersion of a cluster that is well, and may be updated.
func offering(version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": map[string]any{"name": "version"},
		"spec": map[string]any{"channel": "stable-4.20"},
		"status": map[string]any{
			"desired": map[string]any{"version": "4.20.4"}, "history": []any{map[string]any{"state": "Completed", "version": "4.20.4"}},
			"availableUpdates": []any{map[string]any{"version": version, "image": "quay.io/x@sha256:25"}},
			"conditions":       []any{map[string]any{"type": "Available", "status": "True"}},
		},
	}}
}
