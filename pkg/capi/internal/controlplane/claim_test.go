package controlplane

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/recordmark"
	"github.com/oaictl/oaictl/pkg/capi/internal/status"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestClustersOfOthersAreNotTaken: on a hub a control plane has no cluster before it is known that no other owner has
// one of its name there, and none in another namespace, even if its annotations name one.
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
			plane.Annotations[clusterspec.AnnotationRun] = run
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
		"somebody has one":         {there: []client.Object{deployment}, says: "there already is a ClusterDeployment ns/edge"},
		"somebody is to have one":  {there: []client.Object{named("other", "abc")}, says: "control plane other of this namespace already has a cluster with the name edge"},
		"who has asked first":      {there: []client.Object{named("other", "")}, marks: true},
		"it is taken over":         {there: []client.Object{deployment}, id: "ns/edge"},
		"it is another namespaces": {there: []client.Object{elsewhere}, id: "other/edge", says: "names other/edge"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := observed()
			s.plane = named("lab", "")
			if test.id != "" {
				s.plane.Annotations[clusterspec.AnnotationClusterID] = test.id
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
			s.client, s.Reconciler = c, &Reconciler{Live: c, OnHub: true}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(s.plane), s.plane); err != nil {
				t.Fatal(err)
			}
			switch noted, err := s.registration().claim(t.Context()); {
			case noted != test.marks:
				t.Errorf("it is noted: %t", noted)
			case test.says == "" && err != nil:
				t.Error(err)
			case test.says != "" && (!clusterloop.IsRefusal(err) || !strings.Contains(err.Error(), test.says)):
				t.Errorf("it says %v", err)
			case test.says != "" && test.id == "" && s.recheck == 0:
				t.Error("nobody tells it that the name is free")
			}
			now := &controlplanev1.OpenshiftAssistedControlPlane{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(s.plane), now); err != nil {
				t.Fatal(err)
			}
			if (now.Annotations[clusterspec.AnnotationRun] != "") != test.marks {
				t.Errorf("its annotations are %v", now.Annotations)
			}
		})
	}
}

// TestOneOfTwoHasTheName: of two control planes that ask for one name at once, one has it, however old the cache is.
func TestOneOfTwoHasTheName(t *testing.T) {
	scheme := kindsOf(t)
	var planes []client.Object
	for _, name := range []string{"one", "two"} {
		plane := &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
		plane.Spec.Config.ClusterName = "edge"
		planes = append(planes, plane)
	}
	live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(planes...).Build()
	cached := interceptor.NewClient(live, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return nil // of a moment ago, when there were none
	}})
	reads := interceptor.NewClient(live, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if _, is := list.(*controlplanev1.OpenshiftAssistedControlPlaneList); is {
			return c.List(ctx, list, options...)
		}
		return nil // no ClusterDeployment
	}})
	r := &Reconciler{Client: cached, Live: reads, OnHub: true}
	var noted atomic.Int32
	var both sync.WaitGroup
	for _, o := range planes {
		both.Go(func() {
			s := r.scope(&controlplanev1.OpenshiftAssistedControlPlane{}, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: o.GetName()}})
			if err := live.Get(t.Context(), client.ObjectKeyFromObject(o), s.plane); err != nil {
				t.Error(err)
			}
			if is, _ := s.registration().claim(t.Context()); is {
				noted.Add(1)
			}
		})
	}
	both.Wait()
	if noted.Load() != 1 {
		t.Errorf("%d have the name", noted.Load())
	}
}

// unregistered is a service that knows no cluster.
type unregistered struct{ install.Backend }

func (unregistered) Observe(context.Context, model.Query, *model.Observed) (*model.Observed, error) {
	return &model.Observed{At: clock.Real().Now()}, nil
}

// TestKeyThatCouldNotBeMade: where the key could not be written by which the record is known, nothing is registered, and it is
// tried again.
func TestKeyThatCouldNotBeMade(t *testing.T) {
	env := spec.Env{LookupEnv: func(string) (string, bool) { return `{"auths":{"quay.io":{"auth":"dTpw"}}}`, true }}
	wanted, err := spec.Parse(t.Context(), "cluster.yaml", []byte(`
apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec: {openshift: {version: 4.20.1}, baseDomain: example.com, pullSecret: {env: PULL}, acceptUnknownHosts: true, network: {vips: {api: [192.168.127.100], ingress: [192.168.127.101]}}}
`), env)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := observed()
	s.client = interceptor.NewClient(fake.NewClientBuilder().WithScheme(kindsOf(t)).WithObjects(s.plane).Build(), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return errors.New("failed calling webhook")
		},
	})
	s.Keys = &recordmark.Keys{Cached: s.client, Live: s.client}
	s.installations = clusterloop.New(clusterloop.Config{
		Connect: func(string) (install.Backend, error) { return unregistered{}, nil }, Clock: clock.Real(),
		Desire: func(context.Context, clusterloop.Key, *model.Observed) (*model.Desired, error) {
			return &model.Desired{Spec: wanted}, nil
		},
	})
	if err := s.installation().install(t.Context()); err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
		t.Errorf("it says %v", err)
	}
}

