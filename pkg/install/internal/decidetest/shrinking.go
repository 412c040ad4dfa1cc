package decidetest

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Shrinking is a model of an installed cluster that nodes are taken out of: of its API server, its
// machine controllers, the etcd operator, its machines and the service. What must never happen is
// an error of apply or pass.
type Shrinking struct {
	Desired  *model.Desired
	Memory   model.Memory
	At       time.Time
	Spoke    model.Spoke
	Pods     map[string][]model.Pod // by node
	Refused  map[string][]model.DrainRefusal
	Held     map[string]bool // pods that a budget holds, by id
	Hosts    []model.Host
	Power    map[string]model.Power // by host of the file
	Trouble  map[string]string
	installs int // members that etcd was installed with
	Person   bool
	Writes   []model.Action
	lowered  map[string]int // by the Machine's uid
	version  int
	Lose     func(model.Action) bool // whether an act is lost, after it was carried out
}

// NewShrinking is a cluster of that many nodes. With Machines, workers have a MachineSet.
func NewShrinking(controlPlane, workers int, machines bool, remove ...string) *Shrinking {
	c := Sample(controlPlane, workers)
	w := &Shrinking{
		Desired: &model.Desired{Spec: c, Options: model.Options{Adopt: "cluster-1",
			Remove: &model.Removal{Nodes: remove, Drain: model.DrainOptions{GracePeriod: -1}}}},
		At: Start(), Pods: map[string][]model.Pod{}, Refused: map[string][]model.DrainRefusal{}, Held: map[string]bool{},
		Power: map[string]model.Power{}, Trouble: map[string]string{}, installs: min(controlPlane, 3), lowered: map[string]int{},
	}
	w.Spoke.Pools = []model.Pool{{Name: "master"}, {Name: "worker"}}
	w.Spoke.API = "https://api.lab.example.com:6443"
	w.Spoke.VIPs = []netip.Addr{netip.MustParseAddr("192.168.127.100")}
	w.Spoke.Etcd = &model.Etcd{Desired: w.installs, ByMachines: machines}
	for i := range c.Spec.Hosts {
		w.join(&c.Spec.Hosts[i], i, machines)
	}
	if machines && workers > 0 {
		w.Spoke.MachineSets = []model.MachineSet{{Name: "workers", UID: "set-workers", Replicas: workers, Version: "0"}}
	}
	return w
}

func (w *Shrinking) join(h *spec.Host, i int, machines bool) {
	name := h.Name
	address := netip.AddrFrom4([4]byte{192, 168, 127, byte(10 + i)})
	roles := []string{"worker"}
	if h.Role == spec.ControlPlane {
		roles = []string{"control-plane", "master"}
		w.Spoke.Etcd.Members = append(w.Spoke.Etcd.Members, model.EtcdMember{ID: fmt.Sprintf("%x", 0xa0+i), Address: address})
	}
	w.Spoke.Nodes = append(w.Spoke.Nodes, model.Node{Name: name, UID: "node-" + name, Created: Start(), Ready: true, Roles: roles,
		Labels: map[string]string{}, Addresses: []netip.Addr{address}})
	host := Machine(name, h.Match.MAC, i)
	host.Hostname, host.State, host.InfraEnvID = name, model.HostInstalled, "infraenv-lab"
	host.Role = spec.Worker
	if h.Role == spec.ControlPlane {
		host.Role = spec.ControlPlane
	}
	w.Hosts = append(w.Hosts, host)
	w.Pods[name] = []model.Pod{{Namespace: "shop", Name: "web-" + name, UID: "pod-" + name, Owner: "ReplicaSet/web"},
		{Namespace: "shop", Name: "db-" + name, UID: "db-" + name, Owner: "StatefulSet/db"}}
	w.Power[name] = model.PowerIsOn
	if !machines {
		return
	}
	m := model.Machine{Name: "m-" + name, UID: "machine-" + name, Phase: "Running", Node: name, BareMetalHost: "bmh-" + name,
		ControlPlane: h.Role == spec.ControlPlane}
	if !m.ControlPlane {
		m.MachineSet = "workers"
	} else {
		m.Hooks = []string{"EtcdQuorumOperator of clusteroperator/etcd"}
	}
	w.Spoke.Machines = append(w.Spoke.Machines, m)
	w.Spoke.BareMetalHosts = append(w.Spoke.BareMetalHosts,
		model.BareMetalHost{Name: "bmh-" + name, UID: "bmh-uid-" + name, State: "unmanaged", Consumer: m.Name})
}

