package nodeplan

import (
	"fmt"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// returns reports whether the host goes back to the pool that it came from.
func (t *departingNode) returns() bool { return t.Desired.Options.Remove.ReturnToPool }

// returnsFirst reports whether the host goes back before its node is deleted: where the service boots
// it into the discovery image, with an agent that runs on the node. The Machine API would delete the
// node before that, and of a member of etcd nothing is known any more without the record.
func (t *departingNode) returnsFirst() bool {
	return t.returns() && t.Have != nil && t.Have.Returns == model.ReturnByService && t.machine == nil && !t.votes() &&
		t.node != nil && t.node.Ready && !t.node.Deleting
}

// isBack reports whether the host has gone back before its node was deleted. An annotation on the node says that it was
// to go back.
func (t *departingNode) isBack() bool { return t.node != nil && t.node.Returns != "" && t.Have == nil }

// downFor is how long a node must be not Ready before it counts as booted into something else. A shorter time may only
// be a lost heartbeat.
const downFor = 3 * time.Minute

// stillRuns reports whether the node of a host that has gone back runs: the service's agent on it is
// about to boot the discovery image.
func (t *departingNode) stillRuns() bool {
	since := t.seen().Silent
	return t.isBack() && (t.node.Ready || since.IsZero() || t.Now.Sub(since) < downFor)
}

// backAs is the node of a host that has gone back, found by its name or by its id, or nil.
func (r *removal) backAs(asked string) *model.Node {
	id := asked
	if i := slices.IndexFunc(r.Hosts, func(h Host) bool { return h.Name == asked && h.Have != nil && h.Have.Unbound() }); i >= 0 {
		id = r.Hosts[i].Have.ID
	}
	for i := range r.spoke.Nodes {
		if n := &r.spoke.Nodes[i]; n.Returns != "" && (n.Returns == id || n.Name == model.NodeName(asked)) {
			return n
		}
	}
	return nil
}

// wasReturned reports whether the host was given back: by this loop, or by an earlier loop that left its node there.
func (t *departingNode) wasReturned() bool {
	done := t.Memory.Done[t.key("record")].Kind
	return done == model.ReturnHost || done == "" && t.seen().Returns && t.Have == nil
}

// infraEnv is the InfraEnv that the host booted, nil for one that is not the cluster's.
func (t *departingNode) infraEnv() *model.InfraEnv {
	i := slices.IndexFunc(t.Observed.InfraEnvs, func(e model.InfraEnv) bool { return e.ID == t.Have.InfraEnvID })
	if i < 0 {
		return nil
	}
	return &t.Observed.InfraEnvs[i]
}

// noPool refuses to give back what came from no pool, or cannot boot the discovery image.
func (t refusals) noPool() *model.Blocker {
	const remedy = "leave --return-to-pool out"
	switch {
	case !t.returns() || t.isBack() || t.wasReturned() || t.replaced:
		return nil
	case t.Have == nil && t.node == nil: // it is gone, or is not known
		return nil
	case t.Have == nil:
		return t.refuse("NoRecord", "no-record", model.CureNow,
			fmt.Sprintf("the service has no host %s of this cluster that could return to a pool", t.Name),
			remedy+"; or, if its pool is in another namespace of the hub, give the file that names the pool, -f FILE")
	case t.infraEnv() != nil && t.infraEnv().ClusterID != "":
		return t.refuse("NoPool", "no-pool", model.CureNow,
			fmt.Sprintf("%s cannot return to a pool: the InfraEnv %s that it booted from is bound to the cluster",
				t.Name, t.infraEnv().Name), remedy)
	case t.node != nil && !t.node.Ready && !t.begun():
		return t.refuse("NotReturned", "not-ready", model.CureNow,
			fmt.Sprintf("%s is not Ready: a machine that does not run cannot return to its pool", t.nodeName),
			remedy+": it returns to the pool when it boots the discovery image")
	}
	return nil
}

// recordText is what becomes of the service's record.
func (t *departingNode) recordText() string {
	if t.Have == nil || !t.returns() {
		return "delete the service's record of " + t.Name
	}
	pool := t.Have.InfraEnvID
	if env := t.infraEnv(); env != nil {
		pool = env.Name
	}
	switch {
	case t.returnsFirst():
		return fmt.Sprintf("return %s to the pool %s: the service boots it into the discovery image", t.Name, pool)
	case t.Have.Returns == model.ReturnByHub:
		return fmt.Sprintf("return %s to the pool %s: the hub boots it into the discovery image, through its BareMetalHost", t.Name, pool)
	}
	return fmt.Sprintf("return %s to the pool %s; a person must boot it into the discovery image", t.Name, pool)
}

func (t *departingNode) recordKind() model.Kind {
	if t.returns() {
		return model.ReturnHost
	}
	return model.RemoveHost
}

// markNode records on the node which host it is: nothing else says so once the host has gone back.
func (t steps) markNode() {
	a := t.doing(model.MarkNode, "mark", t.node.Name, t.node.UID, "after the host has returned, only this mark tells which "+
		"host the node was", false)
	a.Host = t.Have.ID
	t.act(a)
}

// awaitReboot waits for a host that has gone back to leave its node. Where the service has given up
// to boot it, a person has to.
func (t steps) awaitReboot() {
	w := model.Wait{
		Key: t.key("reboots"), Scope: t.scope(), Who: model.WhoMachine,
		For: fmt.Sprintf("%s to be booted into the discovery image by the service's agent on it", t.nodeName),
		Next: "look at that agent: kubectl -n assisted-installer get pods -o wide; if it cannot boot the host, boot the discovery image " +
			"by hand",
	}
	i := slices.IndexFunc(t.Hosts, func(h Host) bool { return h.Have != nil && h.Have.ID == t.node.Returns })
	if i >= 0 && t.Hosts[i].Have.Status == statusByHand {
		w.Who = model.WhoUser
		w.For = fmt.Sprintf("a person to boot %s into the discovery image, which the service could not do", t.nodeName)
		w.Next = model.Advicef("boot that image on it: {download iso --infra-env %s}", listtext.Quoted(t.Hosts[i].Have.InfraEnvID))
	}
	t.wait(w)
}

// statusByHand is the service's word for a host that has gone back, and that a person is to boot.
const statusByHand = "unbinding-pending-user-action"
