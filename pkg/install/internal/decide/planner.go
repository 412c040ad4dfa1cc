package decide

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/names"
	"github.com/oaictl/oaictl/internal/shared/setting"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// planner gathers a plan.
type planner struct {
	desired  *model.Desired
	spec     *spec.Cluster // as it is desired now: see [model.Desired.At]
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
	// intended is latePlans, once it was asked for.
	intended []model.InfraEnvPlan
	plan     model.Plan
}

func newPlanner(desired *model.Desired, observed *model.Observed, memory model.Memory, now time.Time) *planner {
	present := desired.At(observed)
	p := &planner{
		desired: present, spec: present.Spec, whole: desired.Spec, observed: observed, memory: memory, now: now, cluster: observed.Cluster,
		matches: MatchHosts(slices.Concat(present.Spec.Spec.Hosts, desired.Options.LeftOut), observed),
	}
	p.matches.leaveOut(desired.Options.LeftOut)
	return p
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

// reconsiderAfter is how long after a permanent refusal the same call is tried again where no user runs the command
// again: the cause, a quota or a permission, may have been cured, and no event reports that.
const reconsiderAfter = 10 * time.Minute

// rests reports whether what was refused is not to be tried at present.
func (p *planner) rests(r model.Refusal) bool {
	if r.Permanent {
		return !p.desired.Options.Unattended || p.now.Before(r.Last.Add(reconsiderAfter))
	}
	return p.now.Before(r.Until)
}

// otherwise records what the run waits for where there is no other wait: a wait always has a reason.
func (p *planner) otherwise(what string) {
	if p.idle() && p.unhindered() && len(p.plan.Waits) == 0 {
		p.wait(model.Wait{Key: "cluster/service", Scope: model.ScopeCluster, For: what, Since: p.cluster.StatusSince, Who: model.WhoService})
	}
}

func (p *planner) waitHost(h *model.Host, what string, who model.Who) {
	id := p.hostID(h)
	p.wait(model.Wait{
		Key: "host/" + id + "/" + strings.ReplaceAll(what, " ", "-"), Scope: model.ScopeHost.Of(id), For: p.hostName(h) + " " + what, Since: h.Since, Who: who,
	})
}

func (p *planner) hostName(h *model.Host) string { return p.matches.Call(h) }
func (p *planner) hostID(h *model.Host) string   { return p.matches.id(h) }
func (p *planner) hostField(name string) string  { return "spec.hosts[" + name + "]." }

// spokeAnswers reports whether the installed cluster can be worked with.
func (p *planner) spokeAnswers() bool {
	return p.observed.Spoke != nil && p.observed.Spoke.Trouble == ""
}

// kubeconfigFlag names the cluster's kubeconfig to a program, where one lies or will.
func (p *planner) kubeconfigFlag() string {
	return "--kubeconfig " + names.Quoted(cmp.Or(p.desired.Options.ClusterKubeconfig, p.observed.Results.KubeconfigPath, p.name()+"/auth/"+model.KubeconfigFile))
}

// later reports whether a host is one that the cluster is installed without, however long it takes.
func (p *planner) later(name string) bool {
	first := p.whole.AtInstall()
	return first != p.whole && first.Host(name) == nil
}

// slow reports whether a blocker is that something takes too long, and no more is known.
func slow(b model.Blocker) bool {
	return b.Reason == "StageTimedOut" || b.Reason == "FinalizingTimedOut"
}

// asWarning is a blocker of something that the install does not depend on.
func asWarning(b model.Blocker) model.Warning {
	return model.Warning{Key: b.Key, Scope: b.Scope, Reason: b.Reason, Message: b.Message, Next: b.Remedy}
}

// changeOf is what a person is shown of a difference.
func changeOf(d setting.Difference, prefix string) model.Change {
	if strings.HasPrefix(string(d.Setting), "spec.") || d.Setting == model.SettingApproved {
		prefix = "" // not relative to the object, or no field of the file
	}
	return model.Change{Field: prefix + string(d.Setting), From: setting.Show(d.Setting, d.Have), To: setting.Show(d.Setting, d.Want)}
}

func (p *planner) drift(scope model.Scope, d setting.Difference, why string) {
	p.driftOf(scope, string(d.Setting), d, why)
}

// driftOf reports a difference that is not written, of a field of the file.
func (p *planner) driftOf(scope model.Scope, field string, d setting.Difference, why string) {
	p.warn(model.Warning{
		Key: "drift/" + string(scope) + "/" + string(d.Setting), Scope: scope, Reason: "Drift",
		Message: fmt.Sprintf("%s is %s in the file and %s in the service; it %s", field, orNothing(setting.Show(d.Setting, d.Want)), orNothing(setting.Show(d.Setting, d.Have)), why),
	})
}

func orNothing(text string) string { return cmp.Or(text, "nothing") }

// allChanges lists the settings of a new object as changes from nothing.
func allChanges(settings model.Settings) []model.Change {
	var changes []model.Change
	for name, value := range settings {
		changes = append(changes, changeOf(setting.Difference{Setting: name, Want: value}, ""))
	}
	slices.SortFunc(changes, func(a, b model.Change) int { return cmp.Compare(a.Field, b.Field) })
	return changes
}

// redactedChanges names settings without what they are.
func redactedChanges(settings model.Settings) []model.Change {
	changes := make([]model.Change, 0, len(settings))
	for _, setting := range slices.Sorted(maps.Keys(settings)) {
		changes = append(changes, model.Change{Field: string(setting), From: "[redacted]", To: "[redacted]"})
	}
	return changes
}

// imageDifferences compares what the file says of an InfraEnv with it, except what the file overrides in the service's
// own words. Of a version a service may keep only the minor release, from which it takes the live system.
func imageDifferences(want model.Settings, env *model.InfraEnv) []setting.Difference {
	return slices.DeleteFunc(setting.Differences(want, env.Settings), func(d setting.Difference) bool {
		return slices.Contains(env.Overridden, d.Setting) || d.Setting == model.SettingVersion && setting.SameVersion(d.Have, d.Want)
	})
}

// Matches says which observed host is which host of the file.
type Matches struct {
	ByName  map[string]*model.Host // name in the file → observed host
	Names   map[string]string
	Part    []*model.Host // all that take part: the hosts of the cluster and those that the file names
	unknown []*model.Host // of the cluster, but no host of the file; their inventory is known
	unread  []*model.Host // of the cluster, and cannot be identified yet: no inventory
	pool    []*model.Host // bound to no cluster, and not named: not considered until they are bound
	leftOut []*model.Host // of the cluster, and it is installed without them
	doubles map[string][]*model.Host
	several map[string][]string // id of a machine → further names in the file that fit it
	envs    map[string]string   // id of an InfraEnv → its name
}

// MatchHosts finds the machine of every host of the file. All that a host's match says has to fit, and exactly: never a
// prefix. A machine that belongs to another cluster is not considered.
func MatchHosts(hosts []spec.Host, observed *model.Observed) Matches {
	m := Matches{
		ByName: map[string]*model.Host{}, Names: map[string]string{}, doubles: map[string][]*model.Host{}, several: map[string][]string{},
		envs: make(map[string]string, len(observed.InfraEnvs)),
	}
	for i := range observed.InfraEnvs {
		m.envs[observed.InfraEnvs[i].ID] = observed.InfraEnvs[i].Name
	}
	candidates := newIdentities(hosts)
	for i := range observed.Hosts {
		host := &observed.Hosts[i]
		if boundToAnother(observed, host) {
			continue
		}
		var fits []int
		for _, j := range candidates.of(host, m.envs[host.InfraEnvID]) {
			if !slices.Contains(fits, j) && m.identifies(&hosts[j].Match, host) {
				fits = append(fits, j)
			}
		}
		slices.Sort(fits)
		m.add(hosts, host, fits)
	}
	return m
}

// add puts a machine where it belongs; fits are the places of the hosts of the
// file that it may be.
func (m *Matches) add(hosts []spec.Host, host *model.Host, fits []int) {
	switch {
	case len(fits) > 0:
		name := hosts[fits[0]].Name
		m.Part = append(m.Part, host)
		for _, j := range fits[1:] {
			m.several[host.ID] = append(m.several[host.ID], hosts[j].Name)
		}
		if m.ByName[name] != nil {
			m.doubles[name] = append(m.doubles[name], host)
			return
		}
		m.ByName[name] = host
		m.Names[host.ID] = name
	case host.Unbound() && host.Reserved != "": // and is not what the file says of it
	case host.Unbound():
		m.pool = append(m.pool, host)
	case !host.Inventory.Known:
		m.Part = append(m.Part, host)
		m.unread = append(m.unread, host)
	default:
		m.Part = append(m.Part, host)
		m.unknown = append(m.unknown, host)
	}
}

// leaveOut takes hosts out of those that take part. They keep their names.
func (m *Matches) leaveOut(hosts []spec.Host) {
	if len(hosts) == 0 {
		return
	}
	out := map[string]bool{}
	for i := range hosts {
		name := hosts[i].Name
		for _, h := range append(m.doubles[name], m.ByName[name]) {
			if h == nil {
				continue
			}
			out[h.ID], m.Names[h.ID] = true, name
			if !h.Unbound() {
				m.leftOut = append(m.leftOut, h)
			}
		}
		delete(m.ByName, name)
		delete(m.doubles, name)
	}
	m.Part = slices.DeleteFunc(m.Part, func(h *model.Host) bool { return out[h.ID] })
}

// Call is what people call a host: by its name in the file, or else by the one
// that the service has for it.
func (m *Matches) Call(h *model.Host) string { return cmp.Or(m.Names[h.ID], h.Hostname, h.ID) }

// id is what keys and scopes call a host: by its name in the file, or else by
// its id, since the service's names are neither unique nor stable.
func (m *Matches) id(h *model.Host) string { return cmp.Or(m.Names[h.ID], h.ID) }

// identities finds hosts of the file by one of the things that their match says, so that hundreds of machines need not
// be compared with hundreds of hosts.
type identities map[string][]int

func newIdentities(hosts []spec.Host) identities {
	ids := identities{}
	for i := range hosts {
		m := &hosts[i].Match
		key := ""
		switch {
		case m.MAC != "":
			key = "mac " + setting.MAC(m.MAC)
		case m.Serial != "":
			key = "serial " + m.Serial
		case m.UUID != "":
			key = "uuid " + strings.ToLower(m.UUID)
		case m.Hostname != "":
			key = "hostname " + m.Hostname
		case m.InfraEnv != "":
			key = "infra-env " + m.InfraEnv
		case m.Agent != "":
			key = "agent " + m.Agent
		default:
			key = "bmc " + normaliseAddress(m.BMC)
		}
		ids[key] = append(ids[key], i)
	}
	return ids
}

// of are the places of the hosts that a machine may be which registered from an InfraEnv of
// that name.
func (ids identities) of(host *model.Host, infraEnv string) []int {
	inventory := &host.Inventory
	keys := []string{
		"infra-env " + infraEnv, "agent " + host.Reserved, "serial " + inventory.Serial, "uuid " + strings.ToLower(host.ID), "uuid " + strings.ToLower(inventory.UUID),
		"hostname " + inventory.Hostname, "bmc " + normaliseAddress(inventory.BMC),
	}
	for _, i := range inventory.Interfaces {
		keys = append(keys, "mac "+setting.MAC(i.MAC))
	}
	var places []int
	for _, key := range keys {
		places = append(places, ids[key]...)
	}
	return places
}

func normaliseAddress(text string) string {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return text
	}
	return address.Unmap().String()
}

