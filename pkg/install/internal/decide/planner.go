package decide

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/nodeplan"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// planner has the values that decide, each of which knows what it needs and those that it stands on.
type planner struct {
	*collector
	desired         *model.Desired
	options         *model.Options
	spec            *spec.Cluster // as it is desired now: see [model.Desired.At]
	name, full      string        // the cluster's name, without its domain and with it
	observed        *model.Observed
	memory          model.Memory
	now             time.Time
	cluster         *model.Cluster
	question        *nodeplan.Question
	only            string // the host that alone is asked about, "" for all
	explains        bool   // also what fails and holds nothing up is asked for
	roster          *roster
	attendance      *attendance
	members         *members
	images          *images
	checks          *checks
	infraEnvs       *infraEnvs
	boot            *boot
	hostSettings    *hostSettings
	hostStates      *hostStates
	hosts           *hosts
	unknownHosts    *unknownHosts
	networks        *networks
	registration    *registration
	clusterSettings *clusterSettings
	drift           *drift
	preparation     *preparation
	start           *start
	leftOut         *leftOut
	results         *results
	installation    *installation
	spokeNodes      *spokeNodes
	added           *added
	installed       *installed
	removal         *removal
	attempts        *attempts
	limits          *limits
}

func newPlanner(desired *model.Desired, observed *model.Observed, memory model.Memory, now time.Time) *planner {
	present := desired.At(observed)
	p := &planner{
		desired: present, options: &present.Options, spec: present.Spec, name: present.Spec.Metadata.Name, full: present.FullName(),
		observed: observed, memory: memory, now: now, cluster: observed.Cluster,
		question: &nodeplan.Question{Desired: present, Observed: observed, Memory: memory, Now: now},
		roster: &roster{
			Matches: MatchHosts(slices.Concat(present.Spec.Spec.Hosts, desired.Options.LeftOut), observed), spec: present.Spec, whole: desired.Spec,
		},
	}
	p.roster.leaveOut(desired.Options.LeftOut)
	p.compose()
	return p
}

