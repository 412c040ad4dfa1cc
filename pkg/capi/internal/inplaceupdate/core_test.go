//go:build e2e

package inplaceupdate

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/clock"
)

// plane is a management cluster with the real core of Cluster API, whose API server plays the
// workload cluster, too. What providers would do, the test does.
type plane struct {
	client.Client
	*kubetest.Management

	namespace string
	kubelet   string
}

// kinds are what providers and OpenShift would bring, without their fields.
func kinds() []*unstructured.Unstructured {
	var list []*unstructured.Unstructured
	for kind, in := range map[string]struct{ group, version, scope string }{
		"StandInCluster":                {"infrastructure.cluster.x-k8s.io", "v1", "Namespaced"},
		"StandInMachine":                {"infrastructure.cluster.x-k8s.io", "v1", "Namespaced"},
		"StandInMachineTemplate":        {"infrastructure.cluster.x-k8s.io", "v1", "Namespaced"},
		bootstrapKind:                   {bootstrapGroup, "v1beta1", "Namespaced"},
		bootstrapKind + "Template":      {bootstrapGroup, "v1beta1", "Namespaced"},
		"OpenshiftAssistedControlPlane": {controlPlaneGroup, "v1beta1", "Namespaced"},
		"ClusterVersion":                {"config.openshift.io", "v1", "Cluster"},
	} {
		open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
		plural := strings.ToLower(kind) + "s"
		crd := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"group": in.group, "scope": in.scope, "names": map[string]any{"kind": kind, "listKind": kind + "List", "plural": plural, "singular": strings.ToLower(kind)},
			"versions": []any{map[string]any{
				"name": in.version, "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": open, "status": open}}},
			}},
		}}}
		crd.SetGroupVersionKind(definition())
		crd.SetName(plural + "." + in.group)
		crd.SetLabels(map[string]string{"cluster.x-k8s.io/v1beta2": in.version})
		list = append(list, crd)
	}
	return list
}

func startPlane(t *testing.T) *plane {
	t.Helper()
	p := &plane{kubelet: "v1.32.8", Management: kubetest.StartManagement(t, kubetest.ManagementConfig{
		FeatureGates: map[string]bool{"RuntimeSDK": true, "InPlaceUpdates": true, "MachineSetPreflightChecks": false},
	})}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, clusterv1.AddToScheme, runtimev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if p.Client, err = client.New(p.Config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	if err := p.Management.Apply(t.Context(), kinds()...); err != nil {
		t.Fatal(err)
	}
	p.namespace = p.Namespace(t)
	return p
}

// serveOn serves an extension, and has Cluster API discover it.
func (p *plane) serveOn(t *testing.T, e *Extension) {
	t.Helper()
	w, err := p.NewWebhooks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: w.Port, CertDir: w.CertDir})
	if err := e.Register(server); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { ended <- server.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	config := &runtimev1.ExtensionConfig{}
	if err := yaml.Unmarshal([]byte(Manifest(Place{Namespace: "n", Service: "s", Port: 443, Secret: "c"})), config); err != nil {
		t.Fatal(err)
	}
	delete(config.Annotations, runtimev1.InjectCAFromSecretAnnotation) // there is no Service here, and no such Secret
	config.Spec.ClientConfig = runtimev1.ClientConfig{URL: w.URL(), CABundle: w.CA}
	p.create(t, config)
	p.eventually(t, "the extension is discovered", func() string {
		if err := p.Get(t.Context(), types.NamespacedName{Name: config.Name}, config); err != nil {
			return err.Error()
		}
		if c := conditions.Get(config, runtimev1.ExtensionConfigDiscoveredCondition); c == nil || c.Status != metav1.ConditionTrue {
			return fmt.Sprint(c)
		}
		if len(config.Status.Handlers) != 3 {
			return fmt.Sprintf("its handlers are %+v", config.Status.Handlers)
		}
		return ""
	})
}

func (p *plane) create(t *testing.T, o client.Object) {
	t.Helper()
	if err := p.Create(t.Context(), o); err != nil {
		t.Fatalf("making %T %s: %v", o, o.GetName(), err)
	}
}

// made makes an object of a stand-in kind, with its status.
func (p *plane) made(t *testing.T, apiVersion, kind, namespace, name string, spec, status map[string]any) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": spec}}
	u.SetNamespace(namespace)
	u.SetName(name)
	p.create(t, u)
	if status != nil {
		u.Object["status"] = status
		if err := p.Status().Update(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	return u
}

// eventually does what says what is missing, until nothing is.
func (p *plane) eventually(t *testing.T, what string, missing func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		is := missing()
		if is == "" {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not so: %s: %s", what, is)
		case <-tick.C:
		}
	}
}

