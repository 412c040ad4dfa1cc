package install_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// shrinking is a model of an installed cluster that nodes are taken out of: of its API server, its
// machine controllers, the etcd operator, its machines and the service. What must never happen is
// an error of apply or pass.
type shrinking struct {
	desired  *model.Desired
	memory   model.Memory
	at       time.Time
	spoke    model.Spoke
	pods     map[string][]model.Pod // by node
	refused  map[string][]model.DrainRefusal
	held     map[string]bool // pods that a budget holds, by id
	hosts    []model.Host
	power    map[string]model.Power // by host of the file
	trouble  map[string]string
	installs int // members that etcd was installed with
	person   bool
	writes   []model.Action
	lowered  map[string]int // by the Machine's uid
	version  int
	lose     func(model.Action) bool // whether an act is lost, after it was carried out
}

// newShrinking is a cluster of that many nodes. With Machines, workers have a MachineSet.
func newShrinking(controlPlane, workers int, machines bool, remove ...string) *shrinking {
	c := sample(controlPlane, workers)
	w := &shrinking{
		desired: &model.Desired{Spec: c, Options: model.Options{Adopt: "cluster-1", Remove: &model.Removal{Nodes: remove, Drain: model.DrainOptions{GracePeriod: -1}}}},
		at:      start, pods: map[string][]model.Pod{}, refused: map[string][]model.DrainRefusal{}, held: map[string]bool{},
		power: map[string]model.Power{}, trouble: map[string]string{}, installs: min(controlPlane, 3), lowered: map[string]int{},
	}
	w.spoke.Pools = []model.Pool{{Name: "master"}, {Name: "worker"}}
	w.spoke.API = "https://api.lab.example.com:6443"
	w.spoke.VIPs = []netip.Addr{netip.MustParseAddr("192.168.127.100")}
	w.spoke.Etcd = &model.Etcd{Desired: w.installs, ByMachines: machines}
	for i := range c.Spec.Hosts {
		w.join(&c.Spec.Hosts[i], i, machines)
	}
	if machines && workers > 0 {
		w.spoke.MachineSets = []model.MachineSet{{Name: "workers", UID: "set-workers", Replicas: workers, Version: "0"}}
	}
	return w
}

func (w *shrinking) join(h *spec.Host, i int, machines bool) {
	name := h.Name
	address := netip.AddrFrom4([4]byte{192, 168, 127, byte(10 + i)})
	roles := []string{"worker"}
	if h.Role == spec.ControlPlane {
		roles = []string{"control-plane", "master"}
		w.spoke.Etcd.Members = append(w.spoke.Etcd.Members, model.EtcdMember{ID: fmt.Sprintf("%x", 0xa0+i), Address: address})
	}
	w.spoke.Nodes = append(w.spoke.Nodes, model.Node{Name: name, UID: "node-" + name, Created: start, Ready: true, Roles: roles, Labels: map[string]string{}, Addresses: []netip.Addr{address}})
	host := machine(name, h.Match.MAC, i)
	host.Hostname, host.State, host.InfraEnvID = name, model.HostInstalled, "infraenv-lab"
	host.Role = spec.Worker
	if h.Role == spec.ControlPlane {
		host.Role = spec.ControlPlane
	}
	w.hosts = append(w.hosts, host)
	w.pods[name] = []model.Pod{{Namespace: "shop", Name: "web-" + name, UID: "pod-" + name, Owner: "ReplicaSet/web"}, {Namespace: "shop", Name: "db-" + name, UID: "db-" + name, Owner: "StatefulSet/db"}}
	w.power[name] = model.PowerIsOn
	if !machines {
		return
	}
	m := model.Machine{Name: "m-" + name, UID: "machine-" + name, Phase: "Running", Node: name, BareMetalHost: "bmh-" + name, ControlPlane: h.Role == spec.ControlPlane}
	if !m.ControlPlane {
		m.MachineSet = "workers"
	} else {
		m.Hooks = []string{"EtcdQuorumOperator of clusteroperator/etcd"}
	}
	w.spoke.Machines = append(w.spoke.Machines, m)
	w.spoke.BareMetalHosts = append(w.spoke.BareMetalHosts, model.BareMetalHost{Name: "bmh-" + name, UID: "bmh-uid-" + name, State: "unmanaged", Consumer: m.Name})
}

