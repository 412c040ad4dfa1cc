package document

import (
	"cmp"
	"time"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
)

// Host is an item of `get hosts`, and `describe host` with its detail.
type Host struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	ClusterID  string            `json:"clusterId,omitempty"`
	InfraEnvID string            `json:"infraEnvId,omitempty"`
	Role       install.Role      `json:"role"`
	Bootstrap  bool              `json:"bootstrap"`
	State      install.HostState `json:"state"`
	Status     string            `json:"status"`
	StatusInfo string            `json:"statusInfo,omitempty"`
	Stage      string            `json:"stage,omitempty"`
	StageInfo  string            `json:"stageInfo,omitempty"`
	Percent    int               `json:"percent"`
	TimedOut   bool              `json:"stageTimedOut,omitempty"`
	Since      *time.Time        `json:"since,omitempty"`
	CheckedIn  *time.Time        `json:"checkedIn,omitempty"`
	Registered *time.Time        `json:"registered,omitempty"`
	Serial     string            `json:"serial,omitempty"`
	MACs       []string          `json:"macs"`
	Addresses  []string          `json:"addresses"`
	BMC        string            `json:"bmc,omitempty"`
	CPUs       int               `json:"cpus,omitempty"`
	Memory     int64             `json:"memoryBytes,omitempty"`

	Detail *HostDetail `json:"detail,omitempty"`
}

// HostDetail is what `describe host` adds.
type HostDetail struct {
	Manufacturer string       `json:"manufacturer,omitempty"`
	Product      string       `json:"product,omitempty"`
	Arch         string       `json:"arch,omitempty"`
	Interfaces   []Interface  `json:"interfaces"`
	Disks        []Disk       `json:"disks"`
	Validations  []Validation `json:"validations"`
	Stages       []string     `json:"stages"`
}

// Interface is a network interface of a host.
type Interface struct {
	Name      string   `json:"name"`
	MAC       string   `json:"mac"`
	Addresses []string `json:"addresses"`
	Up        bool     `json:"up"`
}

// Disk is a disk of a host.
type Disk struct {
	ID        string   `json:"id"`
	Path      string   `json:"path"`
	ByID      string   `json:"byId,omitempty"`
	ByPath    string   `json:"byPath,omitempty"`
	HCTL      string   `json:"hctl,omitempty"`
	Model     string   `json:"model,omitempty"`
	Vendor    string   `json:"vendor,omitempty"`
	Serial    string   `json:"serial,omitempty"`
	WWN       string   `json:"wwn,omitempty"`
	Type      string   `json:"type,omitempty"`
	SizeBytes int64    `json:"sizeBytes"`
	Eligible  bool     `json:"eligible"`
	Reasons   []string `json:"notEligibleBecause,omitempty"`
	Install   bool     `json:"install"`
	Formatted bool     `json:"formatted"`
}

// OfHost is the form of a host. name is its name in cluster.yaml, "" to call
// it what it calls itself.
func OfHost(h install.Host, name string) Host {
	name = cmp.Or(name, h.DisplayName())
	out := Host{
		ID: h.ID, Name: name, ClusterID: h.ClusterID, InfraEnvID: h.InfraEnvID, Role: roleOf(h), Bootstrap: h.Bootstrap,
		State: h.State, Status: h.Status, StatusInfo: h.StatusInfo, Stage: h.Progress.Stage, StageInfo: h.Progress.Info,
		Percent: h.Progress.Percent, TimedOut: h.Progress.TimedOut, Since: moment(h.Since), CheckedIn: moment(h.CheckedIn),
		Registered: moment(h.Registered), Serial: h.Inventory.Serial, BMC: h.Inventory.BMC, CPUs: h.Inventory.CPUs,
		Memory: h.Inventory.MemoryBytes, MACs: []string{}, Addresses: []string{},
	}
	for _, i := range h.Inventory.Interfaces {
		out.MACs = append(out.MACs, i.MAC)
		out.Addresses = append(out.Addresses, i.Addresses...)
	}
	return out
}

// roleOf is the role that a host has, or would be given.
func roleOf(h install.Host) install.Role {
	if (h.Role == "" || h.Role == model.RoleAuto) && h.Suggested != "" {
		return h.Suggested
	}
	return h.Role
}

// OfHostDetail is all there is to know of a host.
func OfHostDetail(h install.Host, name string) Host {
	out := OfHost(h, name)
	detail := &HostDetail{
		Manufacturer: h.Inventory.Manufacturer, Product: h.Inventory.Product, Arch: h.Inventory.Arch,
		Interfaces: []Interface{}, Disks: []Disk{}, Validations: OfValidations("", h.Validations), Stages: orEmpty(h.Progress.Stages),
	}
	for _, i := range h.Inventory.Interfaces {
		detail.Interfaces = append(detail.Interfaces, Interface{Name: i.Name, MAC: i.MAC, Addresses: orEmpty(i.Addresses), Up: i.Up})
	}
	formatted := map[string]bool{}
	for _, id := range h.Formatted {
		formatted[id] = true
	}
	for _, d := range h.Inventory.Disks {
		detail.Disks = append(detail.Disks, Disk{
			ID: d.ID, Path: d.Path, ByID: d.ByID, ByPath: d.ByPath, HCTL: d.HCTL, Model: d.Model, Vendor: d.Vendor, Serial: d.Serial, WWN: d.WWN,
			Type: d.Type, SizeBytes: d.SizeBytes, Eligible: d.Eligible, Reasons: d.Reasons, Install: d.ID == h.Disk && h.Disk != "", Formatted: formatted[d.ID],
		})
	}
	out.Detail = detail
	return out
}
