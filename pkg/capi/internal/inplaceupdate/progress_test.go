package inplaceupdate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// still is a clock that a test moves.
type still struct {
	clock.Clock

	at time.Time
}

func (s *still) Now() time.Time { return s.at }

func noon() time.Time { return time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC) }

// cluster is an installed cluster, and what Cluster API knows of it.
type cluster struct {
	runs, towards  string // versions; towards may be ""
	failing        bool
	wanted         string
	kubelet        string
	config         model.NodeConfig
	paused         bool
	noNode         bool
	noNodeRef      bool
	otherPlane     bool
	edit           func(*clusterv1.Machine) // of the Machine that exists
	noPlane        bool
	away           error
	workloadsAsked int
}

const theConfig = "rendered-worker-b"

func settled() model.NodeConfig {
	return model.NodeConfig{Current: theConfig, Desired: theConfig, State: "Done"}
}

func waiting() model.NodeConfig {
	return model.NodeConfig{Current: "rendered-worker-a", Desired: "rendered-worker-a", State: "Done"}
}

func definition() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, clusterv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	scheme.AddKnownTypeWithName(definition(), &unstructured.Unstructured{})
	return scheme
}

func (c *cluster) management(t *testing.T) client.Reader {
	t.Helper()
	m := machine(spec("v1.33.5"), nil)
	m.Annotations = map[string]string{clusterv1.UpdateInProgressAnnotation: ""}
	m.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{APIGroup: bootstrapGroup, Kind: bootstrapKind, Name: "m"}
	if !c.noNodeRef {
		m.Status.NodeRef.Name = "w-0"
	}
	if c.edit != nil {
		c.edit(&m)
	}
	of := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
	of.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: controlPlaneGroup, Kind: controlPlaneKind, Name: "plane"}
	if c.otherPlane {
		of.Spec.ControlPlaneRef.Kind = "KubeadmControlPlane"
	}
	kind := &unstructured.Unstructured{}
	kind.SetGroupVersionKind(definition())
	kind.SetName("openshiftassistedcontrolplanes." + controlPlaneGroup)
	kind.SetLabels(map[string]string{"cluster.x-k8s.io/v1beta2": "v1beta1"})
	objects := []client.Object{&m, of, kind}
	if !c.noPlane {
		objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": controlPlaneGroup + "/v1beta1", "kind": controlPlaneKind, "metadata": map[string]any{"namespace": "ns", "name": "plane"},
			"spec": map[string]any{"distributionVersion": c.wanted, "config": map[string]any{"releaseImage": "quay.io/x@sha256:25"}},
		}})
	}
	return fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).Build()
}

func (c *cluster) workload(t *testing.T) dynamic.Interface {
	t.Helper()
	entry := func(version, state string) any {
		return map[string]any{"version": version, "image": "quay.io/x@sha256:" + version, "state": state, "startedTime": noon().Add(-time.Hour).Format(time.RFC3339)}
	}
	history := []any{entry(c.runs, "Completed")}
	if c.towards != "" {
		history = append([]any{entry(c.towards, "Partial")}, history...)
	}
	failing := "False"
	if c.failing {
		failing = "True"
	}
	version := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": map[string]any{"name": "version"},
		"status": map[string]any{"history": history, "conditions": []any{
			map[string]any{"type": "Available", "status": "True"}, map[string]any{"type": "Progressing", "status": "True", "message": "Working towards " + c.towards + ": 1 of 4 done (25% complete)"},
			map[string]any{"type": "Failing", "status": failing, "message": "etcd is degraded", "lastTransitionTime": noon().Add(-30 * time.Minute).Format(time.RFC3339)},
		}},
	}}
	pool := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool", "metadata": map[string]any{"name": "worker"},
		"spec": map[string]any{"paused": c.paused, "configuration": map[string]any{"name": theConfig}, "nodeSelector": map[string]any{"matchLabels": map[string]any{"node-role.kubernetes.io/worker": ""}}},
	}}
	const prefix = "machineconfiguration.openshift.io/"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w-0", Labels: map[string]string{"node-role.kubernetes.io/worker": ""}, Annotations: map[string]string{
		prefix + "currentConfig": c.config.Current, prefix + "desiredConfig": c.config.Desired, prefix + "state": c.config.State, prefix + "reason": c.config.Reason,
	}}}
	node.Status.NodeInfo.KubeletVersion = c.kubelet
	objects := []runtime.Object{version, pool}
	if !c.noNode {
		objects = append(objects, node)
	}
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(scheme(t), map[schema.GroupVersionResource]string{
		{Group: "machineconfiguration.openshift.io", Version: "v1", Resource: "machineconfigpools"}: "MachineConfigPoolList",
	}, objects...)
}