// withBMC has a host of the file be one that can be switched off.
func (w *shrinking) withBMC(name string) {
	w.desired.Spec.Host(name).BMC = &spec.BMC{Address: "https://bmc", Credentials: spec.CredentialsOf("root", spec.NewSecret("calvin"))}
}

func (w *shrinking) node(name string) *model.Node { return w.spoke.NodeByName(name) }

// observed is a look at all of it.
func (w *shrinking) observed() *model.Observed {
	o := &model.Observed{At: w.at, Hosts: slices.Clone(w.hosts), Machines: map[string]model.MachineState{}, Cluster: &model.Cluster{
		ClusterRef: model.ClusterRef{ID: "cluster-1", Name: "lab", BaseDomain: "example.com", Owned: true}, State: model.ClusterInstalled, Settings: model.Settings{},
	}}
	seen := w.spoke
	seen.Nodes, seen.Machines = slices.Clone(w.spoke.Nodes), slices.Clone(w.spoke.Machines)
	seen.MachineSets, seen.BareMetalHosts = slices.Clone(w.spoke.MachineSets), slices.Clone(w.spoke.BareMetalHosts)
	etcd := *w.spoke.Etcd
	etcd.Members = slices.Clone(etcd.Members)
	seen.Etcd, seen.Drains = &etcd, nil
	for _, asked := range w.desired.Options.Remove.Nodes {
		if n := w.node(asked); n != nil {
			seen.Drains = append(seen.Drains, model.NodeDrain{Node: n.Name, Pods: slices.Clone(w.pods[n.Name]), Refused: w.refused[n.Name]})
		}
		if h := w.desired.Spec.Host(asked); h != nil && h.BMC != nil {
			o.Machines[asked] = model.MachineState{Power: w.power[asked], Trouble: w.trouble[asked]}
		}
	}
	o.Spoke = &seen
	return o
}

func (w *shrinking) decide() model.Plan {
	o := w.observed()
	w.memory.Seen(o, w.at)
	plan := install.Decide(w.desired, o, w.memory, w.at)
	w.memory.Decided(plan)
	return plan
}

// isNamed reports whether a node is to be removed.
func (w *shrinking) isNamed(node string) bool {
	return slices.Contains(w.desired.Options.Remove.Nodes, node)
}

