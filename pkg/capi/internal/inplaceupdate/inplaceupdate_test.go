package inplaceupdate

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

func raw(kind string) runtime.RawExtension {
	group, name, _ := strings.Cut(kind, "/")
	return runtime.RawExtension{Raw: []byte(`{"apiVersion":"` + group + `.cluster.x-k8s.io/v1beta1","kind":"` + name + `","metadata":{"name":"x"},"spec":{"template":{"spec":{}}}}`)}
}

var (
	ourConfig   = raw("bootstrap/OpenshiftAssistedConfig")
	ourTemplate = raw("bootstrap/OpenshiftAssistedConfigTemplate")
)

func spec(version string, edits ...func(*clusterv1.MachineSpec)) clusterv1.MachineSpec {
	s := clusterv1.MachineSpec{
		ClusterName: "c", Version: version, FailureDomain: "rack-1",
		Bootstrap:         clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{APIGroup: "bootstrap.cluster.x-k8s.io", Kind: "OpenshiftAssistedConfig", Name: "x"}},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "Metal3Machine", Name: "x"},
		Taints:            []clusterv1.MachineTaint{{Key: "old", Effect: corev1.TaintEffectNoSchedule, Propagation: clusterv1.MachineTaintPropagationAlways}},
	}
	for _, edit := range edits {
		edit(&s)
	}
	return s
}

func changes(s *clusterv1.MachineSpec) {
	s.Taints = []clusterv1.MachineTaint{{Key: "new", Effect: corev1.TaintEffectNoExecute, Propagation: clusterv1.MachineTaintPropagationAlways}}
	s.Deletion = clusterv1.MachineDeletionSpec{NodeDrainTimeoutSeconds: ptr.To[int32](60)}
}

func elsewhere(s *clusterv1.MachineSpec) { s.FailureDomain = "rack-2" }

func machine(s clusterv1.MachineSpec, labels map[string]string) clusterv1.Machine {
	return clusterv1.Machine{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", Labels: labels, Annotations: labels}, Spec: s,
	}
}

func machineSet(s clusterv1.MachineSpec, labels map[string]string) clusterv1.MachineSet {
	return clusterv1.MachineSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "old"},
		Spec: clusterv1.MachineSetSpec{ClusterName: "c", Replicas: ptr.To[int32](2), Template: clusterv1.MachineTemplateSpec{
			ObjectMeta: clusterv1.ObjectMeta{Labels: labels, Annotations: labels}, Spec: s,
		}},
	}
}

// served serves an extension, and calls it as Cluster API does.
type served struct {
	*http.ServeMux

	catalog *runtimecatalog.Catalog
}

func (s *served) Register(path string, handler http.Handler) { s.Handle(path, handler) }

func serve(t *testing.T, e *Extension) *served {
	t.Helper()
	s := &served{ServeMux: http.NewServeMux(), catalog: runtimecatalog.New()}
	if err := runtimehooksv1.AddToCatalog(s.catalog); err != nil {
		t.Fatal(err)
	}
	if err := e.Register(s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *served) call(t *testing.T, hook runtimecatalog.Hook, name string, request, response any) {
	t.Helper()
	of, err := s.catalog.GroupVersionHook(hook)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, runtimecatalog.GVHToPath(of, name)+"?timeout=20s", bytes.NewReader(body)))
	if answer.Code != http.StatusOK {
		t.Fatalf("%s is answered by %d: %s", of.Hook, answer.Code, answer.Body)
	}
	if err := json.Unmarshal(answer.Body.Bytes(), response); err != nil {
		t.Fatal(err)
	}
}

