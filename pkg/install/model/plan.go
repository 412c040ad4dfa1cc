package model

import (
	"strings"
	"time"
)

// Scope says what an action, a wait or a blocker is about: "cluster",
// "infraenv/NAME", "host/NAME" or "node/NAME".
type Scope string

const (
	// ScopeCluster is the scope of the cluster as a whole.
	ScopeCluster Scope = "cluster"
	// ScopeState is the scope of the cluster's identity and state, which concern all machines. No action has it.
	ScopeState Scope = "state"
	// ScopeHost begins the scope of one host.
	ScopeHost Scope = "host/"
	// ScopeNode begins the scope of what one host becomes in the installed cluster.
	ScopeNode Scope = "node/"
	// ScopeInfraEnv begins the scope of one InfraEnv.
	ScopeInfraEnv Scope = "infraenv/"
)

// Of is the scope of one host or node by the host's name in cluster.yaml, or of one InfraEnv by its name.
func (s Scope) Of(name string) Scope { return s + Scope(name) }

// Who must act for a wait to end.
type Who string

// Who a wait is for.
const (
	WhoService Who = "service"
	WhoMachine Who = "machine"
	WhoUser    Who = "user"
)

// Cure says who can remove a blocker, which decides how long it is waited for.
type Cure string

// The cures of a blocker.
const (
	CureFile   Cure = "file"   // only a changed cluster.yaml: exit 6 after standing five minutes
	CureNow    Cure = "now"    // only a changed cluster.yaml or flag, and known at once: exit 3
	CurePerson Cure = "person" // a person at a machine or the network: exit 9 after --user-timeout
	CureOwner  Cure = "owner"  // the object is someone else's or ambiguous: exit 5
	CureAuth   Cure = "auth"   // credentials: exit 4
	CureAnswer Cure = "answer" // a person who is not there to be asked: exit 9, once all else is done
	CureNone   Cure = "none"   // nothing will cure it by itself: exit 1
	CureTime   Cure = "time"   // it has taken longer than it may: exit 8
)

// Action is one request that brings the cluster closer to what is desired.
type Action struct {
	// Key is the same for the same action in every plan: "cluster/register".
	Key         string
	Scope       Scope
	Kind        Kind
	Reason      string
	Destructive bool
	// Changes are what a person is shown; secrets in them are redacted.
	Changes []Change
	// Target is the service's id of the object acted on, "" for a creation.
	Target string
	// InfraEnv is the id of the InfraEnv that a host belongs to.
	InfraEnv string
	// Node is the node that an object of the installed cluster goes with.
	Node string
	// Host is the service's id of the host that a node is, where it is noted on that.
	Host string
	// NodeGone says of a host that its node was deleted before.
	NodeGone bool
	// Name is the object's name: cluster, InfraEnv, "folder/file" of a manifest.
	Name string
	// Settings are what to write: all of a new object, only what differs of
	// an existing one.
	Settings Settings
}

// Change is one field that an action changes.
type Change struct {
	Field string // path in cluster.yaml
	From  string // as text, "" for nothing
	To    string
}

// Wait is something that the plan can only wait for.
type Wait struct {
	Key   string
	Scope Scope
	For   string    // "cp-1 to register with the service"
	Since time.Time // zero: unknown
	Who   Who
	Until time.Time // when it is given up, without harm; zero: never
	Next  Advice    // the command that helps, "" if none
}

// Blocker is something that stands in the way and does not pass by itself.
type Blocker struct {
	Key     string
	Scope   Scope
	Reason  string // CamelCase, stable: "UnknownHost"
	Message string
	Field   string // path in cluster.yaml, "" if none
	Remedy  Advice // what to do or type next
	Cure    Cure
	Since   time.Time // zero: unknown
	// Validations are the failing checks behind it, Hosts those concerned.
	Validations []string
	Hosts       []string
	// Of a failing check: what the service says beyond Message, what mostly lies behind
	// it, how to be sure, and the checks that fail because of it.
	Says    []string
	Usual   string
	Check   Advice
	Follows []string
	// Certain says that it does not waver: it is told as soon as it is seen.
	Certain bool `json:"-"`
}

// Verdict is where the install stands, in one word.
type Verdict string

