// Package host simulates machines: they boot the discovery image, run an agent
// that registers and answers the service's instructions, run the installer, turn
// into nodes of the new cluster, and do the part of the controller that runs in
// that cluster. They speak to any assisted-service, over HTTP only.
package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/openshift/assisted-service/models"
)

// BootDay says for which part of a cluster's life machines are powered on.
type BootDay string

const (
	// Day1 machines boot at once.
	Day1 BootDay = "day1"
	// Day2 machines boot when the cluster of their image takes further hosts (status adding-hosts).
	Day2 BootDay = "day2"
)

// Config says which machines there are and what they boot.
type Config struct {
	// ServiceURL is the assisted-service, with or without /api/assisted-install.
	ServiceURL string
	// HTTPClient carries the calls; nil is one with enough idle connections.
	HTTPClient *http.Client
	// InfraEnvID is the discovery image of machines that name none themselves.
	InfraEnvID string
	Machines   []Machine
	// Open says that machines may be added while the fleet runs, which it then does until its context ends.
	Open  bool
	Clock clock.Clock
	// Seed decides on everything that would be chance.
	Seed uint64
	// Scenario is the trouble to make; nil is none.
	Scenario *scenario.Scenario
	// Token authenticates the machines; empty sends none.
	Token string
	// Boot is Day1 if empty.
	Boot BootDay
	// DNS resolves a name for every machine; nil resolves api, api-int and all
	// other names to the hundredth address of the machine's own network, and
	// the service's wildcard probes to nothing.
	DNS func(name string) []netip.Addr
	// Joins is called when the kubelet of a machine starts that was added to an installed
	// cluster, in a goroutine of the machine's. Its context ends when the machine goes off, or
	// boots anything, and then it has to return. With it such machines run on as long as the
	// fleet does. Nil is a cluster of which nothing is seen.
	Joins func(ctx context.Context, j Joining) error
	// JoinsAll has Joins called for machines of a cluster that is being installed, too.
	JoinsAll bool
	// Logf takes a line about each thing that happens; nil drops them. It never gets a secret.
	Logf func(format string, args ...any)
	// Registered is told when the service accepts a machine for the first time, Ended
	// when nothing more will come from one, and why. Machines call them side by side;
	// those that a scenario makes appear do not. Either may be nil.
	Registered func(machine string)
	Ended      func(machine, why string)
}

// Fleet is machines that share a network, one HTTP client, and the clusters that they turn into.
type Fleet struct {
	cfg    Config
	api    *client
	start  time.Time
	reader *reader
	mu     sync.Mutex
	lives  []*machineRun
	live   func(*machineRun) // has a machine live that is added; nil before the fleet runs, and after
	// nodes are the machines that run their installed system: a node by the host's id.
	nodes sync.Map
	// controllers run inside the new clusters. The keys of installing are the ids of these clusters.
	controllers sync.WaitGroup
	installing  sync.Map
	// objectsAhead is how far the times in the service's objects are ahead of its Date header, in nanoseconds.
	objectsAhead atomic.Int64
	quiet        atomic.Bool
}

// New prepares the machines; none is switched on yet.
func New(cfg Config) (*Fleet, error) {
	if cfg.Clock == nil {
		return nil, errors.New("preparing machines: no clock")
	}
	cfg.Boot = cmp.Or(cfg.Boot, Day1)
	if cfg.Boot != Day1 && cfg.Boot != Day2 {
		return nil, fmt.Errorf("preparing machines: boot is %q; it must be %s or %s", cfg.Boot, Day1, Day2)
	}
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	if cfg.Registered == nil {
		cfg.Registered = func(string) {}
	}
	if cfg.Ended == nil {
		cfg.Ended = func(string, string) {}
	}
	api, err := newClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("preparing machines: %w", err)
	}
	f := &Fleet{cfg: cfg, api: api, reader: &reader{api: api, clock: cfg.Clock}}
	for i, m := range cfg.Machines {
		m.InfraEnvID = cmp.Or(m.InfraEnvID, cfg.InfraEnvID)
		f.lives = append(f.lives, newLife(f, i, m))
	}
	strangers, err := f.strangers()
	if err != nil {
		return nil, fmt.Errorf("preparing machines: %w", err)
	}
	f.lives = append(f.lives, strangers...)
	for i, l := range f.lives {
		if err := l.fits(f.lives[:i]); err != nil {
			return nil, fmt.Errorf("preparing machines: %w", err)
		}
	}
	return f, nil
}

// fits is why a machine cannot be beside others.
func (l *machineRun) fits(others []*machineRun) error {
	if l.spec.InfraEnvID == "" && l.spec.Chassis == nil && !l.stranger {
		return fmt.Errorf("nothing says which infra-env %s boots", l.spec.Name)
	}
	for _, other := range others {
		if other.spec.UUID == l.spec.UUID {
			return fmt.Errorf("%s and %s have the same UUID %s", other.spec.Name, l.spec.Name, l.spec.UUID)
		}
	}
	return nil
}

// Add puts one more machine into an open fleet.
func (f *Fleet) Add(m Machine) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.cfg.Open {
		return errors.New("adding a machine: the fleet takes none")
	}
	m.InfraEnvID = cmp.Or(m.InfraEnvID, f.cfg.InfraEnvID)
	l := newLife(f, len(f.lives), m)
	if err := l.fits(f.lives); err != nil {
		return fmt.Errorf("adding a machine: %w", err)
	}
	f.lives = append(f.lives, l)
	if f.live != nil {
		f.live(l)
	}
	return nil
}

func (f *Fleet) all() []*machineRun {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lives[:len(f.lives):len(f.lives)]
}

