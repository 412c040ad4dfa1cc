package install

import (
	"cmp"
	"time"
)

// Observed is all that is known about one cluster at one moment. It is what a
// service plane reads; Decide compares it with the desired cluster.
type Observed struct {
	// At is the moment of the observation on the service's own clock, so that
	// ages are right even where the clocks differ.
	At time.Time
	// Cluster is nil while the service has none.
	Cluster *Cluster
	// Others are clusters of the same name and base domain that Cluster is
	// not: untagged ones that may be somebody else's, and duplicates.
	Others []ClusterRef
	// InfraEnvs of the cluster, by name.
	InfraEnvs []InfraEnv
	// Orphans are InfraEnvs of the cluster's name whose own cluster was deleted and
	// that have no hosts. They can serve no cluster any more.
	Orphans []InfraEnv
	// Hosts of the cluster and of its InfraEnvs, sorted by ID.
	Hosts []Host
	// Elsewhere are machines of those InfraEnvs that are bound to another
	// cluster.
	Elsewhere []HostElsewhere
	// Results are the files that hold the results, as they are on disk.
	Results Results
	// Machines are the machines of the file's hosts as their BMCs show them, by
	// the hosts' names in the file. Nil: nothing looks at them.
	Machines map[string]MachineState
	// Enrolled are the machines that the service itself was given to boot. Nil: it
	// boots none.
	Enrolled []Enrolled
	// Stale says that the service did not answer this time, and why: what
	// stands here is the last answer.
	Stale string

	detailed time.Time    // when everything was read anew, on the Client's clock
	known    *credentials // what the loop has read and saved of the service's results
}

// Enrolled is a machine that the service itself was given to boot.
type Enrolled struct {
	Name  string
	MAC   string // that it boots from
	Owned bool   // given by oaictl, for this cluster
	State string // the service's own word for how far it got, "" if unknown
	// Trouble is why the service does not get on with the machine, "" where it does.
	Trouble string
}

// ClusterRef names a cluster of the service.
type ClusterRef struct {
	ID         string
	Name       string
	BaseDomain string
	Status     string // the service's own word
	Created    time.Time
	Owned      bool   // carries the tag "oaictl"
	Run        string // the run that registered it, "" if unknown
	Hosts      int    // registered hosts
	Empty      bool   // no hosts and no InfraEnv: may be withdrawn
	Unmarked   bool   // the empty record of an imported cluster, which can be marked as ours only once it is there
}

// Cluster is the service's record of a cluster.
type Cluster struct {
	ClusterRef
	State       ClusterState
	StatusInfo  string
	StatusSince time.Time
	// Settings are what the service holds, by the cluster.yaml field they come
	// from. An absent key: the service does not say.
	Settings Settings
	// Manifests that a user uploaded, "folder/name" → SHA-256 of the content
	// in hex, "" where the content was not read.
	Manifests map[string]string
	// ImageOnly are settings of clusters that this service keeps with the InfraEnvs
	// only: they are compared, and written, there.
	ImageOnly []Setting
	// Lasting are settings of clusters and InfraEnvs that this service goes on with once
	// they are emptied: it only ever takes another value.
	Lasting []Setting
	// Changeable are settings that this service takes until the install starts, and
	// others only when a cluster is registered.
	Changeable []Setting
	// Keeping says of settings what this service does with them now, where that is
	// something else than what the drift table has for every service.
	Keeping     map[Setting]Keeping
	Validations []Validation
	Progress    ClusterProgress
	// Preparation is how the last preparation for an install ended.
	Preparation Preparation
	Operators   []Operator
	// InstallStarted and InstallCompleted are zero until they happen.
	// InstallCompleted is set for failed and cancelled installs too.
	InstallStarted   time.Time
	InstallCompleted time.Time
	// Kubeconfig and NoIngress say which credentials the service hands out now.
	Kubeconfig, NoIngress bool
	Version               string // full version, "4.20.33"
	// LogsAvailable says that logs of the install can be downloaded.
	LogsAvailable bool
	// Hold names who holds the start of the install besides oaictl itself, ""
	// for nobody, and Unhold is what to do or type so that it is held no more.
	Hold, Unhold string
	// MarkedAnytime says that the service takes oaictl's mark whatever the state of the
	// cluster. Others take it before the install and while hosts can be added.
	MarkedAnytime bool
	// Released says that the start was asked for and not taken back: the service
	// starts by itself as soon as it can, and is not asked again. A service that
	// is told once, by a call, leaves it false.
	Released bool
	// PassesOn says that what is written of hosts is passed on to the service afterwards,
	// by a controller that does not show when it has done so.
	PassesOn bool
	// Stalled is since when the service has not noticed that nothing is missing
	// any more, although the start was asked for, and does not until the cluster
	// is touched. Zero: it goes on.
	Stalled time.Time
	// NoReset says that the service can't take an install that has ended back to its
	// beginning: the cluster has to be made anew.
	NoReset bool
	// Unrecorded says that the install is complete, and that oaictl has to write
	// that down where others look for it, since nobody else does.
	Unrecorded bool
}

// StartOver is the command by which an install of the cluster that failed or was cancelled
// begins again.
func (c *Cluster) StartOver() string {
	if c.NoReset {
		return "oaictl delete cluster " + c.ID + ", then oaictl create cluster -f FILE, whose new discovery image its machines have to boot"
	}
	return "oaictl reset cluster " + cmp.Or(c.Name, c.ID)
}

