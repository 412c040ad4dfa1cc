package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Loop looks at one cluster in turns. It keeps what a turn needs of the turns before it: the last observation, the memory,
// and when something last changed. [Client.Run] drives a Loop until the cluster is installed. A controller drives one for
// as long as the cluster exists, and each of its reconcilers carries out the actions of its own scopes.
//
// A turn is [Loop.Observe] and [Loop.Decide], [Loop.Act], and [Loop.Await] for as long as [Loop.Pause] says. Observations
// and decisions must not overlap. Act may run beside them and beside itself.
type Loop struct {
	client *Client
	report func(model.Event)

	mu      sync.Mutex // of what follows
	memory  model.Memory
	last    Look
	prior   *model.Observed // what the next observation may build on
	offset  time.Duration   // the service's clock minus ours
	quiet   time.Duration   // how long nothing has changed, by the looks
	changed time.Time       // when something last changed, or an action succeeded
}

// Look is one turn of a [Loop]: what was observed, and the plan that follows. It is not changed afterwards. One that is made
// of Desired and Observed answers questions that no plan answers, by the same rules.
type Look struct {
	Desired  *model.Desired
	Observed *model.Observed
	Plan     model.Plan

	tried   map[string]tried // what the memory has of the plan's actions, by their keys
	retries bool             // an action that failed will be tried again
	missing bool             // the service does not show the cluster that an earlier look has shown
}

// Hosts says which observed machine is which host of cluster.yaml: all that a host's match says has to fit. First come
// the hosts of the file in their order, those that have not come among them, then the other machines in the order in
// which they were observed. A second machine that fits a host of the file has no name.
func (look *Look) Hosts() []model.NamedHost { return look.snapshot().Hosts() }

// InfraEnv is the one that has the discovery image that a host of the file boots next; false while there is none.
func (look *Look) InfraEnv(host string) (model.InfraEnv, bool) { return look.snapshot().InfraEnv(host) }

// HaveToBoot are the hosts among some of the file that have still to boot their discovery images.
func (look *Look) HaveToBoot(hosts ...string) []string {
	snapshot := look.snapshot()
	return slices.DeleteFunc(slices.Clone(hosts), func(host string) bool { return !snapshot.HasToBoot(host) })
}

// Reading names the hosts that may still read their images: of them the BMC had
// it last, and they do not run from their disks yet.
func (look *Look) Reading() []string { return look.snapshot().Reading() }

// Then says what follows on the plan until the cluster is installed: what the file
// asks for and Decide will come to once what stands before it is done. It is
// for a person to read; what is done is decided anew each time. Nothing follows
// on a plan that is an end, or that a cluster of another owner blocks.
func (look *Look) Then() []model.Step { return look.snapshot().Then(look.Plan) }

func (look *Look) snapshot() *decide.Snapshot { return decide.NewSnapshot(look.Desired, look.Observed) }

// tried is what the memory has of an action when it is decided on.
type tried struct {
	Refused model.Refusal
	Done    model.Success
}

// NewLoop returns a Loop that has seen nothing yet.
func (client *Client) NewLoop() *Loop {
	l := &Loop{client: client}
	l.report = func(e model.Event) {
		l.mu.Lock()
		e.V, e.Cluster, e.Time = 1, l.last.Desired.Spec.Metadata.Name, l.now()
		l.mu.Unlock()
		if e.Severity == "" {
			e.Severity = model.SeverityInfo
		}
		client.emit(e)
	}
	return l
}

// How often a loop looks.
const (
	atOnce  = 500 * time.Millisecond // what is about to change
	soonest = time.Second
	seldom  = 10 * time.Second // while something is waited for
	rarely  = time.Minute      // where the service reports all that can change
	idly    = 2 * time.Minute  // where there is no other wait: an operator's state may be as old as that
	hot     = 15 * time.Second // after a change the next one is likely
	checked = time.Minute      // within which a service has checked what was written
)

// now is the present moment on the service's clock. l.mu is held.
func (l *Loop) now() time.Time { return l.client.clock.Now().Add(l.offset) }

// Observe looks at the service, the results, the machines, and the installed cluster, as far as the next decision needs
// them. It builds on the last observation.
func (l *Loop) Observe(ctx context.Context, desired *model.Desired) (*model.Observed, error) {
	return l.observe(ctx, l.client, desired)
}

// ObserveService is Observe without the installed cluster: for that, the observation keeps what the last one had.
func (l *Loop) ObserveService(ctx context.Context, desired *model.Desired) (*model.Observed, error) {
	brief := *l.client
	brief.nodes = nil
	observed, err := l.observe(ctx, &brief, desired)
	if err != nil {
		return nil, err
	}
	if last := l.Last().Observed; last != nil {
		observed.Spoke = last.Spoke
	}
	return observed, nil
}

