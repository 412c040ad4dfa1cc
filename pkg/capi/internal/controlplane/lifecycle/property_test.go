package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

// world is a control plane with all that plays beside it: Cluster API, machines, the etcd operator, and a
// person who does what is asked.
type world struct {
	*plane
	t      *testing.T
	random *rand.Rand
	next   int // number of the next Machine
	dead   map[int]bool
}

func number(name string) int {
	n := 0
	_, _ = fmt.Sscanf(name, "m-%d", &n) // names are ours
	return n
}

// step does what is decided, and holds that etcd is never brought below its majority by it.
func (w *world) step() bool {
	for i := range w.Machines {
		m := &w.Machines[i]
		if m.DeletionTimestamp.IsZero() {
			continue
		}
		switch h := Hold(&w.Question, m); {
		case h.Release:
			w.loseNode(number(m.Name))
			w.loseMachine(number(m.Name))
			return true
		case h.DeleteNode:
			w.loseNode(number(m.Name))
			return true
		case h.Reason == ReasonRemovalRequired:
			w.loseMember(number(m.Name)) // a person does
			return true
		}
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
		w.isDeleting(number(d.Machine), true)
		return true
	}
	return w.join()
}

// join has a Machine get its node, or its node become a member of etcd where all others are well.
func (w *world) join() bool {
	for _, m := range w.living() {
		n := number(m.Name)
		switch {
		case w.dead[n]:
		case w.Question.node(m) == nil:
			w.addNode(n)
			return true
		case w.Question.member(m) == nil && len(w.Spoke.Etcd.Unhealthy) == 0:
			w.addMember(n)
			return true
		}
	}
	return false
}

// trouble is something that happens.
func (w *world) trouble() {
	living := w.living()
	m := living[w.random.IntN(len(living))]
	switch n := number(m.Name); w.random.IntN(5) {
	case 0, 1: // a machine dies, as long as that leaves a majority
		if all, well := w.votes(); !w.dead[n] && w.Question.node(m) != nil && w.Question.member(m) != nil && well-1 >= majority(all) {
			w.dead[n] = true
			w.dies(n)
		}
	case 2:
		w.wants(3 + w.random.IntN(3))
	case 3:
		m.Outdated = []string{"spec.openshiftAssistedConfigSpec.proxy"}
	case 4:
		w.Spec.Rollout.Strategy.RollingUpdate.MaxSurge = ptr.To(intstr.FromInt32(w.random.Int32N(2)))
	}
	for _, m := range w.living() {
		if w.dead[number(m.Name)] {
			w.isUnhealthy(number(m.Name))
		}
	}
}

// TestEtcdNeverLosesItsMajorityAndAllEndsWell: whatever dies, differs or is asked for, in whichever order,
// never is a Machine deleted without which etcd has no majority, nor two at once; and once nothing happens
// any more, the control plane comes to what is wanted.
func TestEtcdNeverLosesItsMajorityAndAllEndsWell(t *testing.T) {
	for seed := range uint64(500) {
		size := 3 + int(seed%3)
		w := &world{plane: installed(size), t: t, random: rand.New(rand.NewPCG(seed, 1)), next: size, dead: map[int]bool{}}
		w.Spoke.Etcd.Desired = 3
		w.Spec.Rollout.Strategy.Type = controlplanev1.RollingUpdateStrategy
		for range 40 {
			if w.random.IntN(3) == 0 {
				w.trouble()
			}
			w.step()
		}
		for steps := 0; w.step(); steps++ {
			if steps > 400 {
				t.Fatalf("seed %d: it never ends: %+v", seed, Decide(&w.Question))
			}
		}
		living := w.living()
		ill := len(w.Spoke.Etcd.Unhealthy) > 0 || slices.ContainsFunc(living, func(m *Machine) bool { return w.unmade(m) != "" || len(m.Outdated) > 0 })
		if len(living) != w.replicas() || len(w.Machines) != len(living) || ill {
			t.Errorf("seed %d: %d Machines of %d, wanted %d; ill: %v; %+v", seed, len(living), len(w.Machines), w.replicas(), w.Spoke.Etcd.Unhealthy, Decide(&w.Question))
		}
	}
}