// compose makes the values that decide, with a new plan. Each stands on those before it.
func (p *planner) compose() {
	p.collector = &collector{readOnly: p.options.ReadOnly}
	p.attendance = &attendance{spec: p.spec, infraEnvs: p.observed.InfraEnvs, now: p.now, cluster: p.cluster, roster: p.roster}
	p.members = &members{options: p.options, spec: p.spec, cluster: p.cluster, roster: p.roster, attendance: p.attendance}
	p.images = &images{
		options: p.options, spec: p.spec, name: p.name, infraEnvs: p.observed.InfraEnvs, cluster: p.cluster, spoke: p.observed.Spoke,
		roster: p.roster, attendance: p.attendance, members: p.members,
	}
	p.checks = &checks{
		collector: p.collector, spec: p.spec, name: p.name, since: p.memory.Checks, now: p.now, cluster: p.cluster, only: p.only,
		explains: p.explains, roster: p.roster, attendance: p.attendance,
	}
	p.infraEnvs = &infraEnvs{
		collector: p.collector, desired: p.desired, options: p.options, spec: p.spec, name: p.name, hosts: p.observed.Hosts,
		have: p.observed.InfraEnvs, orphans: p.observed.Orphans,
		resent: p.memory.Resent, now: p.now, cluster: p.cluster, members: p.members, images: p.images,
	}
	p.boot = &boot{
		collector: p.collector, options: p.options, spec: p.spec, observed: p.observed, memory: p.memory, now: p.now, cluster: p.cluster,
		explains: p.explains, roster: p.roster, members: p.members, images: p.images,
	}
	p.hostSettings = &hostSettings{collector: p.collector, desired: p.desired, spec: p.spec, roster: p.roster}
	p.hostStates = &hostStates{
		collector: p.collector, spec: p.spec, name: p.name, now: p.now, cluster: p.cluster, roster: p.roster,
		images: p.images, boot: p.boot, hostSettings: p.hostSettings,
	}
	p.hosts = &hosts{
		collector: p.collector, spec: p.spec, name: p.name, elsewhereBound: p.observed.Elsewhere, observed: p.observed.Hosts, roster: p.roster,
		attendance: p.attendance,
		images:     p.images, boot: p.boot, hostSettings: p.hostSettings, hostStates: p.hostStates,
	}
	p.unknownHosts = &unknownHosts{
		collector: p.collector, spec: p.spec, roster: p.roster, attendance: p.attendance, images: p.images, hostSettings: p.hostSettings,
		hostStates: p.hostStates,
	}
	p.networks = &networks{
		collector: p.collector, spec: p.spec, hosts: p.observed.Hosts, cluster: p.cluster, only: p.only, roster: p.roster,
		attendance: p.attendance,
	}
	p.registration = &registration{
		collector: p.collector, desired: p.desired, options: p.options, spec: p.spec, name: p.name, full: p.full, observed: p.observed,
		memory: p.memory, cluster: p.cluster, checks: p.checks,
	}
	p.clusterSettings = &clusterSettings{
		collector: p.collector, options: p.options, spec: p.spec, name: p.name, have: p.observed.InfraEnvs, resent: p.memory.Resent,
		cluster: p.cluster, roster: p.roster, infraEnvs: p.infraEnvs, networks: p.networks, registration: p.registration,
	}
	p.drift = &drift{
		collector: p.collector, options: p.options, spec: p.spec, cluster: p.cluster, roster: p.roster, images: p.images,
		hostSettings: p.hostSettings, clusterSettings: p.clusterSettings,
	}
	p.preparation = &preparation{
		collector: p.collector, name: p.name, began: p.memory.Began, knownCancelled: p.memory.Cancelled, knownFailed: p.memory.Failed, now: p.now,
		cluster: p.cluster, roster: p.roster, checks: p.checks,
	}
	p.start = &start{
		collector: p.collector, options: p.options, spec: p.spec, name: p.name, hostWritten: p.memory.HostWritten, now: p.now, cluster: p.cluster,
		roster: p.roster, attendance: p.attendance, images: p.images, preparation: p.preparation,
	}
	p.leftOut = &leftOut{
		collector: p.collector, options: p.options, spec: p.spec, cluster: p.cluster, roster: p.roster, checks: p.checks,
		hostStates: p.hostStates,
	}
	p.results = &results{collector: p.collector, saved: p.observed.Results, cluster: p.cluster}
	p.installation = &installation{
		collector: p.collector, name: p.name, cluster: p.cluster, roster: p.roster, attendance: p.attendance, hostStates: p.hostStates,
		drift: p.drift, preparation: p.preparation, results: p.results,
	}
	p.spokeNodes = &spokeNodes{collector: p.collector, spec: p.spec, question: p.question, roster: p.roster, members: p.members}
	p.added = &added{
		collector: p.collector, spec: p.spec, name: p.name, cluster: p.cluster, question: p.question, roster: p.roster,
		members: p.members, images: p.images, checks: p.checks, infraEnvs: p.infraEnvs, boot: p.boot, hostSettings: p.hostSettings,
		hostStates: p.hostStates, hosts: p.hosts, spokeNodes: p.spokeNodes,
	}
	p.installed = &installed{
		collector: p.collector, options: p.options, spec: p.spec, name: p.name, saved: p.observed.Results, cluster: p.cluster,
		roster: p.roster, attendance: p.attendance, drift: p.drift, results: p.results, added: p.added,
	}
	p.removal = &removal{
		collector: p.collector, observed: p.observed, cluster: p.cluster, question: p.question, roster: p.roster,
		registration: p.registration,
	}
	p.attempts = &attempts{collector: p.collector, options: p.options, machines: p.observed.Machines, done: p.memory.Done,
		refused: p.memory.Refused, now: p.now}
	p.limits = &limits{
		collector: p.collector, desired: p.desired, options: p.options, name: p.name, full: p.full, observed: p.observed,
		memory: p.memory, roster: p.roster,
	}
}

