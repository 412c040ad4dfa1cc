package nodeplan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
)

func (t *departingNode) machineKind() model.Kind {
	if t.set != nil {
		return model.LowerMachineSet
	}
	return model.DeleteMachine
}

// machineText is how the Machine goes.
func (t *departingNode) machineText() string {
	switch {
	case t.machine == nil:
		return ""
	case t.machine.Deleting || t.lowered():
		return "wait for the Machine " + t.machine.Name + " to be gone"
	case t.set != nil:
		return fmt.Sprintf("scale the MachineSet %s down by one, to delete the Machine %s", t.set.Name, t.machine.Name)
	}
	return "delete the Machine " + t.machine.Name
}

// lowered reports whether the MachineSet was lowered for this Machine already. That is written
// into the MachineSet with the number itself, so that it never is a second time.
func (t *departingNode) lowered() bool {
	return t.machine != nil && t.set != nil && slices.Contains(t.set.Lowered, t.machine.UID)
}

// giveUpMachine makes the Machine API release a node's Machine: by scaling down its MachineSet, which would make
// another one otherwise, or, if no MachineSet made it, by deleting it.
func (r *removal) giveUpMachine(t *departingNode) {
	m := t.machine
	switch {
	case m.Deleting:
		r.awaitMachine(t)
	case t.set == nil:
		t.act(t.doing(model.DeleteMachine, "delete-machine", m.Name, m.UID, "no MachineSet made it", true))
	case t.lowered():
		steps{t}.awaitGivenUp()
	case !steps{t}.settled(r):
	case !m.ToBeDeleted || m.Removes != t.nodeName:
		t.act(t.doing(model.MarkMachine, "mark-machine", m.Name, m.UID, "the MachineSet "+t.set.Name+" deletes a marked Machine first", false))
	default:
		a := t.doing(model.LowerMachineSet, "lower", t.set.Name, m.UID, "it deletes the Machine "+m.Name+", which is marked", true)
		a.Changes = []model.Change{{Field: "replicas", From: fmt.Sprint(t.set.Replicas), To: fmt.Sprint(t.set.Replicas - 1)}}
		t.act(a)
	}
}

// awaitMachine waits for a Machine that is being deleted.
func (r *removal) awaitMachine(t *departingNode) {
	if t.member != nil && !t.operatorTakesMember() && len(t.machine.Hooks) > 0 {
		steps{t}.awaitMember()
		return
	}
	what := ""
	if len(t.machine.Hooks) > 0 {
		what = ", which is held by " + listtext.ListText(t.machine.Hooks)
	}
	w := model.Wait{Key: t.key("machine-gone"), Scope: t.scope(), Who: model.WhoService}
	if t.metal != nil && t.metal.BMC != "" && t.metal.PoweredOn {
		what += "; its BareMetalHost reports that it is powered on, and the Machine stays until it is powered off"
		w.Next = model.Advicef("if the BMC does not work either: kubectl -n openshift-machine-api edit machine %s, and remove its finalizer",
			listtext.Quoted(t.machine.Name))
	}
	w.For = fmt.Sprintf("the Machine %s to be gone%s", t.machine.Name, what)
	t.wait(w)
}

// awaitGivenUp waits for the MachineSet to delete the Machine for which it was lowered.
func (t steps) awaitGivenUp() {
	if have := t.machinesOfSet(); len(have) > t.set.Replicas {
		t.wait(model.Wait{
			Key: t.key("given-up"), Scope: t.scope(), Who: model.WhoService,
			For: fmt.Sprintf("the MachineSet %s to delete the Machine %s", t.set.Name, t.machine.Name),
		})
		return
	}
	t.block(model.Blocker{
		Key: t.key("raised"), Scope: t.scope(), Reason: "MachineSetRaised", Cure: model.CurePerson, Hosts: []string{t.Name},
		Message: fmt.Sprintf("the MachineSet %s was scaled down to delete the Machine %s, but it already has %d Machines: it deleted "+
			"another Machine, or was scaled up since", t.set.Name, t.machine.Name, t.set.Replicas),
		Remedy: "look at its Machines before you change its replicas again: kubectl -n openshift-machine-api get machines",
	})
}