// apply is the effect of an action, and an error for one that must not be.
func (w *shrinking) apply(a model.Action) error {
	w.writes = append(w.writes, a)
	node := w.node(a.Node)
	if a.Kind != model.PowerOff && !w.isNamed(a.Node) {
		return fmt.Errorf("%s is done to %s", a.Key, a.Node)
	}
	switch a.Kind {
	case model.CordonNode:
		if node == nil || node.UID != a.Target {
			return fmt.Errorf("%s: no such node", a.Key)
		}
		node.Cordoned, node.Leaving = true, true
	case model.EvictPods:
		if node == nil || !node.Cordoned {
			return fmt.Errorf("%s: the node is not cordoned", a.Key)
		}
		for i := range w.pods[a.Node] {
			switch p := &w.pods[a.Node][i]; {
			case !p.Deleting.IsZero():
			case w.held[p.ID()]:
				if p.Held.IsZero() {
					p.Held = w.at
				}
				p.Refused, p.Refusal, p.Budget = w.at, "Cannot evict pod as it would violate the pod's disruption budget.", "db"
			default:
				p.Deleting, p.Refusal, p.Budget = w.at, "", ""
			}
		}
	case model.MarkMetalHost:
		w.spoke.HostOfMetal(a.Name).Removes = a.Node
	case model.MarkMachine:
		m := w.machine(a.Target)
		m.Removes, m.ToBeDeleted = a.Node, true
	case model.LowerMachineSet:
		return w.lower(a)
	case model.DeleteMachine:
		m := w.machine(a.Target)
		if m.MachineSet != "" {
			return fmt.Errorf("%s: its MachineSet makes another one", a.Key)
		}
		if len(w.pods[a.Node]) > 0 {
			return fmt.Errorf("%s: pods are left", a.Key)
		}
		m.Deleting, m.Phase = true, "Deleting"
		return w.quorate(a, a.Node)
	case model.DeleteMetalHost:
		h := w.spoke.HostOfMetal(a.Name)
		if slices.ContainsFunc(w.spoke.Machines, func(m model.Machine) bool { return m.Name == h.Consumer }) {
			return fmt.Errorf("%s: its Machine is there", a.Key)
		}
		h.Deleting = true
	case model.PowerOff:
		if !w.isNamed(a.Name) {
			return fmt.Errorf("%s is switched off", a.Name)
		}
		w.power[a.Name] = model.PowerIsOff
		return w.quorate(a, a.Name)
	case model.DeleteNode:
		if node == nil || node.UID != a.Target || len(w.pods[a.Node]) > 0 {
			return fmt.Errorf("%s: pods are left, or it is another", a.Key)
		}
		node.Deleting = true
		return w.quorate(a, a.Node)
	case model.RemoveHost:
		if node != nil {
			return fmt.Errorf("%s: its node is there", a.Key)
		}
		w.hosts = slices.DeleteFunc(w.hosts, func(h model.Host) bool { return h.ID == a.Target })
	default:
		return fmt.Errorf("%s is no part of a removal", a.Key)
	}
	return nil
}

func (w *shrinking) machine(uid string) *model.Machine {
	for i := range w.spoke.Machines {
		if w.spoke.Machines[i].UID == uid {
			return &w.spoke.Machines[i]
		}
	}
	panic("no Machine " + uid)
}

func (w *shrinking) lower(a model.Action) error {
	set, m := w.spoke.MachineSet(a.Name), w.machine(a.Target)
	if w.lowered[m.UID]++; w.lowered[m.UID] > 1 || slices.Contains(set.Lowered, m.UID) {
		return fmt.Errorf("%s: lowered twice for %s", a.Key, m.Name)
	}
	if !m.ToBeDeleted || len(w.pods[m.Node]) > 0 {
		return fmt.Errorf("%s: %s is not marked, or has pods", a.Key, m.Name)
	}
	w.version++
	set.Replicas, set.Lowered, set.Version = set.Replicas-1, append(slices.Clone(set.Lowered), m.UID), fmt.Sprint(w.version)
	return nil
}

// quorate reports whether etcd keeps a majority, and three members, without a node.
func (w *shrinking) quorate(a model.Action, node string) error {
	n := slices.IndexFunc(w.desired.Spec.Spec.Hosts, func(h spec.Host) bool { return h.Name == node })
	if n < 0 || w.desired.Spec.Spec.Hosts[n].Role != spec.ControlPlane {
		return nil
	}
	healthy := len(w.spoke.Etcd.Members) - len(w.spoke.Etcd.Unhealthy)
	if member := w.spoke.MemberOf([]netip.Addr{netip.AddrFrom4([4]byte{192, 168, 127, byte(10 + n)})}); member != nil && !slices.Contains(w.spoke.Etcd.Unhealthy, node) {
		healthy--
	}
	if healthy < 3 {
		return fmt.Errorf("%s: etcd is left with %d members", a.Key, healthy)
	}
	return nil
}