// patched is an object with a patch applied to it.
func patched[T any](t *testing.T, object *T, patch runtimehooksv1.Patch) *T {
	t.Helper()
	if !patch.IsDefined() {
		return object
	}
	if patch.PatchType != runtimehooksv1.JSONMergePatchType {
		t.Fatalf("the patch is a %s", patch.PatchType)
	}
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if data, err = jsonpatch.MergePatch(data, patch.Patch); err != nil {
		t.Fatal(err)
	}
	out := new(T)
	if err := json.Unmarshal(data, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCanUpdate(t *testing.T) {
	old, labels := map[string]string{"a": "1", "b": "1"}, map[string]string{"a": "2", "c": "1"}
	kubeadm := raw("bootstrap/KubeadmConfig")
	for _, c := range []struct {
		name             string
		current, desired clusterv1.MachineSpec
		covered          clusterv1.MachineSpec // the rest of the difference is not as desired
		config           *runtime.RawExtension // that the desired one is made by
		none             bool
	}{
		{name: "a version", current: spec("v1.33.5"), desired: spec("v1.34.2"), covered: spec("v1.34.2")},
		{name: "a version for the first time", current: spec(""), desired: spec("v1.34.2"), covered: spec("v1.34.2")},
		{name: "no version any more", current: spec("v1.33.5"), desired: spec(""), covered: spec("")},
		{name: "an older version, which replaces nothing either", current: spec("v1.34.2"), desired: spec("v1.33.5"), covered: spec("v1.33.5")},
		{name: "taints and timeouts", current: spec("v1.33.5"), desired: spec("v1.33.5", changes), covered: spec("v1.33.5", changes)},
		{name: "all of that", current: spec("v1.33.5"), desired: spec("v1.34.2", changes), covered: spec("v1.34.2", changes)},
		{name: "taints that go", current: spec("v1.33.5", changes), desired: spec("v1.33.5", func(s *clusterv1.MachineSpec) { s.Taints = nil }), covered: spec("v1.33.5", func(s *clusterv1.MachineSpec) { s.Taints = nil })},
		{name: "the failure domain", current: spec("v1.33.5"), desired: spec("v1.33.5", elsewhere), covered: spec("v1.33.5")},
		{name: "the failure domain with a version", current: spec("v1.33.5"), desired: spec("v1.34.2", elsewhere), covered: spec("v1.34.2")},
		{name: "the infrastructure", current: spec("v1.33.5"), desired: spec("v1.33.5", func(s *clusterv1.MachineSpec) { s.InfrastructureRef.Name = "y" }), covered: spec("v1.33.5")},
		{name: "a Machine of another provider", current: spec("v1.33.5"), desired: spec("v1.34.2"), config: &kubeadm, none: true},
		{name: "a Machine without a config", current: spec("v1.33.5"), desired: spec("v1.34.2"), config: &runtime.RawExtension{}, none: true},
		{name: "what cannot be read", current: spec("v1.33.5"), desired: spec("v1.34.2"), config: &runtime.RawExtension{Raw: []byte(`[]`)}, none: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, &Extension{})
			desired, desiredTemplate := ourConfig, ourTemplate
			if c.config != nil {
				desired, desiredTemplate = *c.config, *c.config
			}
			request := &runtimehooksv1.CanUpdateMachineRequest{
				Current: runtimehooksv1.CanUpdateMachineRequestObjects{Machine: machine(c.current, old), BootstrapConfig: ourConfig, InfrastructureMachine: raw("infrastructure/Metal3Machine")},
				Desired: runtimehooksv1.CanUpdateMachineRequestObjects{Machine: machine(c.desired, labels), BootstrapConfig: desired, InfrastructureMachine: raw("infrastructure/Metal3Machine")},
			}
			var one runtimehooksv1.CanUpdateMachineResponse
			s.call(t, runtimehooksv1.CanUpdateMachine, "can-update-machine", request, &one)
			requestSet := &runtimehooksv1.CanUpdateMachineSetRequest{
				Current: runtimehooksv1.CanUpdateMachineSetRequestObjects{MachineSet: machineSet(c.current, old), BootstrapConfigTemplate: ourTemplate, InfrastructureMachineTemplate: raw("infrastructure/Metal3MachineTemplate")},
				Desired: runtimehooksv1.CanUpdateMachineSetRequestObjects{MachineSet: machineSet(c.desired, labels), BootstrapConfigTemplate: desiredTemplate, InfrastructureMachineTemplate: raw("infrastructure/Metal3MachineTemplate")},
			}
			var all runtimehooksv1.CanUpdateMachineSetResponse
			s.call(t, runtimehooksv1.CanUpdateMachineSet, "can-update-machine-set", requestSet, &all)
			if one.Status != runtimehooksv1.ResponseStatusSuccess || all.Status != runtimehooksv1.ResponseStatusSuccess {
				t.Fatalf("they fail: %s, %s", one.Message, all.Message)
			}
			if one.Kind != "CanUpdateMachineResponse" || all.Kind != "CanUpdateMachineSetResponse" || one.APIVersion != runtimehooksv1.GroupVersion.String() {
				t.Errorf("they are %s and %s of %s", one.Kind, all.Kind, one.APIVersion)
			}
			if one.BootstrapConfigPatch.IsDefined() || one.InfrastructureMachinePatch.IsDefined() || all.BootstrapConfigTemplatePatch.IsDefined() || all.InfrastructureMachineTemplatePatch.IsDefined() {
				t.Error("something else is to be updated in place")
			}
			want, wantSet := machine(c.covered, labels), machineSet(c.covered, labels)
			if c.none {
				want, wantSet = request.Current.Machine, requestSet.Current.MachineSet
			}
			if diff := cmp.Diff(&want, patched(t, &request.Current.Machine, one.MachinePatch)); diff != "" {
				t.Errorf("the Machine: %s", diff)
			}
			if diff := cmp.Diff(&wantSet, patched(t, &requestSet.Current.MachineSet, all.MachineSetPatch)); diff != "" {
				t.Errorf("the MachineSet: %s", diff)
			}
		})
	}
	t.Run("nothing", func(t *testing.T) {
		var one runtimehooksv1.CanUpdateMachineResponse
		same := runtimehooksv1.CanUpdateMachineRequestObjects{Machine: machine(spec("v1.33.5"), old), BootstrapConfig: ourConfig}
		serve(t, &Extension{}).call(t, runtimehooksv1.CanUpdateMachine, "can-update-machine", &runtimehooksv1.CanUpdateMachineRequest{Current: same, Desired: same}, &one)
		if one.MachinePatch.IsDefined() {
			t.Errorf("the patch is %s", one.MachinePatch.Patch)
		}
	})
	t.Run("handed over as an object", func(t *testing.T) {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("bootstrap.cluster.x-k8s.io/v1alpha2")
		u.SetKind("OpenshiftAssistedConfig")
		if !isOurs(&runtime.RawExtension{Object: u}, bootstrapKind) {
			t.Error("it is not ours")
		}
	})
}

