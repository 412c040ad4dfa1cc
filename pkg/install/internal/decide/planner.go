package decide

import (
	"cmp"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/names"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// planner gathers a plan.
type planner struct {
	desired  *model.Desired
	spec     *spec.Cluster // as it is desired now: see [Desired.At]
	whole    *spec.Cluster
	observed *model.Observed
	memory   model.Memory
	now      time.Time
	cluster  *model.Cluster
	matches  Matches
	held     bool   // machines are not to be booted yet
	only     string // the host that alone is asked about, "" for all
	explains bool   // also what fails and holds nothing up is asked for
	// bootsFrom is imagesByHost, once it was asked for.
	bootsFrom map[string]string
	plan      model.Plan
}

func newPlanner(desired *model.Desired, observed *model.Observed, memory model.Memory, now time.Time) *planner {
	present := desired.At(observed)
	return &planner{
		desired: present, spec: present.Spec, whole: desired.Spec, observed: observed, memory: memory, now: now, cluster: observed.Cluster,
		matches: MatchHosts(present.Spec.Spec.Hosts, observed),
	}
}

func (p *planner) name() string          { return p.spec.Metadata.Name }
func (p *planner) wait(w model.Wait)     { p.plan.Waits = append(p.plan.Waits, w) }
func (p *planner) block(b model.Blocker) { p.plan.Blockers = append(p.plan.Blockers, b) }
func (p *planner) warn(w model.Warning)  { p.plan.Warnings = append(p.plan.Warnings, w) }
func (p *planner) idle() bool            { return len(p.plan.Actions) == 0 }
func (p *planner) unhindered() bool      { return len(p.plan.Blockers) == 0 }
func (p *planner) full() string          { return p.name() + "." + p.spec.Spec.BaseDomain }

func (p *planner) end(v model.Verdict, message string, next model.Advice) {
	p.plan.Verdict, p.plan.Message, p.plan.Next = v, message, next
}

// act adds something to do, where anything is to be done.
func (p *planner) act(a model.Action) {
	if !p.desired.Options.ReadOnly {
		p.plan.Actions = append(p.plan.Actions, a)
	}
}

// otherwise says what is waited for where nothing else does: nobody is to wait
// without knowing for what.
func (p *planner) otherwise(what string) {
	if p.idle() && p.unhindered() && len(p.plan.Waits) == 0 {
		p.wait(model.Wait{Key: "cluster/service", Scope: model.ScopeCluster, For: what, Since: p.cluster.StatusSince, Who: model.WhoService})
	}
}

func (p *planner) waitHost(h *model.Host, what string, who model.Who) {
	id := p.hostID(h)
	p.wait(model.Wait{
		Key: "host/" + id + "/" + strings.ReplaceAll(what, " ", "-"), Scope: model.HostScope(id), For: p.hostName(h) + " " + what, Since: h.Since, Who: who,
	})
}

func (p *planner) hostName(h *model.Host) string { return p.matches.Call(h) }
func (p *planner) hostID(h *model.Host) string   { return p.matches.id(h) }
func (p *planner) hostField(name string) string  { return "spec.hosts[" + name + "]." }

// kubeconfigFlag names the cluster's kubeconfig to a program, where one lies or will.
func (p *planner) kubeconfigFlag() string {
	return "--kubeconfig " + names.Quoted(cmp.Or(p.observed.Results.KubeconfigPath, p.name()+"/auth/"+model.KubeconfigFile))
}

// later says whether a host is one that the cluster is installed without, however
// long it takes.
func (p *planner) later(name string) bool {
	first := p.whole.AtInstall()
	return first != p.whole && first.Host(name) == nil
}

// slow says whether a blocker is that something takes too long, and no more is
// known.
func slow(b model.Blocker) bool {
	return b.Reason == "StageTimedOut" || b.Reason == "FinalizingTimedOut"
}

// asWarning is a blocker of something that the install does not depend on.
func asWarning(b model.Blocker) model.Warning {
	return model.Warning{Key: b.Key, Scope: b.Scope, Reason: b.Reason, Message: b.Message, Next: b.Remedy}
}
