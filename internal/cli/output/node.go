package output

import (
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/machinecause"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Node is a machine of a cluster in all that it is: a row of `get nodes`.
type Node struct {
	Name string `json:"name"`
	// HostID and State are those of the service's record, Stage how far its install is.
	HostID string          `json:"hostId,omitempty"`
	State  model.HostState `json:"state"`
	Stage  string          `json:"stage,omitempty"`
	Role   string          `json:"role,omitempty"`
	// Node is the name of the cluster's Node, "" while there is none.
	Node          string     `json:"node,omitempty"`
	Ready         bool       `json:"ready"`
	Cordoned      bool       `json:"cordoned,omitempty"`
	Config        string     `json:"config,omitempty"` // the state of its machine config
	Version       string     `json:"version,omitempty"`
	Created       *time.Time `json:"created,omitempty"`
	Machine       string     `json:"machine,omitempty"`
	BareMetalHost string     `json:"bareMetalHost,omitempty"`
	Metal         string     `json:"bareMetalHostState,omitempty"`
	Requests      []Request  `json:"requests"`
	// WaitsFor is what it waits for or what blocks it.
	WaitsFor string `json:"waitsFor,omitempty"`
	Trouble  bool   `json:"trouble,omitempty"`
	// Stranger says that no host has this name: a machine asks for a certificate under it.
	Stranger bool `json:"stranger,omitempty"`
}

// OfNode is the form of a view.
func OfNode(v install.NodeView) Node {
	n := Node{
		Name: v.Name, State: model.HostAbsent, Machine: v.Machine, BareMetalHost: v.BareMetalHost, Metal: v.Metal,
		Requests: Each(v.Requests, OfRequest), WaitsFor: v.Stuck, Trouble: v.Trouble, Stranger: v.Stranger,
	}
	if h := v.Host; h != nil {
		n.HostID, n.State, n.Stage, n.Role = h.ID, h.State, h.Progress.Stage, string(h.Role)
	}
	if node := v.Node; node != nil {
		n.Node, n.Ready, n.Cordoned, n.Config, n.Version, n.Created = node.Name, node.Ready, node.Cordoned, node.Config.State, node.Version,
			moment(node.Created)
		if len(node.Roles) > 0 {
			n.Role = strings.Join(node.Roles, ",")
		}
	}
	return n
}

// Imported is an installed cluster that was made known to the service.
type Imported struct {
	Name        string `json:"name"`
	BaseDomain  string `json:"baseDomain"`
	ID          string `json:"id,omitempty"` // the service's, "" before it has one
	OpenShiftID string `json:"openShiftId"`
	Version     string `json:"version"`
	Arch        string `json:"arch,omitempty"`
	API         string `json:"api,omitempty"`
}

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
func OfMachine(m machinecause.Machine) Machine {
	out := Machine{
		ID: m.ID(), Name: m.Name, ClusterID: m.Cluster, Role: m.Role, Phase: m.Phase, Node: m.Node,
		Infrastructure: m.Infrastructure, InfraEnvID: m.InfraEnv, BareMetalHost: m.BareMetalHost, Created: moment(m.Created),
		Causes: Each(m.Causes(false), func(c machinecause.Cause) MachineCause {
			return MachineCause{Kind: c.Object.Kind, Name: c.Object.Name, Condition: c.Condition, Reason: c.Reason, Message: c.Message,
				Passes: c.Passes}
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

// Request is what was judged of a request for a certificate.
type Request struct {
	Name      string   `json:"name"`
	Kind      string   `json:"kind"`
	Node      string   `json:"node"`
	Host      string   `json:"host,omitempty"`
	Decision  string   `json:"decision"`
	Reason    string   `json:"reason"`
	Message   string   `json:"message,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	Key       string   `json:"key,omitempty"`
	Newer     string   `json:"newer,omitempty"` // that was made in its place
}

// OfRequest is the form of a verdict.
func OfRequest(v model.RequestVerdict) Request {
	r := Request{Name: v.Name, Kind: string(v.Kind), Node: v.Node, Host: v.Host, Decision: string(v.Decision), Reason: v.Reason,
		Message: v.Message, Key: v.Key, Newer: v.Newer}
	for _, address := range v.Addresses {
		r.Addresses = append(r.Addresses, address.String())
	}
	return r
}
