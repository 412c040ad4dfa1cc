package upgrade

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// object reads an object from YAML.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(text, "\t", "  ")))
	if err == nil {
		err = u.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return u
}

const theVersion = `
apiVersion: config.openshift.io/v1
kind: ClusterVersion
metadata: {name: version, generation: 4, resourceVersion: "999"}
spec:
  channel: stable-4.20
  clusterID: 5c1e2d5e-9a54-4a5c-8a60-2c8f7a5f3c11
  desiredUpdate: {version: 4.19.7, image: "quay.io/x@sha256:07", force: true, architecture: Multi, mode: Preflight, acceptRisks: [{name: Trouble}]}
status:
  observedGeneration: 4
  versionHash: x=
  desired: {version: 4.19.7, image: "quay.io/x@sha256:07", channels: [stable-4.19]}
  history:
  - {state: Completed, version: 4.19.7, image: "quay.io/x@sha256:07", startedTime: "2026-08-01T10:00:00Z", completionTime: "2026-08-01T11:00:00Z", verified: true}
  - {state: Partial, version: 4.19.6, image: "quay.io/x@sha256:06", startedTime: "2026-07-01T10:00:00Z", completionTime: "2026-08-01T10:00:00Z", verified: true}
  availableUpdates:
  - {version: 4.20.5, image: "quay.io/x@sha256:25", url: "https://example.com"}
  - {version: 4.19.9, image: "quay.io/x@sha256:09"}
  conditionalUpdates:
  - release: {version: 4.20.6, image: "quay.io/x@sha256:26"}
    risks:
    - {name: Trouble, message: It may break, url: "https://example.com/trouble", matchingRules: [{type: Always}]}
    - {name: Other, message: Not here, url: "https://example.com/other", conditions: [{type: Applies, status: "False"}]}
    conditions:
    - {type: Recommended, status: "False", reason: Trouble, message: It may break, lastTransitionTime: "2026-08-01T10:00:00Z"}
  conditions:
  - {type: Available, status: "True", message: Done applying 4.19.7, lastTransitionTime: "2026-08-01T11:00:00Z"}
  - {type: Failing, status: "False", lastTransitionTime: "2026-08-01T11:00:00Z"}
  - {type: Progressing, status: "False", message: Cluster version is 4.19.7, lastTransitionTime: "2026-08-01T11:00:00Z"}
`

const pools = `
- {apiVersion: machineconfiguration.openshift.io/v1, kind: MachineConfigPool, metadata: {name: worker}, spec: {paused: true, configuration: {name: rendered-worker-b}, nodeSelector: {matchLabels: {node-role.kubernetes.io/worker: ""}}}, status: {machineCount: 2, updatedMachineCount: 1, conditions: [{type: Degraded, status: "True", message: disk full}]}}
- {apiVersion: machineconfiguration.openshift.io/v1, kind: MachineConfigPool, metadata: {name: infra}, spec: {configuration: {name: rendered-infra-b}, nodeSelector: {matchLabels: {node-role.kubernetes.io/infra: ""}}}}
- {apiVersion: machineconfiguration.openshift.io/v1, kind: MachineConfigPool, metadata: {name: master}, spec: {configuration: {name: rendered-master-b}, nodeSelector: {matchLabels: {node-role.kubernetes.io/master: ""}}}}
`

func node(name, kubelet string, roles ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels(roles...), Annotations: map[string]string{
		configPrefix + "currentConfig": "a", configPrefix + "desiredConfig": "b", configPrefix + "state": configWorking, configPrefix + "reason": "r",
	}}}
	n.Status.NodeInfo.KubeletVersion = kubelet
	return n
}

// workload is a cluster that counts what is written to it.
type workload struct {
	dynamic.Interface

	writes []string
	fault  error // of reads
}

func labels(roles ...string) map[string]string {
	if len(roles) == 0 {
		return nil
	}
	found := map[string]string{}
	for _, role := range roles {
		found[rolePrefix+role] = ""
	}
	return found
}

// turn reads how a cluster stands, and writes what follows.
func turn(t *testing.T, c dynamic.Interface, want *Want) (Decision, error) {
	t.Helper()
	s := must.Get(Read(t.Context(), c, at(0), want))(t)
	d := s.Decide(want)
	return d, d.Write(t.Context(), c)
}

