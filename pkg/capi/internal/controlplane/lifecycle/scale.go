package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/shared/quorum"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

// scale brings the number of Machines to what is wanted, and replaces those that differ, one at a time.
func (d *decider) scale() {
	switch d.Phase {
	case Before:
		d.scaleBefore()
	case Installing, Stopped:
		if len(d.living()) != d.replicas() {
			d.block("the installation is still running, and its machines cannot be changed")
		}
	case Installed:
		d.scaleInstalled()
	}
}

// scaleBefore gives up Machines that are too many before there is a cluster. Those that are missing are made
// all at once, before anything is known of an installation.
func (d *decider) scaleBefore() {
	if living := d.living(); len(living) > d.replicas() {
		d.Act, d.Cause, d.Machine = Delete, Scale, d.victim(living).Name
	}
}

func (d *decider) scaleInstalled() {
	living, wanted := d.living(), d.replicas()
	outdated := d.outdated(living)
	for _, m := range outdated {
		d.Rollout = append(d.Rollout, m.Name)
	}
	most := wanted
	if len(outdated) > 0 {
		if d.CannotRoll = d.cannotRoll(); d.CannotRoll != "" {
			outdated = nil
		} else {
			most += d.surge()
		}
	}
	switch {
	case len(living) < wanted && len(d.Replacing) > 0:
		d.make(Remediate)
	case len(living) < wanted:
		d.make(Scale)
	case len(living) > most && len(outdated) > 0 && !slices.ContainsFunc(living, isMarked):
		d.shrink(Scale, outdated)
	case len(living) > most:
		d.shrink(Scale, living)
	case len(outdated) > 0 && len(living) < most:
		d.make(Rollout)
	case len(outdated) > 0:
		d.shrink(Rollout, outdated)
	}
}

// outdated are the Machines that are replaced because they differ: all with the strategy RollingUpdate, and
// otherwise those that were made before spec.rollout.after.
func (d *decider) outdated(living []*Machine) []*Machine {
	rolls := d.Spec.Rollout.Strategy.Type == controlplanev1.RollingUpdateStrategy
	return slices.DeleteFunc(slices.Clone(living), func(m *Machine) bool {
		return !m.Expired && (!rolls || len(m.Outdated) == 0)
	})
}

// cannotRoll says why no Machine of this topology is replaced by itself; "" where it is.
func (d *decider) cannotRoll() string {
	switch {
	case d.replicas() == 1:
		return "a single node is the whole cluster, which would be lost with its machine"
	case d.isFenced():
		return "with fencing, each of the two machines is needed until the other one is Ready again: replace them by hand"
	}
	return ""
}

// surge is how many Machines may be there in addition while others are replaced. A cluster with an arbiter has two
// Machines and no third.
func (d *decider) surge() int {
	if d.hasArbiter() {
		return 0
	}
	if said := d.Spec.Rollout.Strategy.RollingUpdate.MaxSurge; said != nil && said.IntValue() == 0 {
		return 0
	}
	return 1
}

// make decides to make another Machine, if the control plane is settled.
func (d *decider) make(cause Cause) {
	d.Cause = cause
	if d.isBusy() {
		return
	}
	if why := d.impossible(); why != "" && cause == Scale {
		d.block(why)
		return
	}
	if d.block(d.unsettled(nil)...); len(d.Blocked) > 0 {
		d.dead()
		return
	}
	d.Act = Make
}

// dead says which members are left of machines that are gone: they have to go before another one can join.
func (d *decider) dead() {
	for _, member := range d.orphans() {
		d.ByPerson = true
		d.block(fmt.Sprintf("the member %s (%s) of etcd has no node any more; a person must remove the member: %s",
			member.ID, member.Address, quorum.Remove(d.Spoke, "", member.ID)))
	}
}

// isBusy reports whether nothing is to be done at present, and says why.
func (d *decider) isBusy() bool {
	if why := d.unknown(); why != "" {
		d.block(why)
	}
	if leaving := d.leaving(); len(leaving) > 0 {
		d.block("waiting for " + listtext.ListText(leaving) + " to be deleted")
	}
	return len(d.Blocked) > 0
}

// shrink decides to delete one of some Machines, if etcd and the control plane can do without it.
func (d *decider) shrink(cause Cause, eligible []*Machine) {
	d.Cause = cause
	if d.isBusy() {
		return
	}
	if why := d.impossible(); why != "" && cause == Scale {
		d.block(why)
		return
	}
	if d.anyStuck() {
		d.block("a Machine is being deleted, but etcd still needs it")
		return
	}
	m := d.victim(eligible)
	d.block(d.unsettled(m)...)
	if why := d.updating(); why != "" {
		d.block(why)
	}
	if why := d.loses(m); why != "" {
		d.block(why)
	}
	if len(d.Blocked) > 0 {
		d.dead()
		return
	}
	d.Act, d.Machine = Delete, m.Name
}

// victim is the Machine that goes first: one that a person has marked, else the oldest of the failure domain with the
// most Machines. A domain that is no failure domain any more comes before all others.
func (q *Question) victim(eligible []*Machine) *Machine {
	in := map[string]int{}
	for _, m := range q.living() {
		in[m.Spec.FailureDomain]++
	}
	crowd := func(m *Machine) int {
		if isStray(m.Machine, q.Domains) {
			return len(q.Machines) + 1
		}
		return in[m.Spec.FailureDomain]
	}
	marked := func(m *Machine) int {
		if isMarked(m) {
			return 0
		}
		return 1
	}
	return slices.MinFunc(eligible, func(a, b *Machine) int {
		return cmp.Or(
			cmp.Compare(marked(a), marked(b)), cmp.Compare(crowd(b), crowd(a)),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name),
		)
	})
}

// isMarked reports whether a person has marked a Machine as the first to go.
func isMarked(m *Machine) bool {
	_, is := m.Annotations[clusterv1.DeleteMachineAnnotation]
	return is
}

// isStray reports whether a Machine is in a failure domain that is not one of the control plane any more.
func isStray(m *clusterv1.Machine, domains []clusterv1.FailureDomain) bool {
	return m.Spec.FailureDomain != "" && len(domains) > 0 &&
		!slices.ContainsFunc(domains, func(d clusterv1.FailureDomain) bool { return d.Name == m.Spec.FailureDomain })
}