// begin starts all machines, and those that are added later. The groups are those who are waited for.
func (f *Fleet) begin(ctx context.Context, expected, rest *sync.WaitGroup) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live = func(l *machineRun) {
		group := expected
		if l.stranger {
			group = rest
		}
		group.Go(func() { l.run(ctx) })
	}
	for _, l := range f.lives {
		f.live(l)
	}
}

// close has no more machines live.
func (f *Fleet) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live = nil
}

// Run switches the machines on and returns once each has come to its end: it is
// part of an installed cluster, or it never boots, or the service has told it to
// stop. An open fleet, and one with machines that wait for something, or run as nodes of a cluster that
// they were added to, it runs until ctx ends, and then returns ctx's cause.
func (f *Fleet) Run(ctx context.Context) error {
	f.start = f.cfg.Clock.Now()
	all, stop := context.WithCancel(ctx)
	defer stop()
	// What fails because everything is being ended is nothing to tell about.
	defer context.AfterFunc(all, func() { f.quiet.Store(true) })()
	var expected, rest sync.WaitGroup
	f.begin(all, &expected, &rest)
	if f.cfg.Open {
		<-ctx.Done()
	}
	f.close()
	expected.Wait()
	f.controllers.Wait()
	stop()
	rest.Wait()
	return context.Cause(ctx)
}

// Run is New and then Fleet.Run.
func Run(ctx context.Context, cfg Config) error {
	f, err := New(cfg)
	if err != nil {
		return err
	}
	return f.Run(ctx)
}

func (f *Fleet) logf(format string, args ...any) {
	if !f.quiet.Load() {
		f.cfg.Logf(format, args...)
	}
}

func (f *Fleet) now() time.Time { return f.cfg.Clock.Now() }

// drift is how far the fleet's clock may run on from the service's last answer.
const drift = time.Minute

// serviceTime is the time on a machine with a correct clock. It is the time of the service, which may run at
// another speed than the fleet. The Date header of answers tells it, and how it differs from the times that the
// service writes into its objects.
func (f *Fleet) serviceTime() time.Time {
	return f.dateTime().Add(time.Duration(f.objectsAhead.Load()))
}

func (f *Fleet) dateTime() time.Time {
	now, answered := f.now(), time.Unix(0, f.api.answered.Load())
	if now.Sub(answered) > drift {
		now = answered.Add(drift)
	}
	return now.Add(time.Duration(f.api.dateOffset.Load()))
}

// noteRegistration compares the Date header with what the service wrote down.
func (f *Fleet) noteRegistration(at time.Time) {
	if at.Year() <= 1 {
		return
	}
	ahead := at.Sub(f.dateTime())
	if ahead.Abs() < 2*time.Minute {
		ahead = 0
	}
	f.objectsAhead.Store(int64(ahead))
}

// node is when a machine that runs its installed system reaches each stage of
// becoming a ready node of its cluster.
type node map[models.HostStage]time.Time

func newNode(at time.Time, vary func(time.Duration) time.Duration) node {
	x := node{}
	for _, part := range []struct {
		stage models.HostStage
		takes time.Duration
	}{
		{models.HostStageWaitingForIgnition, diskBootTime},
		{models.HostStageConfiguring, ignitionTime},
		{models.HostStageJoined, joinTime},
		{models.HostStageDone, readyTime},
	} {
		at = at.Add(vary(part.takes))
		x[part.stage] = at
	}
	return x
}

func (x node) reached(stage models.HostStage, at time.Time) bool {
	due, known := x[stage]
	return known && !due.After(at)
}

// advance reports the stages of a host that runs its installed system, as the
// cluster sees it coming, no further than upTo. It returns the stage that the
// host is in then.
func (f *Fleet) advance(ctx context.Context, h hostView, upTo models.HostStage) models.HostStage {
	stage := h.Progress.CurrentStage
	if h.Status == "error" || h.Status == "cancelled" {
		return stage
	}
	place := slices.Index(h.ProgressStages, stage)
	if place < 0 || place < slices.Index(h.ProgressStages, models.HostStageRebooting) {
		return stage
	}
	found, known := f.nodes.Load(h.ID)
	l := f.lifeOf(h.ID)
	switch {
	case !known && l != nil:
		return stage // in the firmware, in the ISO, or without power
	case !known:
		// Another process simulates this machine, or it is a real one. All that is known is that it has rebooted.
		f.nodes.Store(h.ID, newNode(f.now(), func(d time.Duration) time.Duration { return d }))
		return stage
	}
	x := found.(node)
	for _, next := range h.ProgressStages[place+1:] {
		if !x.reached(next, f.now()) || l != nil && l.lost(ctx) {
			break
		}
		if err := putProgress(ctx, f.api, h.InfraEnvID, h.ID, next, ""); err != nil {
			f.logf("controller: cannot report %s of %s: %v", next, h.RequestedHostname, err)
			break
		}
		stage = next
		if l != nil {
			l.logf("stage %s", next)
			l.enter(next)
		}
		if next == upTo {
			break
		}
	}
	return stage
}

// lost reports whether a trouble keeps a node from going on, and carries out one that makes it fail.
func (l *machineRun) lost(ctx context.Context) bool {
	if t := l.trouble(scenario.DoFail); t != nil {
		if l.report(ctx, models.HostStageFailed, t.rule.Args.String("reason", "node did not come up")) == nil {
			l.finish(t)
		}
		return true
	}
	return l.trouble(scenario.DoStall, scenario.DoPowerOff) != nil
}

func (f *Fleet) lifeOf(host string) *machineRun {
	for _, l := range f.all() {
		if l.spec.UUID == host {
			return l
		}
	}
	return nil
}