// leaveAlone removes from the plan the actions on hosts with an unknown desired state, and reports why.
func (p *planner) leaveAlone() {
	if len(p.options.LeftAlone) == 0 {
		return
	}
	alone := map[model.Scope]bool{}
	for name := range p.options.LeftAlone {
		alone[model.ScopeHost.Of(name)] = true
		if want := p.spec.Host(name); want != nil && want.Match.InfraEnv != "" {
			alone[model.ScopeInfraEnv.Of(want.Match.InfraEnv)] = true
		}
	}
	p.plan.Actions = slices.DeleteFunc(p.plan.Actions, func(a model.Action) bool { return alone[a.Scope] })
	p.plan.Blockers = slices.DeleteFunc(p.plan.Blockers, func(b model.Blocker) bool { return alone[b.Scope] })
	for _, name := range slices.Sorted(maps.Keys(p.options.LeftAlone)) {
		if host := p.roster.ByName[name]; host != nil && (host.State == model.HostInstalled || host.State == model.HostAdded) {
			continue // it runs, and needs nothing of that any more
		}
		p.plan.Blockers = append(p.plan.Blockers, model.Blocker{
			Key: "host/" + name + "/objects", Scope: model.ScopeHost.Of(name), Reason: "InvalidConfiguration", Cure: model.CurePerson,
			Message: p.options.LeftAlone[name], Hosts: []string{name},
		})
	}
}

// decide depends on the state of the cluster.
func (p *planner) decide() {
	if p.options.Remove != nil {
		p.removal.remove()
		return
	}
	p.registration.others()
	switch {
	case p.observed.Stale != "":
		// An old observation does not show what was written since.
		p.plan.Actions = nil
		p.wait(model.Wait{Key: "service/answer", Scope: model.ScopeCluster, For: "the service to answer: " + p.observed.Stale,
			Who: model.WhoService})
	case len(p.plan.Blockers) > 0:
	case p.spec.Imported() && (p.cluster == nil || p.cluster.Unmarked || p.cluster.State.BeforeInstall()):
		p.registration.importCluster()
	case (p.options.AddNodes || p.spec.OnlyAdds()) && (p.cluster == nil || p.cluster.State.BeforeInstall()):
		p.registration.notInstalled()
	case p.cluster == nil:
		p.registration.register()
	case p.cluster.State == model.ClusterUnknown:
		p.end(model.VerdictUnknown, fmt.Sprintf("the service reports the cluster state %q, which this version of oaictl does not know",
			p.cluster.Status),
			"{version}")
	case p.cluster.State.BeforeInstall() && p.preparation.cancelled():
		p.end(model.VerdictCancelled, "the installation was cancelled during its preparation, so nothing was installed",
			"run the same command again to start the installation again")
	case p.cluster.State.BeforeInstall():
		p.beforeInstall()
		p.boot.retireMedia()
	case p.cluster.State.Running():
		p.registration.adopt()
		p.installation.follow()
		p.boot.retireMedia()
	case p.cluster.State.Installed():
		p.registration.adopt()
		p.installed.follow()
		p.installed.recorded()
		p.boot.retireMedia()
	case p.cluster.State == model.ClusterFailed:
		p.registration.adopt()
		p.installation.failed()
		p.boot.retireMedia()
	case p.cluster.State == model.ClusterCancelled:
		p.registration.adopt()
		p.installation.cancelled()
		p.boot.retireMedia()
	}
}

// finish leaves out what is not to be done again yet, gives the plan its verdict,
// unless it has one, and says whether a loop ends with it.
func (p *planner) finish() {
	p.attempts.leaveOut()
	p.untilWhen()
	p.conclude()
	p.limits.apply()
}

// untilWhen says, on the loop's own clock, how long those are waited for that are not required.
func (p *planner) untilWhen() {
	for i := range p.plan.Waits {
		if w := &p.plan.Waits[i]; !w.Until.IsZero() {
			w.For += fmt.Sprintf(" (not required: oaictl waits until %s)", w.Until.Add(-p.memory.Ahead).UTC().Format("15:04 UTC"))
		}
	}
}

