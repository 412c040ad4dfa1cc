package decide

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// leftOut takes hosts out of the cluster that it is installed without.
type leftOut struct {
	*collector
	options    *model.Options
	spec       *spec.Cluster
	cluster    *model.Cluster
	roster     *roster
	checks     *checks
	hostStates *hostStates
}

// remove removes hosts from the cluster that it is installed without, once nothing else blocks the start: until then
// they may still become ready and take part. A service installs each host of a cluster, and no cluster with one that is
// not ready.
func (l *leftOut) remove() {
	free := l.idle() && l.unhindered() && !l.spec.Spec.Hold
	if _, held := l.cluster.Held(); held {
		free = false
	}
	for _, h := range l.roster.leftOut {
		name, scope := l.roster.Call(h), model.ScopeHost.Of(l.roster.Call(h))
		why, unwanted := l.options.Unwanted[name]
		if h.State == model.HostReady && !unwanted { // a moment ago it was not
			l.wait(model.Wait{Key: "host/" + name + "/part", Scope: scope, Who: model.WhoService, Since: h.Since,
				For: name + ", which is ready now, to take part in the installation"})
			continue
		}
		next := model.Advice("")
		if !unwanted {
			why, next = l.against(h)
		}
		l.warn(model.Warning{Key: "host/" + name + "/left-out/" + h.ID, Scope: scope, Reason: model.ReasonLeftOut, Message: why, Next: next})
		if !free {
			continue
		}
		a := model.Action{
			Key: "host/" + name + "/leave/" + h.ID, Scope: scope, Kind: model.RemoveHost, Target: h.ID, InfraEnv: h.InfraEnvID, Name: name,
			Destructive: true,
			Reason:      "the cluster is being installed without it: " + why,
		}
		if h.Reserved != "" { // it waits in its pool
			a.Kind, a.Destructive = model.ReturnHost, false
		}
		l.act(a)
	}
}

// against is what is wrong with a host, and the first advice on it.
func (l *leftOut) against(h *model.Host) (why string, next model.Advice) {
	alone := l.apart(func() {
		l.hostStates.usable(h)
		l.checks.reportOf(h)
	})
	var texts []string
	for _, b := range alone.Blockers {
		texts, next = append(texts, b.Message), cmp.Or(next, b.Remedy)
	}
	for _, c := range alone.Checks { // which are not known to hold anything up, and do
		if len(alone.Blockers) == 0 {
			texts, next = append(texts, c.Message), cmp.Or(next, c.Next)
		}
	}
	if len(texts) == 0 {
		texts = append(texts, fmt.Sprintf("%s is %s: %s", h.Label(), strings.ToLower(string(h.State)), cmp.Or(h.StatusInfo, h.Status)))
	}
	return strings.Join(texts, "; "), next
}
