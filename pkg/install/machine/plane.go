package machine

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// How many BMCs are spoken to at once, and how long what was seen of one is
// good for where nothing was done to it.
const (
	sideBySide  = 16
	freshFor    = 3 * time.Second
	troubleFor  = 20 * time.Second
	longestLook = 90 * time.Second // of real time: a BMC that answers each request slowly
)

// Media gives each host the image that it boots.
type Media interface {
	// URL is where a host's BMC finds the host's image: always the same for the
	// same host, and known to nobody else.
	URL(host string) (string, error)
	// Fetched is how far it has been read.
	Fetched(host string) install.Fetched
	// Prepare makes it anew, before it goes into the drive: a BMC gives up on an
	// image that is slow to come, and the service may say something else by now.
	Prepare(ctx context.Context, host string) error
}

// Config is what a Plane needs.
type Config struct {
	Media Media
	// Proxy is the HTTP proxy on the way to the BMCs, nil for none.
	Proxy *url.URL
	// Clock says how old what was seen is; nil is the machine's own.
	Clock install.Clock
}

// Plane looks at machines and acts on them through their BMCs. It implements
// install.Machines and is safe for concurrent use.
type Plane struct {
	media Media
	proxy *url.URL
	clock install.Clock

	mu   sync.Mutex
	last map[string]look
}

var _ install.Machines = (*Plane)(nil)

// look is what was seen of a machine, and until when it is good.
type look struct {
	state install.MachineState
	until time.Time
	drive string // path of its virtual drive, "" where it has to be found each time
}

// target is a host's BMC and the image that belongs into its drive.
type target struct {
	host  string
	bmc   *spec.BMC
	ours  string
	drive string // where its virtual drive was seen, "" to look for it
}

// New returns a Plane.
func New(config Config) *Plane {
	p := &Plane{media: config.Media, proxy: config.Proxy, clock: config.Clock, last: map[string]look{}}
	if p.clock == nil {
		p.clock = clock.Real()
	}
	return p
}

// Observe looks at the machines of the named hosts, several at once. Its error
// is only ever that of a context that ended.
func (p *Plane) Observe(ctx context.Context, desired *install.Desired, _ *install.Observed, ask []string) (map[string]install.MachineState, error) {
	var (
		group  sync.WaitGroup
		mu     sync.Mutex
		states = make(map[string]install.MachineState, len(ask))
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

// observe is one machine: from memory if that is new enough, but for what the
// media server counts.
func (p *Plane) observe(ctx context.Context, desired *install.Desired, host string) install.MachineState {
	p.mu.Lock()
	last, known := p.last[host]
	p.mu.Unlock()
	if !known || !p.clock.Now().Before(last.until) {
		last = p.look(ctx, desired, host, last.drive)
		p.mu.Lock()
		p.last[host] = last
		p.mu.Unlock()
	}
	state := last.state
	state.Fetch = p.media.Fetched(host)
	return state
}

func (p *Plane) look(ctx context.Context, desired *install.Desired, host, drive string) look {
	var now look
	err := p.with(ctx, desired, host, drive, func(s *seen) error {
		now = look{state: s.state(), until: p.clock.Now().Add(freshFor)}
		if s.drive.iso == nil {
			now.drive = s.drive.Path
		}
		return nil
	})
	if err != nil {
		return look{state: troubled(err), until: p.clock.Now().Add(troubleFor)}
	}
	return now
}

func troubled(err error) install.MachineState {
	var known *trouble
	if errors.As(err, &known) {
		return install.MachineState{Trouble: known.text, TroubleKind: known.kind}
	}
	return install.MachineState{Trouble: err.Error(), TroubleKind: kindOther}
}

// with opens a host's machine, has something done with it, and closes it.
// drive is where its virtual drive was seen before, "" to look for it.
func (p *Plane) with(ctx context.Context, desired *install.Desired, host, drive string, do func(*seen) error) error {
	t, err := p.target(desired, host)
	if err != nil {
		return err
	}
	t.drive = drive
	ctx, cancel := context.WithTimeout(ctx, longestLook)
	defer cancel()
	s, err := p.open(ctx, t)
	if err != nil {
		return err
	}
	defer s.close(ctx)
	return do(s)
}

func (p *Plane) target(desired *install.Desired, host string) (target, error) {
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
			return target{}, &trouble{kind: kindOther, text: "its image has no address: " + err.Error(), err: err}
		}
		return target{host: host, bmc: h.BMC, ours: ours}, nil
	}
	return target{}, fmt.Errorf("the file has no host %s", host)
}

// Act carries out one action on one machine and does not wait for what it
// starts. Its errors are passing ones: what a person does at the BMC may cure
// any of them.
func (p *Plane) Act(ctx context.Context, desired *install.Desired, _ *install.Observed, action install.Action) error {
	p.mu.Lock()
	delete(p.last, action.Name) // whatever comes of it
	p.mu.Unlock()
	if action.Kind == install.InsertMedia {
		if err := p.media.Prepare(ctx, action.Name); err != nil {
			return err
		}
	}
	err := p.with(ctx, desired, action.Name, "", func(s *seen) error { return s.act(action.Kind) })
	var known *trouble
	if errors.As(err, &known) && known.kind == kindRefused {
		return &install.Fault{Err: err, Next: "check that the BMC of " + action.Name + " reaches that address, or give another one with --media-url"}
	}
	return err
}

// Eject takes our image out of the drives of hosts and puts their boot order
// back, as far as that is still to be done: for the verbs that end an install.
// It does what it can: ejected are the hosts, in the order given, whose drives
// held our image and do no more; its error names each host that is left as it
// was.
func (p *Plane) Eject(ctx context.Context, desired *install.Desired, hosts ...string) (ejected []string, err error) {
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
			err := p.with(ctx, desired, host, "", func(s *seen) error {
				held := s.state().OurMedia
				left := s.act(install.EjectMedia)
				ours[i] = held && left == nil
				return errors.Join(left, s.act(install.RestoreBoot))
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
