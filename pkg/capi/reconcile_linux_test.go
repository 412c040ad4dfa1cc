package capi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/oaictl/oaictl/internal/shared/clock"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/bootstrap"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/controlplane"
	"github.com/oaictl/oaictl/pkg/capi/internal/status"
	"github.com/oaictl/oaictl/pkg/capi/internal/versions"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// BenchmarkReconcile measures the processor time of one reconcile that reads everything again, while a cluster is
// installed, over a reader that has it all in memory.
func BenchmarkReconcile(b *testing.B) {
	for _, workers := range []int{2, 47} {
		name := fmt.Sprintf("%d-Machines", 3+workers)
		s := newStill(b, workers)
		b.Run("config/"+name, func(b *testing.B) { s.run(b, s.configs, "w-0") })
		b.Run("control-plane/"+name, func(b *testing.B) { s.run(b, s.planes, "lab") })
	}
}

// stillCluster is a cluster in the middle of its installation, in which nothing changes.
type stillCluster struct {
	install.Backend

	set      *clusterloop.Set
	configs  reconcile.Reconciler
	planes   reconcile.Reconciler
	observed model.Observed
}

func (s *stillCluster) Observe(context.Context, model.Query, *model.Observed) (*model.Observed, error) {
	shown := s.observed
	shown.InfraEnvs, shown.Hosts = slices.Clone(shown.InfraEnvs), slices.Clone(shown.Hosts)
	return &shown, nil
}

func (s *stillCluster) Act(context.Context, *model.Desired, model.Action) error {
	return errors.New("not played")
}

func (s *stillCluster) DownloadInfraEnvFile(_ context.Context, _, _ string, out io.Writer) error {
	_, err := io.WriteString(out, `{"ignition":{"version":"3.1.0"}}`)
	return err
}

func (s *stillCluster) Close() {}

// run reconciles an object again and again.
func (s *stillCluster) run(b *testing.B, r reconcile.Reconciler, name string) {
	b.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var times []time.Duration
	for b.Loop() {
		s.set.Changed(lab)
		before := threadTime(b)
		if _, err := r.Reconcile(b.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: name}}); err != nil {
			b.Fatal(err)
		}
		times = append(times, threadTime(b)-before)
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "cpu-ms-median")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "cpu-ms-p99")
}

// threadTime is how much of the processor this thread has had.
func threadTime(b *testing.B) time.Duration {
	b.Helper()
	const thread = 1 // RUSAGE_THREAD
	var usage syscall.Rusage
	if err := syscall.Getrusage(thread, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

var lab = clusterloop.Key{Namespace: "ns", Name: "lab"}

func newStill(b *testing.B, workers int) *stillCluster {
	b.Helper()
	scheme, err := Scheme()
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	s := &stillCluster{observed: model.Observed{At: now, Cluster: &model.Cluster{
		ClusterRef: model.ClusterRef{ID: "ns/lab", Name: "lab", BaseDomain: "example.com", Owned: true}, State: model.ClusterInstalling, Version: "4.20.3", StatusSince: now,
	}}}
	objects := s.objects(workers)
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(objects...).Build()
	source := &clusterspec.Source{Client: c, Live: c, Hub: true}
	s.set = clusterloop.New(clusterloop.Config{
		Connect: func(string) (install.Backend, error) { return s, nil }, Desire: source.Desire, Mark: source.Mark, Clock: clock.Real(),
		Wake: func(clusterloop.Key, []model.Scope) {},
	})
	recorder := events.NewFakeRecorder(1000)
	s.configs = &bootstrap.Reconciler{Client: c, Live: c, Installations: s.set, Recorder: recorder, Clock: clock.Real(), Status: status.New(clock.Real())}
	s.planes = &controlplane.Reconciler{
		Client: c, Live: c, Installations: s.set, Recorder: recorder, Clock: clock.Real(), OnHub: true, Workloads: &controlplane.Workloads{},
		Status: status.New(clock.Real()), Versions: &versions.Mapping{Clock: clock.Real()},
		Answers: func(context.Context, []byte) error { return errors.New("it does not answer yet") },
	}
	return s
}

const metal3 = "infrastructure.cluster.x-k8s.io"

// definition is what is read of the definition of a kind: which version of it has which contract.
func definition(plural string) client.Object {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + metal3, "labels": map[string]any{"cluster.x-k8s.io/v1beta2": "v1beta2"}},
	}}
}

