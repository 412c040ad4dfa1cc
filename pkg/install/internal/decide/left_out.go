package decide

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// leaveOut removes hosts from the cluster that it is installed without, once nothing else blocks the start: until then
// they may still become ready and take part. A service installs each host of a cluster, and no cluster with one that is
// not ready.
func (p *planner) leaveOut() {
	free := p.idle() && p.unhindered() && !p.spec.Spec.Hold
	if _, held := p.cluster.Held(); held {
		free = false
	}
	for _, h := range p.matches.leftOut {
		name, scope := p.hostName(h), model.ScopeHost.Of(p.hostName(h))
		why, unwanted := p.desired.Options.Unwanted[name]
		if h.State == model.HostReady && !unwanted { // a moment ago it was not
			p.wait(model.Wait{Key: "host/" + name + "/part", Scope: scope, Who: model.WhoService, Since: h.Since, For: name + ", which is ready now, to take part after all"})
			continue
		}
		next := model.Advice("")
		if !unwanted {
			why, next = p.against(h)
		}
		p.warn(model.Warning{Key: "host/" + name + "/left-out/" + h.ID, Scope: scope, Reason: model.ReasonLeftOut, Message: why, Next: next})
		if !free {
			continue
		}
		a := model.Action{
			Key: "host/" + name + "/leave/" + h.ID, Scope: scope, Kind: model.RemoveHost, Target: h.ID, InfraEnv: h.InfraEnvID, Name: name, Destructive: true,
			Reason: "the cluster is installed without it: " + why,
		}
		if h.Reserved != "" { // it waits in its pool
			a.Kind, a.Destructive = model.ReturnHost, false
		}
		p.act(a)
	}
}

// against is what is wrong with a host, and the first advice on it.
func (p *planner) against(h *model.Host) (why string, next model.Advice) {
	alone := *p
	alone.plan, alone.only = model.Plan{}, p.hostName(h)
	alone.matches.Part, alone.matches.leftOut = []*model.Host{h}, nil
	alone.usable(h)
	alone.causes(alone.explain(alone.matches.Part))
	var texts []string
	for _, b := range alone.plan.Blockers {
		texts, next = append(texts, b.Message), cmp.Or(next, b.Remedy)
	}
	for _, c := range alone.plan.Checks { // which are not known to hold anything up, and do
		if len(alone.plan.Blockers) == 0 {
			texts, next = append(texts, c.Message), cmp.Or(next, c.Next)
		}
	}
	if len(texts) == 0 {
		texts = append(texts, fmt.Sprintf("%s is %s: %s", h.Label(), strings.ToLower(string(h.State)), cmp.Or(h.StatusInfo, h.Status)))
	}
	return strings.Join(texts, "; "), next
}
