package model

import (
	"cmp"
	"fmt"
	"time"
)

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
	OpenShiftID string // what the installed cluster calls itself, "" where the service does not say
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
	// Hold names what holds the start of the installation besides oaictl itself, "" for
	// nothing. Unhold is what to do or type to end the hold.
	Hold   string
	Unhold Advice
	// MarkedAnytime says that the service takes oaictl's mark in every state of the
	// cluster. Others take it before the install and while hosts can be added.
	MarkedAnytime bool
	// Approver is the component of the service that approves the certificate requests of
	// added hosts; "" for none.
	Approver string
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
	// Unattended is since when no controller of the service has looked at the cluster, or at
	// what it refers to: each writes down that it has. Zero: they have.
	Unattended time.Time
	// NoReset says that the service can't take an install that has ended back to its
	// beginning: the cluster has to be made anew.
	NoReset bool
	// Unrecorded says that the installation is complete, and that oaictl has to record
	// that where others read it, since no other component does.
	Unrecorded bool
}

// StartOver is the command by which an install of the cluster that failed or was cancelled
// begins again.
func (c *Cluster) StartOver() Advice {
	if c.NoReset {
		return Command("delete cluster", c.ID) + ", then {create cluster -f FILE}, whose new discovery image its machines have to boot"
	}
	return Command("reset cluster", cmp.Or(c.Name, c.ID))
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
	// Cancelled is when the last preparation was cancelled, which takes the cluster
	// back to ready. Zero: it was not.
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

// Label is what a person recognises a cluster by among others of its name.
func (r ClusterRef) Label() string {
	return fmt.Sprintf("%s (%s, created %s)", r.ID, r.Status, r.Created.UTC().Format(time.RFC3339))
}

// Held is the wait for the end of Hold. There is none where nothing holds the start, or
// where the installation has begun.
func (c *Cluster) Held() (w Wait, is bool) {
	if c.Hold == "" || !c.State.BeforeInstall() {
		return Wait{}, false
	}
	return Wait{
		Key: KeyHold + "/other", Scope: ScopeCluster, Who: WhoUser, Since: c.StatusSince,
		For: c.Hold + ", who holds the installation, to let it start", Next: c.Unhold,
	}, true
}