func (c *cluster) extension(t *testing.T) *Extension {
	t.Helper()
	reader := c.workload(t)
	return &Extension{
		Management: c.management(t), Clock: &still{at: noon()},
		Workload: func(context.Context, types.NamespacedName) (dynamic.Interface, error) {
			c.workloadsAsked++
			return reader, c.away
		},
	}
}

func update(t *testing.T, e *Extension, m clusterv1.Machine, config runtime.RawExtension) *runtimehooksv1.UpdateMachineResponse {
	t.Helper()
	response := &runtimehooksv1.UpdateMachineResponse{}
	serve(t, e).call(t, runtimehooksv1.UpdateMachine, "update-machine", &runtimehooksv1.UpdateMachineRequest{Desired: runtimehooksv1.UpdateMachineRequestObjects{
		Machine: m, BootstrapConfig: config, InfrastructureMachine: raw("infrastructure/Metal3Machine"),
	}}, response)
	return response
}

func TestUpdateMachine(t *testing.T) {
	const (
		done   = "done"
		goesOn = "goes on"
		failed = "failed"
	)
	degraded := model.NodeConfig{Current: "rendered-worker-a", Desired: theConfig, State: configDegraded, Reason: "disk full"}
	working := model.NodeConfig{Current: "rendered-worker-a", Desired: theConfig, State: configWorking}
	const older, newer, wanted = "v1.32.8", "v1.33.5+abc", "4.20.5"
	for _, c := range []struct {
		name    string
		cluster cluster
		is      string
		says    string
	}{
		{name: "its kubelet is the wanted one", cluster: cluster{runs: wanted, wanted: wanted, kubelet: newer, config: settled()}, is: done, says: "w-0 runs Kubernetes v1.33.5+abc"},
		{name: "its kubelet is newer", cluster: cluster{runs: "4.21.1", wanted: wanted, kubelet: "v1.34.1", config: settled()}, is: done},
		{name: "its kubelet is the wanted one, and others are not", cluster: cluster{runs: "4.19.7", towards: wanted, wanted: wanted, kubelet: newer, config: settled()}, is: done},
		{name: "its kubelet is the wanted one, and it is at work", cluster: cluster{runs: "4.19.7", towards: wanted, wanted: wanted, kubelet: newer, config: working}, is: goesOn, says: theConfig},
		{name: "the cluster was not asked yet", cluster: cluster{runs: "4.19.7", wanted: wanted, kubelet: older, config: waiting()}, is: goesOn, says: "has not begun: the conditions of the OpenshiftAssistedControlPlane"},
		{name: "the cluster is on its way", cluster: cluster{runs: "4.19.7", towards: wanted, wanted: wanted, kubelet: older, config: waiting()}, is: goesOn, says: "Update to 4.20.5 is 25% complete"},
		{name: "the node is at work", cluster: cluster{runs: "4.19.7", towards: wanted, wanted: wanted, kubelet: older, config: working}, is: goesOn, says: "is being updated"},
		{name: "the node is at work, after the control plane", cluster: cluster{runs: wanted, wanted: wanted, kubelet: older, config: working}, is: goesOn, says: "is being updated"},
		{name: "the node waits for its turn", cluster: cluster{runs: wanted, wanted: wanted, kubelet: older, config: waiting()}, is: goesOn, says: "w-0 is not updated yet"},
		{name: "its pool is paused", cluster: cluster{runs: wanted, wanted: wanted, kubelet: older, config: waiting(), paused: true}, is: done, says: "while MachineConfigPool worker is paused"},
		{name: "its pool is paused, and the cluster is on its way", cluster: cluster{runs: "4.19.7", towards: wanted, wanted: wanted, kubelet: older, config: waiting(), paused: true}, is: goesOn},
		{name: "the release has another kubelet than was thought", cluster: cluster{runs: wanted, wanted: wanted, kubelet: "v1.33.4", config: settled()}, is: done, says: "The cluster runs 4.20.5"},
		{name: "the node is degraded", cluster: cluster{runs: wanted, wanted: wanted, kubelet: older, config: degraded}, is: failed, says: "disk full"},
		{name: "the upgrade fails", cluster: cluster{runs: "4.19.7", towards: wanted, wanted: wanted, kubelet: older, config: waiting(), failing: true}, is: failed, says: "etcd is degraded"},
		{name: "another upgrade fails", cluster: cluster{runs: "4.19.7", towards: "4.20.3", wanted: wanted, kubelet: older, config: waiting(), failing: true}, is: goesOn},
		{name: "the cluster does not answer", cluster: cluster{wanted: wanted, away: errors.New("connection refused")}, is: goesOn, says: "connection refused"},
		{name: "the node is gone", cluster: cluster{runs: wanted, wanted: wanted, noNode: true}, is: goesOn, says: "no node w-0"},
		{name: "it has no node yet", cluster: cluster{runs: wanted, wanted: wanted, noNodeRef: true}, is: goesOn, says: "has no node yet"},
		{name: "its control plane is another provider's", cluster: cluster{runs: wanted, wanted: wanted, otherPlane: true}, is: goesOn, says: "is no OpenshiftAssistedControlPlane"},
		{name: "its control plane is gone", cluster: cluster{runs: wanted, wanted: wanted, noPlane: true}, is: goesOn, says: "not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := machine(spec("v1.33.5"), nil)
			got := update(t, c.cluster.extension(t), m, ourConfig)
			is := done
			switch {
			case got.Status == runtimehooksv1.ResponseStatusFailure:
				is = failed
			case got.Status != runtimehooksv1.ResponseStatusSuccess:
				is = string(got.Status)
			case got.RetryAfterSeconds != 0:
				is = goesOn
			}
			if is != c.is || !strings.Contains(got.Message, c.says) || got.Message == "" {
				t.Errorf("it is %s after %d s, and should be %s: %s", is, got.RetryAfterSeconds, c.is, got.Message)
			}
			if is == goesOn && got.RetryAfterSeconds != 30 || is == failed && got.RetryAfterSeconds != 0 {
				t.Errorf("it is to be asked again after %d s", got.RetryAfterSeconds)
			}
		})
	}
	well := cluster{runs: wanted, wanted: wanted, kubelet: newer, config: settled()}
	t.Run("without a version there is nothing to wait for", func(t *testing.T) {
		if got := update(t, well.extension(t), machine(spec(""), nil), ourConfig); got.Status != runtimehooksv1.ResponseStatusSuccess || got.RetryAfterSeconds != 0 {
			t.Errorf("it is %+v", got)
		}
	})
	t.Run("a Machine of another provider", func(t *testing.T) {
		if got := update(t, well.extension(t), machine(spec("v1.33.5"), nil), raw("bootstrap/KubeadmConfig")); got.Status != runtimehooksv1.ResponseStatusFailure || !strings.Contains(got.Message, "OpenshiftAssistedConfig") {
			t.Errorf("it is %+v", got)
		}
	})
	t.Run("a management cluster that does not answer", func(t *testing.T) {
		e := well.extension(t)
		e.Management = fake.NewClientBuilder().WithScheme(scheme(t)).Build()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		e.Management = refusing{e.Management}
		var response runtimehooksv1.UpdateMachineResponse
		e.UpdateMachine(ctx, &runtimehooksv1.UpdateMachineRequest{Desired: runtimehooksv1.UpdateMachineRequestObjects{Machine: machine(spec("v1.33.5"), nil), BootstrapConfig: ourConfig}}, &response)
		if response.Status != runtimehooksv1.ResponseStatusSuccess || response.RetryAfterSeconds == 0 {
			t.Errorf("it is %+v", response)
		}
	})
}

