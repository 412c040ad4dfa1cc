package decide

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// later says whether a host is one that the cluster is installed without, however
// long it takes.
func (p *planner) later(name string) bool {
	first := p.whole.AtInstall()
	return first != p.whole && first.Host(name) == nil
}

// tooEarly says whether a machine that is no host of the install is one that is
// added later, and has it taken out of the way: it is no stranger.
func (p *planner) tooEarly(h *model.Host) bool {
	if p.whole == p.spec {
		return false
	}
	name := ""
	hosts := p.whole.Spec.Hosts
	if i := slices.IndexFunc(hosts, func(w spec.Host) bool { return p.later(w.Name) && identifies(&w.Match, h) }); i >= 0 {
		name = hosts[i].Name
	} else if !p.spec.Spec.AcceptUnknownHosts || len(p.spec.Spec.Hosts) == 0 {
		return false // nobody's, or perhaps the single node itself
	}
	p.block(model.Blocker{
		Key: "host/" + h.ID + "/early", Scope: model.HostScope(h.ID), Reason: "TooEarly", Cure: model.CurePerson, Since: h.Registered,
		Message: fmt.Sprintf("%s came too early: a single node has room for no worker until it is installed", cmp.Or(name, h.Label())),
		Remedy:  fmt.Sprintf("switch it off and `oaictl delete host %s --yes`; once the cluster is installed, `oaictl add-node -f FILE` adds it", h.ID),
		Hosts:   []string{cmp.Or(name, h.Hostname, h.ID)},
	})
	return true
}
