// Package pool chooses hosts for machines out of those that have booted already. It knows neither a hub nor a service:
// it gets the hosts that there are, and answers which host to use, or why there is none.
package pool

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Host is a host of the pool, as the service has it.
type Host struct {
	// Namespace and Name are those of its Agent; over REST the ids of its InfraEnv and of the host.
	types.NamespacedName
	InfraEnv string // name of the InfraEnv that it booted; over REST its id
	Labels   map[string]string
	Deleting bool
	// Approved says that the Agent is approved, Validated that the service's checks pass, Connected that the service
	// heard from it recently.
	Approved, Validated, Connected bool
	// Cluster is the id of the cluster that it is bound to, "" for none.
	Cluster string
	// Reserved says that it is reserved, for the AgentMachine Owner where that is known.
	Reserved bool
	Owner    types.NamespacedName
	// State is the service's, Status its own word for it, and Info its sentence.
	State  model.HostState
	Status string
	Info   string
	// Installed says that it was written to disk and boots from there.
	Installed bool
	Role      spec.Role
	Hostname  string
	// Known says that it has reported its hardware, which follows.
	Known       bool
	Arch        spec.Arch
	CPUs        int
	MemoryBytes int64
	DiskBytes   int64 // of the largest disk that can be installed on, 0 for none
	Addresses   []string
	// Conditions are SpecSynced, Validated, RequirementsMet and Installed, in the words of an Agent.
	Conditions []metav1.Condition
	// Returns says which component boots it into the discovery image once it was given back.
	Returns model.HostReturn
	// Domain is the name of the failure domain that it belongs to, "" for none.
	Domain string
	// Closed says that no machine of the control plane is put into that.
	Closed bool
}

// Bound reports whether the host belongs to a cluster, or is on its way to one or out of one.
func (h *Host) Bound() bool { return h.Cluster != "" || h.State != model.HostUnbound }

// shownName is what a person knows the host by: its hostname, and its name in the service where it has none, or the one
// that all machines have before they get another.
func (h *Host) shownName() string {
	if h.Hostname == "" || h.Hostname == "localhost" {
		return h.Name
	}
	return h.Hostname
}

// Ready is the service's word for a host of a pool that can be bound.
const Ready = "known-unbound"

// Free reports whether the host can be reserved: it is approved, its checks pass, it is connected, and it is neither
// reserved nor bound.
func (h *Host) Free() bool { return obstacle(h) == "" }

// IsFor reports whether the host is meant for a role, or for any.
func (h *Host) isFor(role spec.Role) bool {
	return h.Role == role || h.Role == spec.Auto || h.Role == "" || role == ""
}

// Domain is a part of the pool that fails together.
type Domain struct {
	Name string
	// Closed says that no machine of the control plane is put there.
	Closed   bool
	Selector labels.Selector
}

// Assign records the failure domain of each host: the first domain with labels that the host has.
func Assign(hosts []Host, domains []Domain) {
	for i := range hosts {
		h := &hosts[i]
		h.Domain, h.Closed = "", false
		if at := slices.IndexFunc(domains, func(d Domain) bool { return d.Selector.Matches(labels.Set(h.Labels)) }); at >= 0 {
			h.Domain, h.Closed = domains[at].Name, domains[at].Closed
		}
	}
}

// Sort puts hosts into the order of their names.
func Sort(hosts []Host) {
	slices.SortFunc(hosts, byName)
}

func byName(a, b Host) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// Find is the host of a name, nil where there is none.
func Find(hosts []Host, name types.NamespacedName) *Host {
	if i := slices.IndexFunc(hosts, func(h Host) bool { return h.NamespacedName == name }); i >= 0 {
		return &hosts[i]
	}
	return nil
}