func infrastructure(kind, name string) client.Object {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": metal3 + "/v1beta2", "kind": kind, "metadata": map[string]any{"name": name, "namespace": "ns", "uid": kind + name},
		"spec": map[string]any{"image": map[string]any{"url": "http://images.example.com/rhcos.qcow2"}},
	}}
}

// objects are those of the management cluster; what the service has of them is recorded.
func (s *stillCluster) objects(workers int) []client.Object {
	labels := map[string]string{clusterv1.ClusterNameLabel: "lab"}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab", UID: "cluster"}, Spec: clusterv1.ClusterSpec{
		ControlPlaneRef:      clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.Group, Kind: controlplanev1.ControlPlaneKind, Name: "lab"},
		ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "192.168.127.100", Port: 6443},
		ClusterNetwork:       clusterv1.ClusterNetwork{Pods: clusterv1.NetworkRanges{CIDRBlocks: []string{"10.128.0.0/14"}}, Services: clusterv1.NetworkRanges{CIDRBlocks: []string{"172.30.0.0/16"}}},
	}}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	plane := &controlplanev1.OpenshiftAssistedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab", UID: "plane", Labels: labels, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "lab", UID: "cluster", Controller: ptr.To(true)},
		}},
		Spec: controlplanev1.OpenshiftAssistedControlPlaneSpec{Replicas: ptr.To[int32](3), DistributionVersion: "4.20.3"},
	}
	plane.Spec.Config.BaseDomain, plane.Spec.Config.APIVIPs, plane.Spec.Config.IngressVIPs = "example.com", []string{"192.168.127.100"}, []string{"192.168.127.101"}
	plane.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: metal3, Kind: "Metal3MachineTemplate", Name: "lab"}
	plane.Spec.Config.PullSecretRef = &corev1.LocalObjectReference{Name: "pull"}
	all := []client.Object{
		cluster, plane, definition("metal3machines"), definition("metal3machinetemplates"), infrastructure("Metal3MachineTemplate", "lab"),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pull"}, Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{"quay.io":{"auth":"dTpw"}}}`)}},
		&clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "w", Labels: labels}, Spec: clusterv1.MachineDeploymentSpec{ClusterName: "lab", Replicas: ptr.To(int32(workers))}},
	}
	for i := range 3 + workers {
		name, of := fmt.Sprintf("w-%d", i-3), map[string]string{clusterv1.ClusterNameLabel: "lab"}
		owner := metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineSet", Name: "w", UID: "set", Controller: ptr.To(true)}
		role := spec.Worker
		if i < 3 {
			name, role = fmt.Sprintf("m-%d", i), spec.ControlPlane
			of[clusterv1.MachineControlPlaneLabel] = ""
			owner = *metav1.NewControllerRef(plane, controlplanev1.GroupVersion().WithKind(controlplanev1.ControlPlaneKind))
		}
		machine := &clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "m", Labels: of, OwnerReferences: []metav1.OwnerReference{owner}},
			Spec: clusterv1.MachineSpec{ClusterName: "lab", Bootstrap: clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: bootstrapv1.Group, Kind: bootstrapv1.ConfigKind, Name: name,
			}}, InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: metal3, Kind: "Metal3Machine", Name: name}},
		}
		all = append(all, machine, infrastructure("Metal3Machine", name), &bootstrapv1.OpenshiftAssistedConfig{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: "config", Labels: of,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(machine, clusterv1.GroupVersion.WithKind("Machine"))},
		}})
		s.observed.InfraEnvs = append(s.observed.InfraEnvs, model.InfraEnv{
			ID: "ns/" + name, Name: name, ClusterID: "ns/lab", Owned: true, Image: model.Image{State: model.ImageReady, URL: "http://images/" + name, Created: s.observed.At},
		})
		s.observed.Hosts = append(s.observed.Hosts, model.Host{
			ID: "host-" + name, InfraEnvID: "ns/" + name, ClusterID: "ns/lab", Hostname: name, State: model.HostInstalling, Role: role,
			Since: s.observed.At, CheckedIn: s.observed.At, Registered: s.observed.At, Progress: model.HostProgress{Stage: "Writing image to disk", Since: s.observed.At},
		})
	}
	return all
}
