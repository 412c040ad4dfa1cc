package controlplane

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/oaictl/oaictl/internal/hubapi"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/desired"
	"github.com/oaictl/oaictl/pkg/capi/internal/installation"
)

// TestClustersOfOthersAreNotTaken: on a hub a control plane has no cluster before it is known that nobody else has one
// of its name there, and none in another namespace, whatever it says.
func TestClustersOfOthersAreNotTaken(t *testing.T) {
	deployment := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "hive.openshift.io/v1", "kind": "ClusterDeployment", "metadata": map[string]any{"namespace": "ns", "name": "edge"},
	}}
	named := func(name, run string) *controlplanev1.OpenshiftAssistedControlPlane {
		plane := &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID(name), Labels: map[string]string{clusterv1.ClusterNameLabel: name}, Annotations: map[string]string{},
		}}
		plane.Spec.Config.ClusterName = "edge"
		if run != "" {
			plane.Annotations[desired.AnnotationRun] = run
		}
		return plane
	}
	elsewhere := deployment.DeepCopy()
	elsewhere.SetNamespace("other")
	for name, test := range map[string]struct {
		there []client.Object
		id    string
		says  string
		marks bool
	}{
		"nobody has one":           {marks: true},
		"another namespace's":      {there: []client.Object{elsewhere}, marks: true},
		"somebody has one":         {there: []client.Object{deployment}, says: "there is a ClusterDeployment ns/edge already"},
		"somebody is to have one":  {there: []client.Object{named("other", "abc")}, says: "control plane other of this namespace has a cluster of the name edge already"},
		"who has asked first":      {there: []client.Object{named("other", "")}, marks: true},
		"it is taken over":         {there: []client.Object{deployment}, id: "ns/edge"},
		"it is another namespaces": {there: []client.Object{elsewhere}, id: "other/edge", says: "names other/edge"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := observed()
			s.plane = named("lab", "")
			if test.id != "" {
				s.plane.Annotations[desired.AnnotationClusterID] = test.id
			}
			scheme := runtime.NewScheme()
			if err := controlplanev1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			scheme.AddKnownTypeWithName(hubapi.GroupVersionKind(hubapi.KindClusterDeployment), &unstructured.Unstructured{})
			list := hubapi.GroupVersionKind(hubapi.KindClusterDeployment)
			list.Kind += "List"
			scheme.AddKnownTypeWithName(list, &unstructured.UnstructuredList{})
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append([]client.Object{s.plane.DeepCopy()}, test.there...)...).Build()
			s.Reconciler = &Reconciler{Client: c, Live: c, OnHub: true}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(s.plane), s.plane); err != nil {
				t.Fatal(err)
			}
			switch noted, err := s.claim(t.Context()); {
			case noted != test.marks:
				t.Errorf("it is noted: %t", noted)
			case test.says == "" && err != nil:
				t.Error(err)
			case test.says != "" && (!isRefusal(err) || !strings.Contains(err.Error(), test.says)):
				t.Errorf("it says %v", err)
			}
			now := &controlplanev1.OpenshiftAssistedControlPlane{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(s.plane), now); err != nil {
				t.Fatal(err)
			}
			if (now.Annotations[desired.AnnotationRun] != "") != test.marks {
				t.Errorf("its annotations are %v", now.Annotations)
			}
		})
	}
}

// TestTroubleOfObjectsIsNotTheClusters: what is wrong with the objects of an installed cluster is told beside how it is.
func TestTroubleOfObjectsIsNotTheClusters(t *testing.T) {
	s, spoke := observed()
	s.plane.Annotations = map[string]string{desired.AnnotationOpenShiftID: "id"}
	s.Installations = installation.New(installation.Config{})
	s.showCluster(spoke)
	for err, reason := range map[error]string{
		&installation.Refusal{Problems: []string{"its selector selects 0 NMStateConfigs"}}: ReasonInvalid,
		fmt.Errorf("read ConfigMap mirrors: %w", errors.New("it is not there")):            controlplanev1.ConfigurationNotReadReason,
	} {
		if got := s.noView(err); (got == nil) != (reason == ReasonInvalid) {
			t.Errorf("it is tried again: %v", got)
		}
		c := conditions.Get(s.plane, controlplanev1.ConfigurationAcceptedCondition)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != reason || c.Message != err.Error() {
			t.Errorf("it says %+v", c)
		}
		if !conditions.IsTrue(s.plane, clusterv1.AvailableCondition) {
			t.Errorf("Available is %+v", conditions.Get(s.plane, clusterv1.AvailableCondition))
		}
	}
	moved, _ := observed()
	moved.plane.Annotations, moved.Installations = s.plane.Annotations, s.Installations
	_ = moved.noView(&installation.Refusal{Problems: []string{"its kubeconfig is another cluster's"}})
	if c := conditions.Get(moved.plane, clusterv1.AvailableCondition); c == nil || c.Status != metav1.ConditionFalse || c.Message != "its kubeconfig is another cluster's" {
		t.Errorf("where it was not available, it is %+v", c)
	}
	if s.showConfiguration(nil); !conditions.IsTrue(s.plane, controlplanev1.ConfigurationAcceptedCondition) {
		t.Error("it is not told that it is well again")
	}
}