// machinesOfSet are the Machines of the node's MachineSet that stay.
func (t *departingNode) machinesOfSet() []*model.Machine {
	var all []*model.Machine
	for i := range t.spoke.Machines {
		if m := &t.spoke.Machines[i]; m.MachineSet == t.set.Name && !m.Deleting {
			all = append(all, m)
		}
	}
	return all
}

// settled reports whether the MachineSet has as many Machines as it is to have, and would give up
// this one if it is lowered now. Otherwise it says why not.
func (t steps) settled(r *removal) bool {
	have := t.machinesOfSet()
	if len(have) != t.set.Replicas {
		t.wait(model.Wait{
			Key: t.key("settled"), Scope: t.scope(), Who: model.WhoService,
			For: fmt.Sprintf("the MachineSet %s to have %d Machines; it has %d", t.set.Name, t.set.Replicas, len(have)),
		})
		return false
	}
	var rivals []string
	for _, m := range have {
		switch {
		case m == t.machine:
		case m.ToBeDeleted && m.Removes != "" && r.isLeaving(m): // its turn is now
			t.wait(model.Wait{
				Key: t.key("set-turn"), Scope: t.scope(), Who: model.WhoService,
				For: fmt.Sprintf("the MachineSet %s to delete the Machine %s first", t.set.Name, m.Name),
			})
			return false
		case m.ToBeDeleted:
			rivals = append(rivals, m.Name+" is also marked to be deleted first")
		case m.Error != "" || m.Phase == "Failed":
			rivals = append(rivals, m.Name+" has failed")
		}
	}
	if len(rivals) == 0 {
		return r.firstOfSet(t.departingNode)
	}
	t.block(model.Blocker{
		Key: t.key("rivals"), Scope: t.scope(), Reason: "OtherMachineFirst", Cure: model.CurePerson, Hosts: []string{t.Name},
		Message: fmt.Sprintf("if the MachineSet %s is scaled down by one, it may delete another Machine than %s: %s",
			t.set.Name, t.machine.Name,
			strings.Join(rivals, "; ")),
		Remedy: "first delete these Machines, or remove their mark, the annotation machine.openshift.io/delete-machine: kubectl -n " +
			"openshift-machine-api get machines",
	})
	return false
}

// isLeaving reports whether a Machine is of a node that is to be removed.
func (r *removal) isLeaving(m *model.Machine) bool {
	return slices.ContainsFunc(r.targets, func(o *departingNode) bool { return o.machine == m })
}

// firstOfSet reports whether no other node of the same MachineSet is about to be marked: they go
// one after the other.
func (r *removal) firstOfSet(t *departingNode) bool {
	for _, o := range r.targets {
		if o == t || t.machine.ToBeDeleted {
			return true
		}
		if o.set == t.set && !o.machine.Deleting && len(o.left) > 0 && o.left[0].step.Kind == model.LowerMachineSet &&
			len(o.answer.Blockers) == 0 {
			t.wait(model.Wait{
				Key: t.key("set-turn"), Scope: t.scope(), Who: model.WhoService,
				For: fmt.Sprintf("the MachineSet %s to delete the Machine %s first", t.set.Name, o.machine.Name),
			})
			return false
		}
	}
	return true
}

// machineRefused is why the Machine API does not release the Machine.
func (t refusals) machineRefused() *model.Blocker {
	b := &model.Blocker{Key: t.key("machine"), Scope: t.scope(), Cure: model.CureNow, Hosts: []string{t.Name}}
	switch {
	case t.machine == nil || t.machine.Deleting:
		return nil
	case t.machine.Elsewhere:
		b.Reason = "MachineElsewhere"
		b.Message = fmt.Sprintf("the Machine %s is managed by Cluster API and not by the Machine API", t.machine.Name)
		b.Remedy = "give it back to the Machine API first: spec.authoritativeAPI: MachineAPI"
		return b
	case t.set != nil && t.set.FollowsHosts:
		b.Reason = "MachineSetFollowsHosts"
		b.Message = fmt.Sprintf("the MachineSet %s has as many Machines as there are BareMetalHosts for it, so it cannot be scaled down",
			t.set.Name)
		b.Remedy = model.Advicef("remove the annotation: kubectl -n openshift-machine-api annotate machineset %s metal3.io/autoscale-to-hosts-",
			listtext.Quoted(t.set.Name))
		return b
	}
	return nil
}
