package upgrade

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// lagging are the nodes whose kubelet is older than the newest of the control plane.
func (s *State) lagging() []string {
	newest := ""
	for i := range s.Nodes {
		if text, err := plainKubernetes(s.Nodes[i].Version); err == nil && s.Nodes[i].ControlPlane() && (newest == "" || compareTexts(text,
			newest) > 0) {
			newest = text
		}
	}
	var behind []string
	for i := range s.Nodes {
		if newest != "" && !runsAtLeast(&s.Nodes[i], newest) {
			behind = append(behind, s.Nodes[i].Name)
		}
	}
	slices.Sort(behind)
	return behind
}

// notes are what a person should know of an upgrade, and nothing waits for.
func (q *question) notes(d *Decision) []string {
	var notes []string
	for i := range q.Pools {
		p := &q.Pools[i]
		paused := p.Paused && (p.Updated < p.Machines || d.Verdict != model.VerdictInstalled)
		if paused || p.Degraded {
			notes = append(notes, poolNote(p, paused))
		}
	}
	if len(d.lagging) > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d nodes run an older kubelet than the control plane: %s",
			len(d.lagging), len(q.Nodes), few(d.lagging)))
	}
	return notes
}

// poolNote says that a pool is paused, or else that it is degraded.
func poolNote(p *model.Pool, paused bool) string {
	if !paused {
		return fmt.Sprintf("MachineConfigPool %s is degraded: %s", p.Name, cmp.Or(oneLine(p.Message), unsaid))
	}
	return fmt.Sprintf("MachineConfigPool %s is paused, so its nodes are not updated. To continue: kubectl patch machineconfigpool %s "+
		"--type=merge --patch '{\"spec\":{\"paused\":false}}'%s", p.Name, listtext.Quoted(p.Name), mastersWait(p))
}

// controlPlanePool is the pool that an update cannot be complete without.
const controlPlanePool = "master"

func mastersWait(p *model.Pool) string {
	if p.Name != controlPlanePool {
		return ""
	}
	return ". No update is complete without these nodes"
}

// few are words, or the first of them with how many there are.
func few(words []string) string {
	const most = 5
	if len(words) <= most {
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
}
