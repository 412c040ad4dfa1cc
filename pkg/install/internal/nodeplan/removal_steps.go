package nodeplan

import (
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// stages is what is still to be done to remove a node. The first stage is the next one. An effect shows in the next
// observation, so that any later run continues from there.
//
// The Machine goes before its BareMetalHost: a Machine without one has no addresses, by which the etcd operator finds
// the member that belongs to it. A machine is switched off before its Node is deleted, since a kubelet that starts
// creates it again.
func (r *removal) stages(t *departingNode) {
	add := func(left bool, kind model.Kind, text string, do func()) {
		if left {
			t.left = append(t.left, stage{step: model.Step{Scope: t.scope(), Kind: kind, Message: text, Hosts: []string{t.Name}}, do: do})
		}
	}
	do, pods := steps{t}, eviction{t}
	stays := t.node != nil && !t.node.Deleting && (t.machine == nil || !t.machine.Deleting)
	add(stays && !(t.node.Cordoned && t.node.Leaving), model.CordonNode, "cordon "+t.nodeName+", so that no pod is scheduled on it", do.cordon)
	add(stays && t.hasPods() && !t.silent(), model.EvictPods, pods.podsText(), pods.evict)
	add(t.returnsFirst() && t.node.Returns != t.Have.ID, model.MarkNode, "mark "+t.nodeName+" as a node whose host returns to its pool",
		do.markNode)
	add(t.returnsFirst(), t.recordKind(), t.recordText(), do.forget)
	add(t.metal != nil && t.machine != nil && t.metal.Removes != t.nodeName && !t.metal.Deleting, model.MarkMetalHost,
		"mark the BareMetalHost "+t.metalName()+" as that of "+t.nodeName, do.markMetal)
	add(t.machine != nil, t.machineKind(), t.machineText(), func() { r.giveUpMachine(t) })
	add(t.metal != nil, model.DeleteMetalHost, "delete the BareMetalHost "+t.metalName()+" of the cluster", do.deleteMetal)
	add(t.switchable(), model.PowerOff, "switch "+t.Name+" off through its BMC", do.switchOff)
	add(t.node != nil, model.DeleteNode, t.nodeText(), do.deleteNode)
	add(t.member != nil && t.votes(), "", t.memberText(), do.awaitMember)
	add(t.isReplaced() && t.votes() && !t.goesLast() && len(t.secrets()) > 0, model.DeleteSecret,
		"delete the certificates of its member: "+listtext.ListText(t.secrets()), do.deleteSecrets)
	add(t.Have != nil && !t.returnsFirst(), t.recordKind(), t.recordText(), do.forget)
}

// steps does what is still to be done to remove one node.
type steps struct{ *departingNode }

// silent reports whether the node is dead, so that no kubelet ends its pods, and is to be replaced.
func (t *departingNode) silent() bool { return t.isReplaced() && t.isDead() && !t.node.Ready }

// secrets are the certificates of the node's member of etcd.
func (t *departingNode) secrets() []string {
	var all []string
	if t.spoke.Etcd == nil {
		return nil
	}
	for _, prefix := range []string{"etcd-peer-", "etcd-serving-", "etcd-serving-metrics-"} {
		if slices.Contains(t.spoke.Etcd.Secrets, prefix+t.nodeName) {
			all = append(all, prefix+t.nodeName)
		}
	}
	return all
}

func (t steps) deleteSecrets() {
	for _, name := range t.secrets() {
		t.act(t.doing(model.DeleteSecret, "secret/"+name, name, "", "a new node with that name gets its own certificates", true))
	}
}

func (t *departingNode) doing(kind model.Kind, what, name, target, reason string, destructive bool) model.Action {
	return model.Action{Key: t.key(what), Scope: t.scope(), Kind: kind, Name: name, Node: t.nodeName, Target: target, Reason: reason,
		Destructive: destructive}
}

func (t steps) cordon() {
	t.act(t.doing(model.CordonNode, "cordon", t.node.Name, t.node.UID, "no new pod must be scheduled on a node that is removed", false))
}

func (t *departingNode) metalName() string {
	if t.metal == nil {
		return ""
	}
	return t.metal.Name
}

// markMetal records on the BareMetalHost which node it belongs to: nothing else says so once the Machine is gone.
func (t steps) markMetal() {
	t.act(t.doing(model.MarkMetalHost, "mark-metal", t.metal.Name, t.metal.UID,
		"after its Machine is deleted, only this mark tells that it belongs to "+t.nodeName, false))
}

func (t steps) deleteMetal() {
	if t.metal.Deleting {
		t.wait(model.Wait{
			Key: t.key("metal-gone"), Scope: t.scope(), Who: model.WhoService,
			For: fmt.Sprintf("the BareMetalHost %s to be gone (%s)", t.metal.Name, t.metal.State),
		})
		return
	}
	t.act(t.doing(model.DeleteMetalHost, "delete-metal", t.metal.Name, t.metal.UID, "its Machine is gone", true))
}

// switchable reports whether the machine can be switched off from here, and is not.
func (t *departingNode) switchable() bool {
	if t.Desired.Options.Remove.KeepRunning || t.keptByHub() || t.returnsFirst() || t.isBack() || t.wasReturned() {
		return false
	}
	return t.trouble != "" || t.power != "" && t.power != model.PowerIsOff
}

// keptByHub reports whether a hub keeps the machine on, and switches it on again after it was switched off.
func (t *departingNode) keptByHub() bool {
	return t.Want != nil && t.Want.BMC != nil && t.Want.BMC.Metal3 != nil && t.Want.BMC.Metal3.KeepManaged
}

func (t steps) switchOff() {
	key := "host/" + t.Name + "/machine/" + string(model.PowerOff)
	switch {
	case t.trouble != "":
		t.block(model.Blocker{
			Key: key + "/trouble", Scope: t.scope(), Reason: "BMCTrouble", Cure: model.CurePerson, Hosts: []string{t.Name},
			Message: fmt.Sprintf("%s cannot be switched off: %s", t.Name, t.trouble),
			Remedy:  "repair the access to its BMC; or switch it off by hand, and run the same command again with --keep-running",
		})
	case t.power == model.PowerGoingOff:
		t.wait(model.Wait{Key: key, Scope: t.scope(), Who: model.WhoMachine, For: t.Name + " to be switched off"})
	default:
		t.act(model.Action{
			Key: key, Scope: t.scope(), Kind: model.PowerOff, Name: t.Name, Destructive: true,
			Reason: "a kubelet that starts again creates its node again",
		})
	}
}

func (t *departingNode) nodeText() string {
	if t.machine != nil {
		return "delete the node " + t.nodeName + ", unless it is deleted together with its Machine"
	}
	return "delete the node " + t.nodeName
}

func (t steps) deleteNode() {
	switch {
	case t.stillRuns():
		t.awaitReboot()
	case t.node.Deleting:
		what := ""
		if len(t.node.Finalizers) > 0 {
			what = ", which is held by " + listtext.ListText(t.node.Finalizers)
		}
		t.wait(model.Wait{Key: t.key("gone"), Scope: t.scope(), Who: model.WhoService,
			For: fmt.Sprintf("the node %s to be gone%s", t.nodeName, what)})
	default:
		t.act(t.doing(model.DeleteNode, "delete", t.node.Name, t.node.UID, "its pods have ended, and nothing else needs it", true))
	}
}

// forget has the service forget the host, or keep it for other clusters.
func (t steps) forget() {
	if t.Have.Deleting {
		t.wait(model.Wait{Key: t.key("record-gone"), Scope: t.scope(), Who: model.WhoService, For: "the service to delete the host " + t.Name})
		return
	}
	reason := "its node is gone"
	if t.returnsFirst() {
		reason = "its pods are gone"
	}
	a := t.doing(t.recordKind(), "record", t.Name, t.Have.ID, reason, true)
	a.InfraEnv, a.NodeGone = t.Have.InfraEnvID, t.node == nil
	t.act(a)
}

// underWay reports whether the host is being installed.
func (t *departingNode) underWay() bool { return t.Have != nil && installing(t.Have) }

func installing(have *model.Host) bool {
	return slices.Contains([]model.HostState{model.HostPreparing, model.HostInstalling, model.HostBinding}, have.State)
}
