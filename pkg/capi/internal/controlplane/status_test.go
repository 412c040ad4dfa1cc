package controlplane

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blang/semver/v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/version"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/workloadclient"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/controlplane/lifecycle"
	"github.com/oaictl/oaictl/pkg/capi/internal/status"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/upgrade"
)

// observed is a control plane that wants 4.21.0 with v1.34.1, and what is observed of its cluster, whose control plane
// is on the way there from 4.20.32.
func observed() (*scope, *model.Spoke) {
	plane := &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab"}}
	plane.Spec.Version, plane.Spec.DistributionVersion, plane.Spec.Replicas = "v1.34.1", "4.21.0", ptr.To[int32](3)
	node := func(name, role, version string) model.Node {
		return model.Node{Name: name, Roles: []string{role}, Ready: true, Version: version}
	}
	spoke := &model.Spoke{
		Version:   "4.20.32",
		Nodes:     []model.Node{node("a", "master", "v1.34.1+abc"), node("b", "control-plane", "v1.33.9"), node("c", "master", "v1.34.1+abc"), node("w", "worker", "v1.32.1")},
		Operators: []model.ClusterOperator{{Name: "kube-apiserver", Available: true}, {Name: "etcd", Available: true}, {Name: "console", Message: "is down"}},
	}
	view := &clusterloop.View{Look: install.Look{Observed: &model.Observed{Cluster: &model.Cluster{State: model.ClusterAddingHosts}, Spoke: spoke}}}
	s := (&Reconciler{}).scope(plane, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab"}})
	s.view = view
	return s, spoke
}

// TestVersionsAreThoseThatRun: they are what the nodes of the control plane run, the oldest first, and never what is
// wanted; they are empty before there is a cluster, and they stay while it is not reached.
func TestVersionsAreThoseThatRun(t *testing.T) {
	s, spoke := observed()
	cluster := s.view.Observed.Cluster
	for _, state := range []model.ClusterState{model.ClusterReady, model.ClusterInstalling, model.ClusterFinalizing, model.ClusterFailed} {
		cluster.State = state
		if s.statusReport().show(); len(s.plane.Status.Versions) > 0 || s.plane.Status.Version != "" || s.plane.Status.DistributionVersion != "" {
			t.Errorf("%s: %+v", state, s.plane.Status)
		}
	}
	cluster.State = model.ClusterInstalled
	mixed := []clusterv1.StatusVersion{{Version: "v1.33.9", Replicas: 1}, {Version: "v1.34.1+abc", Replicas: 2}}
	is := func(version, distribution string, want ...clusterv1.StatusVersion) {
		t.Helper()
		s.statusReport().show()
		if status := &s.plane.Status; !slices.Equal(status.Versions, want) || status.Version != version || status.DistributionVersion != distribution {
			t.Errorf("the status says %+v, %s, %s", status.Versions, status.Version, status.DistributionVersion)
		}
	}
	is("v1.33.9", "4.20.32", mixed...)
	nodes := spoke.Nodes
	spoke.Trouble, spoke.Nodes = "it is not reached", nil
	is("v1.33.9", "4.20.32", mixed...)
	spoke.Trouble, spoke.Nodes, spoke.Version = "", nodes, "4.21.0"
	nodes[1].Version = "v1.9.0" // which is older, and no smaller text
	is("v1.9.0", "4.21.0", clusterv1.StatusVersion{Version: "v1.9.0", Replicas: 1}, clusterv1.StatusVersion{Version: "v1.34.1+abc", Replicas: 2})
	nodes[1].Version = "v1.34.1+abc"
	is("v1.34.1+abc", "4.21.0", clusterv1.StatusVersion{Version: "v1.34.1+abc", Replicas: 3})
}

// TestVersionsAreInOrder: Cluster API takes no versions that are not in its order, in which numbers come before other
// commits, and nothing before both.
func TestVersionsAreInOrder(t *testing.T) {
	want := []string{"v1.9.7", "v1.34.1", "v1.34.1+0012345", "v1.34.1+7000000", "v1.34.1+6ec2f6f", "v1.34.1+abcdef0", "v1.34.2"}
	for range 20 {
		s, _ := observed()
		counts := map[string]int32{}
		for _, text := range want {
			counts[text] = 1
		}
		s.statusReport().showVersions(counts)
		var got []string
		for i, v := range s.plane.Status.Versions {
			got = append(got, v.Version)
			if i > 0 && version.Compare(semver.MustParse(v.Version[1:]), semver.MustParse(got[i-1][1:]), version.WithBuildTags()) < 0 {
				t.Errorf("Cluster API would not take %s after %s", v.Version, got[i-1])
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("the versions are %v", got)
		}
	}
}

// TestAvailableWhileItWorks: what is degraded and works is available, and what is not says why.
func TestAvailableWhileItWorks(t *testing.T) {
	for name, test := range map[string]struct {
		change       func(*model.Spoke)
		is           metav1.ConditionStatus
		says         string // by Available where it is False, and else by EtcdClusterAvailable
		certificates bool
	}{
		"well, but for what is no part of it": {func(*model.Spoke) {}, metav1.ConditionTrue, "", true},
		"a member of etcd is dead, and its node": {func(s *model.Spoke) {
			s.Nodes[0].Ready, s.Operators[1].Degraded = false, true
			s.Etcd = &model.Etcd{Unhealthy: []string{"a"}, Message: "2 of 3 members are available, a is unhealthy"}
		}, metav1.ConditionTrue, "a is unhealthy", true},
		"etcd has no quorum": {func(s *model.Spoke) {
			s.Operators[1] = model.ClusterOperator{Name: "etcd", Message: "1 of 3 members are available"}
		}, metav1.ConditionFalse, "etcd: 1 of 3 members are available", true},
		"the API server is down": {func(s *model.Spoke) {
			s.Operators[0] = model.ClusterOperator{Name: "kube-apiserver", Message: "no revision"}
		}, metav1.ConditionFalse, "kube-apiserver: no revision", true},
		"no node is ready": {func(s *model.Spoke) {
			for i := range s.Nodes[:3] {
				s.Nodes[i].Ready = false
			}
		}, metav1.ConditionFalse, "no node of the control plane is Ready", true},
		"it is not reached": {func(s *model.Spoke) { s.Trouble = "it does not answer" }, metav1.ConditionFalse, "it does not answer", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, spoke := observed()
			test.change(spoke)
			s.statusReport().show()
			available, etcd := conditions.Get(s.plane, clusterv1.AvailableCondition), conditions.Get(s.plane, controlplanev1.EtcdClusterAvailableCondition)
			says := available
			if available.Status == metav1.ConditionTrue {
				says = etcd
			}
			if available.Status != test.is || !strings.Contains(says.Message, test.says) || test.says == "" && says.Message != "" {
				t.Errorf("%+v, %+v", available, etcd)
			}
			if got := conditions.IsTrue(s.plane, controlplanev1.CertificatesAvailableCondition); got != test.certificates {
				t.Errorf("certificates are available: %t", got)
			}
		})
	}
}

// TestCounts: Machines are counted by their conditions, and MachinesReady sums them up.
func TestCounts(t *testing.T) {
	s, _ := observed()
	s.statusReport().show()
	if c := conditions.Get(s.plane, clusterv1.MachinesReadyCondition); c == nil || c.Reason != clusterv1.NoReplicasReason {
		t.Errorf("without Machines it is %+v", c)
	}
	for _, kinds := range [][]string{
		{clusterv1.ReadyCondition, clusterv1.AvailableCondition, clusterv1.MachineUpToDateCondition}, {clusterv1.ReadyCondition, clusterv1.MachineUpToDateCondition}, {clusterv1.MachineUpToDateCondition},
	} {
		m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m-" + string(rune('a'+len(s.machines)))}}
		for _, kind := range []string{clusterv1.ReadyCondition, clusterv1.AvailableCondition, clusterv1.MachineUpToDateCondition} {
			status := metav1.ConditionFalse
			if slices.Contains(kinds, kind) {
				status = metav1.ConditionTrue
			}
			conditions.Set(m, metav1.Condition{Type: kind, Status: status, Reason: "Test", Message: "as it is"})
		}
		s.machines = append(s.machines, m)
	}
	s.statusReport().show()
	status := &s.plane.Status
	if *status.Replicas != 3 || *status.UpToDateReplicas != 3 || *status.ReadyReplicas != 2 || *status.AvailableReplicas != 1 {
		t.Errorf("counted are %d replicas, %d up to date, %d ready, %d available", *status.Replicas, *status.UpToDateReplicas, *status.ReadyReplicas, *status.AvailableReplicas)
	}
	if want := "cluster.x-k8s.io/cluster-name=lab,cluster.x-k8s.io/control-plane"; status.Selector != want {
		t.Errorf("the selector is %s", status.Selector)
	}
	if c := conditions.Get(s.plane, clusterv1.MachinesReadyCondition); c.Status != metav1.ConditionFalse || c.Reason != clusterv1.NotReadyReason || !strings.Contains(c.Message, "m-c") {
		t.Errorf("MachinesReady is %+v", c)
	}
}

// TestAnswers asks an API server whether it is ready.
func TestAnswers(t *testing.T) {
	code, asked := http.StatusInternalServerError, ""
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path
		w.WriteHeader(code)
		_, _ = w.Write([]byte("what it says"))
	}))
	kubeconfig := kubeconfigOf(t, server.URL, "admin", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	if err := NewReadyCheck(workloadclient.Connector{})(t.Context(), kubeconfig); err == nil || asked != "" || !strings.Contains(err.Error(), "--allow-endpoint") {
		t.Errorf("a loopback address is asked for %q: %v", asked, err)
	}
	answers := NewReadyCheck(loopback())
	if err := answers(t.Context(), kubeconfig); err == nil || asked != "/readyz" || !strings.HasSuffix(err.Error(), "/readyz answers 500 Internal Server Error") {
		t.Errorf("it is asked for %s while it is not ready: %v", asked, err)
	}
	code = http.StatusOK
	if err := answers(t.Context(), kubeconfig); err != nil {
		t.Error(err)
	}
	server.Close()
	if err := answers(t.Context(), kubeconfig); err == nil {
		t.Error("nobody is there")
	}
	if err := answers(t.Context(), []byte("{")); err == nil {
		t.Error("that is no kubeconfig")
	}
}

