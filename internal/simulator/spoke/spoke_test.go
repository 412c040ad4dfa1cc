//go:build e2e

package spoke_test

import (
	"context"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
)

// server is the API server of all tests of this package.
var server kubetest.Shared

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

// speed is how fast the clusters of these tests live.
const speed = 600

// patience is how long something may take, in real time, on a machine with other work.
const patience = 2 * time.Minute

// stage is a cluster that a test plays with.
type stage struct {
	*spoke.Spoke
	t       *testing.T
	core    kubernetes.Interface
	objects dynamic.Interface
	clock   clock.Clock
	stops   []func()
}

func compact() spoke.Cluster {
	return spoke.Cluster{
		Name: "edge", BaseDomain: "example.com", MachineNetworks: []string{"192.168.127.0/24"},
		ControlPlane: []spoke.Node{node("cp-0", "192.168.127.10"), node("cp-1", "192.168.127.11"), node("cp-2", "192.168.127.12")},
	}
}

func node(name, address string) spoke.Node {
	return spoke.Node{Name: name, Addresses: []netip.Addr{netip.MustParseAddr(address)}}
}

func machine(name, address string) spoke.Machine {
	return spoke.Machine{
		Hostname: name, UUID: "11111111-2222-3333-4444-" + strings.Repeat("0", 12-len(name)) + name,
		Role: spoke.RoleWorker, Addresses: []netip.Addr{netip.MustParseAddr(address)},
	}
}

// play sets a cluster up and has its operators run until the test's end, when it is removed.
func play(t *testing.T, change func(*spoke.Config)) *stage {
	t.Helper()
	kube := server.Start(t)
	config := spoke.Config{Kube: kube.Config, Clock: clock.Scaled(speed), Cluster: compact(), Logf: t.Logf}
	if change != nil {
		change(&config)
	}
	s, err := spoke.New(config)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(kube.Config)
	if err != nil {
		t.Fatal(err)
	}
	st := &stage{Spoke: s, t: t, core: kube.Client, objects: objects, clock: config.Clock}
	st.clear()
	if err := s.SetUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	st.start(func(ctx context.Context) { _ = s.Run(ctx) })
	return st
}

// start does something beside the test until its end, or until it is stopped.
func (st *stage) start(do func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(st.t.Context())
	var running sync.WaitGroup
	running.Go(func() { do(ctx) })
	stop = func() {
		cancel()
		running.Wait()
	}
	st.t.Cleanup(stop)
	st.stops = append(st.stops, stop)
	return stop
}

// stopAll ends all that was started.
func (st *stage) stopAll() {
	for _, stop := range st.stops {
		stop()
	}
}

// join boots a machine, until the test's end or it is switched off.
func (st *stage) join(m spoke.Machine) (off func()) {
	return st.start(func(ctx context.Context) { _ = st.Join(ctx, m) })
}

// clear removes what an earlier test has left.
func (st *stage) clear() {
	st.t.Helper()
	ctx := st.t.Context()
	everything := metav1.DeleteOptions{}
	for _, err := range []error{
		st.core.CoreV1().Nodes().DeleteCollection(ctx, everything, metav1.ListOptions{}),
		st.core.CertificatesV1().CertificateSigningRequests().DeleteCollection(ctx, everything, metav1.ListOptions{}),
		st.core.CoreV1().Secrets("openshift-etcd").DeleteCollection(ctx, everything, metav1.ListOptions{}),
		st.objects.Resource(clusterVersions).Delete(ctx, "version", everything),
		st.objects.Resource(operators).DeleteCollection(ctx, everything, metav1.ListOptions{}),
		st.core.CoreV1().Pods("openshift-etcd").DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}, metav1.ListOptions{}),
		st.core.CoreV1().Pods("default").DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}, metav1.ListOptions{}),
		st.core.PolicyV1().PodDisruptionBudgets("openshift-etcd").DeleteCollection(ctx, everything, metav1.ListOptions{}),
		st.core.PolicyV1().PodDisruptionBudgets("default").DeleteCollection(ctx, everything, metav1.ListOptions{}),
		st.objects.Resource(pools).DeleteCollection(ctx, everything, metav1.ListOptions{}),
		st.objects.Resource(etcds).DeleteCollection(ctx, everything, metav1.ListOptions{}),
	} {
		if err != nil && !apierrors.IsNotFound(err) {
			st.t.Fatal(err)
		}
	}
	for _, of := range []schema.GroupVersionResource{machineSets, machines, hosts} {
		st.release(of)
	}
}

// release removes objects of the Machine API with their finalizers.
func (st *stage) release(of schema.GroupVersionResource) {
	st.t.Helper()
	all := st.objects.Resource(of).Namespace("openshift-machine-api")
	list, err := all.List(st.t.Context(), metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return
	}
	if err != nil {
		st.t.Fatal(err)
	}
	for i := range list.Items {
		if err := all.Delete(st.t.Context(), list.Items[i].GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			st.t.Fatal(err)
		}
		_, err := all.Patch(st.t.Context(), list.Items[i].GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			st.t.Fatal(err)
		}
	}
}