// TestOnlyLiveUpdatesAreAnswered sends requests as a pod may that is not Cluster API. It learns nothing of Machines,
// Clusters and nodes without an update in progress, and not whether they exist.
func TestOnlyLiveUpdatesAreAnswered(t *testing.T) {
	const none = "No update of Machine m to v1.33.5 is in progress"
	for name, c := range map[string]struct {
		edit func(*clusterv1.Machine)
	}{
		"it does not exist":              {func(m *clusterv1.Machine) { m.Name = "another" }},
		"it is in another namespace":     {func(m *clusterv1.Machine) { m.Namespace = "another" }},
		"Cluster API does not update it": {func(m *clusterv1.Machine) { m.Annotations = nil }},
		"it goes to another version":     {func(m *clusterv1.Machine) { m.Spec.Version = "v1.33.6" }},
		"it is another provider's":       {func(m *clusterv1.Machine) { m.Spec.Bootstrap.ConfigRef.Kind = "KubeadmConfig" }},
	} {
		t.Run(name, func(t *testing.T) {
			well := cluster{runs: "4.20.5", wanted: "4.20.5", kubelet: "v1.33.5+abc", config: settled(), edit: c.edit}
			e := well.extension(t)
			got := update(t, e, machine(spec("v1.33.5"), nil), ourConfig)
			if got.Status != runtimehooksv1.ResponseStatusSuccess || got.RetryAfterSeconds != 30 || got.Message != none {
				t.Errorf("it is %+v", got)
			}
			if well.workloadsAsked != 0 || len(e.looks.of) != 0 {
				t.Errorf("the cluster was asked %d times, and %d are remembered", well.workloadsAsked, len(e.looks.of))
			}
		})
	}
	t.Run("another cluster is named", func(t *testing.T) {
		well := cluster{runs: "4.20.5", wanted: "4.20.5", kubelet: "v1.33.5+abc", config: settled()}
		e := well.extension(t)
		ask := e.Workload
		var asked types.NamespacedName
		e.Workload = func(ctx context.Context, key types.NamespacedName) (dynamic.Interface, error) {
			asked = key
			return ask(ctx, key)
		}
		forged := machine(spec("v1.33.5"), nil)
		forged.Spec.ClusterName = "victim"
		update(t, e, forged, ourConfig)
		if asked.Name != "c" {
			t.Errorf("cluster %q was asked", asked)
		}
	})
}