// TestAPIServerIsAskedAgain: an API server that does not answer is asked again after a while, and the reason is
// reported; once it has answered, it is not asked again.
func TestAPIServerIsAskedAgain(t *testing.T) {
	s, _ := observed()
	asked, answer := 0, errors.New("lookup api.lab.example.com: no such host")
	s.Reconciler = &Reconciler{Clock: clock.Real(), Recorder: &events.FakeRecorder{}, Answers: func(context.Context, []byte) error {
		asked++
		return answer
	}}
	initialize := func(again time.Duration, message string) {
		t.Helper()
		result, err := s.kubeconfigHandout().initialize(t.Context(), nil)
		if err != nil || result.RequeueAfter != again {
			t.Errorf("it is asked again in %s, %v", result.RequeueAfter, err)
		}
		if c := conditions.Get(s.plane, controlplanev1.InitializedCondition); !strings.Contains(c.Message, message) || (c.Status == metav1.ConditionTrue) != (answer == nil) {
			t.Errorf("it says %+v", c)
		}
	}
	initialize(20*time.Second, "does not answer yet: lookup api.lab.example.com: no such host")
	answer = nil
	initialize(0, "")
	initialize(0, "")
	if asked != 2 {
		t.Errorf("it was asked %d times", asked)
	}
}

