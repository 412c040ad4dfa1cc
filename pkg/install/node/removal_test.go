//go:build e2e

package node_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/node"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const machineSpace = "openshift-machine-api"

func resource(group, version, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: name}
}

// leaving is an installed cluster that nodes are taken out of, whose service has a record of each.
type leaving struct {
	*stage
	objects dynamic.Interface

	mu        sync.Mutex
	records   []model.Host
	given     []string // back to their pools, by name
	forgotten []string
}

// workers are those that the cluster was installed with, with Machines or without.
func newLeaving(t *testing.T, machines bool, change func(*spoke.Config)) *leaving {
	t.Helper()
	l := &leaving{stage: newStage(t, func(c *spoke.Config) {
		c.Cluster.Workers = []spoke.Node{at("w-0", "192.168.127.20"), at("w-1", "192.168.127.21"), at("w-2", "192.168.127.22")}
		if machines {
			c.Cluster.MachineAPI, c.Cluster.Platform = true, spoke.BareMetal
			c.Cluster.APIVIPs, c.Cluster.IngressVIPs = []string{"192.168.127.100"}, []string{"192.168.127.101"}
		}
		if change != nil {
			change(c)
		}
	})}
	l.objects = must.Get(dynamic.NewForConfig(l.kube.Config))(t)
	c := l.spoke.Cluster()
	for _, n := range slices.Concat(c.ControlPlane, c.Workers) {
		l.record(n.Name, n.Addresses[0])
	}
	return l
}

func (l *leaving) record(name string, address netip.Addr) {
	role := spec.Worker
	if strings.HasPrefix(name, "cp-") {
		role = spec.ControlPlane
	}
	l.records = append(l.records, model.Host{
		ID: "id-" + name, InfraEnvID: "env", Hostname: name, State: model.HostInstalled, Role: role, Settings: model.Settings{},
		Inventory: model.Inventory{Known: true, Hostname: name, Interfaces: []model.Interface{{MAC: "00:00", Addresses: []string{address.String() + "/24"}}}},
	})
}

// Observe is of install.Service.
func (l *leaving) Observe(ctx context.Context, q model.Query, prior *model.Observed) (*model.Observed, error) {
	o, err := l.stage.Observe(ctx, q, prior)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	o.Hosts, o.Cluster.State = slices.Clone(l.records), model.ClusterInstalled
	return o, nil
}

// Act is of install.Service: it forgets hosts, and gives them back.
func (l *leaving) Act(ctx context.Context, d *model.Desired, a model.Action) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch a.Kind {
	case model.RemoveHost:
		l.forgotten = append(l.forgotten, a.Target)
	case model.ReturnHost:
		l.given = append(l.given, a.Name)
	default:
		return l.stage.Act(ctx, d, a)
	}
	l.records = slices.DeleteFunc(l.records, func(h model.Host) bool { return h.ID == a.Target })
	return nil
}

func (l *leaving) removing(change func(*model.Removal), names ...string) *model.Desired {
	removal := &model.Removal{Nodes: names, Drain: model.DrainOptions{GracePeriod: -1}}
	if change != nil {
		change(removal)
	}
	return &model.Desired{
		Spec:    &spec.Cluster{Metadata: spec.Metadata{Name: "lab"}, Spec: spec.ClusterSpec{BaseDomain: "example.com", AcceptUnknownHosts: true}},
		Options: model.Options{Adopt: "cluster-1", Remove: removal},
	}
}

// remove runs once, with a plane of its own. told is called with each event.
func (l *leaving) remove(desired *model.Desired, told func(model.Event), options ...install.Config) (install.Result, error) {
	ctx, cancel := context.WithTimeout(l.t.Context(), 2*time.Minute)
	defer cancel()
	plane := l.plane()
	defer plane.Close()
	options = append([]install.Config{
		{Nodes: plane, Clock: l.clock, Timeout: -1, UserTimeout: -1,
			Events: func(e model.Event) {
				l.t.Logf("%s %s %s %s", e.Type, e.Key, e.State, e.Message)
				if told != nil {
					told(e)
				}
			}},
	}, options...)
	return install.New(l, options...).Run(ctx, desired)
}