var (
	machines        = schema.GroupVersionResource{Group: "machine.openshift.io", Version: "v1beta1", Resource: "machines"}
	machineSets     = schema.GroupVersionResource{Group: "machine.openshift.io", Version: "v1beta1", Resource: "machinesets"}
	hosts           = schema.GroupVersionResource{Group: "metal3.io", Version: "v1alpha1", Resource: "baremetalhosts"}
	clusterVersions = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "clusterversions"}
	infrastructures = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "infrastructures"}
	operators       = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "clusteroperators"}
	pools           = schema.GroupVersionResource{Group: "machineconfiguration.openshift.io", Version: "v1", Resource: "machineconfigpools"}
	machineConfigs  = schema.GroupVersionResource{Group: "machineconfiguration.openshift.io", Version: "v1", Resource: "machineconfigs"}
	etcds           = schema.GroupVersionResource{Group: "operator.openshift.io", Version: "v1", Resource: "etcds"}
)

// eventually waits until something is so.
func (st *stage) eventually(what string, is func(context.Context) (bool, error)) {
	st.t.Helper()
	if err := wait.PollUntilContextTimeout(st.t.Context(), 20*time.Millisecond, patience, true, is); err != nil {
		st.t.Fatalf("waiting for %s: %v", what, err)
	}
}

func (st *stage) node(name string) *corev1.Node {
	st.t.Helper()
	n, err := st.core.CoreV1().Nodes().Get(st.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		st.t.Fatal(err)
	}
	return n
}

func (st *stage) object(of schema.GroupVersionResource, name string) *unstructured.Unstructured {
	st.t.Helper()
	u, err := st.objects.Resource(of).Get(st.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		st.t.Fatal(err)
	}
	return u
}

func text(u *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(u.Object, path...)
	return value
}

// readiness is a node's condition Ready, the zero one without a Node.
func (st *stage) readiness(name string) corev1.NodeCondition {
	st.t.Helper()
	n := st.node(name)
	if n == nil {
		return corev1.NodeCondition{}
	}
	i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 {
		return corev1.NodeCondition{}
	}
	return n.Status.Conditions[i]
}

func (st *stage) requests() []certificatesv1.CertificateSigningRequest {
	st.t.Helper()
	list, err := st.core.CertificatesV1().CertificateSigningRequests().List(st.t.Context(), metav1.ListOptions{})
	if err != nil {
		st.t.Fatal(err)
	}
	return list.Items
}

func pending(c *certificatesv1.CertificateSigningRequest) bool { return len(c.Status.Conditions) == 0 }

// approveAll answers every request that is pending of a signer.
func (st *stage) approveAll(signer string) {
	st.t.Helper()
	for _, c := range st.requests() {
		if c.Spec.SignerName == signer && pending(&c) {
			st.approve(c.Name)
		}
	}
}

func (st *stage) approve(name string) {
	st.t.Helper()
	csrs := st.core.CertificatesV1().CertificateSigningRequests()
	st.eventually("the approval of "+name, func(ctx context.Context) (bool, error) {
		c, err := csrs.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		c.Status.Conditions = append(c.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test", Message: "approved by the test",
		})
		_, err = csrs.UpdateApproval(ctx, name, c, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			return false, nil
		}
		return true, err
	})
}

// awaitRequest waits for a request that is pending of a signer.
func (st *stage) awaitRequest(signer string) certificatesv1.CertificateSigningRequest {
	st.t.Helper()
	var found certificatesv1.CertificateSigningRequest
	st.eventually("a request to "+signer, func(context.Context) (bool, error) {
		for _, c := range st.requests() {
			if c.Spec.SignerName == signer && pending(&c) {
				found = c
				return true, nil
			}
		}
		return false, nil
	})
	return found
}

// awaitReady waits until a node says whether it is ready.
func (st *stage) awaitReady(name string, status corev1.ConditionStatus) corev1.NodeCondition {
	st.t.Helper()
	st.eventually(name+" to be ready "+string(status), func(context.Context) (bool, error) { return st.readiness(name).Status == status, nil })
	return st.readiness(name)
}

// joined is a worker that has joined, with its requests approved by the test.
func (st *stage) joined(m spoke.Machine) (off func()) {
	st.t.Helper()
	off = st.join(m)
	st.approve(st.awaitRequest(client).Name)
	st.approve(st.awaitRequest(serving).Name)
	st.awaitReady(m.Hostname, corev1.ConditionTrue)
	return off
}

// sleep lets time of the simulation pass.
func (st *stage) sleep(d time.Duration) {
	st.t.Helper()
	if err := st.clock.Sleep(st.t.Context(), d); err != nil {
		st.t.Fatal(err)
	}
}

// condition is one of an object's.
func (st *stage) condition(of schema.GroupVersionResource, name, kind string) map[string]any {
	st.t.Helper()
	list, _, _ := unstructured.NestedSlice(st.object(of, name).Object, "status", "conditions")
	for _, entry := range list {
		if c := entry.(map[string]any); c["type"] == kind {
			return c
		}
	}
	return nil
}

// awaitCondition waits until a condition has a status and says something.
func (st *stage) awaitCondition(of schema.GroupVersionResource, name, kind, status, message string) {
	st.t.Helper()
	st.eventually(name+" to be "+kind+" "+status+": "+message, func(context.Context) (bool, error) {
		c := st.condition(of, name, kind)
		said, _ := c["message"].(string)
		return c["status"] == status && strings.HasPrefix(said, message), nil
	})
}
