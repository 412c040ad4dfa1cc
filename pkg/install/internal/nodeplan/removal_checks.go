package nodeplan

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/shared/quorum"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// The marks of what is lost with a node.
const (
	finalizerTopoLVM = "topolvm.io/node"
	labelStorage     = "cluster.ocs.openshift.io/openshift-storage"
	workerRole       = "worker"
)

// refusals says what forbids to remove one node.
type refusals struct{ *departingNode }

// check says what forbids the removal of a node, and, before it begins, what a person should know.
func (r *removal) check(t *departingNode) {
	own := refusals{t}
	for _, b := range []*model.Blocker{
		t.doubt, r.unknown(t), own.notYet(), own.noPool(), own.noBackup(), own.settling(), r.taken(t), r.quorum(t), own.dataLoss(),
		own.machineRefused(),
		own.stillRefused(),
	} {
		if b != nil {
			t.block(*b)
		}
	}
	if t.node == nil || t.node.Deleting {
		return
	}
	if !t.begun() || t.firstLook() { // a user who continues the removal should know it, too
		r.warnOfWorkloads(t)
		r.warnOfPool(t)
		r.warnOfMachine(t)
	}
}

func (t *departingNode) refuse(reason, key string, cure model.Cure, message string, remedy model.Advice) *model.Blocker {
	return &model.Blocker{Key: t.key(key), Scope: t.scope(), Reason: reason, Cure: cure, Hosts: []string{t.Name}, Message: message,
		Remedy: remedy}
}

// unknown refuses a name that no host or node has or that several hosts have, or a host with a node of another name.
func (r *removal) unknown(t *departingNode) *model.Blocker {
	if len(t.Several) > 0 {
		return t.refuse("SeveralHosts", "several", model.CureOwner,
			fmt.Sprintf("the service has several hosts %s: %s", t.Asked, listtext.ListText(t.Several)), "use the id")
	}
	if t.node != nil || t.replaced {
		return nil
	}
	addresses := t.addresses()
	for i := range r.spoke.Nodes {
		n := &r.spoke.Nodes[i]
		shared := slices.ContainsFunc(n.Addresses, func(a netip.Addr) bool { return slices.Contains(addresses, a) }) ||
			t.Have != nil && t.Have.Inventory.UUID != "" && strings.EqualFold(t.Have.Inventory.UUID, n.SystemUUID)
		if shared && t.machine == nil && !r.named(n) {
			return t.refuse("NodeOfOtherName", "name", model.CureOwner,
				fmt.Sprintf("the cluster has no node %s, but the node %s has an address or the UUID of that host", t.nodeName, n.Name),
				model.Command("remove-node", listtext.Quoted(n.Name)))
		}
	}
	orphans := r.orphansOfNobody()
	unclear := t.votes() && t.machine == nil && t.member == nil && len(orphans) > 0
	switch etcd := r.spoke.Etcd; {
	case unclear:
		return t.refuse("EtcdMemberUnknown", "orphan", model.CureOwner,
			fmt.Sprintf("the node %s is deleted, but oaictl cannot tell whether its etcd member is removed; these members of etcd "+
				"belong to no node: %s", t.nodeName,
				listtext.ListText(orphans)),
			"kubectl -n openshift-etcd get configmap etcd-endpoints -o yaml, and find out which machines these members ran on")
	case t.found(), slices.Contains(t.Desired.Options.Remove.Begun, t.Asked):
		return nil
	case t.isReplaced() && t.Desired.Options.Remove.Backup && etcd != nil && etcd.Trouble == "" && len(etcd.Members) < etcd.Desired:
		return nil // the node was removed
	case t.replacement() != nil && (t.replacement().HasRebooted() || memberState(t.replacement().State)): // which has its place
		return nil
	}
	message := fmt.Sprintf("neither the cluster nor the service has a node or a host %s", t.Asked)
	if len(orphans) > 0 {
		message += "; these etcd members belong to no node: " + listtext.ListText(orphans)
	}
	return t.refuse("UnknownNode", "unknown", model.CureOwner, message,
		model.Command("get nodes", listtext.Quoted(r.Desired.Spec.Metadata.Name)))
}

func (r *removal) named(n *model.Node) bool {
	return slices.ContainsFunc(r.targets, func(o *departingNode) bool { return o.node == n })
}