// pod makes a pod that runs on a node, of a ReplicaSet.
func (l *leaving) pod(name, node string, change func(*corev1.Pod)) {
	l.t.Helper()
	labels := map[string]string{"app": name}
	owner := must.Get(l.kube.Client.AppsV1().ReplicaSets("default").Create(l.t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}}},
		}},
	}, metav1.CreateOptions{}))(l.t)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: owner.UID, Controller: new(true)},
		}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}}},
	}
	if change != nil {
		change(pod)
	}
	pods := l.kube.Client.CoreV1().Pods("default")
	made := must.Get(pods.Create(l.t.Context(), pod, metav1.CreateOptions{}))(l.t)
	made.Status.Phase = corev1.PodRunning
	made.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	must.Get(pods.UpdateStatus(l.t.Context(), made, metav1.UpdateOptions{}))(l.t)
}

// budget lets none of the pods of a name go.
func (l *leaving) budget(name string) {
	l.t.Helper()
	one := intstr.FromInt32(1)
	must.Get(l.kube.Client.PolicyV1().PodDisruptionBudgets("default").Create(l.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}},
	}, metav1.CreateOptions{}))(l.t)
}

// daemon is a pod of a DaemonSet that is there.
func (l *leaving) daemon(name, node string) {
	l.t.Helper()
	labels := map[string]string{"app": name}
	set := must.Get(l.kube.Client.AppsV1().DaemonSets("default").Create(l.t.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}}},
		}},
	}, metav1.CreateOptions{}))(l.t)
	l.pod(name, node, func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: name, UID: set.UID, Controller: new(true)}}
	})
}

func (l *leaving) hasNode(name string) bool {
	_, err := l.kube.Client.CoreV1().Nodes().Get(l.t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		l.t.Fatal(err)
	}
	return err == nil
}

func (l *leaving) list(group, version, name string) []unstructured.Unstructured {
	l.t.Helper()
	list := must.Get(l.objects.Resource(resource(group, version, name)).Namespace(machineSpace).List(l.t.Context(), metav1.ListOptions{}))(l.t)
	return list.Items
}

func (l *leaving) machines() []unstructured.Unstructured {
	return l.list("machine.openshift.io", "v1beta1", "machines")
}

func (l *leaving) metal() []string {
	var all []string
	for _, u := range l.list("metal3.io", "v1alpha1", "baremetalhosts") {
		all = append(all, u.GetName())
	}
	return all
}

func (l *leaving) replicas() int64 {
	sets := l.list("machine.openshift.io", "v1beta1", "machinesets")
	if len(sets) != 1 {
		l.t.Fatalf("%d MachineSets", len(sets))
	}
	count, _, _ := unstructured.NestedInt64(sets[0].Object, "spec", "replicas")
	return count
}

// untouched fails where something was done to the nodes that stay.
func (l *leaving) untouched(names ...string) {
	l.t.Helper()
	for _, name := range names {
		n, err := l.kube.Client.CoreV1().Nodes().Get(l.t.Context(), name, metav1.GetOptions{})
		if err != nil || n.Spec.Unschedulable {
			l.t.Errorf("%s: %v, cordoned %v", name, err, n != nil && n.Spec.Unschedulable)
		}
	}
}

