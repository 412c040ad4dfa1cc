// Package output is the JSON form of what the verbs print: what -o json,
// yaml and jsonpath work on. The forms of plan and why are described by
// docs/plan.schema.json and docs/why.schema.json. Fields are added, never
// renamed; times are RFC 3339, and absent where there are none; lists are
// never null.
package output

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Items is a list of things, under the key that kubectl uses for it.
type Items[T any] struct {
	Items []T `json:"items"`
}

// List wraps a list, which is empty rather than null.
func List[T any](items []T) Items[T] {
	return Items[T]{orEmpty(items)}
}

// Each is what form makes of each of a list, never nil.
func Each[T, U any](list []T, form func(T) U) []U {
	out := make([]U, 0, len(list))
	for _, item := range list {
		out = append(out, form(item))
	}
	return out
}

// moment is a time as a pointer, nil for none.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Cluster is an item of `get clusters`, and `describe cluster` with its lists.
type Cluster struct {
	ID         string             `json:"id"`
	Name       string             `json:"name"`
	BaseDomain string             `json:"baseDomain,omitempty"`
	State      model.ClusterState `json:"state"`
	Status     string             `json:"status"`
	StatusInfo string             `json:"statusInfo,omitempty"`
	Version    string             `json:"version,omitempty"`
	Hosts      int                `json:"hosts"`
	Percent    int                `json:"percent"`
	Owned      bool               `json:"owned"` // made by oaictl
	Created    *time.Time         `json:"created,omitempty"`
	Started    *time.Time         `json:"installStarted,omitempty"`
	Completed  *time.Time         `json:"installCompleted,omitempty"`

	Detail *ClusterDetail `json:"detail,omitempty"`
}

// ClusterDetail is what `describe cluster` adds.
type ClusterDetail struct {
	OpenShiftID string       `json:"openShiftId,omitempty"` // what the installed cluster calls itself
	InfraEnvs   []InfraEnv   `json:"infraEnvs"`
	Hosts       []Host       `json:"hosts"`
	Operators   []Operator   `json:"operators"`
	Validations []Validation `json:"validations"`
	Manifests   []string     `json:"manifests"`
	Objects     []Object     `json:"objects,omitempty"` // of a hub
}

// Object is an object of a hub with its conditions.
type Object struct {
	Kind       string      `json:"kind"`
	Name       string      `json:"name"`
	IPXE       string      `json:"ipxeScript,omitempty"`
	Conditions []Condition `json:"conditions"`
}

