package document

import (
	"time"

	"github.com/oaictl/oaictl/pkg/install/hub/machines"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Machine is a Machine of Cluster API: an item of `get machines`.
type Machine struct {
	ID        string    `json:"id"` // NAMESPACE/NAME
	Name      string    `json:"name"`
	ClusterID string    `json:"clusterId"`
	Role      spec.Role `json:"role"`
	Phase     string    `json:"phase,omitempty"`
	// Host is the name of its host, HostID and State are those of the service's record. All are "" while none has come.
	Host   string          `json:"host,omitempty"`
	HostID string          `json:"hostId,omitempty"`
	State  model.HostState `json:"state,omitempty"`
	Node   string          `json:"node,omitempty"`
	// WaitsFor is the first of the causes.
	WaitsFor       string         `json:"waitsFor,omitempty"`
	Causes         []MachineCause `json:"causes"`
	Infrastructure string         `json:"infrastructure,omitempty"`
	InfraEnvID     string         `json:"infraEnvId,omitempty"`
	BareMetalHost  string         `json:"bareMetalHost,omitempty"`
	Created        *time.Time     `json:"created,omitempty"`
}

// MachineCause is what keeps a Machine from becoming a node.
type MachineCause struct {
	Kind      string `json:"kind"` // of the object that says it
	Name      string `json:"name"`
	Condition string `json:"condition,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message"`
	Passes    bool   `json:"passes,omitempty"` // by itself
}

// OfMachine is the form of a Machine.
func OfMachine(m machines.Machine) Machine {
	out := Machine{
		ID: m.ID(), Name: m.Name, ClusterID: m.Cluster, Role: m.Role, Phase: m.Phase, Node: m.Node,
		Infrastructure: m.Infrastructure, InfraEnvID: m.InfraEnv, BareMetalHost: m.BareMetalHost, Created: moment(m.Created),
		Causes: Each(m.Causes(false), func(c machines.Cause) MachineCause {
			return MachineCause{Kind: c.Object.Kind, Name: c.Object.Name, Condition: c.Condition, Reason: c.Reason, Message: c.Message, Passes: c.Passes}
		}),
	}
	if m.Host != nil {
		out.Host, out.HostID, out.State = m.Host.DisplayName(), m.Host.ID, m.Host.State
	}
	if len(out.Causes) > 0 {
		out.WaitsFor = out.Causes[0].Message
	}
	return out
}