// TestDrains: pods leave by eviction, one that a budget holds is waited for by name and goes once
// it may, DaemonSets' and static pods stay, and the node and the service's record go last.
func TestDrains(t *testing.T) {
	l := newLeaving(t, false, nil)
	l.pod("web", "w-1", nil)
	l.pod("db", "w-1", nil)
	l.pod("elsewhere", "w-0", nil)
	l.pod("static", "w-1", func(p *corev1.Pod) {
		p.OwnerReferences, p.Annotations = nil, map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	})
	l.budget("db")
	l.daemon("agent", "w-1")
	held := false
	result, err := l.remove(l.removing(func(r *model.Removal) { r.Drain.IgnoreDaemonSets = true }, "w-1"), func(e model.Event) {
		if e.Reason != "PodHeld" || held {
			return
		}
		held = true
		if !strings.Contains(e.Message, "default/db") || !strings.Contains(e.Message, "protected by the PodDisruptionBudget db") || !l.hasNode("w-1") {
			t.Errorf("told %s", e.Message)
		}
		check.Do(t, l.kube.Client.PolicyV1().PodDisruptionBudgets("default").Delete(t.Context(), "db", metav1.DeleteOptions{}))
	})
	if err != nil || !held || l.hasNode("w-1") || !slices.Equal(l.forgotten, []string{"id-w-1"}) {
		t.Fatalf("%v, held %v, forgotten %v, waits %+v", err, held, l.forgotten, result.Plan.Waits)
	}
	check.Do(t, check.Err(l.kube.Client.CoreV1().Pods("default").Get(t.Context(), "elsewhere", metav1.GetOptions{})), "a pod of another node")
	l.untouched("w-0", "w-2", "cp-0", "cp-1", "cp-2")
	check.Contains(t, result.Plan.Message, "has not seen that w-1 is off", "the end")
}

// TestDrainIsRefused with the words of kubectl, and nothing is done.
func TestDrainIsRefused(t *testing.T) {
	l := newLeaving(t, false, nil)
	l.daemon("agent", "w-1")
	l.pod("cache", "w-1", func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	})
	l.pod("alone", "w-1", func(p *corev1.Pod) { p.OwnerReferences = nil })
	_, err := l.remove(l.removing(nil, "w-1"), nil)
	for _, want := range []string{
		"DaemonSet-managed Pods (use --ignore-daemonsets to ignore): default/agent", "Pods with local storage (use --delete-emptydir-data to override): default/cache",
		"Pods that declare no controller (use --force to override): default/alone",
	} {
		check.Says(t, err, want)
	}
	if model.FaultOf(err).Code != model.CodeInput || !strings.HasPrefix(model.FaultOf(err).Next.String(), "run the same command again with --ignore-daemonsets --force --delete-emptydir-data") {
		t.Errorf("code %d, next %s", model.FaultOf(err).Code, model.FaultOf(err).Next)
	}
	l.untouched("w-0", "w-1", "w-2")
	result, err := l.remove(l.removing(func(r *model.Removal) {
		r.Drain.IgnoreDaemonSets, r.Drain.DeleteEmptyDirData, r.Drain.Force = true, true, true
	}, "w-1"), nil)
	if err != nil || l.hasNode("w-1") {
		t.Errorf("with the flags: %v, %+v", err, result.Plan.Waits)
	}
}

// TestDrainTimesOut with the pod, its budget and since when, and says how to go back.
func TestDrainTimesOut(t *testing.T) {
	l := newLeaving(t, false, nil)
	l.pod("db", "w-1", nil)
	l.budget("db")
	_, err := l.remove(l.removing(func(r *model.Removal) { r.Drain.Timeout = 5 * time.Minute }, "w-1"), nil)
	if model.FaultOf(err).Code != model.CodeTimeout || !strings.Contains(err.Error(), "default/db is protected by the PodDisruptionBudget db since") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(string(model.FaultOf(err).Next), "kubectl uncordon w-1") || !l.hasNode("w-1") {
		t.Errorf("next %s", model.FaultOf(err).Next)
	}
}

