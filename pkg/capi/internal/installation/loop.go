package installation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// How long after a look the next one comes, though nothing is known to have changed: first after a change, at most while
// something is waited for, at most where all that can change is told, and at most where besides nothing is waited for:
// what an installed cluster says of its operators then is as old as that.
const (
	soonest = time.Second
	seldom  = 10 * time.Second
	rarely  = time.Minute
	idly    = 2 * time.Minute
	// burst is how long changes that come together are gathered, in real time: it is there to spare the
	// processor.
	burst = 100 * time.Millisecond
)

// Start has changes of installations wake whom they concern, until ctx ends. It returns then.
func (s *Set) Start(ctx context.Context) error {
	s.mu.Lock()
	s.life = ctx
	for _, i := range s.of {
		s.begin(i)
	}
	s.mu.Unlock()
	for s.config.Clock.Sleep(ctx, unusedFor) == nil {
		s.closeUnused()
	}
	s.mu.Lock()
	s.ended = true // before the loops are waited for: who is still at work begins none meanwhile
	s.mu.Unlock()
	s.loops.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var closing sync.WaitGroup // each waits for its watches to end
	for _, i := range s.of {
		if closer, has := i.nodes.(interface{ Close() }); has {
			closing.Go(closer.Close)
		}
	}
	closing.Wait()
	for _, c := range s.services {
		c.service.Close()
	}
	return nil
}

// unusedFor is for how long nobody has asked for a service at least, before its watches are ended: longer than anybody
// who has asked for it uses it.
const unusedFor = 10 * time.Minute

// closeUnused closes the services that watch namespaces in which nothing is installed.
func (s *Set) closeUnused() {
	s.mu.Lock()
	used := map[string]bool{}
	for key := range s.of {
		used[key.Namespace] = true
	}
	var closing []install.Backend
	for namespace, c := range s.services {
		if _, watches := c.service.(install.Notifier); watches && !used[namespace] && s.config.Clock.Now().Sub(c.used) >= unusedFor {
			delete(s.services, namespace)
			closing = append(closing, c.service)
		}
	}
	s.mu.Unlock()
	for _, service := range closing {
		service.Close()
	}
}

// DropUnused is for a process that does not lead, where no loop finds out what is not needed any more: it drops the
// installations that nobody has asked for in a while, and closes the services that are left without any.
func (s *Set) DropUnused() {
	var unused []*installation
	s.mu.Lock()
	for _, i := range s.of {
		if s.life == nil && s.config.Clock.Now().Sub(i.used) >= unusedFor {
			unused = append(unused, i)
		}
	}
	s.mu.Unlock()
	for _, i := range unused {
		s.drop(i)
	}
	s.closeUnused()
}

// begin starts the loop of an installation, if there is a life for it. s.mu is held.
func (s *Set) begin(i *installation) {
	if s.life == nil || s.ended || i.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(s.life)
	i.stop = stop
	s.loops.Go(func() { i.follow(ctx) })
}

// follow looks at an installation whenever it may have changed, and tells whom that concerns.
func (i *installation) follow(ctx context.Context) {
	quiet := soonest
	for ctx.Err() == nil {
		i.turn(ctx, &quiet)
	}
}

// turn is one look, and the pause after it; quiet is how long the last pause was. What panics is one Cluster's, and would
// end the process, which is that of all.
func (i *installation) turn(ctx context.Context, quiet *time.Duration) {
	defer func() {
		if p := recover(); p != nil {
			i.set.config.Log.Error(fmt.Errorf("panic: %v", p), "cannot look at a Cluster", "cluster", i.key.String(), "stack", string(debug.Stack()))
			_ = i.set.config.Clock.Sleep(ctx, seldom) // the end cuts it short, which the loop sees by itself
		}
	}()
	changed := i.changes() // before the look, so that none is lost
	view, err := i.observePatiently(ctx)
	known := i.last() != nil
	if ctx.Err() != nil {
		return
	}
	longest := seldom
	if view != nil && i.tell(view) {
		*quiet = soonest
	}
	switch {
	case err == nil:
		longest = view.lasts(i.follows())
	case errors.Is(err, ErrGone): // as after a move, which takes objects away without a word
		i.set.drop(i) // which ends ctx
		return
	case !errors.Is(err, ErrNotYet) && !IsRefusal(err):
		i.set.config.Wake(i.key, []model.Scope{model.ScopeCluster}) // its reconciler says why
	}
	if len(changed) == 0 && known && i.follows() {
		return // only now it is known what is to be followed
	}
	*quiet = min(longest, 2**quiet)
	i.pause(ctx, changed, *quiet)
}

