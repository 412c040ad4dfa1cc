package controlplane

import (
	"context"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/hubapi"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/desired"
	"github.com/oaictl/oaictl/pkg/capi/internal/installation"
	"github.com/oaictl/oaictl/pkg/install"
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
			case test.says != "" && (!installation.IsRefusal(err) || !strings.Contains(err.Error(), test.says)):
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

// records is a service that has clusters, and notes which are deleted.
type records struct {
	install.Backend

	clusters []install.Cluster
	deleted  []string
}

func (r *records) ListClusters(context.Context) ([]install.Cluster, error) { return r.clusters, nil }

func (r *records) DeleteCluster(_ context.Context, id string, _ install.DeleteOptions) error {
	r.deleted = append(r.deleted, id)
	return nil
}

// deleting is a control plane whose cluster is to be deleted from a service.
func deleting(service *records, onHub bool, objects ...client.Object) *scope {
	s, _ := observed()
	s.OnHub = onHub
	s.Live = fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithObjects(objects...).Build()
	s.Installations = installation.New(installation.Config{Connect: func(string) (install.Backend, error) { return service, nil }, Clock: clock.Real()})
	return s
}

// onHub is an object of a hub.
func onHub(kind, namespace, name string, labels map[string]string) client.Object {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(hubapi.GroupVersionKind(kind))
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetLabels(labels)
	return u
}

// TestBrokenOffOnHubIsDeleted: what a registration has made that was broken off before the cluster was known is deleted
// with its Cluster, if it carries our label and the Cluster's, and nothing else is.
func TestBrokenOffOnHubIsDeleted(t *testing.T) {
	labels := func(made, cluster string) map[string]string {
		all := map[string]string{hubapi.LabelCluster: made, clusterv1.ClusterNameLabel: cluster}
		for key, value := range all {
			if value == "" {
				delete(all, key)
			}
		}
		return all
	}
	deployment, secret, settings := hubapi.KindClusterDeployment, hubapi.KindSecret, hubapi.KindConfigMap
	for name, test := range map[string]struct {
		noted   string
		refused bool // since the name was taken
		objects []client.Object
		deleted []string
	}{
		"nothing was made":                {},
		"its name was taken":              {refused: true, objects: []client.Object{onHub(deployment, "ns", "lab", labels("lab", "lab"))}},
		"what is noted is elsewhere":      {noted: "other/lab", objects: []client.Object{onHub(deployment, "other", "lab", labels("lab", "lab"))}},
		"it is noted":                     {noted: "ns/noted", objects: []client.Object{onHub(deployment, "ns", "lab", labels("lab", "lab"))}, deleted: []string{"ns/noted"}},
		"its ClusterDeployment is there":  {objects: []client.Object{onHub(deployment, "ns", "lab", labels("lab", "lab"))}, deleted: []string{"ns/lab"}},
		"it is called otherwise":          {objects: []client.Object{onHub(deployment, "ns", "prod", labels("prod", "lab"))}, deleted: []string{"ns/prod"}},
		"no ClusterDeployment was made":   {objects: []client.Object{onHub(secret, "ns", "lab-pull", labels("lab", "lab"))}, deleted: []string{"ns/lab"}},
		"a ConfigMap alone was made":      {objects: []client.Object{onHub(settings, "ns", "lab-manifests", labels("lab", "lab"))}, deleted: []string{"ns/lab"}},
		"a kubeconfig is there":           {objects: []client.Object{onHub(secret, "ns", "lab-kubeconfig", labels("", "lab"))}},
		"another provider's":              {objects: []client.Object{onHub(deployment, "ns", "lab", labels("", "lab"))}},
		"somebody's who typed oaictl":     {objects: []client.Object{onHub(deployment, "ns", "lab", labels("lab", ""))}},
		"another Cluster's":               {objects: []client.Object{onHub(deployment, "ns", "lab", labels("lab", "other"))}},
		"one in another namespace":        {objects: []client.Object{onHub(deployment, "elsewhere", "lab", labels("lab", "lab"))}},
		"somebody's, and a Secret of our": {objects: []client.Object{onHub(deployment, "ns", "lab", labels("lab", "")), onHub(secret, "ns", "lab-pull", labels("lab", "lab"))}},
	} {
		t.Run(name, func(t *testing.T) {
			service := &records{}
			s := deleting(service, true, test.objects...)
			if !test.refused {
				s.annotate(desired.AnnotationRun, "mark")
			}
			if test.noted != "" {
				s.annotate(desired.AnnotationClusterID, test.noted)
			}
			if err := s.deleteCluster(t.Context()); err != nil || !slices.Equal(service.deleted, test.deleted) {
				t.Errorf("deleted is %v, %v; it should be %v", service.deleted, err, test.deleted)
			}
		})
	}
}

// TestBrokenOffOverRESTIsDeleted: a record that carries the mark of the registration is the Cluster's, and none else.
func TestBrokenOffOverRESTIsDeleted(t *testing.T) {
	record := func(id, run string, owned bool) install.Cluster {
		return install.Cluster{ClusterRef: install.ClusterRef{ID: id, Name: "lab", BaseDomain: "example.com", Run: run, Owned: owned}}
	}
	all := []install.Cluster{record("by-hand", "", false), record("without", "", true), record("other", "other", true), record("ours", "mark", true)}
	for run, want := range map[string][]string{"": nil, "mark": {"ours"}, "unknown": nil} {
		service := &records{clusters: all}
		s := deleting(service, false)
		s.plane.ObjectMeta = metav1.ObjectMeta{Namespace: "ns", Name: "lab"}
		s.annotate(desired.AnnotationRun, run)
		if err := s.deleteCluster(t.Context()); err != nil || !slices.Equal(service.deleted, want) {
			t.Errorf("with the mark %q, deleted is %v, %v; it should be %v", run, service.deleted, err, want)
		}
	}
}
