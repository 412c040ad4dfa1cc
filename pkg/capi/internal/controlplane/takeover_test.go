//go:build e2e

package controlplane_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/clock"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/controlplane"
	"github.com/oaictl/oaictl/pkg/capi/internal/status"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// ofAnother is what another provider makes on the hub for a control plane.
const ofAnother = `
apiVersion: hive.openshift.io/v1
kind: ClusterDeployment
metadata: {name: theirs}
spec:
  clusterName: lab
  baseDomain: example.com
  platform: {agentBareMetal: {agentSelector: {}}}
  clusterInstallRef: {group: extensions.hive.openshift.io, version: v1beta1, kind: AgentClusterInstall, name: theirs}
---
apiVersion: extensions.hive.openshift.io/v1beta1
kind: AgentClusterInstall
metadata: {name: theirs}
spec:
  clusterDeploymentRef: {name: theirs}
  imageSetRef: {name: img}
  networking: {}
  provisionRequirements: {controlPlaneAgents: 3}
---
apiVersion: agent-install.openshift.io/v1beta1
kind: InfraEnv
metadata: {name: theirs}
spec: {pullSecretRef: {name: pull-secret}}`

// TestClusterOfAnotherProviderIsTakenOver: its id is recorded, and none of its objects is deleted with Cluster API's
// any more.
func TestClusterOfAnotherProviderIsTakenOver(t *testing.T) {
	x := &site{Management: management.Start(t), t: t, clock: clock.Scaled(speed)}
	if err := x.Apply(t.Context(), kinds(t)...); err != nil {
		t.Fatal(err)
	}
	var err error
	if x.client, err = client.New(x.Config, client.Options{Scheme: newScheme(t)}); err != nil {
		t.Fatal(err)
	}
	x.namespace = x.Namespace(t)
	x.lab(3)
	cluster := &clusterv1.Cluster{}
	x.eventually("the infrastructure of the Cluster", func() (bool, string) {
		return x.get(cluster, "lab") && ptr.Deref(cluster.Status.Initialization.InfrastructureProvisioned, false) && cluster.Spec.ControlPlaneEndpoint.IsValid() &&
			len(x.plane().OwnerReferences) > 0, text(cluster.Status)
	})
	plane := x.plane()
	owner := metav1.OwnerReference{APIVersion: controlplanev1.GroupVersion().String(), Kind: "OpenshiftAssistedControlPlane", Name: plane.Name, UID: plane.UID}
	var theirs []*unstructured.Unstructured
	for document := range strings.SplitSeq(ofAnother, "\n---\n") {
		u := raw(t, document)
		u.SetLabels(map[string]string{clusterv1.ClusterNameLabel: "lab"})
		u.SetOwnerReferences([]metav1.OwnerReference{owner})
		x.create(u)
		theirs = append(theirs, u)
	}
	user, err := client.New(x.user(), client.Options{Scheme: newScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	r := &controlplane.Reconciler{
		Client: user, Live: user, Clock: x.clock, Recorder: events.NewFakeRecorder(100), OnHub: true, Workloads: &controlplane.Workloads{Connector: local()}, Status: status.New(x.clock),
		Installations: clusterloop.New(clusterloop.Config{
			Connect: func(string) (install.Backend, error) { return service{site: x}, nil }, Clock: x.clock, Wake: func(clusterloop.Key, []model.Scope) {},
			Desire: func(context.Context, clusterloop.Key, *model.Observed) (*model.Desired, error) {
				return nil, clusterloop.ErrNotYet
			},
		}),
	}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(plane)}); err != nil {
		t.Error(err)
	}
	if id := x.plane().Annotations[clusterspec.AnnotationClusterID]; id != x.namespace+"/theirs" {
		t.Errorf("its cluster is %q", id)
	}
	for _, u := range theirs {
		if x.get(u, u.GetName()); len(u.GetOwnerReferences()) > 0 {
			t.Errorf("%s has the owners %v", u.GetKind(), u.GetOwnerReferences())
		}
	}
}