// TestRemovesMachines: two workers go with their Machines and BareMetalHosts, by a MachineSet that
// is lowered once for each, and no other Machine goes or is made.
func TestRemovesMachines(t *testing.T) {
	l := newLeaving(t, true, nil)
	l.pod("web", "w-1", nil)
	before := len(l.machines())
	result, err := l.remove(l.removing(nil, "w-1", "w-2"), nil)
	if err != nil {
		t.Fatalf("%v; %+v", err, result.Plan.Waits)
	}
	if l.hasNode("w-1") || l.hasNode("w-2") || l.replicas() != 1 || len(l.machines()) != before-2 || slices.Contains(l.metal(), "w-1") || slices.Contains(l.metal(), "w-2") {
		t.Errorf("replicas %d, %d Machines, hosts %v", l.replicas(), len(l.machines()), l.metal())
	}
	slices.Sort(l.forgotten)
	if !slices.Equal(l.forgotten, []string{"id-w-1", "id-w-2"}) || !slices.Contains(l.metal(), "w-0") {
		t.Errorf("forgotten %v, hosts %v", l.forgotten, l.metal())
	}
	l.untouched("w-0", "cp-0", "cp-1", "cp-2")
}

// killedAfter ends a run after an act, when it was carried out.
type killedAfter struct {
	*node.Plane
	kill func()
}

func (k killedAfter) Act(ctx context.Context, d *model.Desired, o *model.Observed, a model.Action) error {
	err := k.Plane.Act(ctx, d, o, a)
	k.kill()
	if err != nil {
		return err
	}
	return context.Canceled
}

// TestKilledRemoval: a run that is killed after each act is finished by those that come after it,
// and nothing is done twice.
func TestKilledRemoval(t *testing.T) {
	l := newLeaving(t, true, nil)
	l.pod("web", "w-1", nil)
	runs := l.killed(l, l.removing(nil, "w-1"))
	if runs < 6 || l.hasNode("w-1") || l.replicas() != 2 || slices.Contains(l.metal(), "w-1") || !slices.Equal(l.forgotten, []string{"id-w-1"}) {
		t.Errorf("%d runs, replicas %d, hosts %v, forgotten %v", runs, l.replicas(), l.metal(), l.forgotten)
	}
	l.untouched("w-0", "w-2")
}

// killed runs again and again, each time until the first write to the cluster is done; it answers how
// often, until nothing was left to do.
func (l *leaving) killed(service install.Service, desired *model.Desired) (runs int) {
	l.t.Helper()
	for ; runs < 30; runs++ {
		ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
		plane := l.plane()
		_, err := install.New(service, install.Config{Nodes: killedAfter{plane, cancel}, Clock: l.clock, Timeout: -1, UserTimeout: -1, Files: install.Directory(l.dir)}).Run(ctx, desired)
		cancel()
		plane.Close()
		if err == nil {
			return runs
		}
		if model.FaultOf(err).Code != model.CodeInterrupted && !errors.Is(err, context.Canceled) {
			l.t.Fatalf("run %d: %v", runs, err)
		}
	}
	l.t.Fatal("it does not end")
	return runs
}

// TestControlPlaneOfThree is refused, and nothing is done.
func TestControlPlaneOfThree(t *testing.T) {
	l := newLeaving(t, true, nil)
	_, err := l.remove(l.removing(nil, "cp-1"), nil)
	if model.FaultOf(err).Code != model.CodeInput || !strings.Contains(err.Error(), "etcd would have 2 members, but it needs 3") || !strings.Contains(model.FaultOf(err).Next.String(), "replace-node cp-1") {
		t.Errorf("got %v; next %s", err, model.FaultOf(err).Next)
	}
	l.untouched("cp-0", "cp-1", "cp-2")
	if len(l.forgotten) > 0 {
		t.Errorf("forgotten %v", l.forgotten)
	}
}

// TestControlPlaneWithoutMachines: a person takes the member out, by the command that is printed,
// and the run continues from there.
func TestControlPlaneWithoutMachines(t *testing.T) {
	l := newLeaving(t, false, func(c *spoke.Config) {
		c.Cluster.ControlPlane = append(c.Cluster.ControlPlane, at("cp-3", "192.168.127.13"))
	})
	asked := ""
	result, err := l.remove(l.removing(func(r *model.Removal) { r.Drain.Force = true }, "cp-3"), func(e model.Event) {
		if e.Reason != "Waiting" {
			return
		}
		asked = e.Next.String()
		if l.hasNode("cp-3") {
			t.Error("the member is to go while its node is there: it would come back")
		}
		if gone, err := l.spoke.RemoveMember(t.Context(), "cp-3"); !gone || err != nil {
			t.Errorf("the member is removed: %v, %v", gone, err)
		}
	})
	if err != nil {
		t.Fatalf("%v; %+v %+v", err, result.Plan.Waits, result.Plan.Blockers)
	}
	if !strings.HasPrefix(asked, "oc -n openshift-etcd rsh etcd-cp-0 etcdctl member remove ") || l.members() != 3 || !slices.Equal(l.forgotten, []string{"id-cp-3"}) {
		t.Errorf("asked for %q, %d members, forgotten %v", asked, l.members(), l.forgotten)
	}
	l.untouched("cp-0", "cp-1", "cp-2")
}