func (l *Loop) observe(ctx context.Context, client *Client, desired *model.Desired) (*model.Observed, error) {
	l.mu.Lock()
	prior, soon := l.prior, l.soon()
	l.mu.Unlock()
	observed, err := client.observe(ctx, desired, prior, soon)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.offset = observed.At.Sub(client.clock.Now())
	return observed, nil
}

// Decide remembers an observation and makes the plan that follows from it.
func (l *Loop) Decide(desired *model.Desired, observed *model.Observed) Look {
	l.mu.Lock()
	defer l.mu.Unlock()
	look := Look{Desired: l.client.limited(desired), Observed: observed}
	l.memory.Seen(observed, l.client.clock.Now())
	look.Plan = decide.Decide(look.Desired, observed, l.memory, observed.At)
	l.memory.Decided(look.Plan)
	refused := l.memory.RefusalOf(look.Plan)
	look.tried, look.retries = l.triedOf(&look.Plan), refused != nil && !refused.Permanent
	look.missing = l.memory.Misses > 0
	l.keep(look)
	return look
}

// Remember records an observation on which nothing can be decided, since the desired state is not known. desired says
// enough to observe by.
func (l *Loop) Remember(desired *model.Desired, observed *model.Observed) Look {
	l.mu.Lock()
	defer l.mu.Unlock()
	look := Look{Desired: desired, Observed: observed}
	l.memory.Seen(observed, l.client.clock.Now())
	l.keep(look)
	return look
}

// keep makes a look the last one. The observation of a service that does not show its cluster at the moment is not built
// on: the next one reads everything. l.mu is held.
func (l *Loop) keep(look Look) {
	l.last = look
	switch {
	case l.memory.Misses == 0 || look.Plan.Fault != nil:
		l.prior = look.Observed
	case l.prior != nil:
		before := *l.prior
		before.Detailed = time.Time{}
		l.prior = &before
	}
}

// Forget drops the memory: the next decision is the first.
func (l *Loop) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.memory = model.Memory{}
}

// noteError remembers the last error that no success followed.
func (l *Loop) noteError(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.memory.LastError = text
}

// answer remembers what a person has said of a certificate request.
func (l *Loop) answer(v model.RequestVerdict, approve bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.memory.Answer(v, approve)
}

// refusalOf is the refusal that the memory has of a plan; nil for none.
func (l *Loop) refusalOf(plan model.Plan) *model.Refusal {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.memory.RefusalOf(plan)
}

// Last is the last look, the zero value before the first.
func (l *Loop) Last() Look {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// triedOf is what the memory has of the actions of a plan. l.mu is held.
func (l *Loop) triedOf(plan *model.Plan) map[string]tried {
	of := map[string]tried{}
	for i := range plan.Actions {
		key := plan.Actions[i].Key
		refused, failed := l.memory.Refused[key]
		done, succeeded := l.memory.Done[key]
		if failed || succeeded {
			of[key] = tried{Refused: refused, Done: done}
		}
	}
	return of
}

// sideBySide is how many scopes are acted on at once.
const sideBySide = 8

// Act carries out the actions of a look that belong to one of the scopes, and of all scopes where none is given. The actions
// of one scope are carried out in their order, and scopes side by side. It returns the actions that succeeded. An action that
// fails ends its scope. The memory has the error, so that the action is not tried again before its time; the first one is
// returned.
func (l *Loop) Act(ctx context.Context, look Look, scopes ...model.Scope) ([]model.Action, error) {
	return l.carryOut(ctx, look, slices.DeleteFunc(slices.Clone(look.Plan.Actions), func(a model.Action) bool {
		return len(scopes) > 0 && !slices.Contains(scopes, a.Scope)
	}))
}

func (l *Loop) carryOut(ctx context.Context, look Look, actions []model.Action) (done []model.Action, err error) {
	var scopes []model.Scope
	byScope := map[model.Scope][]model.Action{}
	for _, a := range actions {
		if byScope[a.Scope] == nil {
			scopes = append(scopes, a.Scope)
		}
		byScope[a.Scope] = append(byScope[a.Scope], a)
	}
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		slots = make(chan struct{}, sideBySide)
	)
	for _, scope := range scopes {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			for _, a := range byScope[scope] {
				failed := l.one(ctx, look, a)
				mu.Lock()
				if failed == nil {
					done = append(done, a)
				} else if err == nil {
					err = failed
				}
				mu.Unlock()
				if failed != nil {
					return // what follows in this scope needs it
				}
			}
		})
	}
	group.Wait()
	if len(done) > 0 { // the next look shows what they led to
		l.mu.Lock()
		l.quiet, l.changed = 0, l.client.clock.Now()
		l.mu.Unlock()
	}
	return done, err
}

