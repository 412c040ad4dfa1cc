package model

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Observed is all that is known about one cluster at one moment. It is what a
// service plane reads; Decide compares it with the desired cluster.
type Observed struct {
	// At is the moment of the observation on the clock by which the service dates its
	// records, as far as these tell, so that ages are right even where clocks differ.
	At time.Time
	// Skew is how far a plane has put At, by what records tell, from the clock by which it measures
	// how much time passes. It stays as it is while nothing contradicts it.
	Skew time.Duration
	// Cluster is nil while the service has none.
	Cluster *Cluster
	// Unproven says that the service has a record of the id that is to be adopted, and that this record does not
	// carry the mark that an exact query asks for. Cluster is nil then.
	Unproven bool
	// Others are further clusters of the same name and base domain: untagged ones, which
	// may have another owner, and duplicates.
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
	// Spoke is the installed cluster itself, as its API server shows it. Nil: nothing looks at it.
	Spoke *Spoke
	// Stale says that the service did not answer this time, and why: what
	// stands here is the last answer.
	Stale string
	// StaleFault is the error behind Stale, nil where the plane has no Fault for it.
	StaleFault *Fault `json:"-"`

	// Detailed is when everything was read anew, on the loop's own clock, and Known what
	// the loop has read and saved of the service's results.
	Detailed time.Time     `json:"-"`
	Known    *knownResults `json:"-"`
}

// Enrolled is a machine that the service itself was given to boot.
type Enrolled struct {
	Name  string
	MAC   string // that it boots from
	Owned bool   // given by oaictl, for this cluster
	State string // the service's own word for how far it got, "" if unknown
	// InfraEnv is the name of the one whose image it boots, "" if unknown.
	InfraEnv string
	// Trouble is why the service does not get on with the machine, "" where it does.
	Trouble string
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

// HostByID returns the observed host with the given ID, or nil.
func (o *Observed) HostByID(id string) *Host {
	for i := range o.Hosts {
		if o.Hosts[i].ID == id {
			return &o.Hosts[i]
		}
	}
	return nil
}

// Query is how a service is asked for the cluster that is desired.
func (d *Desired) Query() Query {
	query := Query{
		Name: d.Spec.Metadata.Name, BaseDomain: d.Spec.Spec.BaseDomain, Adopt: d.Options.Adopt, Run: d.Options.Run,
		FormerRun: d.Options.FormerRun, Exact: d.Options.Exact,
		InfraEnv: d.Spec.Spec.InfraEnv.Ref, Ignored: d.Spec.Spec.IgnoreValidations.Cluster != nil || d.Spec.Spec.IgnoreValidations.Hosts != nil,
		Overridden: slices.Sorted(maps.Keys(d.Spec.Spec.Overrides.InfraEnv)),
	}
	for _, host := range slices.Concat(d.Spec.Spec.Hosts, d.Options.LeftOut) {
		match := &host.Match
		if match.InfraEnv != "" {
			query.Alone = append(query.Alone, match.InfraEnv)
		}
		if match.Agent != "" {
			query.Agents = append(query.Agents, match.Agent)
		}
	}
	if from := d.Spec.Spec.Import; from != nil {
		query.Imported = from.ClusterID
	}
	return query
}

// Query says which cluster to observe: by ID if that is known, else by name
// and base domain.
type Query struct {
	ID         string
	Name       string
	BaseDomain string
	Adopt      string // an id that may be taken over although it is not tagged
	Imported   string // what an installed cluster calls itself that is to be imported (spec.import.clusterID)
	Run        string // this run's mark
	FormerRun  string // an earlier mark of the same owner
	Exact      bool   // the cluster is known by Run or FormerRun alone
	InfraEnv   string // name or id of an InfraEnv that is not the cluster's own (spec.infraEnv.ref)
	// Alone are the names of the cluster's InfraEnvs that serve one host each
	// (spec.hosts[].match.infraEnv).
	Alone []string
	// Agents are hosts of pools that are reserved, as spec.hosts[].match.agent names them: they
	// are observed, too, and no other host of their InfraEnv.
	Agents []string
	// Ignored asks which validations may fail, of a service that shows that apart:
	// the file says it.
	Ignored bool
	// Overridden are the service's own names of fields of InfraEnvs that the file
	// gives in its words (spec.overrides.infraEnv).
	Overridden []string
	// Detail asks for everything to be read anew: inventories, manifests,
	// images. Otherwise the plane reads what may have changed.
	Detail bool
	// Poll is the interval that the user asked for: each observation asks the service
	// then. Zero: the plane chooses.
	Poll time.Duration
	// Soon says that something is about to change, and that it is to be noticed at once.
	Soon bool
}

// SavedResult is a result as it lies on disk.
type SavedResult struct {
	Digest  string // of the content, as Digest has it
	Private bool   // has the mode that Save gives it
	Path    string // where a person finds it
}

// KeepKnown takes over what an earlier observation of the same run knows of the service's results; nil where there is none.
func (o *Observed) KeepKnown(prior *Observed) {
	o.Known = &knownResults{}
	if prior != nil && prior.Known != nil {
		o.Known = prior.Known
	}
}

// knownResults remembers of a run what the service's results are, so that each is
// read once to be compared, and which of them the run has saved. The zero value knows nothing.
type knownResults struct {
	mu      sync.Mutex
	digests map[string]string // "" where the service did not give it
	saved   map[string]bool
}

// Save remembers what was written. Its mode is as good as that file system has it.
func (c *knownResults) Save(name string, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.digests, c.saved = with(c.digests, name, Digest(data)), with(c.saved, name, true)
}

// Agrees says whether a file is what the service has. Where the service gives
// nothing to compare it with, the cluster's id beside the file is proof enough.
func (c *knownResults) Agrees(name string, file SavedResult, offered bool, read func(string) ([]byte, error)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !file.Private && !c.saved[name]:
		return false
	case !offered:
		return true
	}
	if _, asked := c.digests[name]; !asked {
		c.digests = with(c.digests, name, "")
		if data, err := read(name); err == nil {
			c.digests[name] = Digest(data)
		}
	}
	return c.digests[name] == "" || c.digests[name] == file.Digest
}

