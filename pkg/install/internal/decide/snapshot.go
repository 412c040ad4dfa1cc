package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Snapshot answers questions about an observation that no plan says, by the same rules.
type Snapshot struct{ planner *planner }

// NewSnapshot is an observation beside what is desired.
func NewSnapshot(desired *model.Desired, observed *model.Observed) *Snapshot {
	return &Snapshot{planner: newPlanner(desired, observed, model.Memory{}, observed.At)}
}

// Hosts says which observed machine is which host of cluster.yaml: all that a host's match says has to fit. First come
// the hosts of the file in their order, those that have not come among them, then the other machines in the order in
// which they were observed. A second machine that fits a host of the file has no name.
func (s *Snapshot) Hosts() []model.NamedHost {
	cluster, observed := s.planner.roster.whole, s.planner.observed
	found := s.planner.roster.Matches
	leftOut := s.planner.options.LeftOut
	hosts := slices.Concat(cluster.Spec.Hosts, leftOut)
	if cluster != s.planner.spec || len(leftOut) > 0 { // also the hosts that are added later
		found = MatchHosts(hosts, observed)
	}
	named := make([]model.NamedHost, 0, len(hosts))
	for i := range hosts {
		want := &hosts[i]
		named = append(named, model.NamedHost{Name: want.Name, Role: want.Role, Host: found.ByName[want.Name]})
	}
	for i := range observed.Hosts {
		if host := &observed.Hosts[i]; found.Names[host.ID] == "" {
			named = append(named, model.NamedHost{Host: host})
		}
	}
	return named
}

// InfraEnv is the one that has the discovery image that a host of the file boots next; false while there is none.
func (s *Snapshot) InfraEnv(host string) (model.InfraEnv, bool) {
	if s.planner.cluster == nil {
		return model.InfraEnv{}, false
	}
	env := s.planner.images.envOf(host)
	if env == nil {
		return model.InfraEnv{}, false
	}
	return *env, true
}

// HasToBoot reports whether a host of the file has still to boot its discovery image.
func (s *Snapshot) HasToBoot(host string) bool {
	want := s.planner.spec.Host(host)
	return want != nil && s.planner.boot.toBoot(want)
}

// Reading names the hosts that may still read their images: of them the BMC had
// it last, and they do not run from their disks yet.
func (s *Snapshot) Reading() []string {
	p := s.planner
	if p.cluster == nil {
		return nil
	}
	var names []string
	for i := range p.spec.Spec.Hosts {
		host := &p.spec.Spec.Hosts[i]
		if state := p.observed.Machines[host.Name]; (state.Inserting || state.OurMedia && state.Power != model.PowerIsOff) &&
			!p.boot.pastBoot(host) {
			names = append(names, host.Name)
		}
	}
	return names
}

// Then says what follows on a plan until the cluster is installed: what the file
// asks for and Decide will come to once what stands before it is done. It is
// for a person to read; what is done is decided anew each time. Nothing follows
// on a plan that is an end, or that a cluster of another owner blocks.
func (s *Snapshot) Then(plan model.Plan) []model.Step {
	p := s.planner
	switch plan.Verdict {
	case model.VerdictWorking, model.VerdictWaiting, model.VerdictBlocked:
	default:
		return nil
	}
	if slices.ContainsFunc(plan.Blockers, func(b model.Blocker) bool { return b.Cure == model.CureOwner || b.Cure == model.CureAuth }) {
		return nil
	}
	early := p.cluster == nil || p.cluster.State.BeforeInstall()
	f := &following{
		spec: p.spec, observed: p.observed, roster: p.roster, attendance: p.attendance, addNodes: p.options.AddNodes, early: early, now: plan,
		ahead: p.registered, isRegistered: p.cluster != nil,
	}
	switch {
	case p.options.Remove != nil:
		f.leavesBehind()
	case early && p.spec.OnlyAdds():
		f.nodes()
	case early:
		f.settings()
		f.machines()
		f.install()
		f.results()
	case p.cluster.State.Running():
		f.results()
	}
	return f.steps
}