// orphansOfNobody are the members of etcd whose nodes are gone, and that are of none that is to go.
func (r *removal) orphansOfNobody() []string {
	var all []string
	for _, m := range quorum.Orphans(r.spoke) {
		if !slices.ContainsFunc(r.targets, func(o *departingNode) bool { return o.member != nil && o.member.ID == m.ID }) {
			all = append(all, fmt.Sprintf("%s (%s)", m.ID, m.Address))
		}
	}
	return all
}

// notYet refuses a host that is being installed, or never has been.
func (t refusals) notYet() *model.Blocker {
	switch {
	case t.underWay():
		return t.refuse("HostInstalls", "installs", model.CureNow, fmt.Sprintf("%s is being installed: %s", t.Name, t.Have.Status),
			model.Command("describe host", t.Have.ID))
	case t.node == nil && t.machine == nil && t.metal == nil && t.Have != nil && !memberState(t.Have.State):
		return t.refuse("NoNode", "none", model.CureNow, fmt.Sprintf("%s is not a node of the cluster: its state is %s", t.Name,
			strings.ToLower(string(t.Have.State))), model.Command("delete host", t.Have.ID))
	}
	return nil
}

// memberState reports whether a host was part of the cluster, as the service has it.
func memberState(s model.HostState) bool { return s == model.HostInstalled || s == model.HostAdded }

// noBackup refuses to give up a member of etcd that is not well, before there is a backup.
func (t refusals) noBackup() *model.Blocker {
	begun := t.node != nil && t.node.Leaving || t.machine != nil && t.machine.Removes != ""
	nothing := t.node == nil && t.machine == nil && t.member == nil
	if o := t.Desired.Options.Remove; o.ReplacedBy == "" || o.Backup || begun || nothing {
		return nil
	}
	return t.refuse("NoBackup", "backup", model.CureNow, "take a backup of etcd before a member is removed",
		t.backupCommand())
}

// settling refuses to take a member for dead whose node is Ready while etcd is being rolled out: it may
// be back in a moment.
func (t refusals) settling() *model.Blocker {
	if e := t.spoke.Etcd; e == nil || !t.isReplaced() || t.begun() || !t.node.Ready || !t.isDead() || e.Rolling == "" {
		return nil
	}
	return t.refuse("EtcdRolls", "rolls", model.CureNow,
		fmt.Sprintf("a rollout of etcd is in progress (%s): only after it can oaictl tell whether the member of %s is lost",
			t.spoke.Etcd.Rolling,
			t.nodeName), "kubectl get clusteroperator etcd, and run the same command again")
}

// taken refuses a host that cannot take the node's place, since it has one of its own: the control
// plane would be one less. One that has joined for that leaves as many as the cluster was installed with.
func (r *removal) taken(t *departingNode) *model.Blocker {
	if !t.isReplaced() || t.replaced || r.spoke.Etcd == nil {
		return nil
	}
	by := t.Desired.Options.Remove.ReplacedBy
	name := by
	if have := t.replacement(); have != nil && have.Hostname != "" {
		name = have.Hostname
	}
	n, others := r.spoke.NodeByName(name), len(r.otherVoters())
	if n == nil || n == t.node || n.Votes() && others >= cmp.Or(r.spoke.Etcd.Desired, fewestMembers) {
		return nil
	}
	b := t.refuse("HostHasPlace", "taken", model.CureNow, fmt.Sprintf("%s is already a node of the cluster: it cannot replace %s",
		n.Name, t.nodeName), "name another machine")
	if n.Votes() {
		b.Message += fmt.Sprintf(", without which the control plane has %s", listtext.CountText(others, "node"))
	}
	return b
}

// backupCommand takes a backup of etcd, on a node that is well.
func (t refusals) backupCommand() model.Advice {
	return model.Advicef("oc debug --as-root node/%s -- chroot /host /usr/local/bin/cluster-backup.sh /home/core/assets/backup; then run "+
		"the same command again with --backup-taken", quorum.Beside(t.spoke, t.nodeName))
}

