package model

import (
	"net/netip"
	"time"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// At is what is desired of a cluster as it was observed: the workers of a single
// node are none of it until it is installed (spec.Cluster.AtInstall). Where there
// are none to leave out it is all that is desired.
func (d *Desired) At(observed *Observed) *Desired {
	if observed.Cluster != nil && observed.Cluster.State.Installed() {
		return d
	}
	first := d.Spec.AtInstall()
	if first == d.Spec {
		return d
	}
	present := *d
	present.Spec = first
	return &present
}

// Options are what the person running oaictl has allowed.
type Options struct {
	// Reimage allows changes that make a new discovery image.
	Reimage bool
	// Adopt is the id of a cluster, made by something else, to take over.
	Adopt string
	// ResendSecrets sends again what the service does not give back.
	ResendSecrets bool
	// AddNodes adds the hosts of the file that are not part of the installed
	// cluster yet: it is told to take more hosts, and each host is installed as
	// soon as it is ready. Nothing is done to a cluster that is not installed.
	AddNodes bool
	// AcceptControlPlane allows AddNodes to install control plane machines and
	// arbiters of which it is not known that they are no part of the cluster yet:
	// the service lacks the record of one that was installed.
	AcceptControlPlane bool
	// RebootRunning allows to switch off machines that are on and run something
	// that is not this cluster's discovery image, so that they boot it.
	RebootRunning bool
	// ReadOnly leaves everything to others: nothing is to be done, only waited for.
	ReadOnly bool
	// Approve says whether requests of kubelets for certificates are approved that are proven
	// to be of a host of the file: ApproveAuto where it is empty.
	Approve Approve
	// AllowAddresses are addresses, beside those that hosts report, that a node's serving
	// certificate may have, by the names of hosts in the file or of nodes.
	AllowAddresses map[string][]netip.Addr
	// Remove takes nodes out of the installed cluster; nil: none. Nothing else is done then.
	Remove *Removal
	// WatchEtcd has the members of etcd observed for as long as the installed cluster is
	// observed. Without it they are observed while a member is added or removed.
	WatchEtcd bool
	// LeftAlone are hosts of the file of which it is not known what they shall be, by name, with the reason. They are
	// observed, and nothing is done to them.
	LeftAlone map[string]string
	// Unattended says that no person can be asked, or can run a command again: the run ends where a person would be
	// asked, and what was refused for good is tried again after ten minutes.
	Unattended bool
	// ClusterKubeconfig is the file by which a person reaches the installed cluster; empty: the
	// one among the results. It is told in what is to be typed.
	ClusterKubeconfig string
	// Run marks the clusters that this run registers.
	Run string
	// FormerRun is an earlier mark of the same owner. A record that carries it is found, and gets the mark Run.
	FormerRun string
	// Exact has the cluster known by its mark alone (Run, FormerRun). A name, an age and an id (Adopt) prove nothing:
	// a record without the mark belongs to another owner.
	Exact bool
	// LeftOut are hosts that the cluster is installed without although they may have registered: such a one is taken out
	// of the cluster before the installation starts. Of each its name and its match count.
	LeftOut []spec.Host
	// Unwanted says of some of them, by name, why they leave although they may be ready.
	Unwanted map[string]string
	// Labels and Annotations are put on the objects that are made for the cluster on a hub, beside
	// oaictl's own. They go with what is written anyhow, and are no differences by themselves.
	Labels, Annotations map[string]string
	// Timeout is how long a loop takes at most (exit code 8), UserTimeout how long it
	// waits for a person (exit code 9). Zero: no limit.
	Timeout, UserTimeout time.Duration
}

// Approve is who approves the requests of kubelets for certificates.
type Approve string

// The ways to approve.
const (
	ApproveAuto Approve = "auto" // oaictl, with proof
	ApproveAsk  Approve = "ask"  // oaictl, once a person has said so
	ApproveOff  Approve = "off"  // another approver
)

// Desired is what the cluster shall become.
type Desired struct {
	Spec    *spec.Cluster
	Options Options
}

// Source is what says which hosts there are, for people: the file, or the command line.
func (d *Desired) Source() string {
	if d.Spec.ByFlags() {
		return "the command line"
	}
	return "the file"
}

// FullName is the cluster's name with its domain.
func (d *Desired) FullName() string { return d.Spec.Metadata.Name + "." + d.Spec.Spec.BaseDomain }

// ToBoot is the cluster whose hosts a run may boot. An installation does not boot hosts that can only be added afterwards.
func (d *Desired) ToBoot() *spec.Cluster {
	if d.Options.AddNodes {
		return d.Spec
	}
	return d.Spec.AtInstall()
}
