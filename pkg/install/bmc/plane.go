// Package bmc is the plane of machines: it reads their management controllers (BMCs) over Redfish, puts the
// discovery image into their virtual drives, makes them boot from it once, and switches them on.
//
// A request is sent to a BMC once, and the result is not waited for: the next observation shows it.
package bmc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// How many BMCs are spoken to at once, and how long what was seen of one is
// good for where nothing was done to it.
const (
	sideBySide  = 16
	freshFor    = 3 * time.Second
	troubleFor  = 20 * time.Second
	longestRead = 90 * time.Second // of real time: a BMC that answers each request slowly
)

// Media gives each host the image that it boots.
type Media interface {
	// URL is where a host's BMC finds the host's image: always the same for the same host, and known to no other BMC.
	URL(host string) (string, error)
	// Fetched is how far it has been read.
	Fetched(host string) model.Fetched
	// Prepare creates it again, before it goes into the drive: a BMC gives up on an
	// image that is slow to come, and the service may say something else by now.
	Prepare(ctx context.Context, host string) error
}

// Config is what a Plane needs.
type Config struct {
	Media   Media
	Proxy   *url.URL      // the HTTP proxy on the way to the BMCs, nil for none
	Clock   install.Clock // says how old what was seen is; nil is the machine's own
	Network install.Clock // says how long a BMC takes to answer; nil is the machine's own
}

// Plane looks at machines and acts on them through their BMCs. It implements
// install.Machines and is safe for concurrent use.
type Plane struct {
	media   Media
	proxy   *url.URL
	clock   install.Clock
	network install.Clock
	users   users

	mu            sync.Mutex
	last          map[string]reading
	bootRequested map[string]bool        // the hosts with a BMC that accepted a boot from the drive, until they are on
	switched      map[string]model.Power // the power state that was requested, until it shows
	insertions    map[string]*insertion
	pending       map[string]pending // what a BMC goes on with
	failed        map[string]failure // what a BMC could not finish, until it is done
}

var _ install.Machines = (*Plane)(nil)

// reading is what was seen of a machine, and how long that counts.
type reading struct {
	state model.MachineState
	until time.Time
	drive string // path of its virtual drive, "" where it has to be found each time
}

type target struct {
	bmc    *spec.BMC
	ownURL string
	drive  string        // where its virtual drive was seen, "" to look for it
	within time.Duration // how long a Task is followed, 0 until it ends
}

// New returns a Plane.
func New(config Config) *Plane {
	return &Plane{
		media: config.Media, proxy: config.Proxy,
		clock: cmp.Or[install.Clock](config.Clock, clock.Real()), network: cmp.Or[install.Clock](config.Network, clock.Real()),
		last: map[string]reading{}, bootRequested: map[string]bool{}, switched: map[string]model.Power{}, insertions: map[string]*insertion{},
		pending: map[string]pending{}, failed: map[string]failure{},
	}
}

// Close ends the insertions that are under way.
func (p *Plane) Close() {
	p.mu.Lock()
	running := slices.Collect(maps.Values(p.insertions))
	p.mu.Unlock()
	for _, i := range running {
		i.stop(errClosed)
		<-i.done
	}
}

