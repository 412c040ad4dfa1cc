package upgrade

import (
	"fmt"
	"slices"
	"strings"
)

// lagging are the nodes whose kubelet is older than the newest of the control plane.
func (s *State) lagging() []string {
	newest := ""
	for i := range s.Nodes {
		if text, err := plainKubernetes(s.Nodes[i].Kubelet); err == nil && s.Nodes[i].ControlPlane && (newest == "" || compareTexts(text, newest) > 0) {
			newest = text
		}
	}
	var names []string
	for i := range s.Nodes {
		if newest != "" && !s.Nodes[i].RunsAtLeast(newest) {
			names = append(names, s.Nodes[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

// notes are what somebody should know of an upgrade, and nothing waits for.
func (q *question) notes(d *Decision) []string {
	var notes []string
	if w := q.want; w.Force != "" && !w.forced() && d.Phase != Done {
		notes = append(notes, fmt.Sprintf("Annotation %s is %q and forces nothing: it has to be %q", ForceAnnotation, w.Force, w.Version))
	}
	for i := range q.Pools {
		p := &q.Pools[i]
		behind := p.Machines - p.Updated
		switch {
		case p.Paused && (behind > 0 || d.Phase != Done):
			notes = append(notes, fmt.Sprintf("MachineConfigPool %s is paused: its nodes stay as they are, until kubectl patch machineconfigpool %s --type=merge --patch '{\"spec\":{\"paused\":false}}'%s",
				p.Name, p.Name, mastersWait(p)))
		case p.Degraded:
			notes = append(notes, fmt.Sprintf("MachineConfigPool %s is degraded: %s", p.Name, oneLine(p.Message)))
		}
	}
	if len(d.Lagging) > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d nodes run an older kubelet than the control plane: %s", len(d.Lagging), len(q.Nodes), few(d.Lagging)))
	}
	return notes
}

// controlPlanePool is the pool that an update cannot be complete without.
const controlPlanePool = "master"

func mastersWait(p *Pool) string {
	if p.Name != controlPlanePool {
		return ""
	}
	return ". Without them no update is complete"
}

// few are names, or the first of them with how many there are.
func few(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
