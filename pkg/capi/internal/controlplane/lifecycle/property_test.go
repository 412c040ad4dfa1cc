package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// world is a control plane with all that plays beside it: Cluster API, machines, the etcd operator, and people who do
// what they are asked, and delete Machines.
type world struct {
	*plane
	t      *testing.T
	random *rand.Rand
	next   int // number of the next Machine
	// dead are machines that have no power, off those that were released, mute those with a kubelet that does not
	// report.
	dead, off, mute map[int]bool
}

// majority is how many of so many members etcd needs.
func majority(members int) int { return members/2 + 1 }

func number(name string) int {
	n := 0
	_, _ = fmt.Sscanf(name, "m-%d", &n) // names are ours
	return n
}

// holds fails the test unless most members of etcd are well; members of released machines do not count.
func (w *world) holds(after string) {
	w.t.Helper()
	if all, well := len(w.Spoke.Etcd.Members), w.well(); well < majority(all) {
		w.t.Fatalf("%d of %d members are well after %s", well, all, after)
	}
}

// well counts the members that are well, even if the control plane does not know it yet.
func (w *world) well() int {
	count := 0
	for i := range w.next {
		if w.isMember(i) && !w.dead[i] && !w.off[i] {
			count++
		}
	}
	return count
}

func (w *world) isMember(i int) bool {
	return slices.ContainsFunc(w.Spoke.Etcd.Members, func(m model.EtcdMember) bool { return m.ID == memberID(i) })
}

// step does what is decided, and holds that etcd is never brought below its majority by it.
func (w *world) step() bool {
	if w.leave() || w.operate() {
		return true
	}
	d := Decide(&w.Question)
	switch d.Act {
	case Make:
		w.addMachine(w.next)
		w.next++
		if len(w.Replacing) > 0 {
			w.Replacing = w.Replacing[1:]
		}
		return true
	case Delete:
		if busy := w.leaving(); len(busy) > 0 {
			w.t.Fatalf("%s is deleted while %v are", d.Machine, busy)
		}
		m := w.machine(number(d.Machine))
		all, well := w.votes()
		if member := w.member(m); member != nil {
			if all--; !w.isIll(m, member) {
				well--
			}
		}
		if well < majority(all) {
			w.t.Fatalf("%s is deleted for %s, and %d of %d members are well then", d.Machine, d.Cause, well, all)
		}
		if d.Remediation != nil {
			w.Replacing = append(w.Replacing, *d.Remediation)
		}
		w.isDeleting(number(d.Machine), false)
		return true
	}
	return w.join()
}

// leave takes Machines that are being deleted a step on: what is found of all of them at once is done.
func (w *world) leave() bool {
	moved := false
	var deleteNodes, removals []int
	for i := range w.Machines {
		m := &w.Machines[i]
		switch {
		case m.DeletionTimestamp.IsZero(), !isHooked(m):
			continue
		case !isDrained(m) && w.random.IntN(2) == 0:
			moved = true // another time
			continue
		case !isDrained(m):
			w.drain(number(m.Name))
			moved = true
			continue
		}
		switch h := CheckDeletion(&w.Question, m); {
		case h.Release:
			delete(m.Annotations, HookAnnotation)
			w.off[number(m.Name)] = true
			w.holds("letting go of " + m.Name)
			moved = true
		case h.DeleteNode:
			deleteNodes = append(deleteNodes, number(m.Name))
		case h.Reason == ReasonRemovalRequired:
			removals = append(removals, number(m.Name))
		}
	}
	for _, n := range deleteNodes {
		w.loseNode(n)
	}
	w.random.Shuffle(len(removals), func(i, j int) { removals[i], removals[j] = removals[j], removals[i] })
	for _, n := range removals { // a person does
		w.loseMember(n)
		w.holds(fmt.Sprintf("taking the member of m-%d out", n))
	}
	for _, m := range slices.Clone(w.Machines) {
		if !isHooked(&m) && w.random.IntN(2) == 0 {
			w.loseNode(number(m.Name))
			w.loseMachine(number(m.Name))
		}
		moved = moved || !isHooked(&m)
	}
	return moved || len(deleteNodes)+len(removals) > 0
}

func (w *world) drain(i int) {
	w.machine(i).Status.Deletion = &clusterv1.MachineDeletionStatus{WaitForPreTerminateHookStartTime: metav1.Time{Time: present()}}
	if n := w.plane.node(i); n != nil {
		n.Cordoned = true
	}
}

