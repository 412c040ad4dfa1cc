// Package upgrade brings installed clusters to another version of OpenShift, in place: the cluster
// version operator of the cluster does the work, and is asked for it by its ClusterVersion.
//
// [Read] says how a cluster stands, [State.Decide] what follows from that, and [Decision.Write] asks for
// one thing. Decide is pure. Nothing is asked for twice, nothing that the update graph or the cluster itself
// advises against unless [Want] says so, and no older version ever.
package upgrade

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// Want is what a cluster is to run.
type Want struct {
	// Version of OpenShift or OKD, as 4.20.5; "" wants no change.
	Version string
	// ClusterID is the id that the cluster has to have in its ClusterVersion; "" takes every cluster. Of another one nothing
	// is read.
	ClusterID string
	// Image is the release image to take, by digest; "" takes that of the update graph.
	Image string
	// Channel of the update graph, as stable-4.20; "" leaves the cluster's.
	Channel string
	// Force has the update asked for with force: the cluster then checks neither the signature of the release nor whether it
	// is upgradable.
	Force bool
	// AcceptConditional takes an update that the graph does not recommend for this cluster.
	AcceptConditional bool
	// Acknowledge are gates of the ConfigMap admin-gates that a person has agreed to.
	Acknowledge []string
	// Fields are the names of the fields in which a person writes this. Messages name them, and commands alone where they
	// are "".
	Fields struct{ Version, Image, Channel, AcceptConditional string }
}

// State is what of a cluster matters to its upgrade, at one moment.
type State struct {
	// At is that moment.
	At time.Time
	// Pools and Nodes are by name.
	Pools []model.Pool
	Nodes []model.Node

	// version is the cluster's ClusterVersion, nil where it has none.
	version *clusterVersion
	// gates are the entries of the ConfigMap admin-gates. They are read only where they matter.
	gates []adminGate
}

// Update is a release that the update graph has for a cluster.
type Update struct {
	Version, Image string
	// Recommended says whether it is recommended to this cluster. Risks are why not: NAME: MESSAGE (URL).
	Recommended bool
	Risks       []string
}

// clusterVersion is what of the object of that kind matters.
type clusterVersion struct {
	ResourceVersion string
	// Generation is that of the spec, Observed the newest that the operator has read.
	Generation, Observed int64
	Channel              string
	// Asked is spec.desiredUpdate, nil without one.
	Asked *desiredUpdate
	// Target is the release that the operator brings the cluster to (status.desired).
	Target payload
	// History is newest first.
	History []historyEntry
	// Conditions by type.
	Conditions map[string]condition
	// Available are the updates that the graph recommends, Conditional those that it recommends to
	// some clusters.
	Available   []payload
	Conditional []conditional
}

// desiredUpdate is the update that was asked for.
type desiredUpdate struct {
	Version, Image, Architecture, Mode string
	Force                              bool
}

// payload is a release: a version with its image.
type payload struct{ Version, Image string }

// name is what a release is called in a sentence.
func (p payload) name() string { return cmp.Or(p.Version, p.Image, "a release without a name") }

// historyEntry is an update that the cluster has made, or makes.
type historyEntry struct {
	payload

	Completed bool
	Started   time.Time
}

// condition is one of a ClusterVersion.
type condition struct {
	Status, Reason, Message string
	// Since is when Status became what it is.
	Since time.Time
}

// conditional is an update that the graph recommends to some clusters only.
type conditional struct {
	payload

	// Recommended says whether it is recommended to this one.
	Recommended     bool
	Reason, Message string
	Risks           []conditionalRisk
}

// conditionalRisk is why an update may not be recommended.
type conditionalRisk struct{ Name, Message, URL string }

// adminGate is something to agree to before the next minor version.
type adminGate struct {
	Name, Message string
	Acknowledged  bool
}

// What the machine config operator says of a node (model.NodeConfig).
const (
	configDone    = "Done"
	configWorking = "Working"
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
	if s.version == nil {
		return ""
	}
	for _, u := range s.version.History {
		if u.Completed {
			return u.Version
		}
	}
	return ""
}