// The verdicts of a plan. Those after VerdictBlocked are ends.
const (
	VerdictWorking   Verdict = "working" // there are actions to carry out
	VerdictWaiting   Verdict = "waiting" // nothing to do but wait
	VerdictBlocked   Verdict = "blocked" // a person is needed
	VerdictInstalled Verdict = "installed"
	VerdictDegraded  Verdict = "degraded" // installed, with failed operators or hosts
	VerdictFailed    Verdict = "failed"
	VerdictCancelled Verdict = "cancelled"
	VerdictUnknown   Verdict = "unknown" // the service is in a state that oaictl does not know
)

// Plan is what Decide makes of a desired and an observed cluster.
type Plan struct {
	Verdict  Verdict
	Message  string // one sentence for a person
	Next     Advice // the command to type next, "" if none
	Actions  []Action
	Waits    []Wait
	Blockers []Blocker
	// Warnings change nothing, but a person should know: drift that is not
	// written, unknown states, workers that did not come.
	Warnings []Warning
	// Checks are failing checks that hold nothing up.
	Checks []Warning
	// Wipes names, before the install call, each disk that will be written.
	Wipes []Wipe
	// Missing are hosts of the file that are not in the cluster.
	Missing []string
	// Added are the hosts that were added after the install, of an installed
	// cluster and with Options.AddNodes.
	Added []string
	// Ready are those of them whose nodes take work, as far as the installed
	// cluster itself is observed.
	Ready []string
	// Removals are the nodes that are to be taken out of the cluster, with Options.Remove.
	Removals []NodeRemoval
	// Requests are what was judged of the installed cluster's requests for certificates, one
	// verdict for each.
	Requests []RequestVerdict
	// Questions are those of them that only a person can answer (Memory.Answer).
	Questions []RequestVerdict
	// Fault is why a loop that has nothing left to do ends here, with its exit code:
	// the cluster has failed, is degraded or unknown, or something has been waited for
	// too long. Nil: it goes on, or is done.
	Fault *Fault
	// Deadline is when, on the loop's own clock, the next limit is reached that would end
	// it; zero: none.
	Deadline time.Time

	retry *Refusal // of an action that is to be tried again
}

// Ended says whether a loop that has carried out the plan's actions, and found none
// left, is over. err is nil where the cluster is installed.
func (p *Plan) Ended() (ended bool, err error) {
	if p.Fault != nil {
		return true, p.Fault
	}
	return p.Verdict == VerdictInstalled, nil
}

// TryAgain says that an action which was refused is left out of the plan until it is to be
// tried again. Of several the last counts that is to be tried soon.
func (p *Plan) TryAgain(refused Refusal) {
	if p.retry == nil || p.retry.Permanent || !refused.Permanent {
		p.retry = &refused
	}
}

// Warning is something that a person should know and that stops nothing.
type Warning struct {
	Key     string
	Scope   Scope
	Reason  string // CamelCase, stable: "Drift"
	Message string
	Next    Advice
}

// Wipe is a disk that the install will write over.
type Wipe struct {
	Host    string
	Disk    string // path and id for a person
	Size    int64  // bytes
	Install bool   // the installation disk; otherwise only formatted
}

// Host is the name of the host that a scope is about, or whose node it is about, "" for
// another scope.
func (s Scope) Host() string {
	of, name, _ := strings.Cut(string(s), "/")
	if of != "host" && of != "node" {
		return ""
	}
	return name
}

// traits is what there is to know of a kind of action.
type traits struct {
	phrase string // as a person says it
	named  bool   // it makes no sense without the object's name

	byBMC, boots, switches, inCluster, counts, paced bool
}

