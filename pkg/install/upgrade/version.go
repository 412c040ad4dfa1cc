package upgrade

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// parse reads a semantic version, with or without a leading v.
func parse(text string) (*version.Version, error) {
	v, err := version.ParseSemantic(text)
	if err != nil {
		return nil, fmt.Errorf("%q is no version such as 4.20.5", text)
	}
	return v, nil
}

func compare(a, b *version.Version) int {
	switch {
	case a.LessThan(b):
		return -1
	case b.LessThan(a):
		return 1
	}
	return 0
}

// step is what kind of update leads from one version to another.
type step int

const (
	same step = iota
	older
	patch
	minor // the next minor version, or the next major one
	skip  // more than one minor version
)

func stepOf(from, to *version.Version) step {
	switch compare(from, to) {
	case 0:
		return same
	case 1:
		return older
	}
	switch {
	case from.Major() != to.Major():
		return minor // which of these are possible, the graph knows
	case from.Minor() == to.Minor():
		return patch
	case to.Minor() > from.Minor()+1:
		return skip
	}
	return minor
}

// leavesMinor is the minor version that a way between two versions leads out of, if it does.
func leavesMinor(from, to string) (out string, leads bool) {
	at, wrong := parse(from)
	wanted, err := parse(to)
	if wrong != nil || err != nil || stepOf(at, wanted) != minor {
		return "", false
	}
	return minorText(at), true
}

// minorText is a version without its patch: 4.20.
func minorText(v *version.Version) string { return fmt.Sprintf("%d.%d", v.Major(), v.Minor()) }

// versionsOf are the versions of releases, each once, newest first; what is no version comes last.
func versionsOf(releases []payload) []string {
	texts := make([]string, 0, len(releases))
	for _, r := range releases {
		if r.Version != "" {
			texts = append(texts, r.Version)
		}
	}
	slices.SortFunc(texts, func(a, b string) int { return -compareTexts(a, b) })
	return slices.Compact(texts)
}

// compareTexts orders versions; what is none is older than all that are.
func compareTexts(a, b string) int {
	va, errA := version.ParseSemantic(a)
	vb, errB := version.ParseSemantic(b)
	switch {
	case errA != nil && errB != nil:
		return strings.Compare(a, b)
	case errA != nil:
		return -1
	case errB != nil:
		return 1
	}
	return cmp.Or(compare(va, vb), strings.Compare(a, b))
}

// plainKubernetes is a version with a leading v, and without what kubelets of OpenShift say of their build.
func plainKubernetes(text string) (string, error) {
	v, err := version.ParseSemantic(text)
	if err != nil {
		return "", fmt.Errorf("%q is no version of Kubernetes such as v1.33.5", text)
	}
	return "v" + v.WithBuildMetadata("").String(), nil
}

// runsAtLeast reports whether a node's kubelet is of a version of Kubernetes, or newer.
func runsAtLeast(n *model.Node, kubernetes string) bool {
	kubelet, err := plainKubernetes(n.Version)
	return err == nil && compareTexts(kubelet, kubernetes) >= 0
}

// Updated reports whether a node has the config that its pool is to have.
func (s *State) Updated(n *model.Node) bool {
	if !n.Config.Done() {
		return false
	}
	p := s.PoolOf(n)
	return p == nil || p.Config == "" || p.Config == n.Config.Current
}