// observePatiently is observe as the loop does it.
func (i *installation) observePatiently(ctx context.Context) (*View, error) {
	if err := i.looking.Lock(ctx); err != nil {
		return nil, err
	}
	defer i.looking.Unlock()
	return i.observe(ctx, true)
}

// lasts is how long a view is kept at most where nobody tells of a change. Told is whether the service tells of its own.
func (v *View) lasts(told bool) time.Duration {
	ended, _ := v.Plan.Ended()
	switch {
	case v.retries:
		return seldom
	case ended && v.Installed() && told: // no host is being added
		return idly
	case ended && v.Installed():
		return rarely
	case told && v.installing() && v.Observed.Spoke == nil: // the service has it in hand
		return rarely
	}
	return seldom
}

// installing reports whether the machines are being installed, which is up to the service alone.
func (v *View) installing() bool {
	c := v.Observed.Cluster
	return c != nil && (c.State == model.ClusterInstalling || c.State == model.ClusterFinalizing)
}

// follows reports whether the service tells of changes.
func (i *installation) follows() bool {
	_, does := i.service.(install.Notifier)
	return does
}

// changes are channels that are closed once something is other than the next look finds it.
func (i *installation) changes() []<-chan struct{} {
	var all []<-chan struct{}
	view := i.last()
	if service, watches := i.service.(install.Notifier); watches && view != nil {
		all = append(all, service.Changed(view.Desired.Query()))
	}
	if i.nodes != nil && view != nil && view.Observed.Spoke != nil {
		all = append(all, i.nodes.Changed())
	}
	return all
}

// pause waits until something changes, or for so long.
func (i *installation) pause(ctx context.Context, changed []<-chan struct{}, atMost time.Duration) {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, change := range changed {
		go func() {
			select {
			case <-change:
				cancel()
			case <-within.Done():
			}
		}()
	}
	_ = i.set.config.Clock.Sleep(within, atMost) // a change, or the end, cuts it short
	_ = clock.Real().Sleep(ctx, burst)           // which the loop sees by itself
}

// tell wakes whom a view concerns that is other than the last one, and reports whether there was anybody.
func (i *installation) tell(view *View) bool {
	now := view.fingerprints()
	var scopes []model.Scope
	for scope, mark := range now {
		if i.told[scope] != mark {
			scopes = append(scopes, scope)
		}
	}
	for scope := range i.told {
		if _, there := now[scope]; !there {
			scopes = append(scopes, scope)
		}
	}
	i.told = now
	if len(scopes) == 0 {
		return false
	}
	slices.Sort(scopes)
	i.set.config.Wake(i.key, scopes)
	return true
}

// aspect is what of a view concerns one scope: what its reconciler acts on, or shows.
type aspect struct {
	Actions  []actionAspect
	Waits    []string
	Blockers []string
	Warnings []string
	Object   any
	Spoke    any `json:",omitempty"` // what of the installed cluster concerns the control plane
}

// actionAspect is an action that is to be carried out now. One that was tried is another one after each try: whoever it
// failed for, or was in vain for, is told of it once it is time to try it again.
type actionAspect struct {
	Key   string
	Tried *tried `json:",omitempty"`
}

type spokeAspect struct {
	Trouble, Version string
	Operators        []model.ClusterOperator
	Nodes            []nodeAspect
	Etcd             any
}

type nodeAspect struct {
	Name, Version string
	Ready         bool
}

func spokeOf(s *model.Spoke) spokeAspect {
	seen := spokeAspect{Trouble: s.Trouble, Version: s.Version, Operators: s.Operators, Etcd: s.Etcd}
	for i := range s.Nodes {
		seen.Nodes = append(seen.Nodes, nodeAspect{s.Nodes[i].Name, s.Nodes[i].Version, s.Nodes[i].Ready})
	}
	return seen
}

