package document

import (
	"encoding/json"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
)

// Event is an item of `get events`: an entry of the service's own event log.
type Event struct {
	Time       *time.Time      `json:"time,omitempty"`
	Name       string          `json:"name,omitempty"`
	Severity   string          `json:"severity"`
	Category   string          `json:"category,omitempty"`
	Message    string          `json:"message"`
	ClusterID  string          `json:"clusterId,omitempty"`
	HostID     string          `json:"hostId,omitempty"`
	InfraEnvID string          `json:"infraEnvId,omitempty"`
	Props      json.RawMessage `json:"props,omitempty"`
}

// OfEvent is the form of an entry of the service's event log.
func OfEvent(e install.ServiceEvent) Event {
	out := Event{
		Time: moment(e.Time), Name: e.Name, Severity: e.Severity, Category: e.Category, Message: e.Message,
		ClusterID: e.ClusterID, HostID: e.HostID, InfraEnvID: e.InfraEnvID,
	}
	if json.Valid([]byte(e.Props)) {
		out.Props = json.RawMessage(e.Props)
	}
	return out
}

// Result is what `create cluster` and `wait` print at the end.
type Result struct {
	Cluster    string `json:"cluster"`
	ID         string `json:"id,omitempty"`
	State      string `json:"state"`
	Version    string `json:"version,omitempty"`
	ExitCode   int    `json:"exitCode"`
	Message    string `json:"message,omitempty"`
	Next       string `json:"next,omitempty"`
	Kubeconfig string `json:"kubeconfig,omitempty"` // path of the file
	Password   string `json:"passwordFile,omitempty"`
	Log        string `json:"log,omitempty"`
}

// Download is a file that was saved.
type Download struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
}

// Changed is a thing that a verb has changed.
type Changed struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	ID   string `json:"id"`
	Done string `json:"done"` // deleted, cancelled, reset
}
