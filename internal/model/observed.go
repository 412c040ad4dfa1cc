package model

import "time"

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

	// Detailed is when everything was read anew, on the loop's own clock, and Known what
	// the loop has read and saved of the service's results.
	Detailed time.Time     `json:"-"`
	Known    *KnownResults `json:"-"`
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