// kinds is what there is to know of each kind.
var kinds = map[Kind]traits{
	RegisterCluster:   {phrase: "register the cluster"},
	ImportCluster:     {phrase: "import the installed cluster"},
	WithdrawCluster:   {phrase: "withdraw this run's duplicate"},
	UpdateCluster:     {phrase: "update the cluster"},
	SetOverrides:      {phrase: "set the install-config overrides"},
	UploadManifest:    {phrase: "upload the manifest", named: true},
	RemoveManifest:    {phrase: "remove the manifest", named: true},
	IgnoreValidations: {phrase: "set the ignored validations"},
	RegisterInfraEnv:  {phrase: "register the InfraEnv", named: true},
	UpdateInfraEnv:    {phrase: "update the InfraEnv", named: true},
	WithdrawInfraEnv:  {phrase: "withdraw the InfraEnv", named: true},
	RenewImage:        {phrase: "renew the discovery image's URL", counts: true},
	RegisterHost:      {phrase: "have the service boot the host", named: true},
	UpdateHost:        {phrase: "configure the host", named: true},
	BindHost:          {phrase: "bind the host", named: true},
	StartInstall:      {phrase: "start the installation", counts: true},
	AllowAddHosts:     {phrase: "let hosts be added"},
	InstallHost:       {phrase: "install the host", named: true},
	NudgeCluster:      {phrase: "touch the cluster, so that the service looks at it again", counts: true},
	RecordInstalled:   {phrase: "record that the cluster is installed"},
	SaveNoIngress:     {phrase: "save the kubeconfig"},
	SaveKubeconfig:    {phrase: "save the kubeconfig"},
	SavePassword:      {phrase: "save the kubeadmin password"},
	InsertMedia:       {phrase: "insert the discovery image into the virtual drive of", byBMC: true, boots: true},
	SetBootOnce:       {phrase: "set one boot from the virtual drive of", byBMC: true, boots: true},
	PowerOn:           {phrase: "switch on", byBMC: true, boots: true, switches: true},
	PowerOff:          {phrase: "switch off", byBMC: true, boots: true, switches: true},
	EjectMedia:        {phrase: "eject the discovery image from the virtual drive of", byBMC: true},
	RestoreBoot:       {phrase: "restore the boot order of", byBMC: true},
	ApproveRequest:    {phrase: "approve the certificate request", named: true, inCluster: true},
	CordonNode:        {phrase: "cordon the node", named: true, inCluster: true},
	MarkNode:          {phrase: "mark the node", named: true, inCluster: true},
	EvictPods:         {phrase: "evict pods from the node", named: true, inCluster: true, paced: true},
	MarkMetalHost:     {phrase: "mark the BareMetalHost", named: true, inCluster: true},
	MarkMachine:       {phrase: "mark the Machine", named: true, inCluster: true},
	LowerMachineSet:   {phrase: "lower the MachineSet", named: true, inCluster: true},
	DeleteMachine:     {phrase: "delete the Machine", named: true, inCluster: true},
	DeleteMetalHost:   {phrase: "delete the BareMetalHost", named: true, inCluster: true},
	DeleteNode:        {phrase: "delete the node", named: true, inCluster: true},
	RemoveHost:        {phrase: "delete the service's record of the host", named: true},
	ReturnHost:        {phrase: "give back to its pool the host", named: true},
	DeleteSecret:      {phrase: "delete the Secret", named: true, inCluster: true},
	CreateMetalHost:   {phrase: "create the BareMetalHost", named: true, inCluster: true},
	CreateMachine:     {phrase: "create the Machine", named: true, inCluster: true},
	ReportHardware:    {phrase: "report the addresses of the BareMetalHost", named: true, inCluster: true},
	UpdateNode:        {phrase: "set labels, taints and provider id of the node", named: true, inCluster: true},
}

// Phrase is what an action of this kind does, as a person says it: "register the cluster".
func (k Kind) Phrase() string { return kinds[k].phrase }

// ByBMC reports whether the machines plane carries out actions of this kind.
func (k Kind) ByBMC() bool { return kinds[k].byBMC }

// Boots reports whether an action of this kind brings a machine closer to booting the image, which the install waits for.
func (k Kind) Boots() bool { return kinds[k].boots }

// Switches reports whether an action of this kind switches a machine on or off.
func (k Kind) Switches() bool { return kinds[k].switches }

// InCluster reports whether the nodes plane carries out actions of this kind.
func (k Kind) InCluster() bool { return kinds[k].inCluster }

// Counts reports whether repetitions of an action of this kind are counted where it is decided on.
func (k Kind) Counts() bool { return kinds[k].counts }

// Paced reports whether what is observed tells when an action of this kind is to be repeated.
func (k Kind) Paced() bool { return kinds[k].paced }

// Task is the action as a person says it: what is done to a machine makes no
// sense without the machine's name.
func (a Action) Task() string {
	if a.Kind.ByBMC() {
		return a.Kind.Phrase() + " " + a.Name
	}
	return a.Kind.Phrase()
}

// Describe is the action as it is reported once it is done.
func (a Action) Describe() string {
	switch {
	case kinds[a.Kind].named:
		return a.Kind.Phrase() + " " + a.Name
	case a.Kind == StartInstall, a.Kind == NudgeCluster:
		return a.Task() + ": " + a.Reason
	}
	return a.Task()
}

// Who is waited for after an action.
func (a Action) Who() Who {
	if a.Kind.ByBMC() {
		return WhoMachine
	}
	return WhoService
}