// TestConflictsAreNobodysBusiness: a write that came too early is tried again, and is no reason of a condition, unlike
// the errors of the service.
func TestConflictsAreNobodysBusiness(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "openshiftassistedcontrolplanes"}, "lab", errors.New("the object has been modified"))
	for err, says := range map[error]string{fmt.Errorf("note it: %w", conflict): "", errors.New("the service is away"): "the service is away"} {
		s, _ := observed()
		s.view.Observed.Cluster.State = model.ClusterInstalling
		if got := s.installation().noView(err); !errors.Is(got, err) {
			t.Errorf("the error is %v", got)
		}
		if message := conditions.GetMessage(s.plane, clusterv1.AvailableCondition); message != says {
			t.Errorf("of %v it says %q", err, message)
		}
	}
}

// TestOnlyItsOwn: nothing of a control plane without the label of the manager is written, on any event.
func TestOnlyItsOwn(t *testing.T) {
	scheme := kindsOf(t)
	for label, own := range map[string]bool{"": false, "theirs": false, "ours": true} {
		cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab", UID: "cluster"}}
		plane := &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "lab", Labels: map[string]string{clusterv1.WatchLabel: label},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "lab", UID: "cluster"}},
		}}
		c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster, plane).WithStatusSubresource(plane).Build()
		r := &Reconciler{Client: c, Clock: clock.Real(), Recorder: events.NewFakeRecorder(10), Status: status.New(clock.Real()), WatchFilter: "ours"}
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(plane)}); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(plane), plane); err != nil {
			t.Fatal(err)
		}
		if written := len(plane.Finalizers) > 0 || len(plane.Status.Conditions) > 0; written != own {
			t.Errorf("with the label %q it was written to: %t", label, written)
		}
	}
}