// pass lets time go by, in which controllers, kubelets and, if there is one, a person do theirs.
func (w *shrinking) pass() error {
	w.at = w.at.Add(10 * time.Second)
	for node := range w.pods {
		w.pods[node] = slices.DeleteFunc(w.pods[node], func(p model.Pod) bool { return !p.Deleting.IsZero() && w.node(node) != nil && w.node(node).Ready })
	}
	w.spoke.Nodes = slices.DeleteFunc(w.spoke.Nodes, func(n model.Node) bool { return n.Deleting })
	for i := range w.spoke.MachineSets {
		if err := w.scale(&w.spoke.MachineSets[i]); err != nil {
			return err
		}
	}
	w.members()
	w.spoke.Machines = slices.DeleteFunc(w.spoke.Machines, func(m model.Machine) bool {
		if !m.Deleting || len(m.Hooks) > 0 {
			return false
		}
		w.spoke.Nodes = slices.DeleteFunc(w.spoke.Nodes, func(n model.Node) bool { return n.Name == m.Node })
		if h := w.spoke.HostOfMetal(m.BareMetalHost); h != nil {
			h.Consumer = ""
		}
		return true
	})
	w.spoke.BareMetalHosts = slices.DeleteFunc(w.spoke.BareMetalHosts, func(h model.BareMetalHost) bool { return h.Deleting })
	return nil
}

// scale is the controller of MachineSets: the marked go first.
func (w *shrinking) scale(set *model.MachineSet) error {
	var mine []*model.Machine
	for i := range w.spoke.Machines {
		if m := &w.spoke.Machines[i]; m.MachineSet == set.Name && !m.Deleting {
			mine = append(mine, m)
		}
	}
	if len(mine) < set.Replicas {
		return errors.New("the MachineSet makes another Machine")
	}
	slices.SortStableFunc(mine, func(a, b *model.Machine) int {
		if a.ToBeDeleted != b.ToBeDeleted && a.ToBeDeleted {
			return -1
		}
		return 1
	})
	for _, m := range mine[:len(mine)-set.Replicas] {
		if !w.isNamed(m.Node) {
			return fmt.Errorf("the MachineSet gives up %s", m.Name)
		}
		m.Deleting, m.Phase = true, "Deleting"
	}
	return nil
}

// members is the etcd operator, and a person who removes a member where it does not.
func (w *shrinking) members() {
	e := w.spoke.Etcd
	for i, h := range w.desired.Spec.Spec.Hosts {
		at := netip.AddrFrom4([4]byte{192, 168, 127, byte(10 + i)})
		member := w.spoke.MemberOf([]netip.Addr{at})
		m := w.spoke.MachineOf(h.Name)
		operator := e.ByMachines && m != nil && m.Deleting && len(e.Members) > w.installs
		stopped := w.node(h.Name) == nil || m != nil && m.Deleting
		if member != nil && (operator || w.person && stopped) {
			e.Members = slices.DeleteFunc(e.Members, func(x model.EtcdMember) bool { return x.Address == at })
			e.Unhealthy = slices.DeleteFunc(e.Unhealthy, func(name string) bool { return name == h.Name })
			member = nil
		}
		if member == nil && m != nil {
			m.Hooks = nil
		}
	}
}

// settled lets the loop run until nothing more happens. It is killed after an action where lose
// says so, and forgets everything then.
func (w *shrinking) settled() (model.Plan, error) {
	var plan model.Plan
	for range 200 {
		plan = w.decide()
		if err := wellFormed(plan); err != nil {
			return plan, err
		}
		for _, a := range plan.Actions {
			err := w.apply(a)
			if err != nil {
				return plan, err
			}
			if w.lose != nil && w.lose(a) {
				w.memory = model.Memory{}
				break
			}
			w.memory.Note(a, nil, w.at)
		}
		if ended, _ := plan.Ended(); ended && len(plan.Actions) == 0 {
			return plan, nil
		}
		if err := w.pass(); err != nil {
			return plan, err
		}
	}
	return plan, nil
}

// kinds are those of what was done, each once for each object.
func (w *shrinking) kinds() string {
	var all []string
	for _, a := range w.writes {
		text := string(a.Kind) + " " + a.Name
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}
