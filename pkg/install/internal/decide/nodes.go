package decide

import (
	"slices"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/nodes"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// AsksSpoke reports whether the next decision needs to know of the installed cluster itself.
func AsksSpoke(desired *model.Desired, observed *model.Observed) bool {
	c := observed.Cluster
	return (desired.Options.AddNodes || desired.Options.Remove != nil) && c != nil && c.State.Installed()
}

// JudgeRequests judges the installed cluster's requests for certificates as if the file named
// the hosts of these names.
func JudgeRequests(desired *model.Desired, observed *model.Observed, memory model.Memory, now time.Time, of []string) []model.RequestVerdict {
	p := newPlanner(desired, observed, memory, now)
	var hosts []nodes.Host
	for i := range observed.Hosts {
		h := &observed.Hosts[i]
		if slices.Contains(of, p.roster.Call(h)) || slices.Contains(of, h.Hostname) || slices.Contains(of, h.ID) {
			hosts = append(hosts, nodes.Host{Name: p.roster.Call(h), Want: p.spec.Host(p.roster.Names[h.ID]), Have: h})
		}
	}
	return nodes.Judge(p.question.About(hosts...))
}