// TestStatusOfMany: of hundreds of hosts, updates and Machines the status says no more than an API server takes.
func TestStatusOfMany(t *testing.T) {
	s, _ := observed()
	s.view.Observed.Cluster.State = model.ClusterBlocked
	var updates []upgrade.Update
	for i := range 300 {
		message := fmt.Sprintf("host-%d.rack.example.com: %s", i, strings.Repeat("its disk is too small. ", 10))
		s.view.Plan.Blockers = append(s.view.Plan.Blockers, model.Blocker{Message: message})
		s.machines = append(s.machines, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("m-%d", i)}})
		setOn(s.machines[i], clusterv1.MachineUpToDateCondition, metav1.ConditionFalse, clusterv1.MachineNotUpToDateReason, strings.Repeat(message, 1000))
		setOn(s.machines[i], clusterv1.MachineReadyCondition, metav1.ConditionFalse, clusterv1.NotReadyReason, strings.Repeat(message, 1000))
		updates = append(updates, upgrade.Update{Version: fmt.Sprintf("4.21.%d", 300-i), Recommended: true})
	}
	s.installation().showInstall()
	s.statusReport().show()
	s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, reasonMachinesDeleting, s.deletion().machinesLeft())
	for _, c := range append(s.machines[0].Status.Conditions, s.plane.Status.Conditions...) {
		if len(c.Message) > 32768 {
			t.Errorf("%s says %d bytes", c.Type, len(c.Message))
		}
	}
	if message := conditions.GetMessage(s.plane, clusterv1.AvailableCondition); !strings.Contains(message, "host-0.") || !strings.Contains(message, "host-1.") {
		t.Errorf("it says %q", message)
	}
	if got := newest(updates); len(got) != 100 || got[0] != "4.21.300" || got[99] != "4.21.201" {
		t.Errorf("%d updates from %s on", len(got), got[0])
	}
	if got := newest(append(updates[:2:2], upgrade.Update{Version: "4.20.1"})); !slices.Equal(got, []string{"4.21.300", "4.21.299"}) {
		t.Errorf("of few it says %v", got)
	}
}

// TestRecordDeletedWhileItInstalls: if a user deletes a cluster's record, the cluster does not install any more.
// Neither its conditions nor what its Machines wait for say that it does. A single look that does not show the record
// proves nothing.
func TestRecordDeletedWhileItInstalls(t *testing.T) {
	s, _ := observed()
	s.view.Observed.Cluster.State = model.ClusterInstalling
	s.installation().showInstall()
	s.view.Observed.Cluster = nil
	if s.installation().showInstall(); s.phase() != lifecycle.Installing || s.plane.Status.Installation.Percentage == nil {
		t.Errorf("after one look the phase is %d, and the status %+v", s.phase(), s.plane.Status.Installation)
	}
	s.view.Plan.Blockers = []model.Blocker{{Reason: model.ReasonClusterDeleted, Message: "somebody deleted the cluster meanwhile"}}
	if s.installation().showInstall(); s.phase() != lifecycle.Before || s.plane.Status.Installation.State != "" || s.plane.Status.Installation.Percentage != nil {
		t.Errorf("the phase is %d, and the status %+v", s.phase(), s.plane.Status.Installation)
	}
}

// moved is a clock that stands until it is moved.
type moved struct {
	clock.Clock

	now time.Time
}

func (m *moved) Now() time.Time { return m.now }

