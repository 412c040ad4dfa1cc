package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestMayDrain: a node is not drained while the cluster is installed, nor before Cluster API knows which Machine it
// belongs to.
func TestMayDrain(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*plane)
		drains bool
	}{
		"it has a node":                               {func(*plane) {}, true},
		"it has a dead one":                           {func(p *plane) { p.dies(0) }, true},
		"etcd cannot do without":                      {func(p *plane) { p.dies(1) }, true},
		"its node is not known to be its own":         {func(p *plane) { p.forgetsNode(0) }, false},
		"nor is it known whether it has one":          {func(p *plane) { p.forgetsNode(0); p.Spoke.Trouble = "timeout" }, false},
		"nobody has looked whether it has one":        {func(p *plane) { p.forgetsNode(0); p.Spoke = nil }, false},
		"it never joined":                             {func(p *plane) { p.forgetsNode(0); p.loseNode(0) }, true},
		"the installation runs":                       {func(p *plane) { p.Phase = Installing }, false},
		"the installation failed":                     {func(p *plane) { p.forgetsNode(0); p.Phase = Stopped }, true},
		"the cluster goes as a whole":                 {func(p *plane) { p.forgetsNode(0); p.Gone = true }, true},
		"somebody lets it go while it is installed":   {func(p *plane) { p.Phase = Installing; delete(p.machine(0).Annotations, HookAnnotation) }, true},
		"somebody lets it go whose node is not known": {func(p *plane) { p.forgetsNode(0); delete(p.machine(0).Annotations, HookAnnotation) }, true},
	} {
		p := installed(3)
		p.isDeleting(0, false)
		test.change(p)
		if MayDrain(&p.Question, p.machine(0)) != test.drains {
			t.Errorf("%s: drained %v", name, !test.drains)
		}
	}
}

// forgetsNode has Cluster API not know the node of a Machine yet, which the service knows as a host.
func (p *plane) forgetsNode(i int) {
	m := p.machine(i)
	m.Host = &model.Host{Hostname: m.Status.NodeRef.Name}
	m.Status.NodeRef.Name = ""
}