// Observe looks at the machines of the named hosts, several at once. Its error
// is only ever that of a context that ended.
func (p *Plane) Observe(ctx context.Context, desired *model.Desired, _ *model.Observed,
	ask []string) (map[string]model.MachineState, error) {
	var (
		group  sync.WaitGroup
		mu     sync.Mutex
		states = make(map[string]model.MachineState, len(ask))
		slots  = make(chan struct{}, sideBySide)
	)
	for _, host := range ask {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			state := p.observe(ctx, desired, host)
			mu.Lock()
			defer mu.Unlock()
			states[host] = state
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return states, nil
}

// observe is the state of one machine: from memory if that is new enough, except for what the media server counts. A
// BMC that inserts an image is left alone: what it says of its drive meanwhile means nothing, and some answer to one
// client at a time.
func (p *Plane) observe(ctx context.Context, desired *model.Desired, host string) model.MachineState {
	if p.inserting(host) {
		return p.withFailure(host, model.MachineState{Power: model.PowerIsOff, Inserting: true, Fetch: p.media.Fetched(host)})
	}
	p.mu.Lock()
	last, known := p.last[host]
	p.mu.Unlock()
	if !known || !p.clock.Now().Before(last.until) {
		last = p.read(ctx, desired, host, last.drive)
		p.mu.Lock()
		p.last[host] = last
		p.mu.Unlock()
	}
	state := last.state
	state.Fetch = p.media.Fetched(host)
	// The BMC may read the image without a Task that says so, as an earlier run has asked for.
	reads := state.Fetch.Active > 0 && !state.Fetch.Stalled()
	state.Inserting = state.Inserting || state.Trouble == "" && state.Power == model.PowerIsOff && !state.OurMedia && reads
	return p.withFailure(host, state)
}

// failure is what became of a request that a BMC had accepted.
type failure struct {
	kind model.Kind
	err  error
}

// withFailure adds to a state what the BMC could not finish, as long as that is not done.
func (p *Plane) withFailure(host string, state model.MachineState) model.MachineState {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, known := p.failed[host]
	switch {
	case !known:
	case state.Trouble == "" && !state.Inserting && isDone(f.kind, state):
		delete(p.failed, host)
	default:
		state.Failed, state.Cause, state.Next = f.kind, troubled(f.err).Trouble, remedyOf(host, f.err)
	}
	return state
}

// isDone reports whether a machine is as an action wants it. Another program may have made it so.
func isDone(kind model.Kind, state model.MachineState) bool {
	switch kind {
	case model.InsertMedia:
		return state.OurMedia || state.Power == model.PowerIsOn
	case model.SetBootOnce:
		return state.BootOnce || state.Power == model.PowerIsOn
	case model.PowerOn:
		return state.Power == model.PowerIsOn
	case model.PowerOff:
		return state.Power == model.PowerIsOff
	case model.EjectMedia:
		return !state.OurMedia
	case model.RestoreBoot:
		return !state.BootOnce && !state.BootStays
	}
	return true
}

// remedyOf is what to do about an error of a BMC, where that says it.
func remedyOf(host string, err error) model.Advice {
	var known *bmcError
	if errors.As(err, &known) && known.kind == model.TroubleMediaRefused {
		return known.cause.remedy(host)
	}
	return model.FaultOf(err).Next
}

func (p *Plane) read(ctx context.Context, desired *model.Desired, host, drive string) reading {
	var now reading
	err := p.within(ctx, desired, host, drive, func(s *connectedMachine) error {
		now = reading{state: p.accepted(host, s), until: p.clock.Now().Add(freshFor)}
		if s.drive.iso == nil {
			now.drive = s.drive.Path
		}
		if p.awaits(host, now.state.Power) {
			now.until = time.Time{}
		}
		p.tasks(host, s, &now.state)
		return nil
	})
	if err != nil {
		return reading{state: troubled(err), until: p.clock.Now().Add(troubleFor)}
	}
	return now
}

// tasks adds to a state what the BMC still works at, or could not do: what this plane
// has asked for, or an insertion that an earlier run has asked for.
func (p *Plane) tasks(host string, s *connectedMachine, state *model.MachineState) {
	p.mu.Lock()
	asked, waits := p.pending[host]
	_, failed := p.failed[host]
	acted := p.insertions[host] != nil
	p.mu.Unlock()
	switch {
	case waits:
		ended, _, err := s.look(asked.path)
		if !ended {
			state.Trouble, state.TroubleKind = "it has not finished to "+model.Action{Kind: asked.kind, Name: host}.Task(), model.TroubleBusy
			return
		}
		p.settle(host, asked.kind, s.explain(err))
	case state.Power == model.PowerIsOff && !state.OurMedia && !acted && !failed:
		found, err := s.insertions()
		if err != nil || len(found) == 0 {
			return
		}
		if state.Inserting = !found[0].ended(); !state.Inserting && found[0].failed() {
			p.settle(host, model.InsertMedia, s.refused(s.failureOf(&found[0])))
		}
	}
}

// settle records how a request ended that a BMC had accepted.
func (p *Plane) settle(host string, kind model.Kind, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pending, host)
	switch {
	case err != nil && !errors.Is(err, context.Canceled):
		p.failed[host] = failure{kind: kind, err: err}
	case p.failed[host].kind == kind:
		delete(p.failed, host)
	}
}

// awaits reports whether a machine does not show yet how it was switched.
func (p *Plane) awaits(host string, shown model.Power) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.switched[host] == shown {
		delete(p.switched, host)
	}
	return p.switched[host] != ""
}

// accepted is a machine's state. Where the BMC took a boot from the drive, the boot counts as set even if only the
// target shows it: the value Enabled proves nothing, as there are BMCs that show the same after any request. Only what
// the machine does proves it.
func (p *Plane) accepted(host string, s *connectedMachine) model.MachineState {
	state := s.state()
	p.mu.Lock()
	defer p.mu.Unlock()
	if state.Power == model.PowerIsOn {
		delete(p.bootRequested, host)
	}
	state.BootOnce = state.BootOnce || p.bootRequested[host] && s.system.targetsDrive()
	return state
}