// refusing answers nothing.
type refusing struct{ client.Reader }

func (refusing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("connection refused")
}

func TestClustersAreReadOnceForAllTheirMachines(t *testing.T) {
	c := cluster{runs: "4.20.5", wanted: "4.20.5", kubelet: "v1.32.8", config: waiting()}
	e := c.extension(t)
	watch := e.Clock.(*still)
	for range 5 {
		update(t, e, machine(spec("v1.33.5"), nil), ourConfig)
	}
	if c.workloadsAsked != 1 {
		t.Errorf("the cluster was read %d times", c.workloadsAsked)
	}
	watch.at = watch.at.Add(freshFor)
	update(t, e, machine(spec("v1.33.5"), nil), ourConfig)
	if c.workloadsAsked != 2 {
		t.Errorf("after a while it was read %d times", c.workloadsAsked)
	}
	ask := e.Workload
	e.Workload = func(ctx context.Context, key types.NamespacedName) (dynamic.Interface, error) {
		watch.at = watch.at.Add(workloadTimeout) // as long as it is waited for one that is away
		return ask(ctx, key)
	}
	c.away = errors.New("connection refused")
	watch.at = watch.at.Add(freshFor)
	for range 3 {
		if got := update(t, e, machine(spec("v1.33.5"), nil), ourConfig); !strings.Contains(got.Message, "connection refused") || got.RetryAfterSeconds == 0 {
			t.Errorf("while it is away, it is %+v", got)
		}
	}
	if c.workloadsAsked != 3 {
		t.Errorf("while it does not answer it was asked %d times in all", c.workloadsAsked)
	}
	c.away = nil
	watch.at = watch.at.Add(freshFor)
	if got := update(t, e, machine(spec("v1.33.5"), nil), ourConfig); c.workloadsAsked != 4 || strings.Contains(got.Message, "connection refused") {
		t.Errorf("once it answers again, it is %+v after %d questions", got, c.workloadsAsked)
	}
	for i := range 20 {
		watch.at = watch.at.Add(forgottenAfter)
		e.looks.get(types.NamespacedName{Name: fmt.Sprint(i)}, watch.at)
	}
	if len(e.looks.of) > 3 {
		t.Errorf("%d clusters are remembered", len(e.looks.of))
	}
}