// TestTroubleIsWrittenSoon: the state of the installation is written at once, since webhooks read it; a blocker as soon
// as it has lasted for a moment; the progress of an installation or an upgrade only now and then.
func TestTroubleIsWrittenSoon(t *testing.T) {
	s, _ := observed()
	scheme := runtime.NewScheme()
	if err := controlplanev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s.plane.UID = "plane"
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(s.plane).WithStatusSubresource(s.plane).Build()
	now := &moved{Clock: clock.Real(), now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	s.client, s.Reconciler = c, &Reconciler{Clock: now, Status: status.New(now)}
	shown := func() controlplanev1.OpenshiftAssistedControlPlaneStatus {
		t.Helper()
		plane := &controlplanev1.OpenshiftAssistedControlPlane{}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(s.plane), plane); err != nil {
			t.Fatal(err)
		}
		return plane.Status
	}
	for name, test := range map[string]struct {
		change func(text string)
		now    bool // it is written at once
		soon   bool // it is written once it has stood
	}{
		"state":      {func(text string) { s.plane.Status.Installation.State = text }, true, true},
		"percentage": {func(text string) { s.plane.Status.Installation.Percentage = ptr.To(int32(len(text))) }, false, false},
		"blockers":   {func(text string) { s.notAvailable(controlplanev1.ControlPlaneInstallingReason, text) }, false, true},
		"an upgrade": {func(text string) {
			s.set(controlplanev1.UpgradeCompletedCondition, metav1.ConditionFalse, controlplanev1.UpgradeInProgressReason, text)
		}, false, false},
		"no upgrade": {func(text string) {
			s.set(controlplanev1.UpgradeCompletedCondition, metav1.ConditionFalse, "AdminAckRequired", text)
		}, false, true},
		"of Machines": {func(text string) {
			s.set(clusterv1.MachinesReadyCondition, metav1.ConditionFalse, clusterv1.NotReadyReason, text)
		}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			write := func() (written bool, again time.Duration) {
				t.Helper()
				s.was = shown()
				again, err := s.statusReport().writeStatus(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return !reflect.DeepEqual(shown(), s.was), again
			}
			test.change("one")
			now.now = now.now.Add(time.Hour)
			write()
			test.change("another")
			if written, again := write(); written != test.now || (again > 0) == test.now {
				t.Errorf("at once: %t, again in %s", written, again)
			}
			now.now = now.now.Add(30 * time.Second)
			if written, _ := write(); written != (test.soon && !test.now) {
				t.Errorf("soon: %t", written)
			}
		})
	}
}

// TestTroubleOfObjectsIsNotTheClusters: what is wrong with the objects of an installed cluster is reported beside the
// state of the cluster.
func TestTroubleOfObjectsIsNotTheClusters(t *testing.T) {
	s, spoke := observed()
	s.plane.Annotations = map[string]string{clusterspec.AnnotationOpenShiftID: "id"}
	s.installations = clusterloop.New(clusterloop.Config{})
	s.statusReport().showCluster(spoke)
	for err, reason := range map[error]string{
		&clusterloop.Refusal{Problems: []string{"its selector selects 0 NMStateConfigs"}}: ReasonInvalid,
		fmt.Errorf("read ConfigMap mirrors: %w", errors.New("it is not there")):           controlplanev1.ConfigurationNotReadReason,
	} {
		if got := s.installation().noView(err); (got == nil) != (reason == ReasonInvalid) {
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
	_ = moved.installation().noView(&clusterloop.Refusal{Problems: []string{"its kubeconfig is another cluster's"}})
	if c := conditions.Get(moved.plane, clusterv1.AvailableCondition); c == nil || c.Status != metav1.ConditionFalse || c.Message != "its kubeconfig is another cluster's" {
		t.Errorf("where it was not available, it is %+v", c)
	}
	away := errors.New("dial tcp: no route to host")
	for _, since := range []struct {
		ago  time.Duration
		want metav1.ConditionStatus
	}{{time.Minute, metav1.ConditionTrue}, {time.Hour, metav1.ConditionUnknown}} {
		for i := range s.plane.Status.Conditions {
			s.plane.Status.Conditions[i].LastTransitionTime = metav1.NewTime(clock.Real().Now().Add(-since.ago))
		}
		_ = s.installation().noView(away)
		if c := conditions.Get(s.plane, clusterv1.AvailableCondition); c.Status != since.want {
			t.Errorf("unseen for %s, Available is %+v", since.ago, c)
		}
	}
	s.statusReport().showCluster(spoke)
	if s.installation().showConfiguration(nil); !conditions.IsTrue(s.plane, controlplanev1.ConfigurationAcceptedCondition) {
		t.Error("it is not told that it is well again")
	}
}