func (l *leaving) members() int {
	l.t.Helper()
	m := must.Get(l.kube.Client.CoreV1().ConfigMaps("openshift-etcd").Get(l.t.Context(), "etcd-endpoints", metav1.GetOptions{}))(l.t)
	return len(m.Data)
}

// TestControlPlaneWithMachines: the fourth is there, and the etcd operator takes the member of the
// one that goes away by itself.
func TestControlPlaneWithMachines(t *testing.T) {
	l := newLeaving(t, true, func(c *spoke.Config) { c.Approvers.DayOne = true })
	fourth := spoke.Machine{Hostname: "cp-3", UUID: "uuid-cp-3", Role: spoke.RoleControlPlane, Addresses: []netip.Addr{netip.MustParseAddr("192.168.127.13")}}
	l.beside(func(ctx context.Context) { _ = l.spoke.Join(ctx, fourth) })
	l.addMachine("cp-3", "192.168.127.13")
	l.record("cp-3", fourth.Addresses[0])
	for range 600 {
		if l.members() == 4 {
			break
		}
		must.Do(t, l.clock.Sleep(t.Context(), 5*time.Second))
	}
	result, err := l.remove(l.removing(func(r *model.Removal) { r.Drain.Force = true }, "cp-1"), func(e model.Event) {
		if e.Reason == "Waiting" {
			t.Errorf("a person is asked for: %s", e.Message)
		}
	})
	if err != nil {
		t.Fatalf("%v; %+v %+v", err, result.Plan.Waits, result.Plan.Blockers)
	}
	if l.members() != 3 || l.hasNode("cp-1") || slices.Contains(l.metal(), "cp-1") {
		t.Errorf("%d members, hosts %v", l.members(), l.metal())
	}
	l.untouched("cp-0", "cp-2", "cp-3")
}

// addMachine makes a Machine with its host, as is done for a control plane node that is added.
func (l *leaving) addMachine(name, address string) {
	l.t.Helper()
	host := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"online": true, "externallyProvisioned": true, "bootMACAddress": "00:00:00:00:00:02"},
	}}
	machine := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
		"metadata": map[string]any{
			"name": name, "labels": map[string]any{"machine.openshift.io/cluster-api-machine-role": "master", "machine.openshift.io/cluster-api-machine-type": "master"},
			"annotations": map[string]any{"metal3.io/BareMetalHost": machineSpace + "/" + name},
		},
		"spec": map[string]any{},
	}}
	hosts := l.objects.Resource(resource("metal3.io", "v1alpha1", "baremetalhosts")).Namespace(machineSpace)
	must.Get(hosts.Create(l.t.Context(), host, metav1.CreateOptions{}))(l.t)
	must.Get(l.objects.Resource(resource("machine.openshift.io", "v1beta1", "machines")).Namespace(machineSpace).Create(l.t.Context(), machine, metav1.CreateOptions{}))(l.t)
	status := fmt.Sprintf(`{"status":{"errorCount":0,"errorMessage":"","operationalStatus":"OK","poweredOn":true,"provisioning":{"state":"externally provisioned","ID":"x"},"hardware":{"hostname":%q,"nics":[{"ip":%q}]}}}`, name, address)
	must.Get(hosts.Patch(l.t.Context(), name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status"))(l.t)
}