// TestOneThatHangsUpDecidesNothing: a request that ends before its cluster was read leaves others no answer.
func TestOneThatHangsUpDecidesNothing(t *testing.T) {
	c := cluster{runs: "4.20.5", wanted: "4.20.5", kubelet: "v1.33.5+abc", config: settled()}
	e := c.extension(t)
	ask := e.Workload
	e.Workload = func(ctx context.Context, key types.NamespacedName) (dynamic.Interface, error) {
		if until, bounded := ctx.Deadline(); !bounded || time.Until(until) > workloadTimeout {
			t.Errorf("the cluster may take until %s", until)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return ask(ctx, key)
	}
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	request := func() *runtimehooksv1.UpdateMachineRequest {
		return &runtimehooksv1.UpdateMachineRequest{Desired: runtimehooksv1.UpdateMachineRequestObjects{
			Machine: machine(spec("v1.33.5"), nil), BootstrapConfig: ourConfig,
		}}
	}
	e.UpdateMachine(gone, request(), &runtimehooksv1.UpdateMachineResponse{})
	var response runtimehooksv1.UpdateMachineResponse
	e.UpdateMachine(t.Context(), request(), &response)
	if response.Status != runtimehooksv1.ResponseStatusSuccess || response.RetryAfterSeconds != 0 {
		t.Errorf("it is %+v", response)
	}
}

// TestRequestsAreNotKeptWhileAClusterIsWaitedFor, which may take long: as many as come wait for it together.
func TestRequestsAreNotKeptWhileAClusterIsWaitedFor(t *testing.T) {
	c := cluster{runs: "4.20.5", wanted: "4.20.5", kubelet: "v1.33.5+abc", config: settled()}
	e := c.extension(t)
	request := &runtimehooksv1.UpdateMachineRequest{Desired: runtimehooksv1.UpdateMachineRequestObjects{
		Machine: machine(spec("v1.33.5"), nil), BootstrapConfig: ourConfig,
	}}
	request.Desired.Machine.ManagedFields = make([]metav1.ManagedFieldsEntry, 1000)
	ask := e.Workload
	e.Workload = func(ctx context.Context, key types.NamespacedName) (dynamic.Interface, error) {
		if len(request.Desired.Machine.ManagedFields) > 0 || len(request.Desired.BootstrapConfig.Raw) > 0 {
			t.Error("all of the request is kept")
		}
		return ask(ctx, key)
	}
	var response runtimehooksv1.UpdateMachineResponse
	e.UpdateMachine(t.Context(), request, &response)
	if c.workloadsAsked != 1 || response.Message == "" || response.RetryAfterSeconds != 0 {
		t.Errorf("it is %+v after %d questions", response, c.workloadsAsked)
	}
}
