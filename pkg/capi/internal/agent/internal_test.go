package agent

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/workloadclient"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent/pool"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestReadBootstrap takes Ignition that merges one config, of any version 3, and says what is wrong with
// any other.
func TestReadBootstrap(t *testing.T) {
	const one = `{"source": "https://[2001:db8::1]:443/pools/ignition", "httpHeaders": [{"name": "authorization", "value": "Bearer abc="}, {"name": "X", "value": "y"}]}`
	config := func(version, merge string) string {
		return `{"ignition": {"version": "` + version + `", "config": {"merge": [` + merge + `]}}}`
	}
	for _, version := range []string{"3.1.0", "3.2.0", "3.5.0"} {
		got, err := readBootstrap([]byte(config(version, one)))
		if err != nil || got.pool != "ignition" || got.token != "abc=" || len(got.headers) != 1 || got.headers["X"] != "y" {
			t.Errorf("version %s: %+v, %v", version, got, err)
		}
	}
	got, err := readBootstrap([]byte(config("3.2.0", `{"source": "https://fd00::1:30443/ignition"}`)))
	if err != nil || got.pool != "ignition" {
		t.Errorf("an IPv6 address without brackets: %+v, %v", got, err)
	}
	got, err = readBootstrap([]byte(config("3.2.0", `{"source": "https://ignition.example.com/"}`)))
	if err != nil || got.pool != "" || got.token != "" {
		t.Errorf("neither pool nor token: %+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"#cloud-config":                           "not a JSON object",
		config("2.2.0", one):                      `of version 3, but of version "2.2.0"`,
		config("3.2.0", one+","+one):              "2 configs to merge",
		config("3.2.0", ""):                       "0 configs to merge",
		config("3.2.0", `{"source": "data:,{}"}`): "no URL of a server",
		`{"ignition": {"version": "3.2.0"}}`:      "0 configs to merge",
		"":                                        "not a JSON object",
	} {
		if _, err := readBootstrap([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestIgnitionEndpointHasBrackets writes IPv6 addresses as URLs have them.
func TestIgnitionEndpointHasBrackets(t *testing.T) {
	for from, want := range map[string]string{
		"https://ignition.example.com/ignition":    "https://ignition.example.com",
		"https://192.0.2.1:30443/ignition":         "https://192.0.2.1:30443",
		"https://[2001:db8::1]:30443/ignition":     "https://[2001:db8::1]:30443",
		"https://2001:db8::1:30443/ignition":       "https://[2001:db8::1]:30443",
		"https://2001:db8::1/ignition":             "https://[2001:db8::1]",
		"https://2001:db8:0:0:0:0:0:1:443/a":       "https://[2001:db8:0:0:0:0:0:1]:443",
		"http://ignition.example.com:8080/a/b?c=d": "http://ignition.example.com:8080",
	} {
		got, err := ignitionEndpoint(&agentv1.IgnitionEndpoint{URL: from})
		if err != nil || got["url"] != want {
			t.Errorf("%s is %v (%v), want %s", from, got["url"], err, want)
		}
	}
	if got, err := ignitionEndpoint(&agentv1.IgnitionEndpoint{URL: "ignition.example.com"}); err == nil {
		t.Errorf("no URL is %v", got)
	}
}

// TestDrainIsSeenInAllConditions goes on at the hook, whichever version of Cluster API says that it is reached.
func TestDrainIsSeenInAllConditions(t *testing.T) {
	hooked := map[string]string{agentv1.PreTerminateHookAnnotation: ""}
	deleting := func(reason string) []metav1.Condition {
		return []metav1.Condition{{Type: clusterv1.MachineDeletingCondition, Status: metav1.ConditionTrue, Reason: reason}}
	}
	old := func(status corev1.ConditionStatus) clusterv1.MachineStatus {
		machine := clusterv1.Machine{}
		machine.SetV1Beta1Conditions([]clusterv1.Condition{{Type: clusterv1.PreTerminateDeleteHookSucceededV1Beta1Condition, Status: status}}) //nolint:staticcheck // some say it only there
		return machine.Status
	}
	for name, test := range map[string]struct {
		machine clusterv1.Machine
		drained bool
	}{
		"not yet":                  {clusterv1.Machine{}, false},
		"draining":                 {clusterv1.Machine{Status: clusterv1.MachineStatus{Conditions: deleting(clusterv1.MachineDeletingDrainingNodeReason)}}, false},
		"at the hook":              {clusterv1.Machine{Status: clusterv1.MachineStatus{Conditions: deleting(clusterv1.MachineDeletingWaitingForPreTerminateHookReason)}}, true},
		"at the hook, by time":     {clusterv1.Machine{Status: clusterv1.MachineStatus{Deletion: &clusterv1.MachineDeletionStatus{WaitForPreTerminateHookStartTime: metav1.NewTime(clock.Real().Now())}}}, true},
		"at the hook, as before":   {clusterv1.Machine{Status: old("False")}, true},
		"past the hook, as before": {clusterv1.Machine{Status: old("True")}, false},
	} {
		test.machine.Annotations = hooked
		if got := (&scope{machine: &test.machine}).isDrained(); got != test.drained {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !(&scope{machine: &clusterv1.Machine{}}).isDrained() {
		t.Error("a machine without the hook is waited for")
	}
}

// shown is the scope of a machine that is installed, with a plan.
func shown(plan model.Plan) *scope {
	s := &scope{
		MachineReconciler: &MachineReconciler{Pool: &HubPool{}, Recorder: events.NewFakeRecorder(100)},
		object:            &agentv1.AgentMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "infra"}},
		machine:           &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}},
		view:              &clusterloop.View{Look: install.Look{Plan: plan}},
		host: &pool.Host{
			NamespacedName: types.NamespacedName{Namespace: "ns", Name: "agent"}, State: model.HostInstalled, Installed: true, Hostname: "host-1",
			Addresses: []string{"192.0.2.1", "2001:db8::1"},
			Conditions: []metav1.Condition{
				{Type: hubapi.ConditionSpecSynced, Status: "True", Reason: "SyncOK"}, {Type: hubapi.ConditionValidated, Status: "True", Reason: "ValidationsPassing"},
				{Type: hubapi.ConditionRequirementsMet, Status: "True", Reason: "AgentInstallationStopped"}, {Type: hubapi.ConditionInstalled, Status: "True", Reason: "InstallationCompleted"},
			},
		},
	}
	s.isReserved()
	return s
}

// TestRequestsThatWaitForAPersonAreShown names the command that answers them, and the machine is not ready
// before.
func TestRequestsThatWaitForAPersonAreShown(t *testing.T) {
	s := shown(model.Plan{Blockers: []model.Blocker{
		{Scope: model.ScopeNode.Of("m"), Hosts: []string{"m"}, Reason: "CertificateRequestPending", Message: "somebody has to say", Remedy: "{approve m --allow-address m=192.0.2.9}"},
		{Scope: model.ScopeNode.Of("other"), Hosts: []string{"other"}, Reason: "CertificateRequestPending", Message: "of another machine"},
	}})
	s.show()
	s.summarize()
	const want = "somebody has to say: oaictl approve m --allow-address m=192.0.2.9"
	for kind, status := range map[string]metav1.ConditionStatus{agentv1.CertificateRequestPendingCondition: metav1.ConditionTrue, clusterv1.ReadyCondition: metav1.ConditionFalse} {
		if c := conditions.Get(s.object, kind); c.Status != status || c.Message != want {
			t.Errorf("%s is %s: %s", kind, c.Status, c.Message)
		}
	}
	s = shown(model.Plan{Waits: []model.Wait{{Scope: model.ScopeNode.Of("m"), Who: model.WhoUser, For: "somebody to approve", Next: "{approve m}"}}})
	s.show()
	if c := conditions.Get(s.object, agentv1.CertificateRequestPendingCondition); c.Message != "waiting for somebody to approve: oaictl approve m" {
		t.Errorf("%+v", c)
	}
}

// TestReadyRegressesAloud sets Ready to false if a machine that was installed is not well any more, reports that on the
// Machine, and keeps the record that it was handed over.
func TestReadyRegressesAloud(t *testing.T) {
	s := shown(model.Plan{})
	s.show()
	s.summarize()
	if c := conditions.Get(s.object, clusterv1.ReadyCondition); c.Status != metav1.ConditionTrue {
		t.Fatalf("%+v", c)
	}
	before := s.object.DeepCopy()
	s.host.Installed, s.host.State = false, model.HostFailed
	s.host.Conditions[3] = metav1.Condition{Type: hubapi.ConditionInstalled, Status: "False", Reason: "InstallationFailed", Message: "the disk broke"}
	s.show()
	s.summarize()
	s.report(before)
	c := conditions.Get(s.object, clusterv1.ReadyCondition)
	if c.Status != metav1.ConditionFalse || c.Message != "the disk broke" || !ptr.Deref(s.object.Status.Initialization.Provisioned, false) {
		t.Errorf("%+v, provisioned %v", c, s.object.Status.Initialization.Provisioned)
	}
	told := s.Recorder.(*events.FakeRecorder).Events
	if len(told) < 2 {
		t.Fatalf("%d events", len(told))
	}
	for range 2 {
		if line := <-told; !strings.Contains(line, "Warning InstallationFailed") || !strings.Contains(line, "the disk broke") {
			t.Errorf("%s", line)
		}
	}
}

// TestLongMessagesAreCut: an API server refuses the whole status if one message is too long.
func TestLongMessagesAreCut(t *testing.T) {
	const most = 32768 // as the kinds have it
	long := strings.Repeat("the disk is too small; ", 2000)
	s := shown(model.Plan{})
	s.host.Conditions[1] = metav1.Condition{Type: hubapi.ConditionValidated, Status: "True", Reason: "ValidationsPassing", Message: long}
	s.show()
	s.nodeTrouble(long)
	s.summarize()
	of := &clusterScope{object: &agentv1.AgentCluster{}, cluster: &clusterv1.Cluster{}}
	of.set(agentv1.ClusterDeploymentReadyCondition, metav1.ConditionFalse, reasonForeign, long)
	of.summarize()
	cut := 0
	for _, c := range append(s.object.Status.Conditions, of.object.Status.Conditions...) {
		switch {
		case len(c.Message) > most:
			t.Errorf("%s has %d bytes", c.Type, len(c.Message))
		case strings.HasSuffix(c.Message, "…"):
			cut++
		}
	}
	if cut != 3 {
		t.Errorf("%d messages are cut", cut)
	}
}

// TestAddressesOfBothFamilies has a machine's names and addresses, for IPv4 and IPv6.
func TestAddressesOfBothFamilies(t *testing.T) {
	got := addressesOf(&pool.Host{Hostname: "host-1", Addresses: []string{"192.0.2.1", "2001:db8::1"}})
	want := []clusterv1.MachineAddress{
		{Type: clusterv1.MachineHostName, Address: "host-1"}, {Type: clusterv1.MachineInternalIP, Address: "192.0.2.1"},
		{Type: clusterv1.MachineInternalIP, Address: "2001:db8::1"}, {Type: clusterv1.MachineInternalDNS, Address: "host-1"},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

// TestHostOfAnotherClusterIsNotReserved: whether an Agent is bound elsewhere is checked when it is written to.
func TestHostOfAnotherClusterIsNotReserved(t *testing.T) {
	u := newAgent()
	u.SetNamespace("ns")
	u.SetName("agent")
	if err := unstructured.SetNestedMap(u.Object, map[string]any{"namespace": "other", "name": "lab"}, "spec", "clusterDeploymentName"); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithObjects(u).Build()
	p := &HubPool{Client: c, Live: c, Clock: clock.Real()}
	host, me := types.NamespacedName{Namespace: "ns", Name: "agent"}, types.NamespacedName{Namespace: "ns", Name: "m"}
	is := func(cluster string) func(*pool.Host) bool {
		return func(h *pool.Host) bool { return h.Cluster == cluster }
	}
	if err := p.Reserve(t.Context(), host, me, is("ns/lab")); !errors.Is(err, errTaken) {
		t.Errorf("another cluster's: %v", err)
	}
	if now, err := p.UncachedHost(t.Context(), "ns", host, ""); err != nil || now.Reserved {
		t.Errorf("%+v, %v", now, err)
	}
	if err := p.Reserve(t.Context(), host, me, is("other/lab")); err != nil {
		t.Errorf("the machine's own cluster's: %v", err)
	}
}

// TestChecksAreLeftOut: a pool does not read the checks of an Agent, which others read of the same object.
func TestChecksAreLeftOut(t *testing.T) {
	u := newAgent()
	u.Object["status"] = map[string]any{"validationsInfo": `{"hardware":[]}`, "role": "worker"}
	want := map[string]any{"role": "worker"}
	if got := withoutChecks(u); !reflect.DeepEqual(got.Object["status"], want) || got.GetKind() != u.GetKind() {
		t.Errorf("read is %v", got.Object)
	}
	if text, _, _ := unstructured.NestedString(u.Object, "status", "validationsInfo"); text == "" {
		t.Error("they are gone for others, too")
	}
	if bare := newAgent(); withoutChecks(bare) != bare {
		t.Error("an Agent without any is copied")
	}
}

// TestAgentFollowsItsBootstrapData: what the data do not say any more of how a machine is let in goes from its Agent.
func TestAgentFollowsItsBootstrapData(t *testing.T) {
	u := newAgent()
	u.SetNamespace("ns")
	u.SetName("agent")
	putOwner(u, types.NamespacedName{Namespace: "ns", Name: "infra"})
	before := map[string]any{
		"hostname": "host-1", fieldPool: "old", fieldToken: map[string]any{"name": "agent-data", "namespace": "ns"}, fieldHeaders: map[string]any{"X": "y"},
	}
	if err := unstructured.SetNestedMap(u.Object, before, "spec"); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithObjects(u).Build()
	hub, s := &HubPool{Client: c, Live: c, Clock: clock.Real()}, shown(model.Plan{})
	s.infra = &agentv1.AgentCluster{Status: agentv1.AgentClusterStatus{ClusterDeploymentRef: agentv1.ClusterDeploymentReference{Namespace: "ns", Name: "hc"}}}
	if err := s.attach(t.Context(), hub, bootstrapData{pool: "new"}); err != nil {
		t.Fatal(err)
	}
	now, err := read(t.Context(), c, types.NamespacedName{Namespace: "ns", Name: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"hostname": "host-1", fieldPool: "new", fieldDeployment: map[string]any{"namespace": "ns", "name": "hc"}}
	if got, _, _ := unstructured.NestedMap(now.Object, "spec"); !reflect.DeepEqual(got, want) {
		t.Errorf("its spec is %v", got)
	}
}

// TestClientsOfClustersThatAreGoneAreDropped, and no others.
func TestClientsOfClustersThatAreGoneAreDropped(t *testing.T) {
	gone, there := clusterloop.Key{Namespace: "ns", Name: "gone"}, clusterloop.Key{Namespace: "ns", Name: "there"}
	r := &MachineReconciler{}
	get := func(of clusterloop.Key) *workloadclient.Client {
		c, err := r.workloads.Get(of, []byte(`{current-context: a, contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: "https://a"}}]}`), workloadclient.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	ofGone, ofThere := get(gone), get(there)
	r.forgetCluster(t.Context(), event.DeleteEvent{Object: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gone"}}}, nil)
	if get(gone) == ofGone || get(there) != ofThere {
		t.Error("the wrong client is kept")
	}
}

// TestDeletionOfAHostedClusterSaysWhatItWaitsFor: the ClusterDeployment, by its finalizers.
func TestDeletionOfAHostedClusterSaysWhatItWaitsFor(t *testing.T) {
	deployment := &unstructured.Unstructured{}
	deployment.SetGroupVersionKind(hubapi.GroupVersionKind(hubapi.KindClusterDeployment))
	deployment.SetNamespace("ns")
	deployment.SetName("hc")
	deployment.SetLabels(map[string]string{labelAgentCluster: "hc"})
	deployment.SetFinalizers([]string{"hive.openshift.io/deprovision"})
	infra := &agentv1.AgentCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "hc", Finalizers: []string{agentv1.AgentClusterFinalizer}, DeletionTimestamp: ptr.To(metav1.Now())},
		Status:     agentv1.AgentClusterStatus{ClusterDeploymentRef: agentv1.ClusterDeploymentReference{Namespace: "ns", Name: "hc"}},
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(agentv1.AddToScheme(scheme), clusterv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(infra, deployment).WithStatusSubresource(infra).Build()
	r := &ClusterReconciler{Client: c, Live: c, Pool: &HubPool{Client: c, Live: c, Clock: clock.Real()}}
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(infra)})
	if err != nil || result.RequeueAfter == 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(infra), infra); err != nil {
		t.Fatal(err)
	}
	const want = "waiting for ClusterDeployment hc (finalizers: hive.openshift.io/deprovision) to be removed by the controllers that set these finalizers"
	if got := conditions.GetMessage(infra, clusterv1.DeletingCondition); got != want {
		t.Errorf("it says %q", got)
	}
}

// TestBlockersOfTheHostAreShown shows what blocks a host, with what to do about it.
func TestBlockersOfTheHostAreShown(t *testing.T) {
	s := shown(model.Plan{Blockers: []model.Blocker{{Scope: model.ScopeCluster, Hosts: []string{"m", "other"}, Message: "two hosts have one name", Remedy: "rename one"}}})
	s.host.Installed, s.host.State = false, model.HostBlocked
	s.show()
	if c := conditions.Get(s.object, agentv1.AgentValidatedCondition); c.Status != metav1.ConditionFalse || c.Message != "two hosts have one name: rename one" {
		t.Errorf("%+v", c)
	}
	if ptr.Deref(s.object.Status.Initialization.Provisioned, false) {
		t.Error("it is handed over")
	}
}