// ShownBy is what shows that an action was carried out.
func (a Action) ShownBy() string {
	if a.Kind.InCluster() {
		return "the cluster"
	}
	if a.Kind.ByBMC() {
		return "the BMC of " + a.Name
	}
	return "the service"
}

// Kind is what an action does.
type Kind string

// The kinds of action. Each starts something and never waits for it.
const (
	RegisterCluster   Kind = "RegisterCluster"
	ImportCluster     Kind = "ImportCluster"   // one that something else installed, to add hosts to
	WithdrawCluster   Kind = "WithdrawCluster" // delete this run's own empty duplicate
	UpdateCluster     Kind = "UpdateCluster"
	SetOverrides      Kind = "SetInstallConfigOverrides"
	UploadManifest    Kind = "UploadManifest"
	RemoveManifest    Kind = "RemoveManifest"
	IgnoreValidations Kind = "IgnoreValidations"
	RegisterInfraEnv  Kind = "RegisterInfraEnv"
	UpdateInfraEnv    Kind = "UpdateInfraEnv"
	WithdrawInfraEnv  Kind = "WithdrawInfraEnv" // delete one of ours that no host can come from
	RenewImage        Kind = "RenewImage"       // ask for a fresh image URL
	RegisterHost      Kind = "RegisterHost"     // give a machine to a service that boots machines itself
	UpdateHost        Kind = "UpdateHost"
	BindHost          Kind = "BindHost"
	StartInstall      Kind = "StartInstall"
	AllowAddHosts     Kind = "AllowAddHosts"
	InstallHost       Kind = "InstallHost"     // day 2; carries the approval where the service asks for one
	NudgeCluster      Kind = "NudgeCluster"    // touch a cluster that the service has lost sight of
	RecordInstalled   Kind = "RecordInstalled" // write down that the install is complete, in the absence of who usually does
	SaveNoIngress     Kind = "SaveKubeconfigNoIngress"
	SaveKubeconfig    Kind = "SaveKubeconfig"
	SavePassword      Kind = "SaveKubeadminPassword"
	InsertMedia       Kind = "InsertMedia" // the discovery image, into the virtual drive of a BMC
	SetBootOnce       Kind = "SetBootOnce" // from the virtual drive, at the next boot only
	PowerOn           Kind = "PowerOn"
	PowerOff          Kind = "PowerOff"
	EjectMedia        Kind = "EjectMedia"
	RestoreBoot       Kind = "RestoreBoot"    // the next boot is in the usual order again
	ApproveRequest    Kind = "ApproveRequest" // of a kubelet, for a certificate
	UpdateNode        Kind = "UpdateNode"     // labels, taints and provider id of a node
	CordonNode        Kind = "CordonNode"
	MarkNode          Kind = "MarkNode"        // with the host that goes back to its pool before it
	EvictPods         Kind = "EvictPods"       // from a node, each once
	MarkMetalHost     Kind = "MarkMetalHost"   // a BareMetalHost of the installed cluster, as one that goes with a node
	MarkMachine       Kind = "MarkMachine"     // as the one that its MachineSet gives up first
	LowerMachineSet   Kind = "LowerMachineSet" // by one Machine, once
	DeleteMachine     Kind = "DeleteMachine"
	DeleteMetalHost   Kind = "DeleteMetalHost" // of the installed cluster
	DeleteNode        Kind = "DeleteNode"
	DeleteSecret      Kind = "DeleteSecret"    // a certificate of a member of etcd that is no more
	CreateMetalHost   Kind = "CreateMetalHost" // in the installed cluster, of a machine that it has already
	CreateMachine     Kind = "CreateMachine"   // of a node of the control plane that has none
	ReportHardware    Kind = "ReportHardware"  // of a node to its BareMetalHost, from which its Machine has its addresses
	RemoveHost        Kind = "RemoveHost"      // have the service forget a host that is part of the cluster no more
	ReturnHost        Kind = "ReturnHost"      // to the InfraEnv that it came from, for other clusters
)

// Reasons of warnings and blockers that callers act on.
const (
	// ReasonLeftOut is the reason of a warning that a host which has registered takes no part in the installation
	// (Options.LeftOut): its message says what is wrong with the host.
	ReasonLeftOut = "LeftOut"
	// ReasonUnproven is the reason of a blocker: the record of the id that is to be adopted does not carry the owner's mark.
	ReasonUnproven = "ClusterNotProven"
	// ReasonClusterDeleted is the reason of a blocker: the cluster's record in the service was deleted during the run.
	ReasonClusterDeleted = "ClusterDeleted"
)
