package machines

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestOwners reads the Machine and the Cluster of an object as far as they are there, and reports what cannot be read.
func TestOwners(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clusterv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab"}}
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}, Spec: clusterv1.MachineSpec{ClusterName: "lab"}}
	owned := func(kind, name string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: kind, Name: name}}
	}
	labelled := map[string]string{clusterv1.ClusterNameLabel: "lab"}
	for name, test := range map[string]struct {
		of      metav1.ObjectMeta
		there   []client.Object
		machine bool
		key     string
		cluster bool
		owner   bool // the Cluster owns it
	}{
		"a Machine of a Cluster":      {metav1.ObjectMeta{OwnerReferences: owned("Machine", "m")}, []client.Object{machine, cluster}, true, "lab", true, false},
		"its Cluster is gone":         {metav1.ObjectMeta{OwnerReferences: owned("Machine", "m")}, []client.Object{machine}, true, "lab", false, false},
		"its Machine is gone":         {metav1.ObjectMeta{OwnerReferences: owned("Machine", "m")}, []client.Object{cluster}, false, "", false, false},
		"a label says which":          {metav1.ObjectMeta{Labels: labelled, OwnerReferences: owned("Machine", "m")}, []client.Object{cluster}, false, "lab", true, false},
		"nothing owns it":             {metav1.ObjectMeta{}, []client.Object{machine, cluster}, false, "", false, false},
		"a Cluster":                   {metav1.ObjectMeta{Labels: labelled, OwnerReferences: owned("Cluster", "lab")}, []client.Object{cluster}, false, "lab", true, true},
		"a Cluster that is not there": {metav1.ObjectMeta{OwnerReferences: owned("Cluster", "lab")}, nil, false, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			test.of.Namespace, test.of.Name = "ns", "object"
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(test.there...).Build()
			owners, err := OwnersOf(t.Context(), c, "config", test.of)
			if err != nil || (owners.Machine != nil) != test.machine || owners.Key.Name != test.key || owners.Key.Namespace != "ns" || (owners.Cluster != nil) != test.cluster {
				t.Errorf("they are %+v, %v", owners, err)
			}
			if owner, err := ClusterOwning(t.Context(), c, "config", test.of); err != nil || (owner != nil) != test.owner {
				t.Errorf("the Cluster that owns it is %v, %v", owner, err)
			}
			away := interceptor.NewClient(c, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return errors.New("it is away")
			}})
			asks := len(test.of.Labels) > 0 || len(test.of.OwnerReferences) > 0 && test.of.OwnerReferences[0].Kind == "Machine"
			if _, err := OwnersOf(t.Context(), away, "config", test.of); (err != nil) != asks {
				t.Errorf("without an answer: %v", err)
			}
			if _, err := ClusterOwning(t.Context(), away, "config", test.of); err != nil && !strings.HasPrefix(err.Error(), "read the Cluster of config object: ") {
				t.Errorf("without an answer: %v", err)
			}
		})
	}
}
