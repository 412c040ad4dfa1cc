// Package machinecause says what the objects of Cluster API report about Machines: which there are, which host each has,
// and what keeps one from becoming a node. It only looks at objects that its caller has read.
package machinecause

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/metal3"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Machine is a Machine of Cluster API, with its host.
type Machine struct {
	Namespace, Name string
	Cluster         string // NAMESPACE/NAME
	Role            spec.Role
	Phase           string // as Cluster API has it: Pending, Provisioning, Running, …
	Node            string // "" while there is none
	Infrastructure  string // the kind of its infrastructure object, and that it boots a live ISO
	InfraEnv        string // NAMESPACE/NAME of the one that is its own, "" for a Machine of a pool
	BareMetalHost   string // NAMESPACE/NAME, "" where it is not known
	Created         time.Time
	Host            *model.Host // nil while none has come

	ready   bool
	objects []object // its own, with what it waits for before it
}

// ID is how a Machine is named among all of a hub.
func (m *Machine) ID() string { return m.Namespace + "/" + m.Name }

// Host is a host that may be a Machine's.
type Host struct {
	model.Host

	Namespace     string
	AgentMachine  string // NAMESPACE/NAME of the one that it is reserved for, "" for none
	BareMetalHost string // NAMESPACE/NAME, "" for none
}

// Ref names an object of the namespace of the one that refers to it, in whichever version is served.
type Ref struct{ Group, Kind, Name string }

// Refs are the objects that a Machine or a Cluster refers to: the bootstrap config and the infrastructure of a Machine, the
// control plane of a Cluster.
func Refs(object *unstructured.Unstructured) []Ref {
	return slices.DeleteFunc([]Ref{configRef(object), infrastructureRef(object), controlPlaneRef(object)},
		func(r Ref) bool { return r.Name == "" })
}

func configRef(machine *unstructured.Unstructured) Ref {
	return refAt(machine, "spec", "bootstrap", "configRef")
}

func infrastructureRef(machine *unstructured.Unstructured) Ref {
	return refAt(machine, "spec", "infrastructureRef")
}

func controlPlaneRef(cluster *unstructured.Unstructured) Ref {
	return refAt(cluster, "spec", "controlPlaneRef")
}

func refAt(u *unstructured.Unstructured, path ...string) Ref {
	field := func(name string) string { return text(u, append(slices.Clone(path), name)...) }
	group, _, _ := strings.Cut(field("apiVersion"), "/") // before v1beta2
	return Ref{Group: cmp.Or(field("apiGroup"), group), Kind: field("kind"), Name: field("name")}
}

func text(u *unstructured.Unstructured, path ...string) string {
	if u == nil {
		return ""
	}
	value, _, _ := unstructured.NestedString(u.Object, path...)
	return value
}

// Of is what objects report about a Machine. find returns the object of a namespace that a Ref names, nil where it is
// not there; read is false where that is not known.
func Of(
	machine *unstructured.Unstructured, find func(namespace string, ref Ref) (found *unstructured.Unstructured, read bool), hosts []Host,
) Machine {
	namespace := machine.GetNamespace()
	cluster := Ref{Group: hubapi.ClusterAPI, Kind: "Cluster", Name: text(machine, "spec", "clusterName")}
	m := Machine{
		Namespace: namespace, Name: machine.GetName(), Cluster: namespace + "/" + cluster.Name, Role: roleOf(machine),
		Phase: text(machine, "status", "phase"), Node: text(machine, "status", "nodeRef", "name"), Created: machine.GetCreationTimestamp().Time,
	}
	add := func(w who, ref Ref) *unstructured.Unstructured {
		if ref.Name == "" {
			return nil
		}
		u, read := find(namespace, ref)
		if read && (u != nil || machine.GetDeletionTimestamp() == nil) { // in a deletion they go one after the other
			m.objects = append(m.objects, object{who: w, Ref: ref, namespace: namespace, u: u})
		}
		return u
	}
	if c := add(theCluster, cluster); c != nil {
		add(theControlPlane, controlPlaneRef(c))
	}
	config, infrastructure := add(theConfig, configRef(machine)), add(theInfrastructure, infrastructureRef(machine))
	m.objects = append(m.objects, object{who: theMachine, Ref: Ref{hubapi.ClusterAPI, "Machine", m.Name}, namespace: namespace, u: machine})
	m.ready = machine.GetDeletionTimestamp() == nil && hubapi.IsTrue(conditionsOf(machine), conditionReady)
	m.readConfig(config)
	m.readInfrastructure(machine, infrastructure)
	m.takeHost(infrastructureRef(machine), text(config, "status", "agentRef", "name"), hosts)
	return m
}