// TestHold: a Machine that is being deleted is held until its member of etcd is gone, and never where there is no etcd
// or its members cannot be read.
func TestHold(t *testing.T) {
	const command = "oc -n openshift-etcd rsh etcd-cp-1 etcdctl member remove 8e9e05c521646900"
	for _, of := range []struct {
		name    string
		have    int
		change  func(*plane)
		release bool
		reason  string
		message string
		node    string // that is deleted
	}{
		{name: "its node is not drained", have: 4, change: func(p *plane) { p.isDeleting(0, false) }, reason: ReasonWaitingForDrain},
		{name: "another hook needs the node", have: 4, reason: ReasonWaitingForHooks, message: "pre-terminate.delete.hook.machine.cluster.x-k8s.io/agentmachine", change: (*plane).isPooled},
		{name: "another hook needs the node, and so does etcd", have: 3, reason: ReasonEtcdQuorum, change: func(p *plane) { p.isPooled(); p.dies(1) }},
		{name: "another hook needs the node, and it is dead", have: 3, reason: ReasonWaitingForHooks, change: func(p *plane) { p.isPooled(); p.dies(0) }},
		{name: "another hook needs the node, which has no member", have: 3, reason: ReasonWaitingForHooks, change: func(p *plane) { p.isPooled(); p.loseMember(0) }},
		{name: "another hook needs the node, and the cluster does not answer", have: 3, reason: ReasonClusterUnreachable, change: func(p *plane) { p.isPooled(); p.Spoke.Trouble = "timeout" }},
		{name: "another hook needs the node, and nobody has looked", have: 3, reason: ReasonClusterUnreachable, change: func(p *plane) { p.isPooled(); p.Spoke = nil }},
		{name: "another hook needs the node, and the operator cannot tell", have: 3, reason: ReasonEtcdUnknown, change: func(p *plane) { p.isPooled(); p.Spoke.Etcd.Trouble = "it cannot tell" }},
		{name: "another hook needs the node, and nobody looks after etcd", have: 3, release: true, change: func(p *plane) { p.isPooled(); p.Spoke.Etcd, p.Spoke.Operators = nil, nil }},
		{name: "another hook needs the node, and the cluster goes as a whole", have: 3, release: true, change: func(p *plane) { p.isPooled(); p.Gone = true }},
		{name: "its node runs, and goes first", have: 4, reason: ReasonWaitingForNode, node: "cp-0"},
		{name: "its node is going", have: 4, change: func(p *plane) { p.node(0).Deleting = true }, reason: ReasonWaitingForNode},
		{name: "its node is gone", have: 4, change: func(p *plane) { p.loseNode(0) }, reason: ReasonRemovalRequired, message: command},
		{name: "it is dead", have: 3, change: func(p *plane) { p.dies(0) }, reason: ReasonRemovalRequired, message: command},
		{name: "it is dead, and its node gone", have: 3, change: func(p *plane) { p.dies(0); p.loseNode(0) }, reason: ReasonRemovalRequired, message: command},
		{
			name: "its member is known by what was noted", have: 3, reason: ReasonRemovalRequired, message: command,
			change: func(p *plane) {
				p.dies(0)
				p.loseNode(0)
				p.machine(0).Status.Addresses, p.machine(0).Annotations[MemberAnnotation] = nil, memberID(0)
			},
		},
		{
			name: "nobody knows which member was its own", have: 3, reason: ReasonEtcdUnknown, message: memberID(0) + " (192.0.2.10)",
			change: func(p *plane) { p.dies(0); p.loseNode(0); p.machine(0).Status.Addresses = nil },
		},
		{name: "its member is gone", have: 3, change: func(p *plane) { p.dies(0); p.loseMember(0) }, release: true},
		{name: "its member and its node are gone", have: 3, change: func(p *plane) { p.loseNode(0); p.loseMember(0) }, release: true},
		{name: "it never was a member", have: 4, change: func(p *plane) { p.loseMember(0) }, release: true},
		{name: "it never joined", have: 4, change: neverJoined, release: true},
		{name: "etcd would lose its majority", have: 3, change: func(p *plane) { p.dies(1) }, reason: ReasonEtcdQuorum, message: "without m-0 etcd would have 2 members of which 1 are healthy, but it needs 2"},
		{name: "etcd has lost its majority", have: 3, change: func(p *plane) { p.dies(0); p.dies(1) }, reason: ReasonEtcdQuorum, message: "disaster recovery"},
		{name: "the cluster does not answer", have: 3, change: func(p *plane) { p.Spoke.Trouble = "timeout" }, reason: ReasonClusterUnreachable, message: "kubectl -n clusters annotate machine m-0 " + HookAnnotation + "-"},
		{name: "nobody has looked", have: 3, change: func(p *plane) { p.Spoke = nil }, reason: ReasonClusterUnreachable},
		{name: "the operator cannot tell", have: 3, change: func(p *plane) { p.Spoke.Etcd.Trouble = "it cannot tell" }, reason: ReasonEtcdUnknown},
		{name: "etcd was not read", have: 3, change: func(p *plane) { p.Spoke.Etcd = nil }, reason: ReasonEtcdUnknown},
		{name: "there is no etcd operator", have: 3, change: func(p *plane) { p.Spoke.Etcd, p.Spoke.Operators = nil, nil }, release: true},
		{name: "the cluster goes as a whole", have: 3, change: func(p *plane) { p.Gone = true }, release: true},
		{name: "the cluster goes as a whole and does not answer", have: 3, change: func(p *plane) { p.Gone, p.Spoke.Trouble = true, "timeout" }, release: true},
		{name: "nothing is installed yet", have: 3, change: func(p *plane) { p.Phase = Before }, release: true},
		{
			name: "the installation runs", have: 3, reason: ReasonInstalling, message: "kubectl -n clusters annotate machine m-0 " + HookAnnotation + "-",
			change: func(p *plane) { p.Phase, p.Spoke = Installing, nil },
		},
		{
			name: "the installation runs, and a pool has its host", have: 3, reason: ReasonInstalling, message: "is deleted after the installation",
			change: func(p *plane) { p.Phase, p.Spoke, p.machine(0).Pooled = Installing, nil, true },
		},
		{name: "the installation runs, and it is the only one", have: 1, reason: ReasonInstalling, change: func(p *plane) { p.Phase, p.Spoke = Installing, nil }},
		{
			name: "the installation runs, and somebody lets it go", have: 3, release: true,
			change: func(p *plane) { p.Phase = Installing; delete(p.machine(0).Annotations, HookAnnotation) },
		},
		{name: "the installation runs of what goes as a whole", have: 3, release: true, change: func(p *plane) { p.Phase, p.Gone = Installing, true }},
		{name: "the installation failed", have: 3, change: func(p *plane) { p.Phase = Stopped }, release: true},
		{name: "it is the last", have: 1, release: true},
		{name: "the operator takes it away, and the hub sees to that", have: 4, change: func(p *plane) { p.byMachines(); p.OnHub = true }, release: true},
		{name: "the operator takes it away, of a host of a pool", have: 4, change: func(p *plane) { p.byMachines(); p.OnHub, p.machine(0).Pooled = true, true }, reason: ReasonRemovalRequired, message: "kubectl -n openshift-machine-api delete machine lab-0"},
		{name: "the operator takes it away, over REST", have: 4, change: (*plane).byMachines, reason: ReasonRemovalRequired, message: "kubectl -n openshift-machine-api delete machine lab-0"},
		{name: "the operator keeps as many as were installed", have: 3, change: func(p *plane) { p.byMachines(); p.OnHub = true }, reason: ReasonWaitingForNode, node: "cp-0"},
	} {
		t.Run(of.name, func(t *testing.T) {
			p := installed(of.have)
			m := p.isDeleting(0, true)
			if of.name == "its node is not drained" {
				m.Status.Deletion = nil
			}
			if of.change != nil {
				of.change(p)
			}
			h := CheckDeletion(&p.Question, p.machine(0))
			if h.Release != of.release || h.Reason != of.reason || !strings.Contains(h.Message, of.message) || h.NodeName != of.node || h.DeleteNode != (of.node != "") {
				t.Errorf("got %+v", h)
			}
			if of.node != "" && h.NodeID != "uid-"+of.node {
				t.Errorf("of whichever node of that name: %+v", h)
			}
		})
	}
}

