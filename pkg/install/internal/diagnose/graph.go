package diagnose

import (
	"cmp"
	"slices"

	"github.com/oaictl/oaictl/internal/shared/explain"
)

const (
	mastersCount = "sufficient-masters-count"
	// AllHosts is the check of a cluster that each of its hosts is ready.
	AllHosts = "all-hosts-are-ready-to-install"
)

// node is a check that does not pass, with what is known of it.
type node struct {
	Check
	entry    *explain.ValidationEntry // empty for a check that is not known
	known    bool
	blocking bool
}

func (n *node) ref() explain.Ref { return explain.Ref{Subject: n.Subject, ID: n.ID} }
func (n *node) failing() bool    { return n.Status == StatusFailure || n.Status == StatusError }

// settled reports whether it has failed for long enough to count.
func (n *node) settled() bool { return n.failing() && max(1, n.Seen) >= n.entry.Debounce }

// where is a check at one place.
type where struct {
	ref  explain.Ref
	host string
}

// graph is the checks that do not pass, and which of them follow from which.
type graph struct {
	in    Input
	nodes []*node
	at    map[where]*node
	byRef map[explain.Ref][]*node
	// blocking are the checks of hosts that keep their host from being ready, absent those
	// that say that a host cannot be reached.
	blocking, absent []*node
	// above and origin remember what parents and roots found.
	above  map[*node][]*node
	origin map[*node][]*node
}

func newGraph(in Input) *graph {
	g := &graph{
		in: in, at: map[where]*node{}, byRef: map[explain.Ref][]*node{},
		above: map[*node][]*node{}, origin: map[*node][]*node{},
	}
	entries := map[explain.Ref]*explain.ValidationEntry{}
	for _, c := range in.Checks {
		if passes(c.Status) {
			continue
		}
		n := &node{Check: c}
		place := where{n.ref(), n.Host}
		if g.at[place] != nil {
			continue
		}
		if n.entry = entries[place.ref]; n.entry == nil {
			entry, _ := explain.Validation(c.Subject, c.ID)
			n.entry, entries[place.ref] = &entry, &entry
		}
		n.known = n.entry.Name != ""
		n.blocking = n.known && n.entry.Blocking && !in.ignores(*n.entry)
		g.nodes = append(g.nodes, n)
		g.at[place] = n
		g.byRef[n.ref()] = append(g.byRef[n.ref()], n)
		if n.blocking && n.Subject == explain.SubjectHost {
			g.blocking = append(g.blocking, n)
			if n.failing() && (n.ID == "connected" || n.ID == "belongs-to-machine-cidr") { // the others cannot reach it
				g.absent = append(g.absent, n)
			}
		}
	}
	return g
}

// passes reports whether a check of this status is out of the way.
func passes(status string) bool {
	return status == "success" || status == "success-suppress-output" || status == "disabled"
}

// ignores reports whether the service is set to install in spite of a check.
func (in Input) ignores(v explain.ValidationEntry) bool {
	ids := in.IgnoredHosts
	if v.Subject == explain.SubjectCluster {
		ids = in.IgnoredCluster
	}
	return v.Ignorable && (slices.Contains(ids, v.Name) || slices.Contains(ids, "all"))
}

// parents are the checks that n directly follows from.
func (g *graph) parents(n *node) []*node {
	if found, ok := g.above[n]; ok {
		return found
	}
	var found []*node
	for _, ref := range n.entry.ConsequenceOf {
		switch {
		case ref.ID == explain.AnyBlocking:
			found = append(found, g.blocking...)
		case ref.Subject == explain.SubjectHost && n.Subject == explain.SubjectHost:
			if parent := g.at[where{ref, n.Host}]; parent != nil {
				found = append(found, parent)
			}
		default:
			found = append(found, g.byRef[ref]...)
		}
	}
	if n.Subject == explain.SubjectHost && mutual(n.ID) {
		for _, other := range g.absent {
			if other.Host != n.Host {
				found = append(found, other)
			}
		}
	}
	g.above[n] = found
	return found
}

// mutual reports whether a check is about the ways between hosts: it fails for all of them where one cannot be reached.
func mutual(id string) bool {
	switch id {
	case "belongs-to-majority-group", "sufficient-network-latency-requirement-for-role", "sufficient-packet-loss-requirement-for-role",
		"mtu-valid":
		return true
	}
	return false
}