func newWorkload(t *testing.T, objects ...runtime.Object) *workload {
	t.Helper()
	scheme := runtime.NewScheme()
	must.Do(t, corev1.AddToScheme(scheme))
	api := fake.NewSimpleDynamicClientWithCustomListKinds(scheme, map[schema.GroupVersionResource]string{
		clusterVersions: "ClusterVersionList", configPools: "MachineConfigPoolList",
	}, objects...)
	w := &workload{Interface: api}
	api.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return w.fault != nil, nil, w.fault })
	api.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		switch a := a.(type) {
		case clienttesting.PatchAction:
			w.writes = append(w.writes, "patch "+a.GetName())
			return w.conflict(t, api.Tracker(), a)
		case clienttesting.CreateAction:
			w.writes = append(w.writes, "create "+a.GetResource().Resource)
		}
		return false, nil, nil
	})
	return w
}

// conflict refuses a patch of another version of an object, as an API server does.
func (w *workload) conflict(t *testing.T, objects clienttesting.ObjectTracker, a clienttesting.PatchAction) (bool, runtime.Object, error) {
	t.Helper()
	patch := &unstructured.Unstructured{}
	must.Do(t, json.Unmarshal(a.GetPatch(), &patch.Object))
	if patch.GetResourceVersion() == "" {
		return false, nil, nil
	}
	found, err := objects.Get(a.GetResource(), a.GetNamespace(), a.GetName())
	if err != nil {
		return true, nil, err
	}
	if is := found.(*unstructured.Unstructured).GetResourceVersion(); is != patch.GetResourceVersion() {
		return true, nil, apierrors.NewConflict(a.GetResource().GroupResource(), a.GetName(), fmt.Errorf("it is %s", is))
	}
	return false, nil, nil
}