func (p *plane) machines(t *testing.T) []clusterv1.Machine {
	t.Helper()
	list := &clusterv1.MachineList{}
	if err := p.List(t.Context(), list, client.InNamespace(p.namespace)); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// provide is what providers, and kubelets, do for the Machines that are there.
func (p *plane) provide(t *testing.T) {
	t.Helper()
	for _, m := range p.machines(t) {
		if m.Status.NodeRef.Name != "" || m.Spec.Bootstrap.ConfigRef.Name == "" {
			continue
		}
		object := func(apiVersion string, ref clusterv1.ContractVersionedObjectReference) *unstructured.Unstructured {
			u := &unstructured.Unstructured{}
			u.SetAPIVersion(apiVersion)
			u.SetKind(ref.Kind)
			u.SetNamespace(p.namespace)
			u.SetName(ref.Name)
			return u
		}
		id := "standin://" + m.Name
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.Name}, Spec: corev1.NodeSpec{ProviderID: id}}
		node.Status.NodeInfo.KubeletVersion = p.kubelet
		node.Status.Conditions = []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue}, {Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
			{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse}, {Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse},
		}
		if err := p.Create(t.Context(), node.DeepCopy()); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		} else if err == nil {
			p.setNode(t, m.Name, func(n *corev1.Node) { n.Status = node.Status })
		}
		p.patch(t, object(bootstrapGroup+"/v1beta1", m.Spec.Bootstrap.ConfigRef), `{"status":{"dataSecretName":"data","initialization":{"dataSecretCreated":true}}}`, true)
		infrastructure := object("infrastructure.cluster.x-k8s.io/v1", m.Spec.InfrastructureRef)
		p.patch(t, infrastructure, `{"spec":{"providerID":"`+id+`"}}`, false)
		p.patch(t, infrastructure, `{"status":{"initialization":{"provisioned":true}}}`, true)
	}
}

func (p *plane) patch(t *testing.T, o client.Object, text string, status bool) {
	t.Helper()
	var err error
	if patch := client.RawPatch(types.MergePatchType, []byte(text)); status {
		err = p.Status().Patch(t.Context(), o, patch)
	} else {
		err = p.Patch(t.Context(), o, patch)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (p *plane) setNode(t *testing.T, name string, edit func(*corev1.Node)) {
	t.Helper()
	n := &corev1.Node{}
	if err := p.Get(t.Context(), types.NamespacedName{Name: name}, n); err != nil {
		t.Fatal(err)
	}
	edit(n)
	if err := p.Status().Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}

// theCluster makes an installed cluster with a MachineDeployment of two.
func (p *plane) theCluster(t *testing.T) (version, control *unstructured.Unstructured, workers *clusterv1.MachineDeployment) {
	t.Helper()
	provisioned := map[string]any{"initialization": map[string]any{"provisioned": true}}
	p.made(t, "infrastructure.cluster.x-k8s.io/v1", "StandInCluster", p.namespace, "c", map[string]any{}, provisioned)
	p.made(t, "infrastructure.cluster.x-k8s.io/v1", "StandInMachineTemplate", p.namespace, "w", map[string]any{"template": map[string]any{"spec": map[string]any{}}}, nil)
	p.made(t, bootstrapGroup+"/v1beta1", templateKind, p.namespace, "w", map[string]any{"template": map[string]any{"spec": map[string]any{}}}, nil)
	control = p.made(t, controlPlaneGroup+"/v1beta1", controlPlaneKind, p.namespace, "c", map[string]any{"distributionVersion": "4.19.7"},
		map[string]any{"initialization": map[string]any{"controlPlaneInitialized": true}})
	version = p.made(t, "config.openshift.io/v1", "ClusterVersion", "", "version", map[string]any{}, versionStatus("4.19.7", ""))
	kubeconfig, err := os.ReadFile(p.Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	p.create(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "c-kubeconfig", Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}},
		Type:       clusterv1.ClusterSecretType, Data: map[string][]byte{"value": kubeconfig},
	})
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "c"}}
	cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "192.0.2.1", Port: 6443}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "StandInCluster", Name: "c"}
	cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: controlPlaneGroup, Kind: controlPlaneKind, Name: "c"}
	p.create(t, cluster)
	workers = &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "w"}}
	workers.Spec = clusterv1.MachineDeploymentSpec{
		ClusterName: "c", Replicas: ptr.To[int32](2),
		Rollout: clusterv1.MachineDeploymentRolloutSpec{Strategy: clusterv1.MachineDeploymentRolloutStrategy{
			Type:          clusterv1.RollingUpdateMachineDeploymentStrategyType,
			RollingUpdate: clusterv1.MachineDeploymentRolloutStrategyRollingUpdate{MaxSurge: ptr.To(intstr.FromInt32(0)), MaxUnavailable: ptr.To(intstr.FromInt32(1))},
		}},
	}
	workers.Spec.Template.Spec = clusterv1.MachineSpec{
		ClusterName: "c", Version: p.kubelet,
		Bootstrap:         clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{APIGroup: bootstrapGroup, Kind: templateKind, Name: "w"}},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "StandInMachineTemplate", Name: "w"},
	}
	p.create(t, workers)
	return version, control, workers
}