// isPooled has the first Machine have a hook of the provider whose pool its host is of.
func (p *plane) isPooled() {
	p.machine(0).Annotations[clusterv1.PreTerminateDeleteHookAnnotationPrefix+"/agentmachine"] = ""
}

// TestMachinesLeaveEtcdOneAfterTheOther: two Machines are deleted, and without both of them etcd would have no
// majority. The one that was deleted first leaves first, even if it does not show yet that its machine was taken away.
func TestMachinesLeaveEtcdOneAfterTheOther(t *testing.T) {
	deleted := func(have int) *plane {
		p := installed(have)
		p.isPooled()
		p.isDeleting(0, true).DeletionTimestamp.Time = present().Add(time.Second)
		p.isDeleting(1, false)
		return p
	}
	reasons := func(p *plane, first, second string) {
		t.Helper()
		one, two := CheckDeletion(&p.Question, p.machine(1)), CheckDeletion(&p.Question, p.machine(0))
		if one.Reason != first || two.Reason != second || second == ReasonEtcdQuorum && first != second && !strings.Contains(two.Message, "without m-0 (after m-1)") {
			t.Errorf("of %d: %+v; %+v", len(p.Spoke.Etcd.Members), one, two)
		}
	}
	p := deleted(3)
	reasons(p, ReasonWaitingForDrain, ReasonEtcdQuorum)
	p.isDeleting(1, true)
	reasons(p, ReasonWaitingForNode, ReasonEtcdQuorum)
	p.loseNode(1)
	reasons(p, ReasonRemovalRequired, ReasonEtcdQuorum)
	p.loseMember(1)
	p.loseMachine(1)
	if h := CheckDeletion(&p.Question, p.machine(0)); h.Reason != ReasonEtcdQuorum || !strings.Contains(h.Message, "another member must join first") {
		t.Errorf("got %+v", h)
	}
	p.addMachine(3)
	p.addNode(3)
	p.addMember(3)
	if h := CheckDeletion(&p.Question, p.machine(0)); h.Reason != ReasonWaitingForHooks {
		t.Errorf("got %+v", h)
	}
	reasons(deleted(4), ReasonWaitingForDrain, ReasonWaitingForHooks)
	p = deleted(3)
	p.dies(0)
	reasons(p, ReasonEtcdQuorum, ReasonWaitingForHooks) // of the dead one nothing is lost
	p = deleted(3)
	p.dies(2)
	reasons(p, ReasonEtcdQuorum, ReasonEtcdQuorum)
}

