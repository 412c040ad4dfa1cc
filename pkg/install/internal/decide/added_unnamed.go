package decide

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/internal/advice"
	"github.com/oaictl/oaictl/internal/model"
)

// unnamedNodes are the machines that the file counts without naming them, as
// they stand with an installed cluster.
type unnamedNodes struct {
	take    []*model.Host // have registered, and are to be added
	leave   []*model.Host // have registered, and are nobody's: never installed
	missing int           // have still to come
}

func (u unnamedNodes) open() bool { return len(u.take) > 0 || u.missing > 0 }

// unnamedNodes divides the machines that the file does not name. No more are
// taken than the file counts, and none at all unless it says that they may be.
func (p *planner) unnamedNodes() unnamedNodes {
	var u unnamedNodes
	wanted := 0
	if p.spec.Spec.AcceptUnknownHosts {
		wanted = p.counts().total() - len(p.spec.Spec.Hosts)
	}
	var candidates []*model.Host
	for _, h := range slices.Concat(p.matches.unknown, p.matches.unread) {
		switch membershipOf(h) {
		case member:
			wanted--
		case joining, refused:
			candidates = append(candidates, h)
		}
	}
	// What was started goes before what could be.
	slices.SortStableFunc(candidates, func(a, b *model.Host) int { return cmp.Compare(bit(!started(a)), bit(!started(b))) })
	some := max(0, min(wanted, len(candidates)))
	u.take, u.leave, u.missing = candidates[:some], candidates[some:], max(0, wanted-len(candidates))
	return u
}

// addUnnamed brings those that are taken a step further, and says which failed.
func (p *planner) addUnnamed(u unnamedNodes) (failed []*model.Host) {
	for _, h := range u.take {
		if membershipOf(h) == refused {
			failed = append(failed, h)
			continue
		}
		p.addNode(h, func() {
			if h.State == model.HostReady {
				p.wipes(p.hostName(h), h)
			}
		})
	}
	missing := u.missing
	for _, h := range p.matches.pool {
		if missing > 0 && h.State == model.HostUnbound && h.Inventory.Known && h.Status == "known-unbound" {
			p.bind(h)
			missing--
		}
	}
	if env := p.lateEnvOf(""); missing > 0 && env != nil && env.Image.State == model.ImageReady {
		p.wait(model.Wait{
			Key: "hosts/register", Scope: model.ScopeCluster, Who: model.WhoUser, Since: env.Created,
			For:  fmt.Sprintf("%d more hosts to boot the discovery image %s and register", missing, env.Name),
			Next: advice.Command("download iso --infra-env", env.Name),
		})
	}
	return failed
}

// strangers tells of machines that registered and are not to be added. Hosts
// are installed one by one, so that these hold up none of the others.
func (p *planner) strangers(u unnamedNodes) {
	for _, h := range u.leave {
		if !h.Inventory.Known && h.State != model.HostDisconnected {
			p.wait(model.Wait{
				Key: "host/" + h.ID + "/inventory", Scope: model.HostScope(h.ID), Since: h.Registered, Who: model.WhoMachine,
				For: "the inventory of a new host, to see which one it is",
			})
			continue
		}
		p.warn(model.Warning{
			Key: "host/" + h.ID + "/unknown", Scope: model.HostScope(h.ID), Reason: "UnknownHost",
			Message: h.Label() + " registered, but the file does not name it; it is left alone",
			Next:    advice.Sprintf("power it off and `{delete host %s --yes}`, or add it to spec.hosts", h.ID),
		})
	}
}
