package lifecycle

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/install/model"
)

func born() time.Time { return time.Date(2026, 3, 9, 9, 0, 0, 0, time.UTC) }

// present is when everything is decided.
func present() time.Time { return born().Add(24 * time.Hour) }

// plane is a control plane in a test: Machines m-0, m-1, … with nodes cp-0, cp-1, …, the older the lower.
type plane struct{ Question }

// installed is a control plane of so many Machines that is well.
func installed(machines int) *plane {
	p := &plane{Question{
		Now: present(), Phase: Installed,
		Spec: &controlplanev1.OpenshiftAssistedControlPlaneSpec{Replicas: ptr.To(int32(machines))},
		Spoke: &model.Spoke{
			Etcd:      &model.Etcd{Desired: machines},
			Operators: []model.ClusterOperator{{Name: "etcd", Available: true}, {Name: "kube-apiserver", Available: true}},
		},
	}}
	for i := range machines {
		p.addMachine(i)
		p.addNode(i)
		p.addMember(i)
	}
	return p
}

// before is a control plane whose cluster is not being installed yet.
func before(machines int) *plane {
	p := installed(machines)
	p.Phase, p.Spoke = Before, nil
	return p
}

func address(i int) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("192.0.2.%d", 10+i)) }

func memberID(i int) string { return fmt.Sprintf("8e9e05c5216469%02d", i) }

func (p *plane) addMachine(i int) *Machine {
	m := &clusterv1.Machine{}
	m.Name, m.Namespace = fmt.Sprintf("m-%d", i), "clusters"
	m.CreationTimestamp.Time = born().Add(time.Duration(i) * time.Minute)
	m.Annotations = map[string]string{HookAnnotation: HookOwner}
	p.Machines = append(p.Machines, Machine{Machine: m})
	return &p.Machines[len(p.Machines)-1]
}

func (p *plane) machine(i int) *Machine {
	at := slices.IndexFunc(p.Machines, func(m Machine) bool { return m.Name == fmt.Sprintf("m-%d", i) })
	return &p.Machines[at]
}

func (p *plane) addNode(i int) {
	name := fmt.Sprintf("cp-%d", i)
	m := p.machine(i)
	m.Status.NodeRef.Name = name
	m.Status.Addresses = clusterv1.MachineAddresses{{Type: clusterv1.MachineInternalIP, Address: address(i).String()}}
	p.Spoke.Nodes = append(p.Spoke.Nodes, model.Node{Name: name, UID: "uid-" + name, Ready: true, Roles: []string{"control-plane", "master"}, Addresses: []netip.Addr{address(i)}})
}

func (p *plane) addMember(i int) {
	p.Spoke.Etcd.Members = append(p.Spoke.Etcd.Members, model.EtcdMember{ID: memberID(i), Address: address(i)})
	p.say()
}

// say makes the etcd operator report how the members are.
func (p *plane) say() {
	etcd := p.Spoke.Etcd
	all := len(etcd.Members)
	etcd.Message = fmt.Sprintf("%d members are available", all)
	if ill := len(etcd.Unhealthy); ill > 0 {
		etcd.Message = fmt.Sprintf("%d of %d members are available, %s is unhealthy", all-ill, all, strings.Join(etcd.Unhealthy, " is unhealthy, "))
	}
}

func (p *plane) node(i int) *model.Node { return p.Spoke.NodeByName(fmt.Sprintf("cp-%d", i)) }

// dies has a machine lose its power.
func (p *plane) dies(i int) {
	if n := p.node(i); n != nil {
		n.Ready = false
	}
	p.Spoke.Etcd.Unhealthy = append(p.Spoke.Etcd.Unhealthy, fmt.Sprintf("cp-%d", i))
	p.say()
}

// isUnhealthy makes the health check of Cluster API report a Machine as unhealthy.
func (p *plane) isUnhealthy(i int) *Machine {
	m := p.machine(i)
	for _, kind := range []string{clusterv1.MachineHealthCheckSucceededCondition, clusterv1.MachineOwnerRemediatedCondition} {
		conditions.Set(m.Machine, metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: "X"})
	}
	return m
}

// isDeleting marks a Machine as being deleted; drained says that Cluster API has reached its hook.
func (p *plane) isDeleting(i int, drained bool) *Machine {
	m := p.machine(i)
	m.DeletionTimestamp = &metav1.Time{Time: present()}
	if drained {
		m.Status.Deletion = &clusterv1.MachineDeletionStatus{WaitForPreTerminateHookStartTime: metav1.Time{Time: present()}}
	}
	return m
}

func (p *plane) loseNode(i int) {
	name := fmt.Sprintf("cp-%d", i)
	p.Spoke.Nodes = slices.DeleteFunc(p.Spoke.Nodes, func(n model.Node) bool { return n.Name == name })
}

func (p *plane) loseMember(i int) {
	name := fmt.Sprintf("cp-%d", i)
	p.Spoke.Etcd.Members = slices.DeleteFunc(p.Spoke.Etcd.Members, func(m model.EtcdMember) bool { return m.ID == memberID(i) })
	p.Spoke.Etcd.Unhealthy = slices.DeleteFunc(p.Spoke.Etcd.Unhealthy, func(n string) bool { return n == name })
	p.say()
}

func (p *plane) loseMachine(i int) {
	name := fmt.Sprintf("m-%d", i)
	p.Machines = slices.DeleteFunc(p.Machines, func(m Machine) bool { return m.Name == name })
}

func (p *plane) wants(replicas int) { p.Spec.Replicas = ptr.To(int32(replicas)) }

// decides fails the test unless the decision is this one: "", "Make", or "Delete m-0", with its cause.
func (p *plane) decides(t *testing.T, act string, cause Cause) Decision {
	t.Helper()
	d := Decide(&p.Question)
	is := strings.TrimSpace(string(d.Act) + " " + d.Machine)
	if is != act || act != "" && d.Cause != cause {
		t.Errorf("decided %q because of %q, want %q because of %q; %q, %v", is, d.Cause, act, cause, d.Blocked, d.Remediated)
	}
	return d
}

// blocked fails the test unless a decision says why nothing is done.
func blocked(t *testing.T, d Decision, because string) {
	t.Helper()
	if all := strings.Join(d.Blocked, "\n"); !strings.Contains(all, because) {
		t.Errorf("blocked by %q, want %q", all, because)
	}
}