// The results of a cluster, by the names of their files.
const (
	NoIngressFile  = "kubeconfig-noingress"
	KubeconfigFile = "kubeconfig"
	PasswordFile   = "kubeadmin-password"
)

// Results are the files that an install leaves: which are on disk now, with the
// content that the service has and the mode that they need.
type Results struct {
	NoIngress  bool // auth/kubeconfig-noingress
	Kubeconfig bool // auth/kubeconfig
	Password   bool // auth/kubeadmin-password
	// KubeconfigPath is where a kubeconfig of the cluster lies; "" where none is known.
	KubeconfigPath string
}

// TroubleKind is what is wrong with reaching a BMC, or the API server of an installed cluster.
type TroubleKind string

// The kinds of trouble.
const (
	TroubleUnreachable    TroubleKind = "unreachable" // passes by itself
	TroubleCredentials    TroubleKind = "credentials" // those that oaictl has are refused
	TroubleNoKubeconfig   TroubleKind = "no-kubeconfig"
	TroubleNoVirtualMedia TroubleKind = "no-virtual-media"
	TroubleMediaRefused   TroubleKind = "media-refused"
	TroubleBusy           TroubleKind = "busy"     // passes by itself: too many sessions, a BMC that restarts
	TroubleNoImage        TroubleKind = "no-image" // passes by itself: what the image is made of is still on its way
	TroubleOther          TroubleKind = "other"
)

// Power is whether a machine is switched on.
type Power string

// The power states of Redfish.
const (
	PowerUnknown  Power = "Unknown"
	PowerIsOn     Power = "On"
	PowerIsOff    Power = "Off"
	PowerGoingOn  Power = "PoweringOn"
	PowerGoingOff Power = "PoweringOff"
)

// MachineState is what is known of one machine through its BMC.
type MachineState struct {
	// Trouble says why the rest is not known, or not to be relied on; "" for
	// nothing. TroubleKind classes it.
	Trouble     string
	TroubleKind TroubleKind
	Power       Power
	// Media is the URL of what is in the virtual drive, "" for nothing. It may
	// hold a secret: it is never shown whole.
	Media string
	// OurMedia says that it is the image that this cluster serves for the host.
	OurMedia bool
	// BootOnce says that the next boot is from the virtual drive, as far as the BMC
	// can say: what proves it is that the host registers.
	BootOnce bool
	// BootStays says that no boot uses the override up: it stands until it is taken
	// back, as on a BMC that only knows Continuous.
	BootStays bool
	// Inserting says that our image is on its way into the virtual drive. Of the rest
	// nothing is to be relied on then.
	Inserting bool
	// Failed says why the BMC could not finish the last request that it had accepted: Failed is
	// the action, Cause the reason, and Next what to do about it. It stays until the request is
	// done, also while the request is tried again. "" means that none failed.
	Failed Kind
	Cause  string
	Next   Advice
	// Fetch is how much of the image has been read by the BMC.
	Fetch Fetched

	// Phase is where the host was in its install when this was seen.
	Phase Phase `json:"-"`
}

// Phase is how far a host is on its way from the discovery image to its disk.
type Phase int

// The phases of a host that boots through its BMC.
const (
	PhaseUnknown    Phase = iota // nothing is known of it yet, and nothing to boot
	PhaseToBoot                  // it has still to boot the image
	PhaseRunsImage               // it has, and runs it
	PhaseLeavesDisc              // it must not boot it again
)

// Fetched is how far an image has been read over HTTP.
type Fetched struct {
	Requests int
	Active   int   // of them, those that are under way now
	Bytes    int64 // distinct ones: a part that is read twice counts once
	Size     int64 // of the whole image, 0 while unknown
	Last     time.Time
	// Idle is how long ago that was, on the clock of the server.
	Idle time.Duration
	// Unknown says that another process serves the image, which knows.
	Unknown bool
}

// fetchStalls is how long a BMC may read nothing of an image until its download counts as stalled.
const fetchStalls = time.Minute

// Quiet is how long a download that is under way has brought nothing.
func (f Fetched) Quiet() time.Duration {
	if f.Active == 0 {
		return 0
	}
	return f.Idle
}

// Stalled says whether a download that is under way has brought nothing for long.
func (f Fetched) Stalled() bool { return f.Quiet() >= fetchStalls }

// switched says whether a machine is seen to be as an action of power wants it.
func (s MachineState) switched(kind Kind) bool {
	return s.Trouble == "" && (kind == PowerOn && s.Power == PowerIsOn || kind == PowerOff && s.Power == PowerIsOff)
}
