package machines_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/paused"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
)

// TestPausedAsByClusterAPI holds the condition of a paused object to what Cluster API's own helper writes, and to one write.
func TestPausedAsByClusterAPI(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := bootstrapv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	stopped := &clusterv1.Cluster{Spec: clusterv1.ClusterSpec{Paused: new(true)}}
	for name, test := range map[string]struct {
		cluster     *clusterv1.Cluster
		annotations map[string]string
	}{
		"the Cluster":             {stopped, nil},
		"the object":              {&clusterv1.Cluster{}, map[string]string{clusterv1.PausedAnnotation: ""}},
		"the object, no Cluster":  {nil, map[string]string{clusterv1.PausedAnnotation: "true"}},
		"the Cluster, the object": {stopped, map[string]string{clusterv1.PausedAnnotation: ""}},
	} {
		t.Run(name, func(t *testing.T) {
			condition := func(pause func(c client.Client, o *bootstrapv1.OpenshiftAssistedConfig) error) (metav1.Condition, string) {
				t.Helper()
				o := &bootstrapv1.OpenshiftAssistedConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", Generation: 2, Annotations: test.annotations}}
				c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(o).WithStatusSubresource(o).Build()
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
					t.Fatal(err)
				}
				if err := pause(c, o); err != nil {
					t.Fatal(err)
				}
				now := &bootstrapv1.OpenshiftAssistedConfig{}
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), now); err != nil {
					t.Fatal(err)
				}
				if len(now.Status.Conditions) != 1 {
					t.Fatalf("the conditions are %v", now.Status.Conditions)
				}
				out := now.Status.Conditions[0]
				out.LastTransitionTime = metav1.Time{}
				return out, now.ResourceVersion
			}
			want, _ := condition(func(c client.Client, o *bootstrapv1.OpenshiftAssistedConfig) error {
				_, _, err := paused.EnsurePausedCondition(t.Context(), c, test.cluster, o)
				return err
			})
			once := ""
			got, twice := condition(func(c client.Client, o *bootstrapv1.OpenshiftAssistedConfig) error {
				if err := machines.Pause(t.Context(), c, test.cluster, o); err != nil {
					return err
				}
				once = o.ResourceVersion
				return machines.Pause(t.Context(), c, test.cluster, o)
			})
			if got != want {
				t.Errorf("it is %v, and by Cluster API %v", got, want)
			}
			if once != twice {
				t.Error("what is said already is written again")
			}
		})
	}
}