// dataLoss refuses a node with which TopoLVM deletes the volumes that are on it.
func (t refusals) dataLoss() *model.Blocker {
	if t.node == nil || t.node.Deleting || t.Desired.Options.Remove.AcceptDataLoss || !slices.Contains(t.node.Finalizers, finalizerTopoLVM) {
		return nil
	}
	what := "none is bound now"
	if claims := t.claims(); len(claims) > 0 {
		what = "of " + listtext.ListText(claims)
	}
	return t.refuse("VolumesDeleted", "data-loss", model.CureNow,
		fmt.Sprintf("with the node %s, LVM Storage deletes the volumes on it and their claims: %s", t.nodeName, what),
		"save the data first; then, to delete the volumes, run the same command again with --accept-data-loss")
}

// stillRefused is the blocker that pods or the Machine are not released.
func (t refusals) stillRefused() *model.Blocker {
	if t.node == nil || t.node.Deleting || t.machine != nil && t.machine.Deleting || t.silent() {
		return nil
	}
	return t.drainRefused()
}

// claims are the claims of volumes whose data are on the node.
func (t *departingNode) claims() []string {
	var all []string
	for _, v := range t.spoke.Volumes {
		if v.Node == t.nodeName && v.Claim != "" {
			all = append(all, v.Claim)
		}
	}
	return all
}

func (t *departingNode) know(reason, key, message string, next model.Advice) {
	t.warn(model.Warning{Key: t.key(key), Scope: t.scope(), Reason: reason, Message: message, Next: next})
}

// warnOfWorkloads reports what runs on the node and is lost or missed.
func (r *removal) warnOfWorkloads(t *departingNode) {
	if claims := t.claims(); len(claims) > 0 {
		t.know("LocalVolumes", "volumes", fmt.Sprintf("the data of %s are only on %s", listtext.ListText(claims), t.nodeName),
			"save them first")
	}
	if _, is := t.node.Labels[labelStorage]; is {
		t.know("StorageNode", "storage", t.nodeName+" is a node of OpenShift Data Foundation",
			"move its storage first, as the documentation of OpenShift Data Foundation describes for the replacement of nodes")
	}
	if t.drain != nil {
		t.warnOfPods()
	}
	if selector := t.Desired.Options.Remove.Drain.PodSelector; selector != "" {
		t.know("PodsNotEvicted", "selector", fmt.Sprintf("pods that the selector %s does not match are not evicted; they end when "+
			"the node is deleted",
			selector), "")
	}
	last := map[string]bool{}
	for _, router := range r.spoke.Routers {
		here := slices.ContainsFunc(r.targets, func(o *departingNode) bool { return o.nodeName == router.Node })
		if before, known := last[router.Controller]; router.Ready && (!known || before) {
			last[router.Controller] = here
		}
	}
	for _, router := range r.spoke.Routers {
		if router.Node != t.nodeName || !router.Ready {
			continue
		}
		text := "; it moves to another node, if one is free"
		if last[router.Controller] {
			text = ", and no other router is ready: routes do not work until a router runs on another node"
		}
		t.know("RouterGoes", "router/"+router.Controller, fmt.Sprintf("a router of the ingress controller %s runs on %s%s", router.Controller,
			t.nodeName, text), "kubectl -n openshift-ingress get pods -o wide")
	}
	if len(r.spoke.VIPs) == 0 {
		t.know("OwnBalancer", "balancer", "if your load balancer or DNS lists "+t.nodeName+", remove it there", "")
	}
}

func (t *departingNode) warnOfPods() {
	var alone, local, budgets []string
	for i := range t.drain.Pods {
		p := &t.drain.Pods[i]
		if p.Owner == "" {
			alone = append(alone, p.ID())
		}
		if p.Local {
			local = append(local, p.ID())
		}
		if p.Budget != "" && p.Deleting.IsZero() {
			budgets = append(budgets, fmt.Sprintf("%s (%s)", p.ID(), p.Budget))
		}
	}
	if len(alone) > 0 {
		t.know("PodsLost", "alone", "these pods have no controller, and are not created again: "+listtext.ListText(alone), "")
	}
	if len(local) > 0 {
		t.know("EmptyDirLost", "emptydir", "these pods lose their data in emptyDir volumes: "+listtext.ListText(local), "")
	}
	if len(budgets) > 0 && !t.Desired.Options.Remove.Drain.DisableEviction {
		t.know("BudgetHolds", "budgets", "PodDisruptionBudgets currently do not allow the eviction of these pods: "+listtext.ListText(budgets),
			"kubectl get poddisruptionbudgets -A")
	}
	if len(t.drain.Machines) > 0 {
		t.know("VirtualMachines", "machines", "virtual machines run on "+t.nodeName+". They are moved or stopped: "+
			listtext.ListText(t.drain.Machines),
			"kubectl get virtualmachineinstances -A")
	}
}