func neverJoined(p *plane) {
	p.loseMember(0)
	p.loseNode(0)
	p.machine(0).Status.NodeRef.Name, p.machine(0).Status.Addresses = "", nil
}

// byMachines makes the etcd operator manage members by the cluster's own Machines. The cluster was installed with three
// of them.
func (p *plane) byMachines() {
	p.Spoke.MachineAPI, p.Spoke.Etcd.ByMachines, p.Spoke.Etcd.Desired = true, true, 3
	for i := range p.Spoke.Nodes {
		p.ownMachine(i)
	}
}

// ownMachine gives a node the cluster's own Machine.
func (p *plane) ownMachine(i int) {
	p.Spoke.Machines = append(p.Spoke.Machines, model.Machine{Name: fmt.Sprintf("lab-%d", i), Node: fmt.Sprintf("cp-%d", i), ControlPlane: true, Phase: "Running"})
}

// TestHoldsSeveral: of Machines that are being deleted at once, each is compared with what etcd has once those before
// it have gone, or are off and members still.
func TestHoldsSeveral(t *testing.T) {
	const released, quorum = "released", ReasonEtcdQuorum
	onHub := func(p *plane) { p.byMachines(); p.OnHub = true }
	for _, of := range []struct {
		name    string
		have    int
		deleted []int // one second after the other
		change  func(*plane)
		want    []string // of each that was deleted
	}{
		{name: "two of three", have: 3, deleted: []int{0, 1}, want: []string{ReasonWaitingForNode, quorum}},
		{name: "two of three, the later one first by name", have: 3, deleted: []int{1, 0}, want: []string{ReasonWaitingForNode, quorum}},
		{name: "two of three at the same time", have: 3, deleted: []int{1, 0}, want: []string{quorum, ReasonWaitingForNode}, change: func(p *plane) {
			p.machine(0).DeletionTimestamp = p.machine(1).DeletionTimestamp
		}},
		{name: "two of three, and the later one has lost its node", have: 3, deleted: []int{0, 1}, want: []string{quorum, ReasonRemovalRequired}, change: func(p *plane) { p.loseNode(1) }},
		{name: "all of three", have: 3, deleted: []int{0, 1, 2}, want: []string{ReasonWaitingForNode, quorum, quorum}},
		{name: "two of four", have: 4, deleted: []int{0, 1}, want: []string{ReasonWaitingForNode, ReasonWaitingForNode}},
		{name: "three of five", have: 5, deleted: []int{0, 1, 2}, want: []string{ReasonWaitingForNode, ReasonWaitingForNode, quorum}},
		{name: "two of five, and no other node is Ready", have: 5, deleted: []int{0, 1}, want: []string{ReasonWaitingForNode, quorum}, change: func(p *plane) {
			p.node(2).Ready, p.node(3).Ready, p.node(4).Ready = false, false, false
		}},
		{name: "the first cannot leave", have: 3, deleted: []int{0, 1}, want: []string{quorum, ReasonRemovalRequired}, change: func(p *plane) { p.dies(1) }},
		{name: "the first was never a member", have: 4, deleted: []int{0, 1}, want: []string{released, ReasonWaitingForNode}, change: neverJoined},
		{name: "on a hub, two of four", have: 4, deleted: []int{0, 1}, want: []string{released, ReasonWaitingForNode}, change: onHub},
		{name: "on a hub, two of five", have: 5, deleted: []int{0, 1}, want: []string{released, released}, change: onHub},
		{name: "on a hub, three of five", have: 5, deleted: []int{0, 1, 2}, want: []string{released, released, quorum}, change: onHub},
		{name: "on a hub, one of four while another is ill", have: 4, deleted: []int{0}, want: []string{quorum}, change: func(p *plane) { onHub(p); p.dies(3) }},
		{name: "on a hub, the ill one of four", have: 4, deleted: []int{0}, want: []string{released}, change: func(p *plane) { onHub(p); p.dies(0) }},
		{
			name: "on a hub, the first was let go of", have: 4, deleted: []int{1, 0}, want: []string{ReasonWaitingForNode, released},
			change: func(p *plane) { onHub(p); delete(p.machine(0).Annotations, HookAnnotation) },
		},
		{
			name: "on a hub, the first was let go of, and another has died since", have: 4, deleted: []int{1}, want: []string{quorum},
			change: func(p *plane) {
				onHub(p)
				delete(p.isDeleting(0, true).Annotations, HookAnnotation)
				p.dies(3)
				p.machine(1).Pooled = true // its member would be taken out before it is off
			},
		},
		{
			name: "on a hub, the first is gone and a member still", have: 4, deleted: []int{1}, want: []string{ReasonWaitingForNode},
			change: func(p *plane) { onHub(p); p.loseMachine(0); p.loseNode(0) },
		},
		{
			name: "on a hub, the first is gone and known to be ill", have: 4, deleted: []int{1}, want: []string{ReasonWaitingForNode},
			change: func(p *plane) { onHub(p); p.dies(0); p.loseMachine(0); p.loseNode(0) },
		},
	} {
		t.Run(of.name, func(t *testing.T) {
			p := installed(of.have)
			for after, i := range of.deleted {
				p.isDeleting(i, true).DeletionTimestamp.Time = present().Add(time.Duration(after) * time.Second)
			}
			if of.change != nil {
				of.change(p)
			}
			for at, i := range of.deleted {
				h := CheckDeletion(&p.Question, p.machine(i))
				is := h.Reason
				if h.Release {
					is = released
				}
				if is != of.want[at] || h.DeleteNode && is == quorum {
					t.Errorf("m-%d: got %+v, want %s", i, h, of.want[at])
				}
			}
		})
	}
}

// TestAnotherOneJoinsWhileOneCannotLeave: the node of a Machine that etcd cannot do without, which is drained
// already, keeps none from being made.
func TestAnotherOneJoinsWhileOneCannotLeave(t *testing.T) {
	p := installed(2)
	p.wants(3)
	p.isDeleting(0, true)
	p.node(0).Cordoned = true
	if h := CheckDeletion(&p.Question, p.machine(0)); h.Reason != ReasonEtcdQuorum {
		t.Errorf("it is held by %+v", h)
	}
	p.decides(t, "Make", Scale)
}

// TestDrainedByCondition: Cluster API says by a condition, too, that it has come to the hook.
func TestDrainedByCondition(t *testing.T) {
	p := installed(3)
	m := p.isDeleting(0, false)
	conditions.Set(m.Machine, metav1.Condition{Type: clusterv1.MachineDeletingCondition, Status: metav1.ConditionTrue, Reason: clusterv1.MachineDeletingWaitingForPreTerminateHookReason})
	if h := CheckDeletion(&p.Question, m); h.Reason == ReasonWaitingForDrain {
		t.Errorf("got %+v", h)
	}
}