// following gathers what comes after a plan.
type following struct {
	spec         *spec.Cluster
	observed     *model.Observed
	roster       *roster
	attendance   *attendance
	addNodes     bool
	isRegistered bool
	early        bool            // the installation has not begun
	ahead        func() *planner // decides as if the cluster were registered
	now          model.Plan
	steps        []model.Step
}

func (f *following) add(s model.Step) { f.steps = append(f.steps, s) }

// nodes are what follows on the import of a cluster: it is installed already, and
// hosts are added to it.
func (f *following) nodes() {
	if !f.addNodes {
		return
	}
	f.images()
	missing := f.attendance.missingHosts()
	f.machines()
	if len(missing) > 0 {
		f.add(model.Step{
			Scope: model.ScopeCluster, Kind: model.InstallHost, Hosts: missing,
			Message: "install each of " + listtext.ListText(missing) +
				" when it is ready; the disks that it overwrites are known after they have registered",
		})
	}
}

// leavesBehind is what follows on the removal of nodes.
func (f *following) leavesBehind() {
	for _, r := range f.now.Removals {
		for _, s := range r.Left {
			if !slices.ContainsFunc(f.now.Actions, func(a model.Action) bool { return a.Scope == s.Scope && a.Kind == s.Kind }) {
				f.add(s)
			}
		}
	}
}

// planned reports whether the plan does such a thing already.
func (f *following) planned(kind model.Kind) bool {
	return slices.ContainsFunc(f.now.Actions, func(a model.Action) bool { return a.Kind == kind })
}

// settings are the settings of cluster and image that are still to be sent to the service: those of the decisions ahead
// that need nothing of a machine.
func (f *following) settings() {
	if !f.isRegistered {
		ahead := f.ahead()
		ahead.cluster.Settings, ahead.cluster.Owned = clustersettings.OfCluster(f.spec), true
		ahead.clusterSettings.configure()
		f.actions(ahead.plan.Actions)
	}
	f.images()
}

// images are the discovery images that are still to be made or changed.
func (f *following) images() {
	ahead := f.ahead()
	ahead.infraEnvs.forInstall()
	f.actions(ahead.plan.Actions)
}

// actions adds those that the plan does not have.
func (f *following) actions(ahead []model.Action) {
	for _, a := range ahead {
		if !slices.ContainsFunc(f.now.Actions, func(b model.Action) bool { return b.Key == a.Key }) {
			f.add(model.Step{Scope: a.Scope, Kind: a.Kind, Message: a.Describe()})
		}
	}
}

// machines are what hosts have to do, and what is done to them, before the
// install can start.
func (f *following) machines() {
	missing := f.attendance.missingHosts()
	awaited := slices.DeleteFunc(slices.Clone(missing), func(name string) bool {
		return isReserved(f.spec.Host(name)) || slices.ContainsFunc(f.now.Waits,
			func(w model.Wait) bool { return w.Scope == model.ScopeHost.Of(name) })
	})
	if byBMC := f.bootedByOaictl(awaited); len(byBMC) > 0 {
		f.add(model.Step{
			Scope: model.ScopeCluster, Kind: model.InsertMedia, Hosts: byBMC,
			Message: "boot " + listtext.ListText(byBMC) + " through " + theirBMCs(len(byBMC)) +
				": insert the discovery image, set it as the next boot device, switch on; oaictl does not reboot a machine that is already on, " +
				"unless --reboot-running is given",
		})
	}
	if len(awaited) > 0 {
		f.add(model.Step{Scope: model.ScopeCluster, Message: "wait for " + listtext.ListText(awaited) +
			" to boot the discovery image and register",
			Hosts: awaited})
	}
	if more := f.attendance.unnamedMissing(); more > 0 && !slices.ContainsFunc(f.now.Waits,
		func(w model.Wait) bool { return w.Key == "hosts/register" }) {
		f.add(model.Step{Scope: model.ScopeCluster, Message: fmt.Sprintf("wait for %d hosts that the file does not name", more)})
	}
	if f.reimages() {
		var booted []string
		for _, h := range f.roster.Part {
			booted = append(booted, f.roster.Call(h))
		}
		if slices.Sort(booted); len(booted) > 0 {
			f.add(model.Step{Scope: model.ScopeCluster, Message: "wait for " + listtext.ListText(booted) + " to be rebooted into the new image",
				Hosts: booted})
		}
	}
	if len(missing) == 0 {
		return
	}
	bound := missing
	if f.spec.Spec.InfraEnv.Ref == "" && f.spec.Spec.InfraEnv.Bind != spec.BindLate {
		bound = slices.DeleteFunc(slices.Clone(missing), func(name string) bool { return !isReserved(f.spec.Host(name)) })
	}
	if len(bound) > 0 {
		f.add(model.Step{Scope: model.ScopeCluster, Kind: model.BindHost, Message: "bind " + listtext.ListText(bound) + " to the cluster",
			Hosts: bound})
	}
	f.add(model.Step{Scope: model.ScopeCluster, Kind: model.UpdateHost,
		Message: "configure " + listtext.ListText(missing) + " as described in the file",
		Hosts:   missing})
}

