package controlplane

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/oaictl/oaictl/internal/shared/clock"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/status"
)

// kindsOf is a scheme of Clusters and control planes.
func kindsOf(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(kubescheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme), controlplanev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// TestChangesOfAvailableAreTold: a reconcile reports what has become of Available since the last one, as a warning
// where it was True, and nothing that stays.
func TestChangesOfAvailableAreTold(t *testing.T) {
	waits := "waiting for the infrastructure of Cluster lab"
	for name, test := range map[string]struct {
		was  *metav1.Condition
		told []string
	}{
		"nothing was said":  {nil, []string{"Normal ControlPlaneInstalling " + waits}},
		"it was available":  {&metav1.Condition{Status: metav1.ConditionTrue, Reason: clusterv1.AvailableReason}, []string{"Warning ControlPlaneInstalling " + waits}},
		"for other reasons": {&metav1.Condition{Status: metav1.ConditionFalse, Reason: "ClusterUnreachable"}, []string{"Normal ControlPlaneInstalling " + waits}},
		"other words only":  {&metav1.Condition{Status: metav1.ConditionFalse, Reason: controlplanev1.ControlPlaneInstallingReason, Message: "it begins"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab", UID: "cluster"}}
			plane := &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: "lab", UID: "plane",
				OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "lab", UID: "cluster"}},
			}}
			if test.was != nil {
				test.was.Type = clusterv1.AvailableCondition
				conditions.Set(plane, *test.was)
			}
			recorder := events.NewFakeRecorder(10)
			c := fake.NewClientBuilder().WithScheme(kindsOf(t)).WithObjects(cluster, plane).WithStatusSubresource(plane).Build()
			r := &Reconciler{Client: c, Clock: clock.Real(), Recorder: recorder, Status: status.New(clock.Real())}
			for range 2 { // the second one reports nothing
				if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(plane)}); err != nil {
					t.Fatal(err)
				}
			}
			close(recorder.Events)
			var told []string
			for e := range recorder.Events {
				told = append(told, e)
			}
			if !slices.Equal(told, test.told) {
				t.Errorf("it was told %q, and not %q", told, test.told)
			}
		})
	}
}

// TestAvailableSaysWhyThereAreNoMachines: once the infrastructure is there, Available no longer says that it is waited for,
// but what keeps the Machines from being made.
func TestAvailableSaysWhyThereAreNoMachines(t *testing.T) {
	plane := &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab", UID: "plane"}}
	plane.Spec.MachineTemplate.Spec.InfrastructureRef.Kind = "Machines" // which is no template's
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab", UID: "cluster"}}
	c := fake.NewClientBuilder().WithScheme(kindsOf(t)).WithObjects(cluster, plane).Build()
	set := clusterloop.New(clusterloop.Config{Clock: clock.Real()})
	s := (&Reconciler{Client: c, Live: c, Clock: clock.Real(), Installations: set}).scope(plane, cluster)
	if _, err := s.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	says := func() string { return conditions.GetMessage(plane, clusterv1.AvailableCondition) }
	if says() != "waiting for the infrastructure of Cluster lab" {
		t.Errorf("without infrastructure: %q", says())
	}
	cluster.Status.Initialization.InfrastructureProvisioned = new(true)
	cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "api.lab.example.com", Port: 6443}
	if _, err := s.reconcile(t.Context()); err == nil || says() != "the Machines of the control plane cannot be made: "+err.Error() {
		t.Errorf("with it: %q, %v", says(), err)
	}
}

// TestAvailabilityIsASentence: an event that Available has become True says what that means.
func TestAvailabilityIsASentence(t *testing.T) {
	recorder := events.NewFakeRecorder(1)
	s := (&Reconciler{Recorder: recorder}).scope(&controlplanev1.OpenshiftAssistedControlPlane{}, &clusterv1.Cluster{})
	s.set(clusterv1.AvailableCondition, metav1.ConditionTrue, clusterv1.AvailableReason, "")
	s.statusReport().report()
	if told := <-recorder.Events; told != "Normal Available the cluster is available" {
		t.Error(told)
	}
}

// TestStatusSurvivesNotes: the answer to writing an annotation of the control plane has the status of the API server,
// which must not replace the one that is being put together.
func TestStatusSurvivesNotes(t *testing.T) {
	s, _ := observed()
	s.plane.ResourceVersion = "7"
	stored := s.plane.DeepCopy()
	stored.APIVersion, stored.Kind = controlplanev1.GroupVersion().String(), "OpenshiftAssistedControlPlane"
	(&subject{plane: stored}).notAvailable("Old", "as it was")
	stored.Status.AvailableUpdates = []string{"4.20.1"}
	data, err := json.Marshal(stored)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(data)
	}))
	defer server.Close()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(controlplanev1.GroupVersion().WithKind("OpenshiftAssistedControlPlane"), meta.RESTScopeNamespace)
	if s.client, err = client.New(&rest.Config{Host: server.URL}, client.Options{Scheme: kindsOf(t), Mapper: mapper}); err != nil {
		t.Fatal(err)
	}
	s.plane.Status = *stored.Status.DeepCopy()
	s.notAvailable("New", "as it is")
	s.plane.Status.AvailableUpdates[0] = "4.20.2"
	want := s.plane.Status.DeepCopy()
	if err := s.machineMaker().noteMade(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if c := conditions.Get(s.plane, clusterv1.AvailableCondition); c.Reason != "New" || s.plane.Status.AvailableUpdates[0] != want.AvailableUpdates[0] {
		t.Errorf("the status is %+v, and not %+v", s.plane.Status, *want)
	}
}