// WithBMC gives a host of the file a BMC, so that it can be switched off.
func (w *Shrinking) WithBMC(name string) {
	w.Desired.Spec.Host(name).BMC = &spec.BMC{Address: "https://bmc", Credentials: spec.CredentialsOf("root", spec.NewSecret("calvin"))}
}

// Node is the node of a name, nil if there is none.
func (w *Shrinking) Node(name string) *model.Node { return w.Spoke.NodeByName(name) }

// Observed is a look at all of it.
func (w *Shrinking) Observed() *model.Observed {
	o := &model.Observed{At: w.At, Hosts: slices.Clone(w.Hosts), Machines: map[string]model.MachineState{}, Cluster: &model.Cluster{
		ClusterRef: model.ClusterRef{ID: "cluster-1", Name: "lab", BaseDomain: "example.com", Owned: true}, State: model.ClusterInstalled,
		Settings: model.Settings{},
	}}
	seen := w.Spoke
	seen.Nodes, seen.Machines = slices.Clone(w.Spoke.Nodes), slices.Clone(w.Spoke.Machines)
	seen.MachineSets, seen.BareMetalHosts = slices.Clone(w.Spoke.MachineSets), slices.Clone(w.Spoke.BareMetalHosts)
	etcd := *w.Spoke.Etcd
	etcd.Members = slices.Clone(etcd.Members)
	seen.Etcd, seen.Drains = &etcd, nil
	for _, asked := range w.Desired.Options.Remove.Nodes {
		if n := w.Node(asked); n != nil {
			seen.Drains = append(seen.Drains, model.NodeDrain{Node: n.Name, Pods: slices.Clone(w.Pods[n.Name]), Refused: w.Refused[n.Name]})
		}
		if h := w.Desired.Spec.Host(asked); h != nil && h.BMC != nil {
			o.Machines[asked] = model.MachineState{Power: w.Power[asked], Trouble: w.Trouble[asked]}
		}
	}
	o.Spoke = &seen
	return o
}

// Decide is one decision, with what a loop remembers.
func (w *Shrinking) Decide() model.Plan {
	o := w.Observed()
	w.Memory.Seen(o, w.At)
	plan := decide.Decide(w.Desired, o, w.Memory, w.At)
	w.Memory.Decided(plan)
	return plan
}

// IsNamed reports whether a node is to be removed.
func (w *Shrinking) IsNamed(node string) bool {
	return slices.Contains(w.Desired.Options.Remove.Nodes, node)
}