// labelControlPlane is on the Machines of a control plane.
const labelControlPlane = "cluster.x-k8s.io/control-plane"

func roleOf(machine *unstructured.Unstructured) spec.Role {
	labels := machine.GetLabels()
	if _, is := labels[labelControlPlane]; is {
		return "control-plane"
	}
	return spec.Role(cmp.Or(labels[hubapi.LabelRole], "worker"))
}

// kindAgentMachine is the kind of infrastructure whose hosts are of a pool.
const kindAgentMachine = "AgentMachine"

// readConfig finds the InfraEnv that is the Machine's own: it has the name of the config.
func (m *Machine) readConfig(config *unstructured.Unstructured) {
	if name := text(config, "status", "infraEnvRef", "name"); name != "" {
		m.InfraEnv = cmp.Or(text(config, "status", "infraEnvRef", "namespace"), m.Namespace) + "/" + name
	}
}

func (m *Machine) readInfrastructure(machine, infrastructure *unstructured.Unstructured) {
	m.Infrastructure = infrastructureRef(machine).Kind
	if infrastructure == nil {
		return
	}
	if metal3.IsLiveISO(infrastructure) {
		m.Infrastructure += " (live ISO)"
	}
	m.BareMetalHost = infrastructure.GetAnnotations()[metal3.AnnotationBareMetalHost]
}

// takeHost finds the Machine's host, by the best proof that there is: that it is reserved for its AgentMachine; that
// it registered from the InfraEnv that serves this Machine alone; that it has its name.
func (m *Machine) takeHost(infrastructure Ref, agent string, hosts []Host) {
	owner := m.Namespace + "/" + infrastructure.Name
	clusterNamespace := m.Namespace + "/"
	for _, is := range []func(*Host) bool{
		func(h *Host) bool { return infrastructure.Kind == kindAgentMachine && h.AgentMachine == owner },
		func(h *Host) bool { return m.InfraEnv != "" && h.InfraEnvID == m.InfraEnv && h.ID == agent },
		func(h *Host) bool { return m.InfraEnv != "" && h.InfraEnvID == m.InfraEnv },
		func(h *Host) bool {
			return infrastructure.Kind != kindAgentMachine && h.AgentMachine == "" && h.Hostname == m.Name &&
				(h.Namespace == m.Namespace || strings.HasPrefix(h.ClusterID, clusterNamespace))
		},
	} {
		var newest *Host // a machine that registers anew under another id leaves the record of before
		for i := range hosts {
			if h := &hosts[i]; is(h) && (newest == nil || h.Registered.After(newest.Registered)) {
				newest = h
			}
		}
		if newest != nil {
			m.Host, m.BareMetalHost = &newest.Host, cmp.Or(m.BareMetalHost, newest.BareMetalHost)
			return
		}
	}
}

// conditionsOf are the conditions of an object as contract v1beta2 has them. Objects of before keep them apart.
func conditionsOf(u *unstructured.Unstructured) []hubapi.Condition {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "v1beta2", "conditions")
	if len(list) == 0 {
		list, _, _ = unstructured.NestedSlice(u.Object, "status", "conditions")
	}
	var all []hubapi.Condition
	for _, item := range list {
		fields, _ := item.(map[string]any)
		c := hubapi.Condition{}
		c.Type, _ = fields["type"].(string)
		c.Reason, _ = fields["reason"].(string)
		c.Message, _ = fields["message"].(string)
		status, _ := fields["status"].(string)
		c.Status = metav1.ConditionStatus(status)
		all = append(all, c)
	}
	return all
}
