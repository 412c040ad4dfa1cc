package document

import (
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
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
		n.Node, n.Ready, n.Cordoned, n.Config, n.Version, n.Created = node.Name, node.Ready, node.Cordoned, node.Config.State, node.Version, moment(node.Created)
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
