package document

import (
	"time"

	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install"
)

// Cluster is an item of `get clusters`, and `describe cluster` with its lists.
type Cluster struct {
	ID         string               `json:"id"`
	Name       string               `json:"name"`
	BaseDomain string               `json:"baseDomain,omitempty"`
	State      install.ClusterState `json:"state"`
	Status     string               `json:"status"`
	StatusInfo string               `json:"statusInfo,omitempty"`
	Version    string               `json:"version,omitempty"`
	Hosts      int                  `json:"hosts"`
	Percent    int                  `json:"percent"`
	Owned      bool                 `json:"owned"` // made by oaictl
	Created    *time.Time           `json:"created,omitempty"`
	Started    *time.Time           `json:"installStarted,omitempty"`
	Completed  *time.Time           `json:"installCompleted,omitempty"`

	Detail *ClusterDetail `json:"detail,omitempty"`
}

// ClusterDetail is what `describe cluster` adds.
type ClusterDetail struct {
	InfraEnvs   []InfraEnv   `json:"infraEnvs"`
	Hosts       []Host       `json:"hosts"`
	Operators   []Operator   `json:"operators"`
	Validations []Validation `json:"validations"`
	Manifests   []string     `json:"manifests"`
}

// Operator is an operator that the service watches.
type Operator struct {
	Name    string `json:"name"`
	Status  string `json:"status"`
	Info    string `json:"info,omitempty"`
	Version string `json:"version,omitempty"`
}

// OfCluster is the form of a cluster.
func OfCluster(c install.Cluster) Cluster {
	return Cluster{
		ID: c.ID, Name: c.Name, BaseDomain: c.BaseDomain, State: c.State, Status: c.Status, StatusInfo: c.StatusInfo, Version: c.Version,
		Hosts: c.Hosts, Percent: c.Progress.Percent, Owned: c.Owned, Created: moment(c.Created),
		Started: moment(c.InstallStarted), Completed: moment(c.InstallCompleted),
	}
}

// OfOperators is the form of a cluster's operators.
func OfOperators(operators []install.Operator) []Operator {
	out := []Operator{}
	for _, o := range operators {
		out = append(out, Operator{Name: o.Name, Status: o.Status, Info: o.Info, Version: o.Version})
	}
	return out
}

// Validation is an item of `get validations`.
type Validation struct {
	Host     string `json:"host,omitempty"` // "" for a validation of the cluster
	ID       string `json:"id"`
	Category string `json:"category,omitempty"`
	Status   string `json:"status"`
	Message  string `json:"message,omitempty"`
}

// OfValidations is the form of validations of one host, or of the cluster.
func OfValidations(host string, list []install.Validation) []Validation {
	out := []Validation{}
	for _, v := range list {
		out = append(out, Validation{Host: host, ID: v.ID, Category: v.Category, Status: v.Status, Message: v.Message})
	}
	return out
}

// InfraEnv is an item of `get infraenvs`. The image's URL is left out, since
// it may carry a token.
type InfraEnv struct {
	ID           string             `json:"id"`
	Name         string             `json:"name"`
	ClusterID    string             `json:"clusterId,omitempty"`
	Owned        bool               `json:"owned"`
	Created      *time.Time         `json:"created,omitempty"`
	Arch         string             `json:"arch,omitempty"`
	Image        install.ImageState `json:"image"`
	ImageType    string             `json:"imageType,omitempty"`
	ImageCreated *time.Time         `json:"imageCreated,omitempty"`
	ImageExpires *time.Time         `json:"imageExpires,omitempty"`
}

// OfInfraEnv is the form of an InfraEnv.
func OfInfraEnv(e install.InfraEnv) InfraEnv {
	return InfraEnv{
		ID: e.ID, Name: e.Name, ClusterID: e.ClusterID, Owned: e.Owned, Created: moment(e.Created), Arch: e.Settings[setting.Arch].Text(),
		Image: e.Image.State, ImageType: e.Image.Type, ImageCreated: moment(e.Image.Created), ImageExpires: moment(e.Image.Expires),
	}
}
