package install

import (
	"time"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/internal/infraenv"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Desired is what the cluster shall become: Spec, a cluster.yaml, and Options, what the
// person running oaictl has allowed.
type Desired = model.Desired

// Options are what the person running oaictl has allowed: Reimage, Adopt, ResendSecrets,
// AddNodes, AcceptControlPlane, RebootRunning, ReadOnly, and the limits Timeout and UserTimeout
// (zero: none).
type Options = model.Options

// Removal says which nodes are to be taken out of an installed cluster ([Options].Remove), and what
// that may cost.
type Removal = model.Removal

// DrainOptions are how pods are made to leave a node, as the flags of kubectl drain say.
type DrainOptions = model.DrainOptions

// NodeRemoval is how far the removal of one node is: what is Left to do, in its order.
type NodeRemoval = model.NodeRemoval

// Query says which cluster to observe: by ID if that is known, else by Name and BaseDomain.
// With Detail everything is read anew.
type Query = model.Query

// Observed is all that is known about one cluster at one moment: the Cluster (nil while the
// service has none), its InfraEnvs, Hosts, Machines and Results, and clusters of the same name
// (Others). It is what a service plane reads; Decide compares it with the desired cluster.
type Observed = model.Observed

// ClusterRef names a cluster of the service: ID, Name, BaseDomain, the service's own word for
// its Status, and whether oaictl made it (Owned).
type ClusterRef = model.ClusterRef

// Cluster is the service's record of a cluster: its ClusterRef, State, Settings, Validations,
// Progress, Preparation and Operators, and what this service does with a cluster in particular.
type Cluster = model.Cluster

// Preparation is how the service got on with preparing installations of a cluster.
type Preparation = model.Preparation

// ClusterProgress is how far the install of the whole cluster is.
type ClusterProgress = model.ClusterProgress

// Operator is one of the operators that the service watches while finalizing, with its Status:
// available, progressing, failed, or "".
type Operator = model.Operator

// InfraEnv is the service's record of a discovery environment, with its Settings and Image.
// One without a ClusterID is a pool (late binding).
type InfraEnv = model.InfraEnv

// Image is an InfraEnv's discovery image: State, URL (it may carry a token: never logged), Type,
// and when it was made and expires.
type Image = model.Image

// Host is the service's record of a machine: ID, State and Role, the Inventory that the machine
// reports, the Settings that the service holds, Validations, and Progress of its install.
type Host = model.Host

// HostElsewhere is a machine that is bound to another cluster.
type HostElsewhere = model.HostElsewhere

// HostProgress is how far the install of one host is: the Stage, as the service names it, and
// the Percent of the whole.
type HostProgress = model.HostProgress

// Inventory is what a machine says of itself: names and serials, CPUs, memory, Interfaces and
// Disks. Zero before its first report.
type Inventory = model.Inventory

// Interface is a network interface of a machine: Name, MAC, Addresses in CIDR notation.
type Interface = model.Interface

// Disk is a block device of a machine, by all of its names, with what root device hints ask for
// and whether the service can install on it (Eligible, Reasons).
type Disk = model.Disk

// Validation is one check of the service on a cluster or on a host. Its Status is success,
// success-suppress-output, failure, error, pending or disabled.
type Validation = model.Validation

// Enrolled is a machine that the service itself was given to boot.
type Enrolled = model.Enrolled

// MachineState is what is known of one machine through its BMC: Power, what is in the virtual
// drive, from where it boots next, how much of the image was read, and Trouble with the BMC.
type MachineState = model.MachineState

// Fetched is how far an image has been read over HTTP.
type Fetched = model.Fetched

// Results are the files that an install leaves: which are on disk now, with the content that the
// service has and the mode that they need.
type Results = model.Results

// SavedResult is a result as it lies on disk: the Digest of its content, whether its owner alone
// can read it (Private), and its Path.
type SavedResult = model.SavedResult

// Plan is what Decide makes of a desired and an observed cluster: a Verdict with its Message,
// what to do (Actions), what can only be waited for (Waits), what stands in the way (Blockers),
// and why and when a loop ends with it (Fault, Deadline).
type Plan = model.Plan

// Verdict is where the install stands, in one word.
type Verdict = model.Verdict

// The verdicts of a plan. Those after VerdictBlocked are ends.
const (
	VerdictWorking   = model.VerdictWorking // there are actions to carry out
	VerdictWaiting   = model.VerdictWaiting // nothing to do but wait
	VerdictBlocked   = model.VerdictBlocked // a person is needed
	VerdictInstalled = model.VerdictInstalled
	VerdictDegraded  = model.VerdictDegraded // installed, with failed operators or hosts
	VerdictFailed    = model.VerdictFailed
	VerdictCancelled = model.VerdictCancelled
	VerdictUnknown   = model.VerdictUnknown // the service is in a state that oaictl does not know
)

// Action is one request that brings the cluster closer to what is desired: Kind says what it
// does, to which Scope, Reason why, Changes what a person is shown, Settings what to write. Its
// Key is the same for the same action in every plan.
type Action = model.Action

// Change is one field that an action changes: its path in cluster.yaml, From and To as text.
type Change = model.Change

// Wait is something that the plan can only wait for: For says what, Who must act, Since when it
// is waited for, and Next is the command that helps.
type Wait = model.Wait

// Blocker is something that stands in the way and does not pass by itself: Reason is stable,
// Message is for a person, Remedy says what to do or type next, Cure who can remove it.
type Blocker = model.Blocker

// Warning is something that a person should know and that stops nothing.
type Warning = model.Warning

// Wipe is a disk that the install will write over.
type Wipe = model.Wipe

// Memory is what a loop has learned and no observation shows: what was refused and when it may
// be tried again, what was done already, and since when things stand that the service does not
// date. Whoever loops keeps one for each cluster, calls Seen after each look, Decided after each
// decision and Note after each action. [Decide] alone draws conclusions from it.
//
// The zero value knows nothing: what a service does not date counts then as having stood for
// long, so that a single look names the same causes as a loop that has looked for an hour. It
// can be kept as JSON and has no secrets. Losing it costs a repeated attempt and never a wrong
// write. It is not safe for concurrent use.
type Memory = model.Memory

// Advice is what to do next: sentences in which each command of oaictl stands in braces,
// without the program's name: "see to that, then {reset cluster lab}". Render writes them for a
// program of another name; as a string, and in JSON, they are oaictl's own.
type Advice = model.Advice

// Refusal is an action that failed, as Memory keeps it: how often, with which error, and until
// when it is not to be tried again.
type Refusal = model.Refusal

// Success is an action that was carried out, as Memory keeps it.
type Success = model.Success

// MachineBoot is since when a machine is on with the discovery image, and when its BMC last read
// a part of it that it had not read before.
type MachineBoot = model.MachineBoot

// Fault is an error that says what was being done (Op), to what (On), why it failed (Err), and
// what to do next (Next). Its Code is the exit code. Permanent says that the same request will
// be refused again, Ambiguous that it may have been carried out nevertheless.
type Fault = model.Fault

// Code classes an error; each maps to one exit code.
type Code = model.Code

// The codes, with the exit code of each.
const (
	CodeFailure     = model.CodeFailure     // 1
	CodeUsage       = model.CodeUsage       // 2
	CodeInput       = model.CodeInput       // 3
	CodeAuth        = model.CodeAuth        // 4
	CodeNotFound    = model.CodeNotFound    // 5
	CodeBlocked     = model.CodeBlocked     // 6
	CodeFailed      = model.CodeFailed      // 7
	CodeTimeout     = model.CodeTimeout     // 8
	CodeNeedsUser   = model.CodeNeedsUser   // 9
	CodeDegraded    = model.CodeDegraded    // 10
	CodeInterrupted = model.CodeInterrupted // 130
	CodeTerminated  = model.CodeTerminated  // 143
)

// CodeOf is the code of the first Fault in err's chain, CodeInput for what is wrong with a
// cluster.yaml, and else CodeFailure.
func CodeOf(err error) Code { return model.CodeOf(err) }

// NextOf is what the first Fault in err's chain advises.
func NextOf(err error) Advice { return model.NextOf(err) }

// ClusterState is a cluster's state in neutral words, the same for a REST status and for a
// hub's conditions: Draft, Discovering, Blocked, Ready, Preparing, Installing, NeedsUser,
// Finalizing, Installed, Failed, Cancelled, AddingHosts, Unknown, and in lists Deleting.
type ClusterState = model.ClusterState

// HostState is a host's state in neutral words: Absent, Unbound, Binding, Discovering,
// Disconnected, Blocked, Ready, Preparing, Installing, NeedsUser, Resetting, Releasing,
// Installed, Added, Failed, Cancelled or Unknown.
type HostState = model.HostState

// ImageState is the state of an InfraEnv's discovery image: Pending, Ready or Failed.
type ImageState = model.ImageState

// Role is a host's part in the cluster: control-plane, worker, arbiter or auto.
type Role = model.Role

// Scope says what an action, a wait or a blocker is about: "cluster",
// "infraenv/NAME", "host/NAME" or "node/NAME".
type Scope = model.Scope

// Who must act for a wait to end: service, machine or user.
type Who = model.Who

// Cure says who can remove a blocker, which decides how long it is waited for:
//
//   - file: only a changed cluster.yaml, exit 6 after standing five minutes
//   - now: only a changed cluster.yaml or flag, and known at once, exit 3
//   - person: somebody at a machine or the network, exit 9 after --user-timeout
//   - owner: the object is someone else's or ambiguous, exit 5
//   - auth: credentials, exit 4
//   - none: nothing will cure it by itself, exit 1
//   - time: it has taken longer than it may, exit 8
type Cure = model.Cure

// Kind is what an action does: "RegisterCluster", "StartInstall". Each starts something and
// never waits for it.
type Kind = model.Kind

// EventType is what an event is about: run, action, host, stage, validation, progress,
// warning or hint. The last event of a run has the type run, with State and ExitCode.
type EventType = model.EventType

// Severity grades an event: info, warning or error.
type Severity = model.Severity

// TroubleKind is what is wrong with a BMC: unreachable, credentials, no-virtual-media,
// media-refused, busy, no-image or other.
type TroubleKind = model.TroubleKind

// Power is whether a machine is switched on, in Redfish's words: On, Off, PoweringOn,
// PoweringOff or Unknown.
type Power = model.Power

// Setting is one thing that can be set on a cluster, an InfraEnv or a host, by the
// cluster.yaml field it comes from: "spec.network.vips.api".
type Setting = model.Setting

// Settings are values by setting, in JSON. An absent key means: not said. They print
// without their secrets.
type Settings = model.Settings

// Keeping is what a service does with a setting that it was given, in the phase that the
// cluster is in: "" where it holds what was written last, else derived, cleared, hidden,
// frozen, or not yet.
type Keeping = model.Keeping

// Decide compares what is desired with what was observed and says what to do
// next, what can only be waited for, what stands in the way, and when a loop has
// waited for long enough. It is pure: the same arguments give the same plan. now is
// a moment on the service's clock. Without memory, of a single look, what the service
// does not date counts as having stood for long.
func Decide(desired *Desired, observed *Observed, memory Memory, now time.Time) Plan {
	return decide.Decide(desired, observed, memory, now)
}

// Snapshot answers questions about an observation that no plan says, by the same rules: which
// machine is which host (Hosts), what follows on a plan (Then), which image a host boots
// (InfraEnv), whether it has still to (HasToBoot), and which hosts may still read theirs (Reading).
type Snapshot = decide.Snapshot

// NewSnapshot is an observation beside what is desired.
func NewSnapshot(desired *Desired, observed *Observed) *Snapshot {
	return decide.NewSnapshot(desired, observed)
}

// NamedHost is a machine under the name that cluster.yaml has for it: "" for one that is none of
// its hosts. Its Host is nil while it has not come.
type NamedHost = decide.NamedHost

// Step is something that follows on a plan, as far as it can be told before. It has no Kind where
// it can only be waited for.
type Step = model.Step

// InfraEnvPlan is an InfraEnv that the file asks for: its Name, the Arch of its machines, the
// Hosts that boot its image, and its Settings.
type InfraEnvPlan = infraenv.Plan

// InfraEnvPlans are the InfraEnvs of a cluster: one, or one for each CPU architecture where the
// cluster's is multi, and further ones where the static networks of the hosts do not fit into the
// discovery Ignition of one. have are those that the service has already: a host whose network is
// in one of them stays there.
func InfraEnvPlans(c *spec.Cluster, have []InfraEnv) ([]InfraEnvPlan, error) {
	return infraenv.Plans(c, have)
}
