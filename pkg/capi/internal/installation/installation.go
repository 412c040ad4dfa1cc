// Package installation keeps, for each Cluster of Cluster API, one observation of its installation,
// what is remembered of it, and the plan that follows from both. All reconcilers of the Cluster's
// objects share them: each carries out the actions of its own scope, and none reads the service by
// itself. Whom a change concerns is woken.
package installation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
)

// Key is the namespace and name of a Cluster.
type Key = types.NamespacedName

// Config says how installations are reached, and who hears of them.
type Config struct {
	// Connect is the service that installs the clusters of a namespace. What it returns is closed at the end of
	// Start; what tells of changes, and so watches, also once its namespace has had no installation for a while:
	// the next who needs it has it made anew.
	Connect func(namespace string) (install.Backend, error)
	// Desire is what a Cluster shall become, from its objects, given the last observation of it (nil
	// at first). ErrNotYet in its error says that there is nothing to be installed yet, and ErrGone
	// beside it that there is no such Cluster any more: it is forgotten then. A desired state beside a
	// *Partial is whole but for some hosts; beside another error it is only enough to observe by.
	Desire func(ctx context.Context, cluster Key, observed *install.Observed) (*install.Desired, error)
	// Mark stands for the objects of a Cluster, and is another one once Desire may find something else; nil has
	// Desire asked each time.
	Mark func(ctx context.Context, cluster Key) (uint64, error)
	// Nodes is the plane of an installed cluster's own API server; nil looks at none.
	Nodes func(cluster Key) install.Nodes
	// Clock is what waits are measured by.
	Clock install.Clock
	// Wake is told that what concerns some scopes of a Cluster has changed. It does not block.
	Wake func(cluster Key, scopes []install.Scope)
}

// ErrNotYet is wrapped where a Cluster has nothing to be installed yet.
var ErrNotYet = errors.New("there is nothing to install yet")

// ErrGone is wrapped beside ErrNotYet where there is no Cluster.
var ErrGone = errors.New("it is gone")

// Refusal is what is wrong with the objects of a Cluster: only a change of them cures it.
type Refusal struct{ Problems []string }

func (r *Refusal) Error() string { return strings.Join(r.Problems, "; ") }

// Partial says that some hosts could not be made out of the objects of a Cluster, by their names, and why: they
// are known for what they are, and nothing is done to them.
type Partial struct{ Hosts map[string]error }

func (p *Partial) Error() string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(p.Hosts)) {
		texts = append(texts, name+": "+p.Hosts[name].Error())
	}
	return strings.Join(texts, "; ")
}

// Set is the installations of all Clusters. It is safe for concurrent use.
type Set struct {
	config Config

	mu       sync.Mutex
	life     context.Context // of the loops; nil before Start
	loops    sync.WaitGroup
	services map[string]*connection // by namespace
	of       map[Key]*installation
}

// connection is a service that is reached for a namespace.
type connection struct {
	service install.Backend
	used    time.Time // last asked for
}

// New makes an empty set. Until Start, changes wake nobody.
func New(config Config) *Set {
	return &Set{config: config, services: map[string]*connection{}, of: map[Key]*installation{}}
}

// installation is that of one Cluster.
type installation struct {
	set   *Set
	key   Key
	nodes install.Nodes
	stop  context.CancelFunc // ends its loop; nil while it has none

	client  *install.Client
	brief   *install.Client // the same, that does not look at the installed cluster itself
	service install.Backend

	looking sync.Mutex // held while it is observed and decided on, which may take long

	mu      sync.Mutex // of what follows; a view and what goes with it change only while looking is held, too
	view    *View
	memory  install.Memory
	changed uint64 // how often something was written, or has changed
	seen    uint64 // how often it had when the view was made
	mark    uint64 // of the objects that the view's desired state is of
	acting  map[install.Scope]*sync.Mutex
	leftOut map[string]leftOut // by the names of hosts
	looked  time.Time          // when that was made, in real time
	waited  time.Time          // when the installed cluster itself was waited for last

	told map[install.Scope]uint64 // what each scope looked like when it was last told of; of the loop alone
}

// View is what is known of an installation at one moment, and what follows from it. It is not to be
// changed.
type View struct {
	Desired  *install.Desired
	Observed *install.Observed
	Plan     install.Plan
	// NoPlan is why it cannot be told at present what the Cluster shall become; nil where it can. The plan is
	// empty then, and what is desired says no more than what was observed.
	NoPlan error

	tried   map[string]tried // what is remembered of the plan's actions, by their keys
	retries bool             // an action that failed is to be tried again
	leftOut map[string]leftOut
}

