// Package upgrade brings installed clusters to another version of OpenShift, in place: the cluster
// version operator of the cluster does the work, and is asked for it by its ClusterVersion.
//
// [Read] says how a cluster stands, [Decide] what follows from that, and [Write] asks for one thing.
// [Step] does all three. Decide is pure. Nothing is asked for twice, nothing that the update graph or
// the cluster itself advises against unless somebody has said so, and no older version ever.
package upgrade

import (
	"slices"
	"strings"
	"time"
)

// ForceAnnotation on a control plane has an update to one exact version, which is its value, asked
// for with force: the cluster then checks neither the signature of the release nor whether it is
// upgradable. For every other version it has no effect.
const ForceAnnotation = "oaictl.io/force-upgrade"

// Want is what a cluster is to run.
type Want struct {
	// Version of OpenShift or OKD, as 4.20.5; "" wants no change.
	Version string
	// Image is the release image to take, by digest; "" takes that of the update graph.
	Image string
	// Kubernetes is the version in that release, as v1.33.5; "" where it is not known.
	Kubernetes string
	// Channel of the update graph, as stable-4.20; "" leaves the cluster's.
	Channel string
	// Force is the value of ForceAnnotation.
	Force string
	// AcceptConditional takes an update that the graph does not recommend for this cluster.
	AcceptConditional bool
	// Acknowledge are gates of the ConfigMap admin-gates that somebody has agreed to.
	Acknowledge []string
}

func (w *Want) forced() bool { return w.Force != "" && w.Force == w.Version }

// State is what of a cluster matters to its upgrade, at one moment.
type State struct {
	// At is that moment.
	At time.Time
	// Version is the cluster's ClusterVersion, nil where it has none.
	Version *ClusterVersion
	// Gates are the entries of the ConfigMap admin-gates. They are read only where they matter.
	Gates []Gate
	// Pools and Nodes are by name.
	Pools []Pool
	Nodes []Node
}

// ClusterVersion is what of the object of that kind matters.
type ClusterVersion struct {
	ResourceVersion string
	// Generation is that of the spec, Observed the newest that the operator has read.
	Generation, Observed int64
	Channel              string
	// Asked is spec.desiredUpdate, nil without one.
	Asked *Asked
	// Target is the release that the operator brings the cluster to (status.desired).
	Target Release
	// History is newest first.
	History []Update
	// Conditions by type.
	Conditions map[string]Condition
	// Available are the updates that the graph recommends, Conditional those that it recommends to
	// some clusters.
	Available   []Release
	Conditional []Conditional
}

// Asked is the update that somebody has asked for.
type Asked struct {
	Version, Image, Architecture, Mode string
	Force                              bool
}

// Release is a version with its image.
type Release struct{ Version, Image string }

// Update is one that the cluster has made, or makes.
type Update struct {
	Release

	Completed bool
	Started   time.Time
}

// Condition is one of a ClusterVersion.
type Condition struct {
	Status, Reason, Message string
	// Since is when Status became what it is.
	Since time.Time
}

// Conditional is an update that the graph recommends to some clusters only.
type Conditional struct {
	Release

	// Recommended says whether it is recommended to this one.
	Recommended     bool
	Reason, Message string
	Risks           []Risk
}

// Risk is why an update may not be recommended.
type Risk struct{ Name, Message, URL string }

// Gate is something to agree to before the next minor version.
type Gate struct {
	Name, Message string
	Acknowledged  bool
}

// Pool is a MachineConfigPool.
type Pool struct {
	Name             string
	Paused, Degraded bool
	// Message says why it is degraded.
	Message string
	// Config is the rendered config that its nodes are to have.
	Config            string
	Machines, Updated int64
}

// Node is a Node.
type Node struct {
	Name string
	// Kubelet is its version, as v1.33.5.
	Kubelet      string
	ControlPlane bool
	// Pool is the name of the MachineConfigPool that it belongs to.
	Pool string
	// Config is what the machine config operator makes of it.
	Config NodeConfig
}

// NodeConfig is how far the machine config operator has brought a node.
type NodeConfig struct{ Current, Desired, State, Reason string }

// States of a NodeConfig.
const (
	ConfigDone     = "Done"
	ConfigWorking  = "Working"
	ConfigDegraded = "Degraded"
)

// The types of conditions of a ClusterVersion.
const (
	conditionAvailable        = "Available"
	conditionFailing          = "Failing"
	conditionInvalid          = "Invalid"
	conditionProgressing      = "Progressing"
	conditionReleaseAccepted  = "ReleaseAccepted"
	conditionRetrievedUpdates = "RetrievedUpdates"
	conditionUpgradeable      = "Upgradeable"
)

const (
	isTrue    = "True"
	isFalse   = "False"
	isUnknown = "Unknown"
)

// Current is the version that the cluster was brought to last, "" before it is installed.
func (s *State) Current() string {
	if s.Version == nil {
		return ""
	}
	for _, u := range s.Version.History {
		if u.Completed {
			return u.Version
		}
	}
	return ""
}

// installed reports whether the cluster has ever been brought to a version.
func (s *State) installed() bool {
	return s.Version != nil && slices.ContainsFunc(s.Version.History, func(u Update) bool { return u.Completed })
}

// Updates are the versions that the graph recommends, newest first.
func (s *State) Updates() []string {
	if s.Version == nil {
		return nil
	}
	return versionsOf(s.Version.Available)
}

// Node is the node of a name, nil where there is none.
func (s *State) Node(name string) *Node {
	for i := range s.Nodes {
		if s.Nodes[i].Name == name {
			return &s.Nodes[i]
		}
	}
	return nil
}

// Pool is the pool of a name, nil where there is none.
func (s *State) Pool(name string) *Pool {
	for i := range s.Pools {
		if s.Pools[i].Name == name {
			return &s.Pools[i]
		}
	}
	return nil
}

func (v *ClusterVersion) is(kind, status string) bool { return v.Conditions[kind].Status == status }

// names reports whether a release is the wanted one.
func (w *Want) names(version, image string) bool {
	if version != "" {
		return version == w.Version
	}
	return w.Image != "" && sameImage(image, w.Image)
}

// digestMark separates the digest of an image from its repository.
const digestMark = "@sha256:"

func hasDigest(image string) bool { return strings.Contains(image, digestMark) }

// sameImage reports whether two references are of one image, wherever that is pulled from.
func sameImage(a, b string) bool {
	_, digestA, hasA := strings.Cut(a, digestMark)
	_, digestB, hasB := strings.Cut(b, digestMark)
	if hasA && hasB {
		return digestA == digestB
	}
	return a == b
}