func versionStatus(completed, towards string) map[string]any {
	entry := func(version, state string) any {
		return map[string]any{"version": version, "image": "quay.io/x@sha256:" + version, "state": state, "startedTime": noon().Format(time.RFC3339)}
	}
	history := []any{entry(completed, "Completed")}
	if towards != "" {
		history = append([]any{entry(towards, "Partial")}, history...)
	}
	return map[string]any{"history": history, "conditions": []any{
		map[string]any{"type": "Available", "status": "True"}, map[string]any{"type": "Progressing", "status": "True", "message": "Working towards 4.20.5: 1 of 4 done (25% complete)"},
	}}
}

// TestTheCoreUpdatesInPlace: the real core of Cluster API, which would replace Machines of another
// version, keeps them: it asks, waits for the cluster's upgrade, and says so.
func TestTheCoreUpdatesInPlace(t *testing.T) {
	p := startPlane(t)
	p.serveOn(t, &Extension{
		Management: p.Client, Clock: clock.Real(), RetryAfter: time.Second,
		Workload: func(context.Context, types.NamespacedName) (dynamic.Interface, error) {
			return dynamic.NewForConfig(p.Config)
		},
	})
	version, control, workers := p.theCluster(t)
	before := map[types.UID]bool{}
	p.eventually(t, "the workers are there", func() string {
		p.provide(t)
		if err := p.Get(t.Context(), client.ObjectKeyFromObject(workers), workers); err != nil {
			return err.Error()
		}
		if ptr.Deref(workers.Status.AvailableReplicas, 0) < 2 {
			return fmt.Sprintf("%+v", workers.Status)
		}
		return ""
	})
	for _, m := range p.machines(t) {
		before[m.UID] = true
	}
	p.patch(t, control, `{"spec":{"distributionVersion":"4.20.5"}}`, false)
	version.Object["status"] = versionStatus("4.19.7", "4.20.5")
	if err := p.Status().Update(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	p.patch(t, workers, `{"spec":{"template":{"spec":{"version":"v1.33.5"}}}}`, false)
	p.eventually(t, "a Machine says what it waits for", func() string {
		told := ""
		for _, m := range p.machines(t) {
			if c := conditions.Get(&m, clusterv1.MachineUpdatingCondition); c != nil {
				told += c.Message
			}
		}
		if strings.Contains(told, "25% complete") {
			return ""
		}
		return "they say: " + told
	})
	version.Object["status"] = versionStatus("4.20.5", "")
	if err := p.Status().Update(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	p.kubelet = "v1.33.5"
	for _, m := range p.machines(t) {
		p.setNode(t, m.Name, func(n *corev1.Node) { n.Status.NodeInfo.KubeletVersion = p.kubelet })
	}
	p.eventually(t, "all Machines are updated", func() string {
		missing := ""
		for _, m := range p.machines(t) {
			_, updating := m.Annotations[clusterv1.UpdateInProgressAnnotation]
			if m.Spec.Version != "v1.33.5" || updating {
				missing += fmt.Sprintf("%s at %s, updating %t; ", m.Name, m.Spec.Version, updating)
			}
		}
		return missing
	})
	after := p.machines(t)
	for _, m := range after {
		if !before[m.UID] {
			t.Errorf("Machine %s is new", m.Name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("there are %d Machines, and were %d", len(after), len(before))
	}
}