// hostAspect is what of a host is shown. How much of an image is written is not: it changes too often.
type hostAspect struct {
	ID, InfraEnv, Cluster, Hostname, Stage string
	State                                  model.HostState
	Day2                                   bool
	Interfaces                             []model.Interface
}

// ScopeState is told of where the cluster is another one, or in another state: that concerns all Machines.
const ScopeState model.Scope = "state"

type stateAspect struct {
	ID    string
	State model.ClusterState
}

type clusterAspect struct {
	ID, OpenShiftID, Version, Message string
	State                             model.ClusterState
	Verdict                           model.Verdict
	Kubeconfig, NoIngress             bool
	Hosts                             int
}

type infraEnvAspect struct {
	ID, URL, Info, Type string
	State               model.ImageState
	Created             time.Time
}

// fingerprints are marks of all scopes of a view, equal where nothing of it has changed that concerns
// the scope.
func (v *View) fingerprints() map[model.Scope]uint64 {
	aspects := map[model.Scope]*aspect{}
	of := func(scope model.Scope) *aspect {
		if aspects[scope] == nil {
			aspects[scope] = &aspect{}
		}
		return aspects[scope]
	}
	plan := &v.Plan
	for _, a := range plan.Actions {
		at := of(a.Scope)
		action := actionAspect{Key: a.Key}
		if before, was := v.tried[a.Key]; was {
			action.Tried = &before
		}
		at.Actions = append(at.Actions, action)
	}
	for _, w := range plan.Waits {
		at := of(w.Scope)
		at.Waits = append(at.Waits, w.For)
	}
	for _, b := range plan.Blockers {
		if b.Scope == model.ScopeCluster {
			continue // they are added with those of all
		}
		at := of(b.Scope)
		at.Blockers = append(at.Blockers, b.Message)
	}
	for _, w := range plan.Warnings {
		at := of(w.Scope)
		at.Warnings = append(at.Warnings, w.Message)
	}
	for _, named := range install.NewSnapshot(v.Desired, v.Observed).Hosts() {
		if h := named.Host; h != nil && named.Name != "" {
			of(model.HostScope(named.Name)).Object = hostAspect{
				ID: h.ID, InfraEnv: h.InfraEnvID, Cluster: h.ClusterID, Hostname: h.Hostname, Stage: h.Progress.Stage, State: h.State, Day2: h.Day2,
				Interfaces: h.Inventory.Interfaces,
			}
		}
	}
	for i := range v.Observed.InfraEnvs {
		e := &v.Observed.InfraEnvs[i]
		of(model.InfraEnvScope(e.Name)).Object = infraEnvAspect{ID: e.ID, URL: e.Image.URL, Info: e.Image.Info, Type: e.Image.Type, State: e.Image.State, Created: e.Image.Created}
	}
	cluster := of(model.ScopeCluster)
	for _, b := range plan.Blockers { // whatever stands in the way, stands in that of the cluster
		cluster.Blockers = append(cluster.Blockers, b.Message)
	}
	if v.NoPlan != nil {
		cluster.Blockers = append(cluster.Blockers, v.NoPlan.Error())
	}
	if c := v.Observed.Cluster; c != nil {
		of(ScopeState).Object = stateAspect{c.ID, c.State}
		cluster.Object = clusterAspect{
			ID: c.ID, OpenShiftID: c.OpenShiftID, Version: c.Version, Message: plan.Message, State: c.State, Verdict: plan.Verdict,
			Kubeconfig: c.Kubeconfig, NoIngress: c.NoIngress, Hosts: len(v.Observed.Hosts),
		}
	}
	if s := v.Observed.Spoke; s != nil {
		of(model.ScopeCluster).Spoke = spokeOf(s)
		for _, n := range s.Nodes {
			n.Created, n.ReadySince = time.Time{}, time.Time{} // on our clock, where they are a little other at each look
			of(model.NodeScope(n.Name)).Object = n
		}
	}
	marks := make(map[model.Scope]uint64, len(aspects))
	for scope, at := range aspects {
		data, err := json.Marshal(at)
		if err != nil {
			data = []byte(err.Error()) // of plain fields there is none
		}
		sum := fnv.New64a()
		_, _ = sum.Write(data) // it never fails
		marks[scope] = sum.Sum64()
	}
	return marks
}
