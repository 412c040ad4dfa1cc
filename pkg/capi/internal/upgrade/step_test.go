package upgrade

import (
	"context"
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

const clusterVersion = `
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

func node(name, kubelet string, labels ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}, Annotations: map[string]string{
		configPrefix + "currentConfig": "a", configPrefix + "desiredConfig": "b", configPrefix + "state": ConfigWorking, configPrefix + "reason": "r",
	}}}
	n.Status.NodeInfo.KubeletVersion = kubelet
	for _, label := range labels {
		n.Labels["node-role.kubernetes.io/"+label] = ""
	}
	return n
}

// workload is a cluster that counts what is written to it.
type workload struct {
	dynamic.Interface

	writes []string
	fault  error // of reads
}

func newWorkload(t *testing.T, objects ...runtime.Object) *workload {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
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
	if err := json.Unmarshal(a.GetPatch(), &patch.Object); err != nil {
		t.Fatal(err)
	}
	found, err := objects.Get(a.GetResource(), a.GetNamespace(), a.GetName())
	if err != nil || patch.GetResourceVersion() == "" {
		return false, nil, nil
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
	if err := yaml.Unmarshal([]byte(pools), &found); err != nil {
		t.Fatal(err)
	}
	for i := range found {
		list = append(list, &found[i])
	}
	list = append(list, object(t, clusterVersion),
		node("cp-0", "v1.32.8", "master", "control-plane", "worker"), node("w-1", "v1.32.8", "worker"), node("w-0", "v1.32.9", "worker", "infra"), node("x", "v1.32.9"),
		configMap(gateNamespace, gateName, map[string]string{"ack-4.19-b": "Agree to b", "ack-4.19-a": "", "ack-4.18-c": "Agree to c", "ack-4.19": "no gate", "other": "no gate"}),
		configMap(ackNamespace, ackName, map[string]string{"ack-4.19-b": "true", "ack-4.19-a": "yes"}))
	got, err := Read(t.Context(), newWorkload(t, list...), at(0), &Want{Version: "4.20.5"})
	if err != nil {
		t.Fatal(err)
	}
	moment := func(text string) (c Condition) { c.Since = fields{"t": text}.moment("t"); return c }
	august := moment("2026-08-01T11:00:00Z").Since
	config := NodeConfig{Current: "a", Desired: "b", State: ConfigWorking, Reason: "r"}
	want := &State{
		At: at(0),
		Version: &ClusterVersion{
			ResourceVersion: got.Version.ResourceVersion, Generation: 4, Observed: 4, Channel: "stable-4.20",
			Asked:  &Asked{Version: "4.19.7", Image: "quay.io/x@sha256:07", Architecture: "Multi", Mode: "Preflight", Force: true},
			Target: Release{"4.19.7", "quay.io/x@sha256:07"},
			History: []Update{
				{Release: Release{"4.19.7", "quay.io/x@sha256:07"}, Completed: true, Started: moment("2026-08-01T10:00:00Z").Since},
				{Release: Release{"4.19.6", "quay.io/x@sha256:06"}, Started: moment("2026-07-01T10:00:00Z").Since},
			},
			Conditions: map[string]Condition{
				"Available": {Status: "True", Message: "Done applying 4.19.7", Since: august}, "Failing": {Status: "False", Since: august},
				"Progressing": {Status: "False", Message: "Cluster version is 4.19.7", Since: august},
			},
			Available: []Release{{"4.20.5", "quay.io/x@sha256:25"}, {"4.19.9", "quay.io/x@sha256:09"}},
			Conditional: []Conditional{{
				Release: Release{"4.20.6", "quay.io/x@sha256:26"}, Reason: "Trouble", Message: "It may break", Risks: []Risk{{"Trouble", "It may break", "https://example.com/trouble"}},
			}},
		},
		Gates: []Gate{{Name: "ack-4.19-a", Message: "ack-4.19-a"}, {Name: "ack-4.19-b", Message: "Agree to b", Acknowledged: true}},
		Pools: []Pool{
			{Name: "infra", Config: "rendered-infra-b"}, {Name: "master", Config: "rendered-master-b"},
			{Name: "worker", Paused: true, Degraded: true, Message: "disk full", Config: "rendered-worker-b", Machines: 2, Updated: 1},
		},
		Nodes: []Node{
			{Name: "cp-0", Kubelet: "v1.32.8", ControlPlane: true, Pool: "master", Config: config}, {Name: "w-0", Kubelet: "v1.32.9", Pool: "infra", Config: config},
			{Name: "w-1", Kubelet: "v1.32.8", Pool: "worker", Config: config}, {Name: "x", Kubelet: "v1.32.9", Config: config},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.Version.ResourceVersion == "" {
		t.Error("it has no resource version")
	}
	for _, version := range []string{"4.19.9", "4.19.7", "", "x"} {
		got, err := Read(t.Context(), newWorkload(t, list...), at(0), &Want{Version: version})
		if err != nil || got.Gates != nil {
			t.Errorf("on the way to %q there are gates: %v, %v", version, got.Gates, err)
		}
	}
	if got, err := Read(t.Context(), newWorkload(t), at(0), &Want{Version: "4.20.5"}); err != nil || got.Version != nil || Decide(got, &Want{Version: "4.20.5"}).Phase != Idle {
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
	u, err := w.Resource(clusterVersions).Get(t.Context(), clusterVersionName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return u.Object
}

func TestStepAsksOnce(t *testing.T) {
	w := newWorkload(t, object(t, clusterVersion))
	want := &Want{Version: "4.20.5"}
	for range 4 {
		_, d, err := Step(t.Context(), w, &still{at: at(0)}, want, nil)
		if err != nil {
			t.Fatal(err)
		}
		if d.Phase != Requesting && d.Phase != Requested {
			t.Errorf("it is %+v", d)
		}
	}
	if diff := cmp.Diff([]string{"patch version"}, w.writes); diff != "" {
		t.Errorf("what was written: %s", diff)
	}
	spec, _, _ := unstructured.NestedMap(w.version(t), "spec")
	if diff := cmp.Diff(map[string]any{
		"channel": "stable-4.20", "clusterID": "5c1e2d5e-9a54-4a5c-8a60-2c8f7a5f3c11",
		"desiredUpdate": map[string]any{"version": "4.20.5", "acceptRisks": []any{map[string]any{"name": "Trouble"}}},
	}, spec); diff != "" {
		t.Error(diff)
	}
}

// TestStepConfirms has an update asked for only once its release image is found right.
func TestStepConfirms(t *testing.T) {
	wrong := errors.New("it is of another release")
	for image, want := range map[string]*Want{
		"quay.io/x@sha256:25": {Version: "4.20.5"},                          // which the graph has
		"quay.io/x@sha256:26": {Version: "4.20.6", AcceptConditional: true}, // under conditions
		"quay.io/x@sha256:99": {Version: "4.20.9", Image: "quay.io/x@sha256:99"},
	} {
		w := newWorkload(t, object(t, clusterVersion))
		answer, asked := wrong, ""
		step := func() error {
			_, _, err := Step(t.Context(), w, &still{at: at(0)}, want, func(_ context.Context, image string) error { asked = image; return answer })
			return err
		}
		if err := step(); !errors.Is(err, wrong) || asked != image || len(w.writes) != 0 {
			t.Errorf("%s: asked about is %q, the error is %v, and written %q", want.Version, asked, err, w.writes)
		}
		answer = nil
		if err := step(); err != nil || len(w.writes) != 1 {
			t.Errorf("%s: the error is %v, and written %q", want.Version, err, w.writes)
		}
	}
}

func TestWrite(t *testing.T) {
	update := func(t *testing.T, want Want) map[string]any {
		t.Helper()
		w := newWorkload(t, object(t, clusterVersion))
		_, d, err := Step(t.Context(), w, &still{at: at(0)}, &want, nil)
		if err != nil || len(w.writes) != 1 {
			t.Fatalf("%+v, %v: %q", d, err, w.writes)
		}
		asked, _, _ := unstructured.NestedMap(w.version(t), "spec", "desiredUpdate")
		delete(asked, "acceptRisks")
		return asked
	}
	if diff := cmp.Diff(map[string]any{"version": "4.20.6", "image": "quay.io/x@sha256:26"}, update(t, Want{Version: "4.20.6", AcceptConditional: true})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"version": "4.20.6", "image": "quay.io/x@sha256:26", "force": true}, update(t, Want{Version: "4.20.6", Force: "4.20.6"})); diff != "" {
		t.Error(diff)
	}
	t.Run("the channel", func(t *testing.T) {
		w := newWorkload(t, object(t, clusterVersion))
		for range 3 {
			if _, _, err := Step(t.Context(), w, &still{at: at(0)}, &Want{Version: "4.19.7", Channel: "eus-4.20"}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.version(t).text("spec", "channel"); got != "eus-4.20" || len(w.writes) != 1 {
			t.Errorf("it is %s, by %q", got, w.writes)
		}
	})
	for name, acks := range map[string][]runtime.Object{"gates": {configMap(ackNamespace, ackName, map[string]string{"ack-4.18-x": "true"})}, "gates, the first time": nil} {
		t.Run(name, func(t *testing.T) {
			w := newWorkload(t, append(acks, object(t, clusterVersion), configMap(gateNamespace, gateName, map[string]string{"ack-4.19-a": "Agree"}))...)
			want := &Want{Version: "4.20.5", Acknowledge: []string{"ack-4.19-a"}}
			for _, phase := range []Phase{Requesting, Requesting, Requested} {
				_, d, err := Step(t.Context(), w, &still{at: at(0)}, want, nil)
				if err != nil || d.Phase != phase {
					t.Errorf("it is %+v, %v", d, err)
				}
			}
			got, err := readData(t.Context(), w, ackNamespace, ackName)
			if err != nil || got["ack-4.19-a"] != "true" || len(acks) > 0 && got["ack-4.18-x"] != "true" {
				t.Errorf("it has %v, %v", got, err)
			}
		})
	}
	t.Run("nothing", func(t *testing.T) {
		if err := Write(t.Context(), newWorkload(t), &Request{}); err != nil {
			t.Error(err)
		}
	})
}

func TestWriteOfWhatHasChanged(t *testing.T) {
	w := newWorkload(t, object(t, clusterVersion))
	want := &Want{Version: "4.20.5"}
	s, err := Read(t.Context(), w, at(0), want)
	if err != nil {
		t.Fatal(err)
	}
	d := Decide(s, want)
	u := &unstructured.Unstructured{Object: w.version(t)}
	if err := unstructured.SetNestedField(u.Object, "4.19.9", "spec", "desiredUpdate", "version"); err != nil {
		t.Fatal(err)
	}
	u.SetResourceVersion("1000")
	if _, err := w.Resource(clusterVersions).Update(t.Context(), u, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := Write(t.Context(), w, d.Request); !errors.Is(err, ErrChanged) || !apierrors.IsConflict(err) {
		t.Errorf("the error is %v", err)
	}
	if got := w.version(t).text("spec", "desiredUpdate", "version"); got != "4.19.9" {
		t.Errorf("it was overwritten by %s", got)
	}
}