// leftOut is a host that was taken out of its cluster, and has not registered since.
type leftOut struct {
	id, why string
	at      time.Time
}

// tried is what is remembered of an action when it is decided on.
type tried struct {
	Refused model.Refusal
	Done    model.Success
}

// freshFor is how long a view is taken for the present where nothing is known to have changed, in real
// time: a plan also depends on the time.
const freshFor = time.Second

// waitsAgain is how long reconciles take an installed cluster that does not answer for away without waiting for it: that
// is left to the loop, which looks more often than that.
const waitsAgain = idly + time.Minute

// View is the installation of a Cluster as it is now. An installed cluster that did not answer lately is not waited for.
// Where it is not known what is desired of it, the view says what was observed, and its error is NoPlan.
func (s *Set) View(ctx context.Context, cluster Key) (*View, error) {
	i, err := s.get(cluster)
	if err != nil {
		return nil, err
	}
	return i.look(ctx)
}

// Last is the view that was made last, nil where there is none. It asks nobody anything.
func (s *Set) Last(cluster Key) *View {
	s.mu.Lock()
	i := s.of[cluster]
	s.mu.Unlock()
	if i == nil {
		return nil
	}
	return i.last()
}

// last is the view that was made last, nil where there is none.
func (i *installation) last() *View {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.view
}

// Service is the service that installs the clusters of a namespace.
func (s *Set) Service(namespace string) (install.Backend, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.config.Clock.Now()
	if have, there := s.services[namespace]; there {
		have.used = now
		return have.service, nil
	}
	service, err := s.config.Connect(namespace)
	if err != nil {
		return nil, fmt.Errorf("connect to the service for namespace %s: %w", namespace, err)
	}
	s.services[namespace] = &connection{service: service, used: now}
	return service, nil
}

func (s *Set) get(cluster Key) (*installation, error) {
	service, err := s.Service(cluster.Namespace)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.of[cluster]
	if i == nil {
		i = &installation{
			set: s, key: cluster, service: service, told: map[install.Scope]uint64{}, acting: map[install.Scope]*sync.Mutex{}, leftOut: map[string]leftOut{},
		}
		options := []install.Option{install.WithClock(s.config.Clock), install.WithTimeouts(0, 0)}
		if s.config.Nodes != nil {
			if i.nodes = s.config.Nodes(cluster); i.nodes != nil {
				options = append(options, install.WithNodes(i.nodes))
			}
		}
		i.client = install.New(service, options...)
		i.brief = install.New(service, install.WithClock(s.config.Clock), install.WithTimeouts(0, 0))
		s.of[cluster] = i
		s.begin(i)
	}
	return i, nil
}

// Forget ends the loop of a Cluster that is gone, and drops what is known of it.
func (s *Set) Forget(cluster Key) {
	s.mu.Lock()
	i := s.of[cluster]
	s.mu.Unlock()
	if i != nil {
		s.drop(i)
	}
}

// drop is Forget of an installation that may have been forgotten meanwhile.
func (s *Set) drop(i *installation) {
	s.mu.Lock()
	known, stop := s.of[i.key] == i, i.stop
	if known {
		delete(s.of, i.key)
	}
	s.mu.Unlock()
	if !known {
		return
	}
	if stop != nil {
		stop()
	}
	if closer, has := i.nodes.(interface{ Close() }); has {
		closer.Close()
	}
}

// Changed says that something outside has changed, so that the next View looks anew.
func (s *Set) Changed(cluster Key) {
	s.mu.Lock()
	i := s.of[cluster]
	s.mu.Unlock()
	if i != nil {
		i.mu.Lock()
		i.changed++
		i.mu.Unlock()
	}
}

// look observes and decides, unless nothing has changed since it last did. It does not wait for an installed cluster that
// did not answer lately.
func (i *installation) look(ctx context.Context) (*View, error) {
	if view, err := i.known(ctx); view != nil || err != nil {
		return view, err
	}
	i.looking.Lock()
	defer i.looking.Unlock()
	if view, err := i.known(ctx); view != nil || err != nil { // somebody else has looked meanwhile
		return view, err
	}
	return i.observe(ctx, false)
}

// isFresh reports whether the view is taken for the present, as far as the objects are the same. i.mu is held.
func (i *installation) isFresh() bool {
	return i.view != nil && i.changed == i.seen && (clock.Real().Now().Sub(i.looked) < freshFor || i.isAway())
}

// isAway reports whether the installed cluster did not answer lately. i.mu is held.
func (i *installation) isAway() bool {
	if i.view == nil || i.set.config.Clock.Now().Sub(i.waited) >= waitsAgain {
		return false
	}
	spoke := i.view.Observed.Spoke
	return spoke != nil && spoke.Trouble != "" && spoke.TroubleKind == model.SpokeUnreachable
}