// warnOfPool reports a machine config pool that is busy or not well, and others in it.
func (r *removal) warnOfPool(t *departingNode) {
	p := r.poolOf(t.node)
	if p == nil {
		return
	}
	switch {
	case p.Degraded:
		t.know("PoolDegraded", "pool", fmt.Sprintf("its pool %s is degraded: %s", p.Name, p.Message), "kubectl get machineconfigpools")
	case p.Updating && t.node.Ready:
		t.know("PoolUpdating", "pool", fmt.Sprintf("its pool %s is being updated: its other nodes are also drained and rebooted", p.Name),
			"kubectl get machineconfigpools")
	case p.Paused:
		t.know("PoolPaused", "pool", fmt.Sprintf("its pool %s is paused", p.Name), "kubectl get machineconfigpools")
	}
	var ill []string
	for i := range r.spoke.Nodes {
		if n := &r.spoke.Nodes[i]; n != t.node && !n.Ready && r.poolOf(n) == p && !r.named(n) {
			ill = append(ill, n.Name)
		}
	}
	if len(ill) > 0 {
		t.know("OthersNotReady", "others", fmt.Sprintf("in the pool %s, %s also not Ready", p.Name, areNot(ill)), "kubectl get nodes")
	}
}

func areNot(all []string) string {
	if len(all) == 1 {
		return all[0] + " is"
	}
	return listtext.ListText(all) + " are"
}

// poolOf is the pool that a node belongs to: master before a pool of its own before worker.
func (r *removal) poolOf(n *model.Node) *model.Pool {
	if slices.Contains(n.Roles, "master") {
		return r.spoke.Pool("master")
	}
	for _, role := range n.Roles {
		if p := r.spoke.Pool(role); p != nil && role != workerRole {
			return p
		}
	}
	if slices.Contains(n.Roles, workerRole) {
		return r.spoke.Pool(workerRole)
	}
	return nil
}

// warnOfMachine reports what becomes of the machine itself.
func (r *removal) warnOfMachine(t *departingNode) {
	managed := t.metal != nil && t.metal.BMC != ""
	switch {
	case t.isBack(), t.returns(): // and boots the discovery image next
	case t.keptByHub():
		t.know("KeptByHub", "power", fmt.Sprintf("the hub keeps %s powered on, so it becomes a node again at the next "+
			"start of its kubelet", t.Name),
			"set online: false in its BareMetalHost on the hub")
	case t.Desired.Options.Remove.KeepRunning, t.power == "" && t.trouble == "" && !managed:
		t.know("KeepsRunning", "power",
			t.nodeName+" is not switched off: if it still runs after the removal, it becomes a node again at the next start of its kubelet",
			"switch it off or wipe its disk after the removal")
	}
	if t.metal != nil && t.machine != nil && managed {
		t.know("Deprovisioned", "metal", fmt.Sprintf("the cluster deprovisions and switches off the BareMetalHost %s", t.metal.Name), "")
	}
	for _, e := range r.Observed.Enrolled {
		if t.Have != nil && e.Name == t.Name && !t.returns() {
			t.know("HubMetalStays", "enrolled",
				fmt.Sprintf("the BareMetalHost %s of the hub remains and is detached: the hub does not switch on or install the machine until "+
					"the annotation is removed", e.Name), "")
		}
	}
	if !t.node.Ready && t.isReplaced() {
		t.know("NotReadySince", "silent",
			fmt.Sprintf("%s has not been Ready since %s, and oaictl treats it as lost: make sure that its machine is off, because its pods "+
				"are also started on other nodes", t.nodeName, t.node.ReadySince.UTC().Format(time.RFC3339)), "")
	}
	if !t.node.Ready && !t.isReplaced() && t.hasPods() {
		t.know("KubeletSilent", "silent", t.nodeName+" is not Ready: pods on it do not end, and oaictl waits for them",
			"make sure that the machine is off, because its pods are also started on other nodes; then, to continue without them, give "+
				"--skip-wait-for-delete-timeout 60")
	}
}