// operate lets the etcd operator notice a member on a machine that is off, or remove it, sooner or later.
func (w *world) operate() bool {
	for i := range w.next {
		if !w.off[i] || !w.isMember(i) {
			continue
		}
		switch known := slices.Contains(w.Spoke.Etcd.Unhealthy, fmt.Sprintf("cp-%d", i)); {
		case w.random.IntN(3) == 0:
			return false
		case known, len(w.Spoke.Etcd.Members) > w.Spoke.Etcd.Desired && w.random.IntN(2) == 0:
			w.loseMember(i)
		default:
			w.dies(i)
		}
		return true
	}
	return false
}

// join gives a Machine its node, or makes its node a member of etcd where all others are well.
func (w *world) join() bool {
	for _, m := range w.living() {
		n := number(m.Name)
		switch {
		case w.dead[n]:
		case w.Question.node(m) == nil:
			w.addNode(n)
			w.ownMachine(n)
			return true
		case w.Question.member(m) == nil && w.well() == len(w.Spoke.Etcd.Members):
			w.addMember(n)
			return true
		}
	}
	return false
}

// trouble is something that happens.
func (w *world) trouble() {
	living := w.living()
	if len(living) == 0 {
		return
	}
	m := living[w.random.IntN(len(living))]
	serves := w.servesWithout(append(w.ahead(m), m)) // without a node that is Ready there is no cluster
	switch n := number(m.Name); w.random.IntN(8) {
	case 0, 1: // a machine dies, as long as that leaves a majority
		if serves && !w.dead[n] && w.isMember(n) && w.well()-1 >= majority(len(w.Spoke.Etcd.Members)) {
			w.dead[n] = true
			w.dies(n)
		}
	case 2:
		w.wants(3 + w.random.IntN(3))
	case 3:
		m.Outdated = []string{"spec.openshiftAssistedConfigSpec.proxy"}
	case 4:
		w.Spec.Rollout.Strategy.RollingUpdate.MaxSurge = ptr.To(intstr.FromInt32(w.random.Int32N(2)))
	case 5: // a person deletes some
		for range 1 + w.random.IntN(len(living)) {
			which := living[w.random.IntN(len(living))]
			w.isDeleting(number(which.Name), false).DeletionTimestamp.Time = present().Add(time.Duration(w.random.IntN(3)) * time.Second)
		}
	case 6: // a machine never boots
		if w.Question.node(m) == nil {
			w.dead[n] = true
		}
	case 7: // a kubelet falls silent
		if node := w.Question.node(m); serves && node != nil {
			node.Ready, w.mute[n] = false, true
		}
	}
	for _, m := range w.living() {
		if n := number(m.Name); w.dead[n] || w.mute[n] {
			w.isUnhealthy(n)
		}
	}
}

// TestEtcdNeverLosesItsMajorityAndAllEndsWell: for any order of failures, changes, requests and deletions, etcd never
// loses its majority by what is done, nor is a Machine deleted for another reason while one leaves; and once nothing
// happens any more, the control plane reaches what is wanted.
func TestEtcdNeverLosesItsMajorityAndAllEndsWell(t *testing.T) {
	for seed := range uint64(500) {
		size := 3 + int(seed%3)
		w := &world{plane: installed(size), t: t, random: rand.New(rand.NewPCG(seed, 1)), next: size, dead: map[int]bool{}, off: map[int]bool{}, mute: map[int]bool{}}
		w.Spoke.Etcd.Desired = 3
		if seed%2 == 0 {
			w.byMachines()
			w.OnHub = seed%4 == 0
		}
		w.Spec.Rollout.Strategy.Type = controlplanev1.RollingUpdateStrategy
		for range 40 {
			if w.random.IntN(3) == 0 {
				w.trouble()
			}
			w.step()
		}
		for idle, steps := 0, 0; idle < 20; steps++ {
			if idle++; w.step() {
				idle = 0
			}
			if steps > 1000 {
				t.Fatalf("seed %d: it never ends: %+v", seed, Decide(&w.Question))
			}
		}
		living := w.living()
		ill := len(w.Spoke.Etcd.Unhealthy) > 0 || slices.ContainsFunc(living, func(m *Machine) bool { return w.unmade(m) != "" || len(m.Outdated) > 0 || IsUnhealthy(m.Machine) })
		if len(living) != w.replicas() || len(w.Machines) != len(living) || ill {
			t.Errorf("seed %d: %d Machines of %d, wanted %d; ill: %v; %+v", seed, len(living), len(w.Machines), w.replicas(), w.Spoke.Etcd.Unhealthy, Decide(&w.Question))
		}
	}
}
