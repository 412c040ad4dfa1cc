package clusterspec

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

// TestMark: a mark changes if something changes that Desire depends on, and is the same otherwise.
func TestMark(t *testing.T) {
	all := objects(t)
	for _, o := range all {
		if config, is := o.(*bootstrapv1.OpenshiftAssistedConfig); is {
			config.Labels = map[string]string{clusterv1.ClusterNameLabel: "lab"}
		}
	}
	source := sourceOf(t, all)
	c := fake.NewClientBuilder().WithScheme(source.Client.(client.Client).Scheme()).WithObjects(all...).WithStatusSubresource(&bootstrapv1.OpenshiftAssistedConfig{}).Build()
	source.Client = c
	mark := func() uint64 {
		t.Helper()
		mark, err := source.Mark(t.Context(), lab)
		if err != nil {
			t.Fatal(err)
		}
		return mark
	}
	read := func(o client.Object, name string) {
		t.Helper()
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, o); err != nil {
			t.Fatal(err)
		}
	}
	machine, config, deployment := &clusterv1.Machine{}, &bootstrapv1.OpenshiftAssistedConfig{}, &clusterv1.MachineDeployment{}
	plane, cluster := &controlplanev1.OpenshiftAssistedControlPlane{}, &clusterv1.Cluster{}
	for _, step := range []struct {
		what   string
		change func() error
		other  bool
	}{
		{"nothing", func() error { return nil }, false},
		{"the status of a config", func() error {
			read(config, "w-0-config")
			config.Status.DataSecretName = "w-0-config"
			return c.Status().Update(t.Context(), config)
		}, false},
		{"an object of another Cluster", func() error {
			return c.Create(t.Context(), &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", Labels: map[string]string{clusterv1.ClusterNameLabel: "other"}}})
		}, false},
		{"a config", func() error {
			read(config, "w-0-config")
			config.Annotations = map[string]string{bootstrapv1.IgnitionOverrideAnnotation: "{}"}
			return c.Update(t.Context(), config)
		}, true},
		{"a Machine", func() error {
			read(machine, "w-0")
			machine.Spec.ProviderID = "metal3://ns/host/w-0"
			return c.Update(t.Context(), machine)
		}, true},
		{"a MachineDeployment", func() error {
			read(deployment, "workers")
			deployment.Spec.Replicas = ptr.To[int32](2)
			return c.Update(t.Context(), deployment)
		}, true},
		{"the control plane", func() error {
			read(plane, "lab-plane")
			plane.Generation++
			return c.Update(t.Context(), plane)
		}, true},
		{"the Cluster", func() error {
			read(cluster, "lab")
			cluster.Spec.Paused = ptr.To(true)
			return c.Update(t.Context(), cluster)
		}, true},
		{"a Machine that is gone", func() error { return c.Delete(t.Context(), machine) }, true},
	} {
		before := mark()
		if err := step.change(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		if after := mark(); (after != before) != step.other {
			t.Errorf("after %s the mark is %d, and was %d", step.what, after, before)
		}
	}
}