// records is a service that has clusters, and records which are deleted.
type records struct {
	install.Backend

	clusters []model.Cluster
	deleted  []string
	refuses  error // to delete any
}

func (r *records) ListClusters(context.Context) ([]model.Cluster, error) { return r.clusters, nil }

func (r *records) DeleteCluster(_ context.Context, id string, _ install.DeleteOptions) error {
	r.deleted = append(r.deleted, id)
	return r.refuses
}

// deleting is a control plane whose cluster is to be deleted from a service.
func deleting(t *testing.T, service *records, onHub bool, objects ...client.Object) *scope {
	t.Helper()
	s, _ := observed()
	s.OnHub = onHub
	c := fake.NewClientBuilder().WithScheme(kindsOf(t)).WithObjects(objects...).Build()
	s.client, s.Live, s.Keys = c, c, &recordmark.Keys{Cached: c, Live: c}
	s.installations = clusterloop.New(clusterloop.Config{Connect: func(string) (install.Backend, error) { return service, nil }, Clock: clock.Real()})
	s.Installations = s.installations
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

// TestBrokenOffOnHubIsDeleted: the objects of a registration that was interrupted before the cluster was known are
// deleted with its Cluster, if they carry our label and the Cluster's, and nothing else is.
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
		since   int  // how many hours after the objects the control plane was made
		objects []client.Object
		deleted []string
	}{
		"nothing was made":                {},
		"its name was taken":              {refused: true, objects: []client.Object{onHub(deployment, "ns", "lab", labels("lab", "lab"))}},
		"what is noted is elsewhere":      {noted: "other/lab", objects: []client.Object{onHub(deployment, "other", "lab", labels("lab", "lab"))}},
		"it is noted":                     {noted: "ns/noted", objects: []client.Object{onHub(deployment, "ns", "lab", labels("lab", "lab"))}, deleted: []string{"ns/noted"}},
		"it is of one that moved away":    {since: 1, objects: []client.Object{onHub(deployment, "ns", "lab", labels("lab", "lab"))}},
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
			s := deleting(t, service, true, test.objects...)
			s.plane.CreationTimestamp = metav1.NewTime(s.plane.CreationTimestamp.Add(time.Duration(test.since) * time.Hour))
			if !test.refused {
				s.annotate(clusterspec.AnnotationRun, "mark")
			}
			if test.noted != "" {
				s.annotate(clusterspec.AnnotationClusterID, test.noted)
			}
			if err := s.deletion().deleteCluster(t.Context()); err != nil || !slices.Equal(service.deleted, test.deleted) {
				t.Errorf("deleted is %v, %v; it should be %v", service.deleted, err, test.deleted)
			}
		})
	}
}

// TestDeletionThatIsRefused: a control plane stays while its cluster is there and is not deleted, with what to do about
// it; a cluster that is not found holds nothing up.
func TestDeletionThatIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		refuses error
		says    string // "" where nothing holds it up
	}{
		"it is gone":                {refuses: &model.Fault{Code: model.CodeNotFound, Status: 404, Permanent: true, Err: errors.New("there is none")}},
		"somebody has protected it": {refuses: &model.Fault{Code: model.CodeFailure, Permanent: true, Err: errors.New("it is protected"), Next: "kubectl annotate it"}, says: "it is protected: kubectl annotate it"},
	} {
		t.Run(name, func(t *testing.T) {
			s := deleting(t, &records{refuses: test.refuses}, true)
			s.Workloads, s.Status = &Workloads{}, status.New(clock.Real())
			s.annotate(clusterspec.AnnotationClusterID, "ns/lab")
			if _, err := s.delete(t.Context()); (err == nil) != (test.says == "") {
				t.Errorf("it ends with %v", err)
			}
			if says := conditions.GetMessage(s.plane, clusterv1.DeletingCondition); !strings.HasSuffix(says, test.says) || (says == "") != (test.says == "") {
				t.Errorf("it says %q", says)
			}
		})
	}
}

