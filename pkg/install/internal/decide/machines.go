package decide

import (
	"github.com/oaictl/oaictl/pkg/install/internal/nodes"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// MachinesToAsk are the hosts whose machines the next decision needs, and where each is
// in its install. They are those that have still to boot; those that run the image, until
// they are seen not to boot it again by themselves; and those that must not, until nothing
// of it is left. What was seen before a host came so far says nothing of what it finds there
// now.
func MachinesToAsk(desired *model.Desired, observed *model.Observed) (ask []string, phases map[string]model.Phase) {
	p := newPlanner(desired, observed, model.Memory{}, observed.At)
	if p.cluster == nil || p.cluster.State == model.ClusterUnknown {
		return nil, nil
	}
	phases = map[string]model.Phase{}
	if desired.Options.Remove != nil {
		return nodes.ToSwitchOff(p.question.About(p.roster.everybody(p.observed)...)), phases
	}
	for i := range p.spec.Spec.Hosts {
		host := &p.spec.Spec.Hosts[i]
		if !p.spec.BootsByBMC(host) {
			continue
		}
		state, known := p.observed.Machines[host.Name]
		now := p.boot.phaseOf(host)
		if now == model.PhaseToBoot || now != model.PhaseUnknown && (!known || state.Phase != now || !settled(state)) {
			ask, phases[host.Name] = append(ask, host.Name), now
		}
	}
	return ask, phases
}