// Preparation is how the service got on with preparing installations of a cluster.
type Preparation struct {
	// Status is how the files of the last one were made: success, failed,
	// not_started, or "". It tells nothing of the hosts, which may have failed
	// to prepare nevertheless.
	Status string
	Reason string
	// FailedAt are the times at which preparations failed, oldest first, since the
	// last one that led to an install.
	FailedAt []time.Time
	// Hosts are those that could not prepare the last time, by id, with what the
	// service says of each.
	Hosts map[string]string
	// Cancelled is when somebody cancelled the last preparation, which takes the
	// cluster back to ready. Zero: nobody has.
	Cancelled time.Time
}

// ClusterProgress is how far the install of the whole cluster is.
type ClusterProgress struct {
	Percent            int
	FinalizingStage    string
	FinalizingSince    time.Time
	FinalizingTimedOut bool
}

// Operator is one of the operators that the service watches while finalizing.
type Operator struct {
	Name    string
	Status  string // available, progressing, failed, or ""
	Info    string
	Version string
	Builtin bool
}

// InfraEnv is the service's record of a discovery environment and its image.
type InfraEnv struct {
	ID        string
	Name      string
	ClusterID string // "" for a pool (late binding)
	Owned     bool
	ThisRun   bool // registered by this run
	Created   time.Time
	Settings  Settings
	// Overridden are settings that spec.overrides.infraEnv stands in for: they are
	// not compared with what else the file says.
	Overridden []Setting
	Image      Image
}

// Image is an InfraEnv's discovery image.
type Image struct {
	State ImageState
	URL   string // may carry a token: never logged
	Type  string // full-iso, minimal-iso
	// Created is when the image became what it is: what boots from it is older
	// where it registered before. Zero: not known. A fresh URL is no new image.
	Created time.Time
	Expires time.Time // zero: never
	Info    string    // why there is none, "" where that is not known
}

// Host is the service's record of a machine.
type Host struct {
	ID         string
	InfraEnvID string
	ClusterID  string
	Day2       bool   // joins a cluster that is already installed
	Hostname   string // as requested, else as the machine reports it
	State      HostState
	Status     string // the service's own word
	StatusInfo string
	Since      time.Time // when the status was reached
	Role       Role      // as set; RoleAuto while undecided
	Suggested  Role      // what the service would choose
	Bootstrap  bool
	CheckedIn  time.Time // last contact
	Registered time.Time
	Inventory  Inventory
	Settings   Settings
	// Inherited are the labels of its node that it has from its InfraEnv. They come
	// and go with that, and Settings leave them out.
	Inherited map[string]string
	// Validations are empty before the first evaluation.
	Validations []Validation
	Progress    HostProgress
	// Formatted lists the ids of the disks, beside the installation disk, that
	// the installer will wipe.
	Formatted []string
	Disk      string // id of the chosen installation disk
}

// DisplayName is what a person knows the host by: the name that it reports, or its id.
func (h *Host) DisplayName() string { return cmp.Or(h.Hostname, h.ID) }

// HostElsewhere is a machine that is bound to another cluster.
type HostElsewhere struct {
	Host
	ClusterName string // "" where it is not known
}

// HostProgress is how far the install of one host is.
type HostProgress struct {
	Stage    string // as the service names it, "" before the install
	Info     string // "45%" while the image is written
	Percent  int
	Since    time.Time // when the stage began
	Updated  time.Time
	TimedOut bool
	Stages   []string // the stages of the host's role, in order
}

// Inventory is what a machine says of itself. Zero before its first report.
type Inventory struct {
	Known        bool
	Hostname     string
	Serial       string
	UUID         string
	Manufacturer string
	Product      string
	BMC          string // IPv4 or IPv6 address, "" if none
	CPUs         int
	MemoryBytes  int64
	Arch         string
	Interfaces   []Interface
	Disks        []Disk
}

// Interface is a network interface of a machine.
type Interface struct {
	Name      string
	MAC       string
	Addresses []string // CIDR notation
	Up        bool
}

// Disk is a block device of a machine.
type Disk struct {
	ID           string
	Path, ByID   string
	ByPath, HCTL string
	Name         string
	Model        string
	Vendor       string
	Serial       string
	WWN          string
	Type         string // HDD, SSD, ...
	SizeBytes    int64
	Removable    bool
	Media        bool // holds the discovery image
	Eligible     bool
	Reasons      []string // why it is not eligible
}

// Validation is one check of the service on a cluster or on a host.
type Validation struct {
	ID       string
	Category string
	Status   string // success, success-suppress-output, failure, error, pending, disabled
	Message  string
}

// passes says whether the check is out of the way.
func (v *Validation) passes() bool {
	return v.Status == "success" || v.Status == "success-suppress-output" || v.Status == "disabled"
}

// Results are the files that an install leaves: which are on disk now, with the
// content that the service has and the mode that they need.
type Results struct {
	NoIngress  bool // auth/kubeconfig-noingress
	Kubeconfig bool // auth/kubeconfig
	Password   bool // auth/kubeadmin-password
	// KubeconfigPath is where a kubeconfig of the cluster lies; "" where none is known.
	KubeconfigPath string
}

// host returns the observed host with the given ID, or nil.
func (o *Observed) host(id string) *Host {
	for i := range o.Hosts {
		if o.Hosts[i].ID == id {
			return &o.Hosts[i]
		}
	}
	return nil
}