// Condition is what a controller of a hub says of an object.
type Condition struct {
	Type    string     `json:"type"`
	Status  string     `json:"status"`
	Reason  string     `json:"reason,omitempty"`
	Message string     `json:"message,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
}

// OfObjects is the form of the objects that a cluster is made of.
func OfObjects(objects []install.Object) []Object {
	return Each(objects, func(o install.Object) Object {
		return Object{Kind: o.Kind, Name: o.Name, IPXE: o.IPXE, Conditions: Each(o.Conditions, func(c install.ObjectCondition) Condition {
			return Condition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message, Since: moment(c.Since)}
		})}
	})
}

// Operator is an operator that the service watches.
type Operator struct {
	Name    string `json:"name"`
	Status  string `json:"status"`
	Info    string `json:"info,omitempty"`
	Version string `json:"version,omitempty"`
}

// OfCluster is the form of a cluster.
func OfCluster(c model.Cluster) Cluster {
	return Cluster{
		ID: c.ID, Name: c.Name, BaseDomain: c.BaseDomain, State: c.State, Status: c.Status, StatusInfo: c.StatusInfo, Version: c.Version,
		Hosts: c.Hosts, Percent: c.Progress.Percent, Owned: c.Owned, Created: moment(c.Created),
		Started: moment(c.InstallStarted), Completed: moment(c.InstallCompleted),
	}
}

// OfOperators is the form of a cluster's operators.
func OfOperators(operators []model.Operator) []Operator {
	return Each(operators, func(o model.Operator) Operator {
		return Operator{Name: o.Name, Status: o.Status, Info: o.Info, Version: o.Version}
	})
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
func OfValidations(host string, list []model.Validation) []Validation {
	return Each(list, func(v model.Validation) Validation {
		return Validation{Host: host, ID: v.ID, Category: v.Category, Status: v.Status, Message: v.Message}
	})
}

// InfraEnv is an item of `get infraenvs`, without the image's URL, which may hold a token.
type InfraEnv struct {
	ID           string           `json:"id"`
	Name         string           `json:"name"`
	ClusterID    string           `json:"clusterId,omitempty"`
	Owned        bool             `json:"owned"`
	Created      *time.Time       `json:"created,omitempty"`
	Arch         string           `json:"arch,omitempty"`
	Image        model.ImageState `json:"image"`
	ImageType    string           `json:"imageType,omitempty"`
	ImageCreated *time.Time       `json:"imageCreated,omitempty"`
	ImageExpires *time.Time       `json:"imageExpires,omitempty"`
}

// OfInfraEnv is the form of an InfraEnv.
func OfInfraEnv(e model.InfraEnv) InfraEnv {
	return InfraEnv{
		ID: e.ID, Name: e.Name, ClusterID: e.ClusterID, Owned: e.Owned, Created: moment(e.Created), Arch: e.Settings[model.SettingArch].Text(),
		Image: e.Image.State, ImageType: e.Image.Type, ImageCreated: moment(e.Image.Created), ImageExpires: moment(e.Image.Expires),
	}
}

// Host is an item of `get hosts`, and `describe host` with its detail.
type Host struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	ClusterID  string          `json:"clusterId,omitempty"`
	InfraEnvID string          `json:"infraEnvId,omitempty"`
	Machine    string          `json:"machine,omitempty"` // of Cluster API
	Role       spec.Role       `json:"role"`
	Bootstrap  bool            `json:"bootstrap"`
	State      model.HostState `json:"state"`
	Status     string          `json:"status"`
	StatusInfo string          `json:"statusInfo,omitempty"`
	Stage      string          `json:"stage,omitempty"`
	StageInfo  string          `json:"stageInfo,omitempty"`
	Percent    int             `json:"percent"`
	TimedOut   bool            `json:"stageTimedOut,omitempty"`
	Since      *time.Time      `json:"since,omitempty"`
	CheckedIn  *time.Time      `json:"checkedIn,omitempty"`
	Registered *time.Time      `json:"registered,omitempty"`
	Serial     string          `json:"serial,omitempty"`
	MACs       []string        `json:"macs"`
	Addresses  []string        `json:"addresses"`
	BMC        string          `json:"bmc,omitempty"`
	CPUs       int             `json:"cpus,omitempty"`
	Memory     int64           `json:"memoryBytes,omitempty"`

	Detail *HostDetail `json:"detail,omitempty"`
}

// HostDetail is what `describe host` adds.
type HostDetail struct {
	Manufacturer string       `json:"manufacturer,omitempty"`
	Product      string       `json:"product,omitempty"`
	Arch         string       `json:"arch,omitempty"`
	TPM          string       `json:"tpm,omitempty"`
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

// OfHost is the form of a host; name is the one of cluster.yaml, if any.
func OfHost(h model.Host, name string) Host {
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

func roleOf(h model.Host) spec.Role {
	if (h.Role == "" || h.Role == spec.Auto) && h.Suggested != "" {
		return h.Suggested
	}
	return h.Role
}

// OfHostDetail is all there is to know of a host.
func OfHostDetail(h model.Host, name string) Host {
	out := OfHost(h, name)
	out.Detail = &HostDetail{
		Manufacturer: h.Inventory.Manufacturer, Product: h.Inventory.Product, Arch: h.Inventory.Arch, TPM: h.Inventory.TPM,
		Validations: OfValidations("", h.Validations), Stages: orEmpty(h.Progress.Stages),
		Interfaces: Each(h.Inventory.Interfaces, func(i model.Interface) Interface {
			return Interface{Name: i.Name, MAC: i.MAC, Addresses: orEmpty(i.Addresses), Up: i.Up}
		}),
		Disks: Each(h.Inventory.Disks, func(d model.Disk) Disk {
			return Disk{
				ID: d.ID, Path: d.Path, ByID: d.ByID, ByPath: d.ByPath, HCTL: d.HCTL, Model: d.Model, Vendor: d.Vendor, Serial: d.Serial, WWN: d.WWN,
				Type: d.Type, SizeBytes: d.SizeBytes, Eligible: d.Eligible, Reasons: d.Reasons,
				Install: d.ID == h.Disk && h.Disk != "", Formatted: slices.Contains(h.Formatted, d.ID),
			}
		}),
	}
	return out
}

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

// KubeconfigContext is what became of a context of a kubeconfig.
type KubeconfigContext struct {
	Context string `json:"context"`
	File    string `json:"file"`
	Done    string `json:"done"` // added, refreshed, overwritten, unchanged
	Changed bool   `json:"changed"`
}

// MergedKubeconfig is what `kubeconfig merge` did.
type MergedKubeconfig struct {
	KubeconfigContext
	Current bool       `json:"current"` // it is the current context now
	Server  string     `json:"server"`
	Expires *time.Time `json:"expires,omitempty"` // the client certificate
}

// RefreshedKubeconfig is what `kubeconfig refresh` did, or with --dry-run would do.
type RefreshedKubeconfig struct {
	Cluster  string              `json:"cluster"`
	File     string              `json:"file"`
	Done     string              `json:"done"` // refreshed, unchanged
	Changed  bool                `json:"changed"`
	Before   *time.Time          `json:"before"` // when the client certificate ended
	After    *time.Time          `json:"after"`  // when it ends now
	DryRun   bool                `json:"dryRun"`
	Contexts []KubeconfigContext `json:"contexts"` // of the kubeconfigs that it was merged into
}

// Media is where a host finds what it boots: an item of `iso serve`.
type Media struct {
	Host string `json:"host"`
	ISO  string `json:"iso"`
	// IPXE is a script for iPXE, which the other architectures than s390x have.
	IPXE string `json:"ipxe,omitempty"`
	// Ins is s390x's generic.ins, which names the other files beside it.
	Ins string `json:"ins,omitempty"`
}
