package clusterloop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// service is one that registers what it is asked to, at once.
type service struct {
	mu       sync.Mutex
	cluster  *model.Cluster
	envs     []model.InfraEnv
	acts     []model.Action
	refuse   error
	failures int // how many acts fail before one is carried out
	observed int
	at       func() time.Time // nil: it stands still
	changed  chan struct{}
	closed   atomic.Int32
}

func (s *service) Observe(context.Context, model.Query, *model.Observed) (*model.Observed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observed++
	o := &model.Observed{At: time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC), Cluster: s.cluster, InfraEnvs: slices.Clone(s.envs)}
	if s.at != nil {
		o.At = s.at()
	}
	return o, nil
}

func (s *service) Act(_ context.Context, desired *model.Desired, a model.Action) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acts = append(s.acts, a)
	if s.refuse != nil {
		return s.refuse
	}
	if s.failures > 0 {
		s.failures--
		return errors.New("it is busy")
	}
	switch a.Kind {
	case model.RegisterCluster:
		s.cluster = &model.Cluster{ClusterRef: model.ClusterRef{ID: "c", Name: a.Name, Owned: true}, State: model.ClusterDiscovering, Settings: a.Settings}
	case model.RegisterInfraEnv:
		s.envs = append(s.envs, model.InfraEnv{ID: "e-" + a.Name, Name: a.Name, ClusterID: "c", Owned: true, Settings: a.Settings, Image: model.Image{State: model.ImageReady}})
	default:
		return errors.New("not played")
	}
	_ = desired
	return nil
}

func (s *service) Credential(context.Context, string, string) ([]byte, error) {
	return nil, errors.New("none")
}

func (s *service) Changed(model.Query) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// followed reports whether the loop follows the service.
func (s *service) followed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed != nil
}

// tells makes every caller that follows the service look again.
func (s *service) tells() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed != nil {
		close(s.changed)
	}
	s.changed = make(chan struct{})
}

func (s *service) kinds() []model.Kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kinds []model.Kind
	for _, a := range s.acts {
		kinds = append(kinds, a.Kind)
	}
	return kinds
}