// one carries out one action and reports it.
func (l *Loop) one(ctx context.Context, look Look, a model.Action) error {
	err := l.recordApproval(ctx, look, a)
	if err == nil {
		err = l.client.act(ctx, look.Desired, look.Observed, a, l.report)
	}
	if context.Cause(ctx) != nil && err != nil {
		return err // the loop is ending: nothing was refused
	}
	event := model.Event{
		Type: model.EventAction, Host: a.Scope.Host(), Key: a.Key, State: "done", Reason: string(a.Kind), Message: a.Describe(),
	}
	if err != nil {
		event.State, event.Severity = "failed", model.SeverityWarning
		if model.FaultOf(err).ForGood() {
			event.Severity = model.SeverityError
		}
		event.Message = fmt.Sprintf("could not %s: %v", a.Task(), err)
		event.Next = model.FaultOf(err).Next
	}
	l.mu.Lock()
	l.memory.Note(a, err, l.now())
	l.mu.Unlock()
	l.report(event)
	return err
}

// Changed are channels that are closed once the service, or the installed cluster, has something that the last
// observation did not show. A channel is nil, which never closes, where changes are not reported.
func (l *Loop) Changed() (service, nodes <-chan struct{}) {
	last := l.Last()
	if last.Desired == nil {
		return nil, nil
	}
	if l.client.poll == 0 {
		service = l.client.Changed(last.Desired, last.Observed)
	}
	if l.client.nodes != nil && last.Observed.Spoke != nil {
		nodes = l.client.nodes.Changed()
	}
	return service, nodes
}

// channelClosed is the cause with which a wait ends.
type channelClosed int

func (channelClosed) Error() string { return "something has changed" }

// Await waits until one of some channels is closed, at most for so long, and returns which one it was: -1 for none. Its error
// is the cause with which ctx has ended.
func (l *Loop) Await(ctx context.Context, atMost time.Duration, changed ...<-chan struct{}) (which int, err error) {
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for i, channel := range changed {
		if channel == nil {
			continue
		}
		go func() {
			select {
			case <-channel:
				cancel(channelClosed(i))
			case <-within.Done():
			}
		}()
	}
	err = l.client.clock.Sleep(within, atMost)
	if closed, is := errors.AsType[channelClosed](err); is {
		return int(closed), nil
	}
	return -1, err
}

// Pause is how long the next look may wait, unless a change is reported before: a short time after a change, and a
// longer one the longer nothing happens. changed says that the last look was not like the one before it.
func (l *Loop) Pause(changed bool) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client.poll > 0 {
		return l.client.poll
	}
	now := l.client.clock.Now()
	if changed || l.changed.IsZero() {
		l.quiet, l.changed = 0, now
	}
	l.quiet += max(soonest, l.quiet/2)
	longest := l.last.lasts(l.client.notifier != nil)
	if !l.looksCostNothing() {
		return min(longest, max(soonest, l.quiet/2))
	}
	switch quiet := now.Sub(l.changed); {
	case l.soon():
		return atOnce
	case quiet < hot:
		return soonest
	default:
		return min(longest, quiet/4)
	}
}

// lasts is how long a look is good for at most where no change is reported. told says that the service does report
// changes.
func (look *Look) lasts(told bool) time.Duration {
	if look.Observed == nil || look.Observed.Cluster == nil {
		return seldom
	}
	c := look.Observed.Cluster
	ended, _ := look.Plan.Ended()
	installing := c.State == model.ClusterInstalling || c.State == model.ClusterFinalizing
	switch {
	case look.retries:
		return seldom
	case ended && c.State.Installed() && told: // no host is being added
		return idly
	case ended && c.State.Installed():
		return rarely
	case told && installing && look.Observed.Spoke == nil && len(look.Observed.Machines) == 0: // the service alone goes on
		return rarely
	}
	return seldom
}

// looksCostNothing reports whether a look asks only a service that reports no change by itself, and that a plane asks
// only as often as it bears. l.mu is held.
func (l *Loop) looksCostNothing() bool {
	o := l.last.Observed
	return l.client.notifier == nil && o != nil && o.Spoke == nil && len(o.Machines) == 0
}

// soon reports whether the next step is the service's, and likely to come within moments: hosts were made what the file
// says, or the installation was asked for. l.mu is held.
func (l *Loop) soon() bool {
	o := l.last.Observed
	if o == nil || o.Cluster == nil || !l.looksCostNothing() {
		return false
	}
	if s := o.Cluster.State; !s.BeforeInstall() && s != model.ClusterPreparing || len(l.last.Plan.Blockers) > 0 {
		return false
	}
	alone := !slices.ContainsFunc(l.last.Plan.Waits, func(w model.Wait) bool { return w.Who != model.WhoService })
	quiet := l.client.clock.Now().Sub(l.changed)
	return quiet < hot || alone && quiet < checked
}
