package decide

import (
	"fmt"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/nodes"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// lyingBMC is the blocker of a BMC that accepts a request again and again and
// says each time that nothing has changed.
func lyingBMC(a model.Action, s model.Success) model.Blocker {
	b := model.Blocker{
		Key: a.Key + "/not-kept", Scope: a.Scope, Reason: ReasonBMC, Cure: model.CurePerson, Since: s.First, Hosts: []string{a.Name},
		Message: fmt.Sprintf("the BMC of %s accepted %d times to %s, and says that nothing has changed", a.Name, s.Times, a.Task()),
		Remedy:  "look at the machine and at its BMC, which may have to be reset",
	}
	if a.Kind.Switches() {
		b.Message = fmt.Sprintf("the BMC of %s accepted to %s %s ago, and says that nothing has changed", a.Name, a.Task(), minutes(switchWithin))
		b.Remedy = model.Advice(a.Kind.Phrase() + " " + a.Name + " by hand, or look at its BMC, which may have to be reset")
	}
	return b
}

// switchWithin is how long a BMC may take to show that a machine was switched. It is
// asked for that once: a second request may be a second press of the button.
const switchWithin = 2 * time.Minute

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