// identifies reports whether a machine is the one that match describes.
func (m *Matches) identifies(match *spec.Match, host *model.Host) bool {
	known, fits := 0, true
	check := func(want string, same bool) {
		if want != "" {
			known++
			fits = fits && same
		}
	}
	inventory := host.Inventory
	check(match.UUID, strings.EqualFold(match.UUID, host.ID) || (inventory.UUID != "" && strings.EqualFold(match.UUID, inventory.UUID)))
	check(match.MAC, slices.ContainsFunc(inventory.Interfaces, func(i model.Interface) bool {
		return setting.MAC(i.MAC) == setting.MAC(match.MAC)
	}))
	check(match.Serial, inventory.Serial == match.Serial)
	check(match.Hostname, inventory.Hostname == match.Hostname)
	check(match.BMC, match.BMC != "" && sameAddress(inventory.BMC, match.BMC))
	check(match.InfraEnv, m.envs[host.InfraEnvID] == match.InfraEnv)
	check(match.Agent, host.Reserved == match.Agent)
	return known > 0 && fits
}

func sameAddress(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	return errX == nil && errY == nil && x.Unmap() == y.Unmap()
}

// boundToAnother reports whether a machine is bound to another cluster.
func boundToAnother(o *model.Observed, h *model.Host) bool {
	return o.Cluster != nil && h.ClusterID != "" && h.ClusterID != o.Cluster.ID
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// counts are the machines that a cluster shall have.
type counts struct {
	controlPlane, workers, arbiters int
	requiredWorkers                 int
}

func (c counts) total() int    { return c.controlPlane + c.workers + c.arbiters }
func (c counts) required() int { return c.controlPlane + c.requiredWorkers + c.arbiters }

func (p *planner) counts() counts {
	return counts{
		controlPlane: p.spec.ControlPlaneCount(), workers: p.spec.WorkerCount(), arbiters: p.spec.ArbiterCount(),
		requiredWorkers: p.spec.RequiredWorkers(),
	}
}

// unnamedMissing is how many machines that the file counts without naming them
// have not come yet.
func (p *planner) unnamedMissing() int {
	if !p.spec.Spec.AcceptUnknownHosts {
		return 0
	}
	return p.counts().total() - len(p.matches.Part) - len(p.missingHosts())
}

func (p *planner) presentWorkers() int {
	workers := 0
	for i := range p.spec.Spec.Hosts {
		if host := &p.spec.Spec.Hosts[i]; host.Role == spec.Worker && p.matches.ByName[host.Name] != nil {
			workers++
		}
	}
	return workers
}

// presentCounts is how many hosts of each role are there to be installed, for a service that counts before it starts.
// Workers that are not required and did not come are not counted; machines that the file does not name are workers.
func (p *planner) presentCounts() model.Settings {
	c := p.counts()
	return model.Settings{
		model.SettingControlPlane: model.ValueOf(c.controlPlane), model.SettingArbiters: model.ValueOf(c.arbiters),
		model.SettingWorkers: model.ValueOf(max(0, len(p.matches.Part)-c.controlPlane-c.arbiters)),
	}
}

// missingHosts names the hosts of the file that the service has not seen, or
// that came too late for the install and have not been added since.
func (p *planner) missingHosts() []string {
	var missing []string
	for i := range p.spec.Spec.Hosts {
		name := p.spec.Spec.Hosts[i].Name
		if have := p.matches.ByName[name]; have == nil || have.Day2 && have.State != model.HostAdded {
			missing = append(missing, name)
		}
	}
	return missing
}