// TestRecordsOfTheClusterAreDeleted: over REST a record that carries the mark of the Cluster is the Cluster's, or one
// with the mark of an earlier release. An annotation alone does not make another record its own. If there is a record
// with the annotated id, and it does not carry the mark, the control plane stays, and says what to do.
func TestRecordsOfTheClusterAreDeleted(t *testing.T) {
	record := func(id, run string, owned bool) model.Cluster {
		return model.Cluster{ClusterRef: model.ClusterRef{ID: id, Name: "lab", BaseDomain: "example.com", Run: run, Owned: owned}}
	}
	const former, person, other = "abcdefghijkl", "0123456789ab", "capi_other"
	for name, test := range map[string]struct {
		run, id string // noted
		key     bool   // is there
		deleted []string
		says    string
	}{
		"nothing":                          {},
		"a key":                            {key: true, deleted: []string{"ours"}},
		"a key, and the id of its record":  {key: true, id: "ours", deleted: []string{"ours"}},
		"a key, and the id of another one": {key: true, id: "other", deleted: []string{"ours"}},
		"the mark of an earlier release":   {run: former, id: "former", deleted: []string{"former"}},
		"the mark of a person's run":       {run: person},
		"the mark of another Cluster":      {run: other},
		"the id of a person's cluster":     {id: "person", says: "the service's cluster person does not have the mark of Cluster ns/lab, and is not changed"},
		"the id of another Cluster's":      {id: "other", says: "restore Secret lab-oaictl-key from a backup"},
		"an id that is not there":          {id: "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			service := &records{clusters: []model.Cluster{
				record("by-hand", "", false), record("without", "", true), record("person", person, true), record("other", other, true), record("former", former, true),
			}}
			s := deleting(t, service, false)
			s.plane.ObjectMeta = metav1.ObjectMeta{Namespace: "ns", Name: "lab"}
			if test.key {
				if err := s.Keys.Make(t.Context(), s.client, s.cluster); err != nil {
					t.Fatal(err)
				}
				mark, err := s.Keys.Mark(t.Context(), s.cluster)
				if err != nil {
					t.Fatal(err)
				}
				service.clusters = append(service.clusters, record("ours", mark, true))
			}
			s.annotate(clusterspec.AnnotationRun, test.run)
			s.annotate(clusterspec.AnnotationClusterID, test.id)
			err := s.deletion().deleteCluster(t.Context())
			if !slices.Equal(service.deleted, test.deleted) {
				t.Errorf("deleted is %v; it should be %v", service.deleted, test.deleted)
			}
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("it says %v", err)
			}
			secret := &corev1.Secret{}
			if left := s.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "lab-oaictl-key"}, secret); err == nil && !apierrors.IsNotFound(left) {
				t.Errorf("the key is left: %v", left)
			}
		})
	}
}

// TestClusterOfACopyStays: a cluster that another control plane notes for its own is not deleted with this one, unless both
// are deleted.
func TestClusterOfACopyStays(t *testing.T) {
	other := func(namespace, key, value string) *controlplanev1.OpenshiftAssistedControlPlane {
		return &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "other", Annotations: map[string]string{key: value}}}
	}
	leaving := other("ns", clusterspec.AnnotationClusterID, "ns/lab")
	leaving.DeletionTimestamp, leaving.Finalizers = &metav1.Time{Time: clock.Real().Now()}, []string{controlplanev1.ControlPlaneFinalizer}
	for name, test := range map[string]struct {
		other   *controlplanev1.OpenshiftAssistedControlPlane
		onHub   bool
		stays   bool
		unnoted bool // the id is not noted yet
	}{
		"another one's":                          {other: other("ns", clusterspec.AnnotationClusterID, "ns/other"), onHub: true},
		"of its id":                              {other: other("ns", clusterspec.AnnotationClusterID, "ns/lab"), onHub: true, stays: true},
		"of its id, and is deleted, too":         {other: leaving, onHub: true},
		"of its id over REST":                    {other: other("ns", clusterspec.AnnotationClusterID, "ns/lab"), stays: true},
		"of its mark over REST":                  {other: other("ns", clusterspec.AnnotationRun, "abcdefghijkl"), stays: true},
		"of its mark, and no id is known so far": {other: other("ns", clusterspec.AnnotationRun, "abcdefghijkl"), unnoted: true, stays: true},
		"of its id, in another namespace":        {other: other("elsewhere", clusterspec.AnnotationClusterID, "ns/lab")},
		"of its mark, in another namespace":      {other: other("elsewhere", clusterspec.AnnotationRun, "abcdefghijkl")},
	} {
		t.Run(name, func(t *testing.T) {
			service := &records{clusters: []model.Cluster{{ClusterRef: model.ClusterRef{ID: "ns/lab", Name: "lab", Run: "abcdefghijkl", Owned: true}}}}
			s := deleting(t, service, test.onHub, test.other)
			s.annotate(clusterspec.AnnotationRun, "abcdefghijkl")
			if !test.unnoted {
				s.annotate(clusterspec.AnnotationClusterID, "ns/lab")
			}
			if err := s.deletion().deleteCluster(t.Context()); err != nil || (len(service.deleted) == 0) != test.stays {
				t.Errorf("deleted is %v, %v", service.deleted, err)
			}
		})
	}
}