// Apply is the effect of an action, and an error for one that must not be.
func (w *Shrinking) Apply(a model.Action) error {
	w.Writes = append(w.Writes, a)
	node := w.Node(a.Node)
	if a.Kind != model.PowerOff && !w.IsNamed(a.Node) {
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
		for i := range w.Pods[a.Node] {
			switch p := &w.Pods[a.Node][i]; {
			case !p.Deleting.IsZero():
			case w.Held[p.ID()]:
				if p.Held.IsZero() {
					p.Held = w.At
				}
				p.Refused, p.Refusal, p.Budget = w.At, "Cannot evict pod as it would violate the pod's disruption budget.", "db"
			default:
				p.Deleting, p.Refusal, p.Budget = w.At, "", ""
			}
		}
	case model.MarkMetalHost:
		w.Spoke.HostOfMetal(a.Name).Removes = a.Node
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
		if len(w.Pods[a.Node]) > 0 {
			return fmt.Errorf("%s: pods are left", a.Key)
		}
		m.Deleting, m.Phase = true, "Deleting"
		return w.quorate(a, a.Node)
	case model.DeleteMetalHost:
		h := w.Spoke.HostOfMetal(a.Name)
		if slices.ContainsFunc(w.Spoke.Machines, func(m model.Machine) bool { return m.Name == h.Consumer }) {
			return fmt.Errorf("%s: its Machine is there", a.Key)
		}
		h.Deleting = true
	case model.PowerOff:
		if !w.IsNamed(a.Name) {
			return fmt.Errorf("%s is switched off", a.Name)
		}
		w.Power[a.Name] = model.PowerIsOff
		return w.quorate(a, a.Name)
	case model.DeleteNode:
		if node == nil || node.UID != a.Target || len(w.Pods[a.Node]) > 0 {
			return fmt.Errorf("%s: pods are left, or it is another", a.Key)
		}
		node.Deleting = true
		return w.quorate(a, a.Node)
	case model.RemoveHost:
		if node != nil {
			return fmt.Errorf("%s: its node is there", a.Key)
		}
		w.Hosts = slices.DeleteFunc(w.Hosts, func(h model.Host) bool { return h.ID == a.Target })
	default:
		return fmt.Errorf("%s is no part of a removal", a.Key)
	}
	return nil
}

func (w *Shrinking) machine(uid string) *model.Machine {
	for i := range w.Spoke.Machines {
		if w.Spoke.Machines[i].UID == uid {
			return &w.Spoke.Machines[i]
		}
	}
	panic("no Machine " + uid)
}

func (w *Shrinking) lower(a model.Action) error {
	set, m := w.Spoke.MachineSet(a.Name), w.machine(a.Target)
	if w.lowered[m.UID]++; w.lowered[m.UID] > 1 || slices.Contains(set.Lowered, m.UID) {
		return fmt.Errorf("%s: lowered twice for %s", a.Key, m.Name)
	}
	if !m.ToBeDeleted || len(w.Pods[m.Node]) > 0 {
		return fmt.Errorf("%s: %s is not marked, or has pods", a.Key, m.Name)
	}
	w.version++
	set.Replicas, set.Lowered, set.Version = set.Replicas-1, append(slices.Clone(set.Lowered), m.UID), fmt.Sprint(w.version)
	return nil
}

// quorate reports whether etcd keeps a majority, and three members, without a node.
func (w *Shrinking) quorate(a model.Action, node string) error {
	n := slices.IndexFunc(w.Desired.Spec.Spec.Hosts, func(h spec.Host) bool { return h.Name == node })
	if n < 0 || w.Desired.Spec.Spec.Hosts[n].Role != spec.ControlPlane {
		return nil
	}
	healthy := len(w.Spoke.Etcd.Members) - len(w.Spoke.Etcd.Unhealthy)
	if member := w.Spoke.MemberOf([]netip.Addr{netip.AddrFrom4([4]byte{192, 168, 127, byte(10 + n)})}); member != nil &&
		!slices.Contains(w.Spoke.Etcd.Unhealthy, node) {
		healthy--
	}
	if healthy < 3 {
		return fmt.Errorf("%s: etcd is left with %d members", a.Key, healthy)
	}
	return nil
}