func TestDiscovery(t *testing.T) {
	var got runtimehooksv1.DiscoveryResponse
	serve(t, &Extension{}).call(t, runtimehooksv1.Discovery, "", &runtimehooksv1.DiscoveryRequest{}, &got)
	hooks := map[string]string{}
	for _, h := range got.Handlers {
		hooks[h.Name] = h.RequestHook.APIVersion + " " + h.RequestHook.Hook
		if *h.TimeoutSeconds > 30 || *h.FailurePolicy != runtimehooksv1.FailurePolicyFail {
			t.Errorf("%s has %d seconds, and %s", h.Name, *h.TimeoutSeconds, *h.FailurePolicy)
		}
	}
	const version = "hooks.runtime.cluster.x-k8s.io/v1alpha1 "
	if diff := cmp.Diff(map[string]string{
		"can-update-machine": version + "CanUpdateMachine", "can-update-machine-set": version + "CanUpdateMachineSet", "update-machine": version + "UpdateMachine",
	}, hooks); diff != "" {
		t.Error(diff)
	}
}

func TestBadRequests(t *testing.T) {
	s := serve(t, &Extension{})
	const path = "/hooks.runtime.cluster.x-k8s.io/v1alpha1/updatemachine/update-machine"
	ask := func(method, body string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
		return answer
	}
	if got := ask(http.MethodGet, ""); got.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET is answered by %d", got.Code)
	}
	for name, body := range map[string]string{"none": "", "no JSON": "x", "too large": `{"x":"` + strings.Repeat("x", largestRequest) + `"}`} {
		var response runtimehooksv1.UpdateMachineResponse
		if got := ask(http.MethodPost, body); got.Code != http.StatusOK || json.Unmarshal(got.Body.Bytes(), &response) != nil || response.Status != runtimehooksv1.ResponseStatusFailure || response.Message == "" {
			t.Errorf("a request that is %s is answered by %d: %+v", name, got.Code, response)
		}
	}
}

