package controlplane

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/oaictl/oaictl/internal/shared/clock"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/recordmark"
	"github.com/oaictl/oaictl/pkg/capi/internal/status"
	"github.com/oaictl/oaictl/pkg/install"
)

// TestNothingIsKeptOfAControlPlaneThatIsGone: what is known of a Cluster is dropped with its control plane, also if the
// control plane did not remove its finalizer itself: its finalizers were removed by another client, its Cluster was
// deleted first, or it is of another Cluster now.
func TestNothingIsKeptOfAControlPlaneThatIsGone(t *testing.T) {
	ownedBy := func(name string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: name, UID: "cluster"}}
	}
	for name, test := range map[string]struct {
		change func(c client.Client, cluster *clusterv1.Cluster, plane *controlplanev1.OpenshiftAssistedControlPlane) error
		kept   bool
	}{
		"it stays": {kept: true, change: func(client.Client, *clusterv1.Cluster, *controlplanev1.OpenshiftAssistedControlPlane) error {
			return nil
		}},
		"its finalizers were taken away": {change: func(c client.Client, _ *clusterv1.Cluster, plane *controlplanev1.OpenshiftAssistedControlPlane) error {
			plane.Finalizers = nil
			if err := c.Update(t.Context(), plane); err != nil {
				return err
			}
			return c.Delete(t.Context(), plane)
		}},
		"its Cluster went first": {change: func(c client.Client, cluster *clusterv1.Cluster, _ *controlplanev1.OpenshiftAssistedControlPlane) error {
			return c.Delete(t.Context(), cluster)
		}},
		"it is of another Cluster now": {change: func(c client.Client, _ *clusterv1.Cluster, plane *controlplanev1.OpenshiftAssistedControlPlane) error {
			plane.OwnerReferences = ownedBy("other")
			return c.Update(t.Context(), plane)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab", UID: "cluster"}}
			other := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "other", UID: "other"}}
			plane := &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "plane", UID: "plane", OwnerReferences: ownedBy("lab")}}
			c := fake.NewClientBuilder().WithScheme(kindsOf(t)).WithObjects(cluster, other, plane).WithStatusSubresource(plane).Build()
			r := &Reconciler{
				Client: c, Live: c, Clock: clock.Real(), Recorder: events.NewFakeRecorder(100), Status: status.New(clock.Real()), Workloads: &Workloads{Connector: loopback()},
				Keys: &recordmark.Keys{Cached: c, Live: c},
				Installations: clusterloop.New(clusterloop.Config{
					Connect: func(string) (install.Backend, error) { return &records{}, nil }, Clock: clock.Real(),
				}),
			}
			reconcile := func() {
				t.Helper()
				if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(plane)}); err != nil {
					t.Fatal(err)
				}
			}
			mark := func() string {
				t.Helper()
				if err := r.Keys.Make(t.Context(), c, cluster); err != nil {
					t.Fatal(err)
				}
				mark, err := r.Keys.Mark(t.Context(), cluster)
				if err != nil {
					t.Fatal(err)
				}
				return mark
			}
			reconcile()
			key, data := client.ObjectKeyFromObject(cluster), kubeconfigOf(t, "https://a", "admin", "")
			was := mark()
			r.known.examine(key, data)
			reached, err := r.Workloads.Client(key, data)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(plane), plane); err != nil {
				t.Fatal(err)
			}
			if err := test.change(c, cluster, plane); err != nil {
				t.Fatal(err)
			}
			reconcile()
			if kept := len(r.known.of) > 0; kept != test.kept {
				t.Errorf("its kubeconfig is known: %t", kept)
			}
			if again, err := r.Workloads.Client(key, data); err != nil || (again == reached) != test.kept {
				t.Errorf("its client is kept: %t, %v", again == reached, err)
			}
			if err := c.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: recordmark.SecretName("lab")}}); err != nil {
				t.Fatal(err)
			}
			if kept := mark() == was; kept != test.kept {
				t.Errorf("its key is known: %t", kept)
			}
		})
	}
}