const file = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  openshift: {version: "4.20.1"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  network: {vips: {api: [192.168.127.100], ingress: [192.168.127.101]}}
  hosts:
  - {name: cp-0, role: control-plane, match: {infraEnv: cp-0}}
  - {name: cp-1, role: control-plane, match: {infraEnv: cp-1}}
  - {name: cp-2, role: control-plane, match: {infraEnv: cp-2}}
`

func newSet(t *testing.T, s *service, wake func(Key, []model.Scope)) *Set {
	t.Helper()
	env := spec.Env{LookupEnv: func(string) (string, bool) { return `{"auths":{"quay.io":{"auth":"dTpw"}}}`, true }}
	cluster, err := spec.Parse(t.Context(), "cluster.yaml", []byte(file), env)
	if err != nil {
		t.Fatal(err)
	}
	if wake == nil {
		wake = func(Key, []model.Scope) {}
	}
	return New(Config{
		Connect: func(string) (install.Backend, error) { return backend{Service: s, service: s}, nil },
		Desire: func(context.Context, Key, *model.Observed) (*model.Desired, error) {
			return &model.Desired{Spec: cluster}, nil
		},
		Clock: clock.Real(), Wake: wake,
	})
}

// backend has the loop alone.
type backend struct {
	install.Service
	install.Backend
	service *service
}

func (b backend) Observe(ctx context.Context, q model.Query, prior *model.Observed) (*model.Observed, error) {
	return b.Service.Observe(ctx, q, prior)
}

func (b backend) Act(ctx context.Context, d *model.Desired, a model.Action) error {
	return b.Service.Act(ctx, d, a)
}

func (b backend) Credential(ctx context.Context, id, name string) ([]byte, error) {
	return b.Service.Credential(ctx, id, name)
}

func (b backend) Changed(q model.Query) <-chan struct{} { return b.service.Changed(q) }
func (b backend) Close()                                { b.service.closed.Add(1) }

var lab = Key{Namespace: "ns", Name: "lab"}

// TestScopesOnly: a caller that acts on some scopes leaves the others alone, and what one has done is seen by the next
// at once.
func TestScopesOnly(t *testing.T) {
	s := &service{}
	set := newSet(t, s, nil)
	view, done, err := set.Act(t.Context(), lab, model.ScopeInfraEnv.Of("cp-1"), model.ScopeHost.Of("cp-1"))
	if err != nil || len(done) > 0 || view.Observed.Cluster != nil {
		t.Fatalf("%v, %v", done, err)
	}
	if _, done, err = set.Act(t.Context(), lab, model.ScopeCluster); err != nil || len(done) != 1 {
		t.Fatalf("%v, %v", done, err)
	}
	if view, done, err = set.Act(t.Context(), lab, model.ScopeInfraEnv.Of("cp-1")); err != nil || len(done) != 1 || view.InfraEnv("cp-1") == nil {
		t.Fatalf("%v, %v", done, err)
	}
	if got := fmt.Sprint(s.kinds()); got != "[RegisterCluster RegisterInfraEnv]" || s.envs[0].Name != "cp-1" {
		t.Errorf("%s, %v", got, s.envs)
	}
}

// TestActsOnce: many reconciles at once of one Cluster do each thing once.
func TestActsOnce(t *testing.T) {
	s := &service{}
	set := newSet(t, s, nil)
	var running sync.WaitGroup
	for _, name := range []string{"cp-0", "cp-1", "cp-2"} {
		for range 3 {
			running.Go(func() {
				if _, _, err := set.Act(t.Context(), lab, model.ScopeInfraEnv.Of(name)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	if _, _, err := set.Act(t.Context(), lab, model.ScopeCluster); err != nil {
		t.Fatal(err)
	}
	running.Wait()
	for _, name := range []string{"cp-0", "cp-1", "cp-2"} {
		if _, _, err := set.Act(t.Context(), lab, model.ScopeInfraEnv.Of(name)); err != nil {
			t.Error(err)
		}
	}
	registered := map[string]int{}
	for _, a := range s.acts {
		registered[a.Key]++
	}
	for key, times := range registered {
		if times != 1 {
			t.Errorf("%s was done %d times", key, times)
		}
	}
	if len(registered) != 4 {
		t.Errorf("done: %v", registered)
	}
}

// TestRefusalIsRemembered: what was refused for good is not asked for again as long as it is the same.
func TestRefusalIsRemembered(t *testing.T) {
	s := &service{refuse: &model.Fault{Code: model.CodeInput, Op: "register", On: "lab", Permanent: true, Err: errors.New("bad")}}
	set := newSet(t, s, nil)
	if _, _, err := set.Act(t.Context(), lab, model.ScopeCluster); err == nil {
		t.Fatal("no error")
	}
	view, done, err := set.Act(t.Context(), lab, model.ScopeCluster)
	if err != nil || len(done) > 0 || len(s.acts) != 1 || len(view.Plan.Blockers) == 0 {
		t.Errorf("%v, %v, acts %d, blockers %v", done, err, len(s.acts), view.Plan.Blockers)
	}
}

// TestFailedActionsAreTriedAgain: an action that failed is done within its back-off's time though nothing else changes, by
// a reconciler that only acts when it is woken.
func TestFailedActionsAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{failures: 4, at: time.Now}
		var set *Set
		var acting sync.WaitGroup
		set = newSet(t, s, func(_ Key, scopes []model.Scope) {
			acting.Go(func() { _, _, _ = set.Act(context.Background(), lab, scopes...) })
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- set.Start(ctx) }()
		if _, err := set.View(t.Context(), lab); err != nil {
			t.Fatal(err)
		}
		backoff := 2*time.Second + 4*time.Second + 8*time.Second + 16*time.Second
		time.Sleep(backoff + 4*again)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		acting.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.cluster == nil || s.failures > 0 || len(s.envs) != 3 {
			t.Errorf("it was tried %d times: cluster %v, %d InfraEnvs", len(s.acts), s.cluster, len(s.envs))
		}
	})
}

// TestWakes: a change wakes the scopes that it concerns, once.
func TestWakes(t *testing.T) {
	s := &service{}
	told := make(chan []model.Scope, 100)
	set := newSet(t, s, func(_ Key, scopes []model.Scope) { told <- scopes })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- set.Start(ctx) }()
	if _, err := set.View(t.Context(), lab); err != nil {
		t.Fatal(err)
	}
	if first := <-told; !slices.Contains(first, model.ScopeCluster) {
		t.Errorf("first %v", first)
	}
	for !s.followed() {
		runtime.Gosched()
	}
	s.mu.Lock()
	s.cluster = &model.Cluster{ClusterRef: model.ClusterRef{ID: "c", Name: "lab", Owned: true}, State: model.ClusterDiscovering}
	s.mu.Unlock()
	s.tells()
	if second := <-told; !slices.Contains(second, model.ScopeState) {
		t.Errorf("second %v", second)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestGoneClustersAreForgotten: no event says that a Cluster was moved away.
func TestGoneClustersAreForgotten(t *testing.T) {
	s, gone := &service{}, atomic.Bool{}
	set := newSet(t, s, nil)
	desire := set.config.Desire
	set.config.Desire = func(ctx context.Context, cluster Key, observed *model.Observed) (*model.Desired, error) {
		if gone.Load() {
			return nil, fmt.Errorf("there is no Cluster %s: %w", cluster, ErrGone)
		}
		return desire(ctx, cluster, observed)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- set.Start(ctx) }()
	if _, err := set.View(t.Context(), lab); err != nil {
		t.Fatal(err)
	}
	for !s.followed() {
		runtime.Gosched()
	}
	gone.Store(true)
	s.tells()
	for set.Last(lab) != nil {
		runtime.Gosched()
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestTimesOfNodesWakeNobody: when a node has become what it is, is another time at each look, by a little.
func TestTimesOfNodesWakeNobody(t *testing.T) {
	view, err := newSet(t, &service{}, nil).View(t.Context(), lab)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	marks := func(ready bool, since time.Time) map[model.Scope]uint64 {
		v, observed := *view, *view.Observed
		observed.Spoke = &model.Spoke{Nodes: []model.Node{{Name: "cp-0", Ready: ready, Created: since.Add(-time.Minute), ReadySince: since}}}
		v.Observed = &observed
		return v.Fingerprints()
	}
	first := marks(true, at)
	if later := marks(true, at.Add(time.Microsecond)); !maps.Equal(first, later) {
		t.Errorf("%v, then %v", first, later)
	}
	scope := model.ScopeNode.Of("cp-0")
	if other := marks(false, at); first[scope] == other[scope] {
		t.Error("whether it is ready is not told")
	}
}

// TestNothingIsBegunAfterTheEnd: a caller that is still at work then starts no loop and makes no service, since it
// would never be closed.
func TestNothingIsBegunAfterTheEnd(t *testing.T) {
	s := &service{}
	set, connected := newSet(t, s, nil), atomic.Int32{}
	connect := set.config.Connect
	set.config.Connect = func(namespace string) (install.Backend, error) { connected.Add(1); return connect(namespace) }
	if _, err := set.View(t.Context(), lab); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := set.Start(ctx); err != nil {
		t.Fatal(err)
	}
	for _, key := range []Key{lab, {Namespace: "other", Name: "lab"}} {
		if _, err := set.View(t.Context(), key); !errors.Is(err, errEnded) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if connected.Load() != 1 || s.closed.Load() != 1 {
		t.Errorf("%d services were made, and %d closed", connected.Load(), s.closed.Load())
	}
}

// TestUnusedServicesAreClosed: the service that watches a namespace is closed once nothing is installed there, and it
// was not asked for during a while; the next caller gets a new one.
func TestUnusedServicesAreClosed(t *testing.T) {
	s := &service{}
	set, now, connected := newSet(t, s, nil), &still{Clock: clock.Real(), now: time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC)}, 0
	connect := set.config.Connect
	set.config.Clock, set.config.Connect = now, func(namespace string) (install.Backend, error) { connected++; return connect(namespace) }
	if _, err := set.View(t.Context(), lab); err != nil {
		t.Fatal(err)
	}
	after := func(d time.Duration, closed int32) {
		t.Helper()
		now.now = now.now.Add(d)
		if set.closeUnused(); s.closed.Load() != closed {
			t.Errorf("%d services are closed, and not %d", s.closed.Load(), closed)
		}
	}
	after(time.Hour, 0) // something is installed there
	set.Forget(lab)
	if _, err := set.Service(lab.Namespace); err != nil {
		t.Fatal(err)
	}
	after(unusedFor-time.Second, 0)
	after(time.Second, 1)
	after(unusedFor, 1)
	if _, err := set.Service(lab.Namespace); err != nil || connected != 2 {
		t.Errorf("%d services were made: %v", connected, err)
	}
}

// TestUnusedInstallationsAreDroppedWithoutLeading: a process that only hands out images drops installations that are
// not asked for any more, and a leader keeps all.
func TestUnusedInstallationsAreDroppedWithoutLeading(t *testing.T) {
	s := &service{}
	set, now := newSet(t, s, nil), &still{Clock: clock.Real(), now: time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC)}
	var forgotten []Key
	set.config.Clock, set.config.Forget = now, func(cluster Key) { forgotten = append(forgotten, cluster) }
	if _, err := set.View(t.Context(), lab); err != nil {
		t.Fatal(err)
	}
	after := func(d time.Duration, kept bool, closed int32) {
		t.Helper()
		now.now = now.now.Add(d)
		if set.DropUnused(); (set.Last(lab) != nil) != kept || s.closed.Load() != closed {
			t.Errorf("it is kept: %t, and %d services are closed", set.Last(lab) != nil, s.closed.Load())
		}
	}
	after(unusedFor-time.Second, true, 0)
	if _, err := set.View(t.Context(), lab); err != nil {
		t.Fatal(err)
	}
	after(unusedFor-time.Second, true, 0)
	after(time.Second, false, 1)
	if !slices.Equal(forgotten, []Key{lab}) {
		t.Errorf("what is to be forgotten is %v", forgotten)
	}
	if _, err := set.View(t.Context(), lab); err != nil {
		t.Fatal(err)
	}
	set.life = t.Context() // it leads from now on
	after(time.Hour, true, 1)
}

// still is a clock that a test sets.
type still struct {
	clock.Clock
	now time.Time
}

func (c *still) Now() time.Time { return c.now }

// TestWaitsEndWithTheirContext: a reconcile that waits for another one, or for the loop, to be done with the same Cluster
// ends with its time. What they wait for goes as slowly as the servers that a tenant names.
func TestWaitsEndWithTheirContext(t *testing.T) {
	within := func(t *testing.T, what string, call func(ctx context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- call(ctx) }()
		select {
		case err := <-ended:
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s ends with %v", what, err)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("%s does not end", what)
		}
	}
	t.Run("a look", func(t *testing.T) {
		set, looks := newSet(t, &service{}, nil), make(chan struct{}, 1)
		set.config.Desire = func(ctx context.Context, _ Key, _ *model.Observed) (*model.Desired, error) {
			looks <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		life, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- set.Start(life) }()
		if _, err := set.get(lab); err != nil {
			t.Fatal(err)
		}
		<-looks
		within(t, "a view", func(ctx context.Context) error { _, err := set.View(ctx, lab); return err })
		within(t, "an act", func(ctx context.Context) error { _, _, err := set.Act(ctx, lab, model.ScopeCluster); return err })
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Run("an act", func(t *testing.T) {
		s := &stuck{service: &service{}, acts: make(chan struct{}, 1)}
		set := newSet(t, s.service, nil)
		set.config.Connect = func(string) (install.Backend, error) { return backend{Service: s, service: s.service}, nil }
		life, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { _, _, err := set.Act(life, lab, model.ScopeCluster); ended <- err }()
		<-s.acts
		within(t, "an act", func(ctx context.Context) error { _, _, err := set.Act(ctx, lab, model.ScopeCluster); return err })
		end()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the first ends with %v", err)
		}
	})
}

// stuck carries out no action.
type stuck struct {
	*service

	acts chan struct{}
}

func (s *stuck) Act(ctx context.Context, _ *model.Desired, _ model.Action) error {
	s.acts <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

// TestPanicsEndNoLoop: what goes wrong with one Cluster is logged, and the Cluster is observed again.
func TestPanicsEndNoLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log, looks := &service{}, strings.Builder{}, atomic.Int32{}
		set := newSet(t, s, nil)
		set.config.Log = funcr.New(func(_, args string) { log.WriteString(args) }, funcr.Options{})
		desire := set.config.Desire
		set.config.Desire = func(ctx context.Context, key Key, observed *model.Observed) (*model.Desired, error) {
			if looks.Add(1) == 1 {
				panic("an object is odd")
			}
			return desire(ctx, key, observed)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- set.Start(ctx) }()
		if _, err := set.get(lab); err != nil {
			t.Fatal(err)
		}
		time.Sleep(again + time.Second)
		if set.Last(lab) == nil {
			t.Error("it is not looked at again")
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		for _, says := range []string{"an object is odd", "ns/lab", "TestPanicsEndNoLoop"} { // the last is of the stack
			if !strings.Contains(log.String(), says) {
				t.Errorf("%q is not in the log: %s", says, log.String())
			}
		}
	})
}

// TestViewIsKept: a caller that looks again at once gets the same view, and the service is not asked.
func TestViewIsKept(t *testing.T) {
	s := &service{}
	set := newSet(t, s, nil)
	for range 20 {
		if _, err := set.View(t.Context(), lab); err != nil {
			t.Fatal(err)
		}
	}
	if s.observed > 3 { // the test may be slow
		t.Errorf("the service was asked %d times", s.observed)
	}
}

// TestDesireIsAskedOnceForAMark: while the objects stay as they are, Desire is not called again, and as soon as they
// change, it is.
func TestDesireIsAskedOnceForAMark(t *testing.T) {
	set := newSet(t, &service{}, nil)
	desire, asked, mark := set.config.Desire, 0, uint64(1)
	set.config.Mark = func(context.Context, Key) (uint64, error) { return mark, nil }
	set.config.Desire = func(ctx context.Context, key Key, observed *model.Observed) (*model.Desired, error) {
		asked++
		return desire(ctx, key, observed)
	}
	look := func() {
		t.Helper()
		if _, err := set.View(t.Context(), lab); err != nil {
			t.Fatal(err)
		}
	}
	look()
	first := asked
	for range 20 {
		look()
	}
	if asked > first+3 { // the test may be slow
		t.Errorf("it was asked %d times", asked-first)
	}
	first, mark = asked, 2
	look()
	if asked == first {
		t.Error("nobody was asked after a change")
	}
}

// TestWhatIsNotKnownIsLookedAt: where the desired state cannot be determined, the cluster is still observed, nothing is
// done, and the reconcilers that it concerns get the error; afterwards all goes on.
func TestWhatIsNotKnownIsLookedAt(t *testing.T) {
	s := &service{}
	set := newSet(t, s, nil)
	if _, _, err := set.Act(t.Context(), lab, model.ScopeCluster); err != nil {
		t.Fatal(err)
	}
	desire, trouble := set.config.Desire, errors.New("read ConfigMap mirrors: it is not there")
	set.config.Desire = func(ctx context.Context, key Key, o *model.Observed) (*model.Desired, error) {
		d, _ := desire(ctx, key, o)
		return d, trouble
	}
	s.mu.Lock()
	s.cluster.State = model.ClusterFailed
	acts := len(s.acts)
	s.mu.Unlock()
	set.Changed(lab)
	view, done, err := set.Act(t.Context(), lab, model.ScopeCluster, model.ScopeInfraEnv.Of("cp-0"))
	if !errors.Is(err, trouble) || len(done) > 0 || view == nil || !errors.Is(view.NoPlan, trouble) || len(view.Plan.Actions) > 0 {
		t.Fatalf("%+v, %v, %v", view, done, err)
	}
	if view.Observed.Cluster.State != model.ClusterFailed || len(s.kinds()) != acts {
		t.Errorf("it is %s, and was told %v", view.Observed.Cluster.State, s.kinds())
	}
	if again, err := set.View(t.Context(), lab); again == nil || !errors.Is(err, trouble) {
		t.Errorf("a moment later: %+v, %v", again, err)
	}
	blind := view.Fingerprints()[model.ScopeCluster]
	set.config.Desire = desire
	set.Changed(lab)
	if view, err = set.View(t.Context(), lab); err != nil || view.NoPlan != nil {
		t.Errorf("afterwards: %+v, %v", view, err)
	}
	if view.Fingerprints()[model.ScopeCluster] == blind {
		t.Error("nobody hears that it is known again")
	}
}

// TestRecordThatIsDeletedIsMadeAnew: if a user deletes the service's record of an installed cluster, the cluster is
// imported once it is certain that the record is gone, also by providers that have just started.
func TestRecordThatIsDeletedIsMadeAnew(t *testing.T) {
	s := &service{cluster: &model.Cluster{ClusterRef: model.ClusterRef{ID: "c", Name: "lab", Owned: true}, State: model.ClusterAddingHosts, OpenShiftID: "id"}}
	set, now := newSet(t, s, nil), &still{Clock: clock.Real(), now: time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC)}
	set.config.Clock, s.at = now, now.Now
	desire := set.config.Desire
	set.config.Desire = func(ctx context.Context, key Key, o *model.Observed) (*model.Desired, error) {
		d, err := desire(ctx, key, o)
		cluster := *d.Spec
		cluster.Spec.Import = &spec.Import{ClusterID: "id"}
		return &model.Desired{Spec: &cluster, Options: model.Options{AddNodes: true, Unattended: true}}, err
	}
	looks := func() *View {
		now.now = now.now.Add(10 * time.Second)
		set.Changed(lab)
		view, err := set.View(t.Context(), lab)
		if err != nil {
			t.Fatal(err)
		}
		return view
	}
	looks()
	s.mu.Lock()
	s.cluster = nil
	s.mu.Unlock()
	if view := looks(); len(view.Plan.Actions) > 0 {
		t.Errorf("after one look the plan is %+v", view.Plan)
	}
	for range 5 {
		if view := looks(); slices.ContainsFunc(view.Plan.Actions, func(a model.Action) bool { return a.Kind == model.ImportCluster }) {
			return
		}
	}
	t.Errorf("the plan is %+v", looks().Plan)
}

// TestHostsThatAreNotMadeOut: nothing is done to them, the reason is reported, and the other hosts are processed.
func TestHostsThatAreNotMadeOut(t *testing.T) {
	s := &service{}
	set := newSet(t, s, nil)
	desire := set.config.Desire
	set.config.Desire = func(ctx context.Context, key Key, o *model.Observed) (*model.Desired, error) {
		d, err := desire(ctx, key, o)
		d.Options.LeftAlone = map[string]string{"cp-1": "its selector selects 0 NMStateConfigs"}
		return d, err
	}
	view, _, err := set.Act(t.Context(), lab, model.ScopeCluster, model.ScopeInfraEnv.Of("cp-0"), model.ScopeInfraEnv.Of("cp-1"))
	if err != nil {
		t.Fatal(err)
	}
	if view.InfraEnv("cp-0") == nil || view.InfraEnv("cp-1") != nil {
		t.Errorf("its InfraEnvs are %+v", view.Observed.InfraEnvs)
	}
	said := slices.ContainsFunc(view.Plan.Blockers, func(b model.Blocker) bool {
		return b.Scope == model.ScopeHost.Of("cp-1") && b.Message == "its selector selects 0 NMStateConfigs"
	})
	if !said {
		t.Errorf("its blockers are %+v", view.Plan.Blockers)
	}
}

// away is an installed cluster that does not answer: a caller waits for it until the test lets it answer.
type away struct {
	install.Nodes
	waiting chan struct{} // a caller that waits reports it here
	answer  chan struct{}
}

func (a *away) Observe(ctx context.Context, _ *model.Desired, observed *model.Observed) (*model.Spoke, error) {
	select {
	case a.waiting <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case <-a.answer:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return &model.Spoke{Trouble: "i/o timeout", TroubleKind: model.TroubleUnreachable, Since: observed.At}, nil
}

func (a *away) Changed() <-chan struct{} { return nil }

// TestNobodyWaitsForAClusterThatIsAway but the loop: reconciles go by what is known of it, and see what else changes.
func TestNobodyWaitsForAClusterThatIsAway(t *testing.T) {
	s := &service{cluster: &model.Cluster{ClusterRef: model.ClusterRef{ID: "c", Name: "lab", Owned: true}, State: model.ClusterAddingHosts}}
	set, plane := newSet(t, s, nil), &away{waiting: make(chan struct{}), answer: make(chan struct{})}
	desire := set.config.Desire
	set.config.Desire = func(ctx context.Context, cluster Key, observed *model.Observed) (*model.Desired, error) {
		desired, err := desire(ctx, cluster, observed)
		desired.Options = model.Options{AddNodes: true, AcceptControlPlane: true}
		return desired, err
	}
	mark := atomic.Uint64{}
	set.config.Mark = func(context.Context, Key) (uint64, error) { return mark.Load(), nil }
	set.config.Nodes = func(Key) install.Nodes { return plane }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- set.Start(ctx) }()
	first := make(chan error)
	go func() {
		_, err := set.View(t.Context(), lab)
		first <- err
	}()
	for range 2 { // that one, or the loop before it, and the loop once more
		<-plane.waiting
		select {
		case plane.answer <- struct{}{}:
		case <-t.Context().Done():
		}
	}
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	<-plane.waiting // the loop waits from now on
	if view := set.Last(lab); view == nil || view.Observed.Spoke == nil || view.Observed.Spoke.Trouble == "" {
		t.Fatalf("the view is %+v", view)
	}
	view, _, err := set.Act(t.Context(), lab, model.ScopeHost.Of("cp-0"))
	if err != nil || view.Observed.Spoke.Trouble == "" {
		t.Errorf("%+v, %v", view, err)
	}
	if _, err := set.View(t.Context(), lab); err != nil {
		t.Error(err)
	}
	set.Changed(lab)
	plane.answer <- struct{}{}
	mark.Store(1) // any change
	before := func() int { s.mu.Lock(); defer s.mu.Unlock(); return s.observed }()
	set.Changed(lab)
	if view, err = set.View(t.Context(), lab); err != nil || view.Observed.Spoke.Trouble == "" {
		t.Errorf("after a change: %+v, %v", view, err)
	}
	s.mu.Lock()
	if s.observed == before {
		t.Error("the service is not asked after a change")
	}
	s.mu.Unlock()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