func TestManifest(t *testing.T) {
	var got runtimev1.ExtensionConfig
	text := Manifest(Place{Namespace: "openshift-assisted", Service: "webhooks", Port: 443, Secret: "webhook-cert"})
	if err := yaml.UnmarshalStrict([]byte(text), &got); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	want := runtimev1.ExtensionConfig{
		TypeMeta: metav1.TypeMeta{APIVersion: runtimev1.GroupVersion.String(), Kind: "ExtensionConfig"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "openshift-assisted-in-place", Labels: map[string]string{"cluster.x-k8s.io/provider": "control-plane-openshift-assisted"},
			Annotations: map[string]string{runtimev1.InjectCAFromSecretAnnotation: "openshift-assisted/webhook-cert"},
		},
		Spec: runtimev1.ExtensionConfigSpec{
			ClientConfig:      runtimev1.ClientConfig{Service: runtimev1.ServiceReference{Namespace: "openshift-assisted", Name: "webhooks", Port: ptr.To[int32](443)}},
			NamespaceSelector: &metav1.LabelSelector{},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// deadline is a connection that keeps until when it is read.
type deadline struct {
	*httptest.ResponseRecorder

	until time.Time
}

// SetReadDeadline is called by http.ResponseController.
func (d *deadline) SetReadDeadline(until time.Time) error {
	d.until = until
	return nil
}

// late answers nothing before a hook is given up.
type late struct {
	client.Reader

	until time.Time
}

func (l *late) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	l.until, _ = ctx.Deadline()
	return context.DeadlineExceeded
}

// TestRequestsTakeNoLongerThanCoreWaits bounds how long a request is read, and how long its answer is made.
func TestRequestsTakeNoLongerThanCoreWaits(t *testing.T) {
	management := &late{}
	s := serve(t, &Extension{Management: management, Clock: &still{at: noon()}})
	body, err := json.Marshal(&runtimehooksv1.UpdateMachineRequest{Desired: runtimehooksv1.UpdateMachineRequestObjects{
		Machine: machine(spec("v1.33.5"), nil), BootstrapConfig: ourConfig,
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	hour, _ := ctx.Deadline()
	answer := &deadline{ResponseRecorder: httptest.NewRecorder()}
	const path = "/hooks.runtime.cluster.x-k8s.io/v1alpha1/updatemachine/update-machine"
	s.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodPost, path, bytes.NewReader(body)))
	for what, until := range map[string]time.Time{"the request is read": answer.until, "the answer is made": management.until} {
		if until.IsZero() || hour.Sub(until) < 59*time.Minute {
			t.Errorf("%s until %s, an hour ends at %s", what, until, hour)
		}
	}
}

// swelling is a request that takes much memory until it is released.
type swelling struct{}

var decoding, mostDecoding atomic.Int32

// UnmarshalJSON is of json.Unmarshaler.
func (swelling) UnmarshalJSON([]byte) error {
	if now := decoding.Add(1); now > mostDecoding.Load() {
		mostDecoding.Store(now)
	}
	time.Sleep(15 * time.Second)
	decoding.Add(-1)
	return nil
}

// never is a body without any content, which does not end.
type never struct{ until context.Context }

func (n never) Read([]byte) (int, error) {
	<-n.until.Done()
	return 0, n.until.Err()
}

// TestFewRequestsAreDecodedAtOnce, since they may take a hundred times their length in memory: others wait, and the
// answer to one that times out meanwhile says to try again. A request with a body that does not arrive holds up no
// other.
func TestFewRequestsAreDecodedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hook := func(context.Context, *swelling, *runtimehooksv1.UpdateMachineResponse) {}
		h := serving(newSlots(), hook)(schema.GroupVersionKind{})
		const stuck, requests = 10, 10
		var asked sync.WaitGroup
		codes := make(chan int, requests)
		for range stuck {
			asked.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), hookTimeout*time.Second)
				defer cancel()
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPost, "/", never{ctx}))
			})
		}
		synctest.Wait()
		for range requests {
			asked.Go(func() {
				answer := httptest.NewRecorder()
				h.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("{}")))
				codes <- answer.Code
			})
		}
		asked.Wait()
		close(codes)
		of := map[int]int{}
		for code := range codes {
			of[code]++
		}
		if most := mostDecoding.Load(); most != 4 {
			t.Errorf("%d were decoded at once", most)
		}
		if of[http.StatusOK] != 8 || of[http.StatusServiceUnavailable] != 2 { // four after 15 seconds, four that began before 20
			t.Errorf("the answers are %v", of)
		}
	})
	if largestRequest > 1<<20 {
		t.Errorf("a request may have %d bytes", largestRequest)
	}
}