func troubled(err error) model.MachineState {
	var known *bmcError
	if errors.As(err, &known) {
		return model.MachineState{Trouble: known.text, TroubleKind: known.kind}
	}
	return model.MachineState{Trouble: err.Error(), TroubleKind: model.TroubleOther}
}

// within is with, for longestRead at most.
func (p *Plane) within(ctx context.Context, desired *model.Desired, host, drive string, do func(*connectedMachine) error) error {
	ctx, cancel := context.WithTimeout(ctx, longestRead)
	defer cancel()
	return p.with(ctx, desired, host, drive, do)
}

// with opens a host's machine, has something done with it, and closes it.
// drive is where its virtual drive was seen before, "" to look for it.
func (p *Plane) with(ctx context.Context, desired *model.Desired, host, drive string, do func(*connectedMachine) error) error {
	t, err := p.target(desired, host)
	if err != nil {
		return err
	}
	t.drive, t.within = drive, answersSoon
	return p.converse(ctx, t, do)
}

func (p *Plane) converse(ctx context.Context, t target, do func(*connectedMachine) error) error {
	s, err := p.open(ctx, t)
	if err != nil {
		return err
	}
	defer s.close(ctx)
	return do(s)
}

func (p *Plane) target(desired *model.Desired, host string) (target, error) {
	for i := range desired.Spec.Spec.Hosts {
		h := &desired.Spec.Spec.Hosts[i]
		if h.Name != host {
			continue
		}
		if h.BMC == nil {
			return target{}, fmt.Errorf("%s has no bmc in the file", host)
		}
		ours, err := p.media.URL(host)
		if err != nil {
			return target{}, &bmcError{kind: model.TroubleOther, text: "its image has no address: " + err.Error(), err: err}
		}
		return target{bmc: h.BMC, ownURL: ours}, nil
	}
	return target{}, fmt.Errorf("the file has no host %s", host)
}

// Act carries out one action on one machine and does not wait for what it
// starts. Its errors are passing ones: what a person does at the BMC may cure
// any of them.
func (p *Plane) Act(ctx context.Context, desired *model.Desired, _ *model.Observed, action model.Action) error {
	host := action.Name
	p.mu.Lock()
	delete(p.last, host) // the reading is out of date, even if the action fails
	p.mu.Unlock()
	var err error
	if action.Kind == model.InsertMedia {
		err = p.insert(ctx, desired, host)
	} else {
		err = p.within(ctx, desired, host, "", func(s *connectedMachine) error { return s.act(action.Kind) })
	}
	p.mu.Lock()
	var goesOn *unfinished
	if errors.As(err, &goesOn) {
		p.pending[host], err = pending{kind: action.Kind, path: goesOn.path}, nil
	}
	switch {
	case action.Kind == model.RestoreBoot:
		delete(p.bootRequested, host)
	case action.Kind == model.SetBootOnce && err == nil:
		p.bootRequested[host] = true
	case action.Kind == model.PowerOn && err == nil:
		p.switched[host] = model.PowerIsOn
	case action.Kind == model.PowerOff && err == nil:
		p.switched[host] = model.PowerIsOff
	}
	p.mu.Unlock()
	if next := remedyOf(host, err); next != "" && model.FaultOf(err).Next == "" {
		return &model.Fault{Err: err, Next: next}
	}
	return err
}

// Eject takes our image out of the drives of hosts and puts their boot order
// back, as far as that is still to be done: for the verbs that end an install.
// It does what it can: ejected are the hosts, in the order given, whose drives
// held our image and do no more; its error names each host that is left as it
// was.
func (p *Plane) Eject(ctx context.Context, desired *model.Desired, hosts ...string) (ejected []string, err error) {
	var (
		group sync.WaitGroup
		ours  = make([]bool, len(hosts))
		fails = make([]error, len(hosts))
		slots = make(chan struct{}, sideBySide)
	)
	for i, host := range hosts {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			p.mu.Lock()
			delete(p.last, host)
			p.mu.Unlock()
			err := p.within(ctx, desired, host, "", func(s *connectedMachine) error {
				held := s.state().OurMedia
				left := s.act(model.EjectMedia)
				ours[i] = held && left == nil
				return errors.Join(left, s.act(model.RestoreBoot))
			})
			if err != nil {
				fails[i] = fmt.Errorf("eject the discovery image of %s: %w", host, err)
			}
		})
	}
	group.Wait()
	for i, host := range hosts {
		if ours[i] {
			ejected = append(ejected, host)
		}
	}
	return ejected, errors.Join(fails...)
}