// conclude gives the plan its verdict, unless it has one.
func (p *planner) conclude() {
	plan := &p.plan
	switch {
	case plan.Verdict != "":
	case len(plan.Actions) > 0:
		plan.Verdict = model.VerdictWorking
		plan.Message = firstDone(plan.Actions)
	case len(plan.Blockers) > 0:
		plan.Verdict = model.VerdictBlocked
		plan.Message, plan.Next = plan.Blockers[0].Message, plan.Blockers[0].Remedy
	default:
		plan.Verdict = model.VerdictWaiting
		if len(plan.Waits) > 0 {
			plan.Message = "waiting for " + plan.Waits[0].For
		}
	}
}

// firstDone is what is done first, and how much comes after it.
func firstDone(actions []model.Action) string {
	text := "about to " + actions[0].Describe()
	if more := len(actions) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// beforeInstall brings cluster, image and hosts to what the file says, and
// starts the install when all of it is so.
func (p *planner) beforeInstall() {
	p.unattended()
	p.clusterSettings.configure()
	p.infraEnvs.forInstall()
	p.hosts.all()
	p.unknownHosts.check()
	p.networks.compare()
	p.checks.ofCluster()
	p.clusterSettings.resend()
	p.leftOut.remove()
	p.start.call()
	p.otherwise("the service to check the cluster and its hosts", p.cluster.StatusSince)
}

// attendsWithin is how long the service may take to look at a new cluster.
const attendsWithin = 10 * time.Minute

// unattended says that nothing goes on since the service's controllers do not run.
func (p *planner) unattended() {
	since := p.cluster.Unattended
	if since.IsZero() || p.now.Before(since.Add(attendsWithin)) {
		return
	}
	p.block(model.Blocker{
		Key: "cluster/unattended", Scope: model.ScopeCluster, Reason: "NoController", Cure: model.CurePerson, Since: since,
		Message: "no controller of the hub has processed the cluster since its creation at " + since.UTC().Format(time.TimeOnly),
		Remedy:  "check that assisted-service runs on the hub and watches this namespace: kubectl get pods -A -l app=assisted-service",
	})
}

// unbound reports what blocks machines that belong to no cluster.
func (p *planner) unbound() {
	hosts := make([]*model.Host, 0, len(p.observed.Hosts))
	for i := range p.observed.Hosts {
		hosts = append(hosts, &p.observed.Hosts[i])
		p.hostStates.usable(hosts[i])
	}
	p.checks.report(p.checks.explain(hosts, p.cluster))
}

// narrow keeps of a plan only what concerns one host: the reports about it, and what blocks the cluster itself.
func (p *planner) narrow(host string) {
	concerns := func(scope model.Scope) bool {
		return scope == model.ScopeHost.Of(p.only) || scope == model.ScopeHost.Of(host) || scope == model.ScopeNode.Of(p.only)
	}
	plan := &p.plan
	plan.Blockers = slices.DeleteFunc(plan.Blockers, func(b model.Blocker) bool {
		ofCluster := b.Scope == model.ScopeCluster && len(b.Hosts) == 0 && b.Reason != ReasonValidation
		return !ofCluster && !concerns(b.Scope) && !slices.Contains(b.Hosts, p.only)
	})
	plan.Waits = slices.DeleteFunc(plan.Waits, func(w model.Wait) bool { return !concerns(w.Scope) })
	plan.Checks = slices.DeleteFunc(plan.Checks, func(w model.Warning) bool { return !concerns(w.Scope) })
	plan.Warnings = slices.DeleteFunc(plan.Warnings, func(w model.Warning) bool { return !concerns(w.Scope) })
}

// registered decides as if the cluster were registered.
func (p *planner) registered() *planner {
	ahead := *p
	if ahead.cluster == nil {
		ahead.cluster = &model.Cluster{State: model.ClusterDiscovering}
	}
	ahead.compose()
	return &ahead
}