// Pass lets time go by, in which controllers, kubelets and, if there is one, a person do theirs.
func (w *Shrinking) Pass() error {
	w.At = w.At.Add(10 * time.Second)
	for node := range w.Pods {
		w.Pods[node] = slices.DeleteFunc(w.Pods[node], func(p model.Pod) bool {
			return !p.Deleting.IsZero() && w.Node(node) != nil && w.Node(node).Ready
		})
	}
	w.Spoke.Nodes = slices.DeleteFunc(w.Spoke.Nodes, func(n model.Node) bool { return n.Deleting })
	for i := range w.Spoke.MachineSets {
		if err := w.scale(&w.Spoke.MachineSets[i]); err != nil {
			return err
		}
	}
	w.members()
	w.Spoke.Machines = slices.DeleteFunc(w.Spoke.Machines, func(m model.Machine) bool {
		if !m.Deleting || len(m.Hooks) > 0 {
			return false
		}
		w.Spoke.Nodes = slices.DeleteFunc(w.Spoke.Nodes, func(n model.Node) bool { return n.Name == m.Node })
		if h := w.Spoke.HostOfMetal(m.BareMetalHost); h != nil {
			h.Consumer = ""
		}
		return true
	})
	w.Spoke.BareMetalHosts = slices.DeleteFunc(w.Spoke.BareMetalHosts, func(h model.BareMetalHost) bool { return h.Deleting })
	return nil
}

// scale is the controller of MachineSets: the marked go first.
func (w *Shrinking) scale(set *model.MachineSet) error {
	var mine []*model.Machine
	for i := range w.Spoke.Machines {
		if m := &w.Spoke.Machines[i]; m.MachineSet == set.Name && !m.Deleting {
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
		if !w.IsNamed(m.Node) {
			return fmt.Errorf("the MachineSet gives up %s", m.Name)
		}
		m.Deleting, m.Phase = true, "Deleting"
	}
	return nil
}

// members is the etcd operator, and a person who removes a member where it does not.
func (w *Shrinking) members() {
	e := w.Spoke.Etcd
	for i, h := range w.Desired.Spec.Spec.Hosts {
		at := netip.AddrFrom4([4]byte{192, 168, 127, byte(10 + i)})
		member := w.Spoke.MemberOf([]netip.Addr{at})
		m := w.Spoke.MachineOf(h.Name)
		operator := e.ByMachines && m != nil && m.Deleting && len(e.Members) > w.installs
		stopped := w.Node(h.Name) == nil || m != nil && m.Deleting
		if member != nil && (operator || w.Person && stopped) {
			e.Members = slices.DeleteFunc(e.Members, func(x model.EtcdMember) bool { return x.Address == at })
			e.Unhealthy = slices.DeleteFunc(e.Unhealthy, func(name string) bool { return name == h.Name })
			member = nil
		}
		if member == nil && m != nil {
			m.Hooks = nil
		}
	}
}

// Settled lets the loop run until nothing more happens. It is killed after an action where lose
// says so, and forgets everything then.
func (w *Shrinking) Settled() (model.Plan, error) {
	var plan model.Plan
	for range 200 {
		plan = w.Decide()
		if err := WellFormed(plan); err != nil {
			return plan, err
		}
		for _, a := range plan.Actions {
			err := w.Apply(a)
			if err != nil {
				return plan, err
			}
			if w.Lose != nil && w.Lose(a) {
				w.Memory = model.Memory{}
				break
			}
			w.Memory.Note(a, nil, w.At)
		}
		if ended, _ := plan.Ended(); ended && len(plan.Actions) == 0 {
			return plan, nil
		}
		if err := w.Pass(); err != nil {
			return plan, err
		}
	}
	return plan, nil
}

// Kinds are those of what was done, each once for each object.
func (w *Shrinking) Kinds() string {
	var all []string
	for _, a := range w.Writes {
		text := string(a.Kind) + " " + a.Name
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

// DropNode deletes a node and its pods.
func (w *Shrinking) DropNode(name string) {
	w.Spoke.Nodes = slices.DeleteFunc(w.Spoke.Nodes, func(n model.Node) bool { return n.Name == name })
	delete(w.Pods, name)
}

// DropHost deletes the record that the service has of a host.
func (w *Shrinking) DropHost(name string) {
	w.Hosts = slices.DeleteFunc(w.Hosts, func(h model.Host) bool { return h.Hostname == name })
}

// Host is the record that the service has of a host.
func (w *Shrinking) Host(name string) *model.Host {
	i := slices.IndexFunc(w.Hosts, func(h model.Host) bool { return h.Hostname == name })
	return &w.Hosts[i]
}