func theirBMCs(n int) string {
	if n == 1 {
		return "its BMC"
	}
	return "their BMCs"
}

// bootedByOaictl are those of the hosts whose BMCs the plan does nothing with yet.
func (f *following) bootedByOaictl(names []string) []string {
	var out []string
	for i := range f.spec.Spec.Hosts {
		host := &f.spec.Spec.Hosts[i]
		if f.observed.Machines == nil || !slices.Contains(names, host.Name) || !f.spec.BootsByBMC(host) {
			continue
		}
		if !slices.ContainsFunc(f.now.Actions, func(a model.Action) bool { return a.Kind.ByBMC() && a.Name == host.Name }) {
			out = append(out, host.Name)
		}
	}
	return out
}

// reimages reports whether the plan makes a new image.
func (f *following) reimages() bool {
	return f.planned(model.UpdateInfraEnv) || slices.ContainsFunc(f.steps, func(s model.Step) bool { return s.Kind == model.UpdateInfraEnv })
}

// install is the install call, and what is known of the disks that it will have
// written over.
func (f *following) install() {
	if f.planned(model.StartInstall) {
		return
	}
	missing := f.attendance.missingHosts()
	text := "start the installation when every host is ready"
	switch {
	case len(f.roster.Part) == 0, f.attendance.unnamedMissing() > 0:
		text += "; the disks that it overwrites are known after they have registered"
	case len(missing) > 0:
		text += "; the disks of " + listtext.ListText(missing) + " that it overwrites are known after they have registered"
	}
	f.add(model.Step{Scope: model.ScopeCluster, Kind: model.StartInstall, Message: text})
}

// ejected are the hosts whose virtual drives hold the discovery image until they
// have written their disks: before the install all that oaictl boots, later those
// that still do.
func (f *following) ejected() []string {
	var out []string
	for i := range f.spec.Spec.Hosts {
		host := &f.spec.Spec.Hosts[i]
		if f.observed.Machines == nil || !f.spec.BootsByBMC(host) {
			continue
		}
		state, seen := f.observed.Machines[host.Name]
		if f.early || seen && state.OurMedia {
			out = append(out, host.Name)
		}
	}
	return out
}

// results are the end: the credentials, as far as they are not on disk.
func (f *following) results() {
	if booted := f.ejected(); len(booted) > 0 {
		f.add(model.Step{Scope: model.ScopeCluster, Kind: model.EjectMedia, Hosts: booted,
			Message: "eject the discovery image of " + listtext.ListText(booted) + " when each boots from its disk, and restore its boot order"})
	}
	f.add(model.Step{Scope: model.ScopeCluster, Message: "wait for the installation to end"})
	var names []string
	have := f.observed.Results
	if !have.Kubeconfig {
		names = append(names, "the kubeconfig")
	}
	if !have.Password {
		names = append(names, "the kubeadmin password")
	}
	if len(names) > 0 {
		f.add(model.Step{Scope: model.ScopeCluster, Kind: model.SaveKubeconfig, Message: "save " + strings.Join(names, " and ")})
	}
}