// installed reports whether the cluster has ever been brought to a version.
func (s *State) installed() bool {
	return s.version != nil && slices.ContainsFunc(s.version.History, func(u historyEntry) bool { return u.Completed })
}

// Channel is that of the update graph, "" where the cluster has none.
func (s *State) Channel() string {
	if s.version == nil {
		return ""
	}
	return s.version.Channel
}

// Next is the version that the cluster is on its way to, or was asked for; "" where that is the one that it runs.
func (s *State) Next() string {
	if !s.installed() {
		return ""
	}
	next := ""
	if last := &s.version.History[0]; !last.Completed {
		next = last.Version
	} else if a := s.version.Asked; a != nil && a.Mode == "" { // otherwise it was asked only whether it could
		next = a.Version
	}
	if next == s.Current() {
		return ""
	}
	return next
}

// Updates are those that the graph has for this cluster, newest first. One without a version cannot be asked for, and is left out.
func (s *State) Updates() []Update {
	if s.version == nil {
		return nil
	}
	var list []Update
	for _, r := range s.version.Available {
		list = append(list, Update{Version: r.Version, Image: r.Image, Recommended: true})
	}
	for i := range s.version.Conditional {
		c := &s.version.Conditional[i]
		if !slices.ContainsFunc(s.version.Available, func(r payload) bool { return r.Version == c.Version }) {
			list = append(list, Update{Version: c.Version, Image: c.Image, Recommended: c.Recommended, Risks: c.risks()})
		}
	}
	list = slices.DeleteFunc(list, func(u Update) bool { return u.Version == "" })
	slices.SortStableFunc(list, func(a, b Update) int { return -compareTexts(a.Version, b.Version) })
	return list
}

// Obstacles are what stands in the way of updates, whichever is wanted.
func (s *State) Obstacles() []string {
	if s.version == nil {
		return nil
	}
	var list []string
	if !s.installed() {
		list = append(list, "The cluster is not installed. Only installed clusters can be upgraded")
	}
	if c := s.version.Conditions[conditionProgressing]; c.Status == isTrue && s.Next() == "" {
		list = append(list, "The cluster is still at work: "+c.says())
	}
	for _, o := range []struct {
		kind, wrong, text string
	}{
		{conditionAvailable, isFalse, "The cluster is not available"},
		{conditionFailing, isTrue, "The cluster fails"},
		{conditionUpgradeable, isFalse, "The cluster does not accept another minor version"},
		{conditionRetrievedUpdates, isFalse, "The cluster cannot retrieve its updates"},
		{conditionInvalid, isTrue, "The cluster cannot apply the requested update"},
		{conditionReleaseAccepted, isFalse, "The cluster refuses the requested update"},
	} {
		if c := s.version.Conditions[o.kind]; c.Status == o.wrong {
			list = append(list, o.text+": "+c.says())
		}
	}
	for i := range s.Pools {
		if p := &s.Pools[i]; p.Paused || p.Degraded {
			list = append(list, poolNote(p, p.Paused))
		}
	}
	return list
}

// Node is the node of a name, nil where there is none.
func (s *State) Node(name string) *model.Node {
	for i := range s.Nodes {
		if s.Nodes[i].Name == name {
			return &s.Nodes[i]
		}
	}
	return nil
}

// PoolOf is the MachineConfigPool that a node belongs to, nil for none: that of the control plane before one of its own before
// that of the workers, whose label its nodes have too.
func (s *State) PoolOf(n *model.Node) *model.Pool {
	const workers = "worker"
	var found *model.Pool
	for i := range s.Pools {
		switch p := &s.Pools[i]; {
		case n.ControlPlane():
			if p.Name == controlPlanePool {
				return p
			}
		case p.Name == controlPlanePool || len(p.Labels) == 0 || !contains(n.Labels, p.Labels):
		case found == nil || found.Name == workers:
			found = p
		}
	}
	return found
}

func (v *clusterVersion) is(kind, status string) bool { return v.Conditions[kind].Status == status }

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