// known is the view, where it is taken for the present by the mark of the objects; else nil.
func (i *installation) known(ctx context.Context) (*View, error) {
	i.mu.Lock()
	view, fresh, of := i.view, i.isFresh(), i.mark
	i.mu.Unlock()
	if !fresh || i.set.config.Mark == nil {
		return nil, nil
	}
	mark, err := i.set.config.Mark(ctx, i.key)
	if err != nil || mark != of {
		return nil, err
	}
	return view, view.NoPlan
}

// observe looks and decides; patient says that it waits for an installed cluster that did not answer lately, and takes
// nothing that is known for the present. i.looking is held.
func (i *installation) observe(ctx context.Context, patient bool) (*View, error) {
	i.mu.Lock()
	view, changed, fresh, away := i.view, i.changed, i.isFresh() && !patient, i.isAway() && !patient
	i.mu.Unlock()
	var prior *install.Observed
	if view != nil {
		prior = view.Observed
	}
	var mark uint64
	if i.set.config.Mark != nil {
		var err error
		if mark, err = i.set.config.Mark(ctx, i.key); err != nil {
			return nil, err
		}
	}
	desired, left, err := i.desire(ctx, prior)
	if desired == nil {
		return nil, err
	}
	now := i.set.config.Clock.Now()
	if fresh && err == nil && view.NoPlan == nil && reflect.DeepEqual(desired, view.Desired) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.mark = mark
		return view, nil
	}
	client := i.client
	if away {
		client = i.brief
	}
	observed, failed := client.Observe(ctx, desired, prior)
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	if away {
		observed.Spoke = prior.Spoke
	}
	if prior == nil || err != nil || stateOf(prior) != stateOf(observed) { // what is desired depends on how far it is
		if desired, left, err = i.desire(ctx, observed); desired == nil {
			return nil, err
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.memory.Seen(observed, now)
	view = &View{Desired: desired, Observed: observed, NoPlan: err, leftOut: i.stillOut(observed)}
	if err == nil {
		view.Plan = install.Decide(desired, observed, i.memory, observed.At)
		left.leaveAlone(view)
		i.memory.Decided(view.Plan)
		view.tried, view.retries = i.triedOf(view.Plan), i.memory.RefusalOf(view.Plan) != nil
	}
	i.view, i.seen, i.mark, i.looked = view, changed, mark, clock.Real().Now()
	if !away {
		i.waited = i.set.config.Clock.Now()
	}
	return view, err
}

// desire is what a Cluster shall become, and which hosts are left alone. Beside an error it is enough to observe by,
// or nil.
func (i *installation) desire(ctx context.Context, observed *install.Observed) (*install.Desired, *Partial, error) {
	desired, err := i.set.config.Desire(ctx, i.key, observed)
	if left, is := errors.AsType[*Partial](err); is && desired != nil {
		return desired, left, nil
	}
	return desired, nil, err
}

// leaveAlone takes out of a plan what it would do to the hosts that could not be made out, and says why.
func (p *Partial) leaveAlone(v *View) {
	if p == nil {
		return
	}
	alone := map[install.Scope]bool{}
	for name := range p.Hosts {
		alone[model.HostScope(name)] = true
		if want := v.Desired.Spec.Host(name); want != nil && want.Match.InfraEnv != "" {
			alone[model.InfraEnvScope(want.Match.InfraEnv)] = true
		}
	}
	v.Plan.Actions = slices.DeleteFunc(v.Plan.Actions, func(a install.Action) bool { return alone[a.Scope] })
	v.Plan.Blockers = slices.DeleteFunc(v.Plan.Blockers, func(b install.Blocker) bool { return alone[b.Scope] })
	for _, name := range slices.Sorted(maps.Keys(p.Hosts)) {
		if host := v.Host(name); host != nil && (host.State == model.HostInstalled || host.State == model.HostAdded) {
			continue // it runs, and needs nothing of that any more
		}
		v.Plan.Blockers = append(v.Plan.Blockers, install.Blocker{
			Key: "host/" + name + "/objects", Scope: model.HostScope(name), Reason: "InvalidConfiguration", Cure: model.CurePerson,
			Message: p.Hosts[name].Error(), Hosts: []string{name},
		})
	}
}

// triedOf is what is remembered of the actions of a plan.
func (i *installation) triedOf(plan install.Plan) map[string]tried {
	of := map[string]tried{}
	for _, a := range plan.Actions {
		refused, failed := i.memory.Refused[a.Key]
		done, succeeded := i.memory.Done[a.Key]
		if failed || succeeded {
			of[a.Key] = tried{Refused: refused, Done: done}
		}
	}
	return of
}

// stillOut are the hosts that were taken out of the cluster and have not registered since. i.mu is held.
func (i *installation) stillOut(observed *install.Observed) map[string]leftOut {
	maps.DeleteFunc(i.leftOut, func(_ string, out leftOut) bool {
		host := observed.HostByID(out.id)
		return host != nil && host.Registered.After(out.at)
	})
	return maps.Clone(i.leftOut)
}

func stateOf(o *install.Observed) install.ClusterState {
	if o.Cluster == nil {
		return ""
	}
	return o.Cluster.State
}

// rounds is how often Act decides anew at most: what it did may make more possible at once.
const rounds = 6

// Act carries out the actions of some scopes of a Cluster's plan, in their order, and looks again
// while that makes more of them possible. It returns the view afterwards, as View does, and what was done.
// An action that fails ends it: the error is its own, and is remembered, so that it is not
// tried again before its time. Others are looked at by the next call.
func (s *Set) Act(ctx context.Context, cluster Key, scopes ...install.Scope) (*View, []install.Action, error) {
	i, err := s.get(cluster)
	if err != nil {
		return nil, nil, err
	}
	if len(scopes) > 0 {
		defer i.hold(scopes[0])()
	}
	var done []install.Action
	for range rounds {
		view, err := i.look(ctx)
		if err != nil {
			return view, done, err
		}
		acted := false
		for _, action := range view.Plan.Actions {
			if !contains(scopes, action.Scope) {
				continue
			}
			err := i.client.Act(ctx, view.Desired, view.Observed, action)
			if err != nil && context.Cause(ctx) != nil {
				return view, done, err // nothing was refused
			}
			i.mu.Lock()
			i.memory.Note(action, err, view.Observed.At)
			i.changed++
			if err == nil && action.Kind == model.RemoveHost {
				i.leftOut[action.Name] = leftOut{id: action.Target, why: action.Reason, at: view.Observed.At}
			}
			i.mu.Unlock()
			if err != nil {
				return view, done, err
			}
			acted, done = true, append(done, action)
		}
		if !acted {
			return view, done, nil
		}
	}
	view, err := s.View(ctx, cluster)
	return view, done, err
}

// hold keeps others from acting on what begins with the same scope, until it is let go of.
func (i *installation) hold(scope install.Scope) (letGo func()) {
	i.mu.Lock()
	if i.acting[scope] == nil {
		i.acting[scope] = &sync.Mutex{}
	}
	lock := i.acting[scope]
	i.mu.Unlock()
	lock.Lock()
	return lock.Unlock
}

func contains(scopes []install.Scope, scope install.Scope) bool {
	for _, s := range scopes {
		if s == scope {
			return true
		}
	}
	return false
}

// Host is the observed host of a Machine, by its name among those that are desired; nil where it has
// not registered.
func (v *View) Host(name string) *install.Host {
	for _, named := range install.NewSnapshot(v.Desired, v.Observed).Hosts() {
		if named.Name == name {
			return named.Host
		}
	}
	return nil
}

// LeftOut is why the host of a Machine was taken out of the cluster by this process, and has not registered since; "" where
// that is not so.
func (v *View) LeftOut(name string) string { return v.leftOut[name].why }

// InfraEnv is the observed InfraEnv of a name; nil where there is none.
func (v *View) InfraEnv(name string) *install.InfraEnv {
	for i := range v.Observed.InfraEnvs {
		if v.Observed.InfraEnvs[i].Name == name {
			return &v.Observed.InfraEnvs[i]
		}
	}
	return nil
}

// Installed reports whether the cluster is installed.
func (v *View) Installed() bool {
	return v.Observed.Cluster != nil && v.Observed.Cluster.State.Installed()
}

// BeforeInstall reports whether the installation has not begun.
func (v *View) BeforeInstall() bool {
	return v.Observed.Cluster == nil || v.Observed.Cluster.State.BeforeInstall() || v.Observed.Cluster.State == model.ClusterDraft
}

// settles is how long a host is checked before what fails counts: machines that have just registered have not found each
// other yet.
const settles = time.Minute

// SettlesIn is how long it takes from a moment on until what fails of a host counts; 0 where it does, and for none.
func SettlesIn(host *install.Host, at time.Time) time.Duration {
	if host == nil {
		return 0
	}
	switch host.State {
	case model.HostBinding, model.HostDiscovering, model.HostBlocked:
		if host.Since.IsZero() { // it is registering this moment
			return settles
		}
		return max(0, settles-at.Sub(host.Since))
	}
	return 0
}