// roots are the checks that n follows from in the end; n itself if from none.
// The catalogue has no circles, so this ends.
func (g *graph) roots(n *node) []*node {
	if found, ok := g.origin[n]; ok {
		return found
	}
	parents := g.parents(n)
	if len(parents) == 0 {
		return []*node{n}
	}
	seen := map[*node]bool{}
	var found []*node
	for _, parent := range parents {
		for _, root := range g.roots(parent) {
			if !seen[root] {
				seen[root] = true
				found = append(found, root)
			}
		}
	}
	g.origin[n] = found
	return found
}

// keyOf is the group that a root is reported with.
func (g *graph) keyOf(n *node) groupKey {
	if g.in.Registered == 0 && n.Subject == explain.SubjectCluster && n.Category != explain.CategoryKubeAPI && // which needs no host
		(!n.failing() || n.ID == mastersCount || n.ID == AllHosts) {
		return groupKey{explain.Ref{Subject: explain.SubjectCluster, ID: NoHosts}, PassHosts}
	}
	return groupKey{n.ref(), g.passOf(n)}
}

// passOf is why a root may pass by itself, "" if it does not.
func (g *graph) passOf(n *node) Pass {
	switch {
	case !n.failing():
		return PassPending
	case n.known && !n.settled():
		return PassTransient
	case n.entry.Cure == explain.CureWait:
		return PassService
	case n.ID == mastersCount:
		return mastersOf(g.in).pass
	}
	return ""
}

// sort orders a report: what only the file cures first, since nothing else
// will help, then the cluster before its hosts, then by category and name.
func (r *Report) sort() {
	for _, causes := range [][]Cause{r.Causes, r.Waits, r.Warnings} {
		slices.SortFunc(causes, func(a, b Cause) int {
			return cmp.Or(
				cmp.Compare(passRank(a.Pass), passRank(b.Pass)),
				cmp.Compare(cureRank(a.Cure), cureRank(b.Cure)),
				cmp.Compare(a.Subject, b.Subject), // the cluster's before the host's
				cmp.Compare(categoryRank(a.Category), categoryRank(b.Category)),
				cmp.Compare(a.ID, b.ID),
				slices.Compare(a.Hosts, b.Hosts), // of hosts where it has just begun, and of the others
			)
		})
	}
}

func passRank(p Pass) int {
	return slices.Index([]Pass{"", PassHosts, PassService, PassTransient, PassPending}, p)
}

func cureRank(c explain.Cure) int {
	return slices.Index([]explain.Cure{explain.CureFile, explain.CureMachine, explain.CureWait, ""}, c)
}

// categoryRank follows the way of an installation: what was asked for, the
// network, the machines, what comes on top. Nothing helps before a hub's objects
// are taken; unknown categories come before even that.
func categoryRank(category string) int {
	return slices.Index([]string{explain.CategoryKubeAPI, "configuration", "network", "hardware", "hosts-data", "operators"}, category)
}

func byRef(a, b explain.Ref) int {
	return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.ID, b.ID))
}

// byHosts puts the message of most hosts first.
func byHosts(a, b Message) int {
	return cmp.Or(-cmp.Compare(len(a.Hosts), len(b.Hosts)), slices.Compare(a.Hosts, b.Hosts), cmp.Compare(a.Text, b.Text))
}

// sorted orders host names as people count: worker-2 before worker-10.
func sorted(names []string) []string {
	slices.SortFunc(names, natural)
	return slices.Compact(names)
}

// natural compares texts, with runs of digits as the numbers that they are.
func natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if isDigit(x[0]) && isDigit(y[0]) {
			var left, right string
			left, x = digits(x)
			right, y = digits(y)
			if c := cmp.Or(cmp.Compare(len(left), len(right)), cmp.Compare(left, right)); c != 0 {
				return c
			}
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

// digits cuts the number, without leading zeros, off the beginning of a text.
func digits(s string) (number, rest string) {
	end := 0
	for end < len(s) && isDigit(s[end]) {
		end++
	}
	start := 0
	for start < end-1 && s[start] == '0' {
		start++
	}
	return s[start:end], s[end:]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
