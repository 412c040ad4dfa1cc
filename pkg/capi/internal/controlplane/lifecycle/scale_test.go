package lifecycle

import (
	"net/netip"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestNothingIsDoneToWhatIsWell holds for every number of Machines.
func TestNothingIsDoneToWhatIsWell(t *testing.T) {
	for _, n := range []int{1, 3, 4, 5} {
		if d := installed(n).decides(t, "", ""); len(d.Blocked) > 0 {
			t.Errorf("%d Machines: blocked by %q", n, d.Blocked)
		}
	}
}

// TestScalesOneAtATime: Machines are made and deleted one at a time, and only while all else is well.
func TestScalesOneAtATime(t *testing.T) {
	for _, of := range []struct {
		name    string
		have    int
		want    int
		change  func(*plane)
		act     string
		because string
	}{
		{name: "up", have: 3, want: 5, act: "Make"},
		{name: "down", have: 5, want: 3, act: "Delete m-0"},
		{name: "down to four", have: 5, want: 4, act: "Delete m-0"},
		{name: "up while one is deleted", have: 3, want: 5, change: func(p *plane) { p.isDeleting(1, false) }, because: "waiting for m-1 to be deleted"},
		{name: "down while one is deleted", have: 5, want: 3, change: func(p *plane) { p.isDeleting(1, false) }, because: "waiting for m-1 to be deleted"},
		{name: "up while one is made", have: 3, want: 5, change: func(p *plane) { p.addMachine(3) }, because: "m-3 is being created: it has no node yet"},
		{name: "up while one joins etcd", have: 3, want: 5, change: func(p *plane) { p.addMachine(3); p.addNode(3) }, because: "its node cp-3 is not a member of etcd yet"},
		{name: "down while one joins etcd", have: 4, want: 3, change: func(p *plane) { p.loseMember(3) }, because: "its node cp-3 is not a member of etcd yet"},
		{name: "up while the cluster does not answer", have: 3, want: 5, change: func(p *plane) { p.Spoke.Trouble = "connection refused" }, because: "cannot be reached: connection refused"},
		{name: "down while nobody has looked", have: 5, want: 3, change: func(p *plane) { p.Spoke = nil }, because: "has not been read yet"},
		{name: "down while etcd is not known", have: 5, want: 3, change: func(p *plane) { p.Spoke.Etcd.Trouble = "the etcd operator lists no members" }, because: "lists no members"},
		{name: "down without its operator", have: 5, want: 3, change: func(p *plane) { p.Spoke.Etcd = nil }, because: "the members of etcd are not known"},
		{name: "down while another member is ill", have: 5, want: 3, change: func(p *plane) { p.dies(3) }, because: "the etcd member cp-3 is not healthy"},
		{name: "down, the ill one itself", have: 5, want: 4, change: func(p *plane) { p.dies(0) }, act: "Delete m-0"},
		{name: "down while another node is not Ready", have: 5, want: 3, change: func(p *plane) { p.node(3).Ready = false }, because: "node cp-3 is not Ready"},
		{name: "down while another node is cordoned", have: 5, want: 3, change: func(p *plane) { p.node(3).Cordoned = true }, because: "node cp-3 is cordoned"},
		{name: "down while etcd is rolled out", have: 5, want: 3, change: func(p *plane) { p.Spoke.Etcd.Rolling = "2 nodes are at revision 7" }, because: "etcd is being rolled out"},
		{name: "down while the operator is not available", have: 5, want: 3, change: func(p *plane) { p.Spoke.Operators[0].Available = false }, because: "the operator etcd is not available"},
		{
			name: "down while machine configs roll", have: 5, want: 3, because: "machine config operator is updating",
			change: func(p *plane) { p.Spoke.Pools = []model.Pool{{Name: "master", Updating: true}} },
		},
		{name: "up while a member is ill", have: 3, want: 5, change: func(p *plane) { p.dies(1) }, because: "the etcd member cp-1 is not healthy"},
		{
			name: "up while a member has not started", have: 3, want: 5, because: "the etcd member at 192.0.2.77 has not started yet",
			change: func(p *plane) { p.Spoke.Etcd.Unhealthy = []string{"192.0.2.77"} },
		},
		{name: "down while it installs", have: 5, want: 3, change: func(p *plane) { p.Phase = Installing }, because: "the installation is still running"},
		{name: "down as the whole goes", have: 5, want: 3, change: func(p *plane) { p.Gone = true }},
	} {
		t.Run(of.name, func(t *testing.T) {
			p := installed(of.have)
			p.wants(of.want)
			if of.change != nil {
				of.change(p)
			}
			d := p.decides(t, of.act, Scale)
			if of.because != "" {
				blocked(t, d, of.because)
			}
		})
	}
}

// TestNeverBelowTheTopology: what the webhook lets through because it has not seen the cluster is not done.
func TestNeverBelowTheTopology(t *testing.T) {
	for _, of := range []struct {
		name    string
		have    int
		want    int
		change  func(*plane)
		act     string
		because string
	}{
		{name: "two without an arbiter", have: 3, want: 2, because: "keeps 3 of them"},
		{name: "one", have: 3, want: 1, because: "keeps 3 of them"},
		{name: "a single node", have: 1, want: 3, because: "was installed as a single node, and stays one"},
		{name: "two with an arbiter", have: 3, want: 2, change: (*plane).withArbiter, act: "Delete m-0"},
		{name: "one with an arbiter", have: 2, want: 1, change: (*plane).withArbiter, because: "keeps 2 of them"},
		{name: "one with fencing", have: 2, want: 1, change: (*plane).withFencing, because: "keeps 2 of them"},
	} {
		t.Run(of.name, func(t *testing.T) {
			p := installed(of.have)
			p.wants(of.want)
			if of.change != nil {
				of.change(p)
			}
			d := p.decides(t, of.act, Scale)
			if of.because != "" {
				blocked(t, d, of.because)
			}
		})
	}
}

func (p *plane) withArbiter() {
	p.Spec.Config.ArbiterReplicas = ptr.To[int32](1)
	addr := netip.MustParseAddr("192.0.2.99")
	p.Spoke.Nodes = append(p.Spoke.Nodes, model.Node{Name: "arbiter", Ready: true, Roles: []string{"arbiter"}, Addresses: []netip.Addr{addr}})
	p.Spoke.Etcd.Members = append(p.Spoke.Etcd.Members, model.EtcdMember{ID: "a", Address: addr})
	p.Spoke.Etcd.Desired++
}

func (p *plane) withFencing() { p.Spec.Config.Fencing = &controlplanev1.Fencing{} }

// TestVictim: a marked Machine is deleted first, else the oldest of the failure domain with the most Machines.
func TestVictim(t *testing.T) {
	in := func(names ...string) func(*plane) {
		return func(p *plane) {
			for i, name := range names {
				p.machine(i).Spec.FailureDomain = name
			}
			for _, name := range []string{"a", "b", "c"} {
				p.Domains = append(p.Domains, clusterv1.FailureDomain{Name: name, ControlPlane: ptr.To(true)})
			}
		}
	}
	mark := func(i int) func(*plane) {
		return func(p *plane) { p.machine(i).Annotations[clusterv1.DeleteMachineAnnotation] = "" }
	}
	for name, of := range map[string]struct {
		changes []func(*plane)
		act     string
	}{
		"the oldest":                         {nil, "Delete m-0"},
		"of the domain with the most":        {[]func(*plane){in("a", "b", "b", "c")}, "Delete m-1"},
		"who was marked":                     {[]func(*plane){in("a", "b", "b", "c"), mark(3)}, "Delete m-3"},
		"of those marked, by domain and age": {[]func(*plane){in("a", "b", "b", "c"), mark(3), mark(2)}, "Delete m-2"},
		"of a domain that is none any more":  {[]func(*plane){in("a", "b", "b", "gone")}, "Delete m-3"},
	} {
		t.Run(name, func(t *testing.T) {
			p := installed(4)
			p.wants(3)
			for _, change := range of.changes {
				change(p)
			}
			p.decides(t, of.act, Scale)
		})
	}
}

// TestDeadMemberOfNobody: a member that a machine has left behind keeps others from joining: the command that removes
// it is reported.
func TestDeadMemberOfNobody(t *testing.T) {
	p := installed(4)
	p.dies(3)
	p.loseNode(3)
	p.loseMachine(3)
	d := p.decides(t, "", "")
	blocked(t, d, "oc -n openshift-etcd rsh etcd-cp-0 etcdctl member remove "+memberID(3))
	if !d.ByPerson {
		t.Error("nobody is asked to")
	}
}

// TestBeforeTheInstallation: Machines that are too many go without asking any etcd.
func TestBeforeTheInstallation(t *testing.T) {
	p := before(5)
	p.wants(3)
	p.decides(t, "Delete m-0", Scale)
	if d := before(2); true {
		d.wants(3)
		d.decides(t, "", "") // they are made before their condition is read
	}
}

func differ(machines ...int) func(*plane) {
	return func(p *plane) {
		for _, i := range machines {
			p.machine(i).Outdated = []string{"spec.openshiftAssistedConfigSpec.proxy"}
		}
	}
}

func expire(machines ...int) func(*plane) {
	return func(p *plane) {
		for _, i := range machines {
			p.machine(i).Expired = true
		}
	}
}

func rolls(surge ...int) func(*plane) {
	return func(p *plane) {
		p.Spec.Rollout.Strategy.Type = controlplanev1.RollingUpdateStrategy
		for _, s := range surge {
			p.Spec.Rollout.Strategy.RollingUpdate.MaxSurge = ptr.To(intstr.FromInt(s))
		}
	}
}

// TestRollsOut: Machines that differ are replaced only if that is asked for, and one after the other.
func TestRollsOut(t *testing.T) {
	for _, of := range []struct {
		name    string
		have    int
		want    int
		changes []func(*plane)
		act     string
		cause   Cause
		because string
	}{
		{name: "nobody has asked", have: 3, changes: []func(*plane){differ(0, 1, 2)}},
		{name: "by strategy, the new one first", have: 3, changes: []func(*plane){differ(0, 1, 2), rolls()}, act: "Make", cause: Rollout},
		{name: "by strategy, the new one first as is said", have: 3, changes: []func(*plane){differ(0, 1, 2), rolls(1)}, act: "Make", cause: Rollout},
		{name: "then the old one", have: 4, want: 3, changes: []func(*plane){differ(0, 1, 2), rolls()}, act: "Delete m-0", cause: Rollout},
		{name: "the newest stays though it is one too many", have: 4, want: 3, changes: []func(*plane){differ(2), rolls()}, act: "Delete m-2", cause: Rollout},
		{name: "without a further host the old one first", have: 3, changes: []func(*plane){differ(1), rolls(0)}, act: "Delete m-1", cause: Rollout},
		{name: "of too many the ones that differ", have: 5, want: 3, changes: []func(*plane){differ(3), rolls()}, act: "Delete m-3", cause: Scale},
		{
			name: "of too many the one that was marked", have: 5, want: 3, act: "Delete m-4", cause: Scale,
			changes: []func(*plane){differ(3), rolls(), func(p *plane) { p.machine(4).Annotations[clusterv1.DeleteMachineAnnotation] = "" }},
		},
		{name: "by date", have: 3, changes: []func(*plane){expire(1)}, act: "Make", cause: Rollout},
		{name: "by date, and no other", have: 4, want: 3, changes: []func(*plane){expire(1), differ(0)}, act: "Delete m-1", cause: Rollout},
		{name: "not while the new one joins", have: 4, want: 3, changes: []func(*plane){differ(0), rolls(), func(p *plane) { p.loseMember(3) }}, because: "is not a member of etcd yet"},
		{name: "not while the old one goes", have: 4, want: 3, changes: []func(*plane){differ(0, 1), rolls(), func(p *plane) { p.isDeleting(0, true) }}, because: "waiting for m-0 to be deleted"},
		{name: "not while a member is ill", have: 3, changes: []func(*plane){differ(0), rolls(), func(p *plane) { p.dies(1) }}, because: "the etcd member cp-1 is not healthy"},
		{name: "not the old one first while another is ill", have: 3, changes: []func(*plane){differ(0), rolls(0), func(p *plane) { p.dies(1) }}, because: "the etcd member cp-1 is not healthy"},
		{name: "with an arbiter the old one first", have: 2, changes: []func(*plane){differ(0), rolls(), (*plane).withArbiter}, act: "Delete m-0", cause: Rollout},
	} {
		t.Run(of.name, func(t *testing.T) {
			p := installed(of.have)
			if of.want > 0 {
				p.wants(of.want)
			}
			for _, change := range of.changes {
				change(p)
			}
			d := p.decides(t, of.act, of.cause)
			if of.because != "" {
				blocked(t, d, of.because)
			}
		})
	}
}

// TestNeverRollsOut: a single node and two with fencing are never replaced by themselves, and scaled as ever.
func TestNeverRollsOut(t *testing.T) {
	single := installed(1)
	differ(0)(single)
	rolls()(single)
	if d := single.decides(t, "", ""); d.CannotRoll == "" || len(d.Rollout) != 1 {
		t.Errorf("of a single node is said %+v", d)
	}
	fenced := installed(2)
	fenced.withFencing()
	differ(0)(fenced)
	rolls()(fenced)
	if d := fenced.decides(t, "", ""); d.CannotRoll == "" {
		t.Errorf("of two with fencing is said %+v", d)
	}
}