func configMap(namespace, name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

func TestRead(t *testing.T) {
	var list []runtime.Object
	var found []unstructured.Unstructured
	must.Do(t, yaml.Unmarshal([]byte(pools), &found))
	for i := range found {
		list = append(list, &found[i])
	}
	list = append(list, object(t, theVersion),
		node("cp-0", "v1.32.8", "master", "control-plane", "worker"), node("w-1", "v1.32.8", "worker"), node("w-0", "v1.32.9", "worker", "infra"), node("x", "v1.32.9"),
		configMap(gateNamespace, gateName, map[string]string{"ack-4.19-b": "Agree to b", "ack-4.19-a": "", "ack-4.18-c": "Agree to c", "ack-4.19": "no gate", "other": "no gate"}),
		configMap(ackNamespace, ackName, map[string]string{"ack-4.19-b": "true", "ack-4.19-a": "yes"}))
	got := must.Get(Read(t.Context(), newWorkload(t, list...), at(0), &Want{Version: "4.20.5"}))(t)
	moment := func(text string) (c condition) { c.Since = fields{"t": text}.moment("t"); return c }
	august := moment("2026-08-01T11:00:00Z").Since
	config := model.NodeConfig{Current: "a", Desired: "b", State: configWorking, Reason: "r"}
	want := &State{
		At: at(0),
		version: &clusterVersion{
			ResourceVersion: got.version.ResourceVersion, Generation: 4, Observed: 4, Channel: "stable-4.20",
			Asked:  &desiredUpdate{Version: "4.19.7", Image: "quay.io/x@sha256:07", Architecture: "Multi", Mode: "Preflight", Force: true},
			Target: payload{"4.19.7", "quay.io/x@sha256:07"},
			History: []historyEntry{
				{payload: payload{"4.19.7", "quay.io/x@sha256:07"}, Completed: true, Started: moment("2026-08-01T10:00:00Z").Since},
				{payload: payload{"4.19.6", "quay.io/x@sha256:06"}, Started: moment("2026-07-01T10:00:00Z").Since},
			},
			Conditions: map[string]condition{
				"Available": {Status: "True", Message: "Done applying 4.19.7", Since: august}, "Failing": {Status: "False", Since: august},
				"Progressing": {Status: "False", Message: "Cluster version is 4.19.7", Since: august},
			},
			Available: []payload{{"4.20.5", "quay.io/x@sha256:25"}, {"4.19.9", "quay.io/x@sha256:09"}},
			Conditional: []conditional{{
				payload: payload{"4.20.6", "quay.io/x@sha256:26"}, Reason: "Trouble", Message: "It may break", Risks: []conditionalRisk{{"Trouble", "It may break", "https://example.com/trouble"}},
			}},
		},
		gates: []adminGate{{Name: "ack-4.19-a", Message: "ack-4.19-a"}, {Name: "ack-4.19-b", Message: "Agree to b", Acknowledged: true}},
		Pools: []model.Pool{
			{Name: "infra", Config: "rendered-infra-b", Labels: labels("infra")}, {Name: "master", Config: "rendered-master-b", Labels: labels("master")},
			{Name: "worker", Paused: true, Degraded: true, Message: "disk full", Config: "rendered-worker-b", Machines: 2, Updated: 1, Labels: labels("worker")},
		},
		Nodes: []model.Node{
			{Name: "cp-0", Version: "v1.32.8", Config: config, Labels: labels("master", "control-plane", "worker"), Roles: []string{"control-plane", "master", "worker"}},
			{Name: "w-0", Version: "v1.32.9", Config: config, Labels: labels("worker", "infra"), Roles: []string{"infra", "worker"}},
			{Name: "w-1", Version: "v1.32.8", Config: config, Labels: labels("worker"), Roles: []string{"worker"}}, {Name: "x", Version: "v1.32.9", Config: config},
		},
	}
	for name, pool := range map[string]string{"cp-0": "master", "w-0": "infra", "w-1": "worker"} {
		if p := got.PoolOf(got.Node(name)); p == nil || p.Name != pool {
			t.Errorf("%s is of pool %+v", name, p)
		}
	}
	if p := got.PoolOf(got.Node("x")); p != nil {
		t.Errorf("a node without a role is of pool %s", p.Name)
	}
	check.Same(t, want, got, cmp.AllowUnexported(State{}, historyEntry{}, conditional{}))
	if got.version.ResourceVersion == "" {
		t.Error("it has no resource version")
	}
	for _, version := range []string{"4.19.9", "4.19.7", "", "x"} {
		got, err := Read(t.Context(), newWorkload(t, list...), at(0), &Want{Version: version})
		if err != nil || got.gates != nil {
			t.Errorf("on the way to %q there are gates: %v, %v", version, got.gates, err)
		}
	}
	if got, err := Read(t.Context(), newWorkload(t), at(0), &Want{Version: "4.20.5"}); err != nil || got.version != nil || got.Decide(&Want{Version: "4.20.5"}).Verdict != "" {
		t.Errorf("of no OpenShift: %+v, %v", got, err)
	}
	w := newWorkload(t, list...)
	w.fault = errors.New("connection refused")
	if _, err := Read(t.Context(), w, at(0), &Want{}); !errors.Is(err, w.fault) {
		t.Errorf("of a cluster that is away: %v", err)
	}
}

func (w *workload) version(t *testing.T) fields {
	t.Helper()
	u := must.Get(w.Resource(clusterVersions).Get(t.Context(), clusterVersionName, metav1.GetOptions{}))(t)
	return u.Object
}

func TestStepAsksOnce(t *testing.T) {
	w := newWorkload(t, object(t, theVersion))
	want := &Want{Version: "4.20.5"}
	for range 4 {
		d := must.Get(turn(t, w, want))(t)
		if d.Verdict != model.VerdictWorking && d.Verdict != model.VerdictWaiting {
			t.Errorf("it is %+v", d)
		}
	}
	if diff := cmp.Diff([]string{"patch version"}, w.writes); diff != "" {
		t.Errorf("what was written: %s", diff)
	}
	spec, _, _ := unstructured.NestedMap(w.version(t), "spec")
	check.Same(t, map[string]any{
		"channel": "stable-4.20", "clusterID": "5c1e2d5e-9a54-4a5c-8a60-2c8f7a5f3c11",
		"desiredUpdate": map[string]any{"version": "4.20.5", "acceptRisks": []any{map[string]any{"name": "Trouble"}}},
	}, spec)
}

// TestAsks: a decision says by which release image the update is that it asks for.
func TestAsks(t *testing.T) {
	for image, want := range map[string]*Want{
		"quay.io/x@sha256:25": {Version: "4.20.5"},                          // which the graph has
		"quay.io/x@sha256:26": {Version: "4.20.6", AcceptConditional: true}, // under conditions
		"quay.io/x@sha256:99": {Version: "4.20.9", Image: "quay.io/x@sha256:99"},
	} {
		s := must.Get(Read(t.Context(), newWorkload(t, object(t, theVersion)), at(0), want))(t)
		if d := s.Decide(want); d.Asks == nil || d.Asks.Version != want.Version || d.Asks.Image != image || d.Asks.Recommended != (want.Version == "4.20.5") {
			t.Errorf("%s: it asks for %+v", want.Version, d.Asks)
		}
	}
}

func TestWrite(t *testing.T) {
	update := func(t *testing.T, want Want) map[string]any {
		t.Helper()
		w := newWorkload(t, object(t, theVersion))
		d, err := turn(t, w, &want)
		if err != nil || len(w.writes) != 1 {
			t.Fatalf("%+v, %v: %q", d, err, w.writes)
		}
		asked, _, _ := unstructured.NestedMap(w.version(t), "spec", "desiredUpdate")
		delete(asked, "acceptRisks")
		return asked
	}
	check.Same(t, map[string]any{"version": "4.20.6", "image": "quay.io/x@sha256:26"}, update(t, Want{Version: "4.20.6", AcceptConditional: true}))
	check.Same(t, map[string]any{"version": "4.20.6", "image": "quay.io/x@sha256:26", "force": true}, update(t, Want{Version: "4.20.6", Force: true}))
	t.Run("the channel", func(t *testing.T) {
		w := newWorkload(t, object(t, theVersion))
		for range 3 {
			must.Get(turn(t, w, &Want{Version: "4.19.7", Channel: "eus-4.20"}))(t)
		}
		if got := w.version(t).text("spec", "channel"); got != "eus-4.20" || len(w.writes) != 1 {
			t.Errorf("it is %s, by %q", got, w.writes)
		}
	})
	for name, acks := range map[string][]runtime.Object{"gates": {configMap(ackNamespace, ackName, map[string]string{"ack-4.18-x": "true"})}, "gates, the first time": nil} {
		t.Run(name, func(t *testing.T) {
			w := newWorkload(t, append(acks, object(t, theVersion), configMap(gateNamespace, gateName, map[string]string{"ack-4.19-a": "Agree"}))...)
			want := &Want{Version: "4.20.5", Acknowledge: []string{"ack-4.19-a"}}
			for _, phase := range []model.Verdict{model.VerdictWorking, model.VerdictWorking, model.VerdictWaiting} {
				check.Equal(t, must.Get(turn(t, w, want))(t).Verdict, phase)
			}
			got, err := readData(t.Context(), w, ackNamespace, ackName)
			if err != nil || got["ack-4.19-a"] != "true" || len(acks) > 0 && got["ack-4.18-x"] != "true" {
				t.Errorf("it has %v, %v", got, err)
			}
		})
	}
	t.Run("nothing", func(t *testing.T) {
		check.Do(t, (&Decision{}).Write(t.Context(), newWorkload(t)))
	})
}

func TestWriteOfWhatHasChanged(t *testing.T) {
	w := newWorkload(t, object(t, theVersion))
	want := &Want{Version: "4.20.5"}
	s := must.Get(Read(t.Context(), w, at(0), want))(t)
	d := s.Decide(want)
	u := &unstructured.Unstructured{Object: w.version(t)}
	must.Do(t, unstructured.SetNestedField(u.Object, "4.19.9", "spec", "desiredUpdate", "version"))
	u.SetResourceVersion("1000")
	must.Get(w.Resource(clusterVersions).Update(t.Context(), u, metav1.UpdateOptions{}))(t)
	if err := d.Write(t.Context(), w); !apierrors.IsConflict(err) {
		t.Errorf("the error is %v", err)
	}
	check.Equal(t, w.version(t).text("spec", "desiredUpdate", "version"), "4.19.9", "it was overwritten by")
}
