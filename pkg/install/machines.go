package install

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Machines is the plane of management controllers (BMCs) and the discovery
// media that machines boot through them. It is asked only for the hosts of the
// file that the next decision needs. Its methods are safe for concurrent use.
type Machines interface {
	// Observe looks at the named hosts only. What cannot be read of one is said
	// in its MachineState.Trouble; an error is one of the plane as a whole, such
	// as a context that ended; one that is a permanent *Fault ends the run.
	Observe(ctx context.Context, desired *Desired, observed *Observed, ask []string) (map[string]MachineState, error)
	// Act starts what an action of one of the machines' kinds stands for, and
	// does not wait for it. Action.Name is the host's name in the file.
	Act(ctx context.Context, desired *Desired, observed *Observed, action Action) error
}

// WithMachines gives the Client a plane that boots machines by itself.
// Without it, hosts are waited for until somebody boots them.
func WithMachines(machines Machines) Option {
	return func(client *Client) { client.machines = machines }
}

// MachineState is what is known of one machine through its BMC.
type MachineState struct {
	// Trouble says why the rest is not known, or not to be relied on; "" for
	// nothing. TroubleKind classes it.
	Trouble     string
	TroubleKind TroubleKind
	Power       Power
	// Media is the URL of what is in the virtual drive, "" for nothing. It may
	// hold what nobody else is to know: never shown whole.
	Media string
	// OurMedia says that it is the image that this cluster serves for the host.
	OurMedia bool
	// BootOnce says that the next boot is from the virtual drive, as far as the BMC
	// can say: what proves it is that the host registers.
	BootOnce bool
	// BootStays says that no boot uses the override up: it stands until it is taken
	// back, as on a BMC that only knows Continuous.
	BootStays bool
	// Inserting says that our image is on its way into the virtual drive. Of the rest
	// nothing is to be relied on then.
	Inserting bool
	// Fetch is how much of the image has been read by the BMC.
	Fetch Fetched

	// phase is where the host was in its install when this was seen.
	phase phase
}

// phase is how far a host is on its way from the discovery image to its disk.
type phase int

const (
	nowhere    phase = iota // nothing is known of it yet, and nothing to boot
	toBoot                  // it has still to boot the image
	runsImage               // it has, and runs it
	leavesDisc              // it must not boot it again
)

// TroubleKind is what is wrong with a BMC: unreachable, credentials, no-virtual-media,
// media-refused, busy, no-image or other.
type TroubleKind = model.TroubleKind

// Power is whether a machine is switched on, in Redfish's words: On, Off, PoweringOn,
// PoweringOff or Unknown.
type Power = model.Power

// Fetched is how far an image has been read over HTTP.
type Fetched struct {
	Requests int
	Active   int   // of them, those that are under way now
	Bytes    int64 // distinct ones: a part that is read twice counts once
	Size     int64 // of the whole image, 0 while unknown
	Last     time.Time
	// Unknown says that another process serves the image, which knows.
	Unknown bool
}

// inserting says whether a BMC is at an insertion, which would end with the run.
func inserting(o *Observed) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(o.Machines)), func(s MachineState) bool { return s.Inserting })
}

// lyingBMC is the blocker of a BMC that accepts a request again and again and
// says each time that nothing has changed.
func lyingBMC(a Action, s Success) Blocker {
	b := Blocker{
		Key: a.Key + "/not-kept", Scope: a.Scope, Reason: reasonBMC, Cure: model.CurePerson, Since: s.First, Hosts: []string{a.Name},
		Message: fmt.Sprintf("the BMC of %s accepted %d times to %s, and says that nothing has changed", a.Name, s.Times, a.task()),
		Remedy:  "look at the machine and at its BMC, which may have to be reset",
	}
	if kinds[a.Kind].switches {
		b.Message = fmt.Sprintf("the BMC of %s accepted to %s %s ago, and says that nothing has changed", a.Name, a.task(), minutes(switchWithin))
		b.Remedy = kinds[a.Kind].phrase + " " + a.Name + " by hand, or look at its BMC, which may have to be reset"
	}
	return b
}

// switchWithin is how long a BMC may take to show that a machine was switched. It is
// asked for that once: a second request may be a second press of the button.
const switchWithin = 2 * time.Minute

// switched says whether a machine is seen to be as an action of power wants it.
func (s MachineState) switched(kind Kind) bool {
	return s.Trouble == "" && (kind == model.PowerOn && s.Power == model.PowerIsOn || kind == model.PowerOff && s.Power == model.PowerIsOff)
}

// bootedByBMC says whether a host of the file is booted through its BMC.
func bootedByBMC(c *spec.Cluster, h *spec.Host) bool {
	if h.BMC == nil || h.BMC.Credentials.IsZero() {
		return false
	}
	switch c.Spec.Boot.Method {
	case spec.BootRedfish:
		return true
	case "": // not defaulted: redfish where every host has a BMC
		return !slices.ContainsFunc(c.Spec.Hosts, func(h spec.Host) bool { return h.BMC == nil })
	}
	return false
}

// observeMachines adds to an observation what the next decision needs of the
// machines, and brings forward what was known of the others.
func (client *Client) observeMachines(ctx context.Context, desired *Desired, prior, observed *Observed) error {
	if client.machines == nil || observed.Stale != "" {
		return nil
	}
	observed.Machines = map[string]MachineState{}
	var before map[string]MachineState
	if prior != nil {
		before = prior.Machines
	}
	maps.Copy(observed.Machines, before)
	p := newPlanner(desired, observed, Memory{}, observed.At)
	ask := p.machinesToAsk()
	if len(ask) == 0 {
		return nil
	}
	states, err := client.machines.Observe(ctx, desired, observed, ask)
	if err != nil && (ctx.Err() != nil || forGood(err)) {
		return err
	}
	for _, name := range ask {
		state, told := states[name]
		switch {
		case err != nil:
			state = MachineState{Trouble: err.Error(), TroubleKind: model.TroubleOther}
		case !told:
			state = MachineState{Trouble: "nothing is known of its BMC", TroubleKind: model.TroubleOther}
		}
		if state.Trouble != "" && state.Fetch == (Fetched{}) { // what was known does not end with it
			state.Fetch = before[name].Fetch
		}
		state.phase = p.phaseOf(p.spec.Host(name))
		observed.Machines[name] = state
	}
	return nil
}

// phaseOf is where a host of the file is.
func (p *planner) phaseOf(want *spec.Host) phase {
	switch {
	case p.toBoot(want):
		return toBoot
	case p.pastBoot(want):
		return leavesDisc
	case p.matches.byName[want.Name] != nil:
		return runsImage
	}
	return nowhere
}

// machinesToAsk are the hosts whose machines the next decision needs: those that
// have still to boot; those that run the image, until they are seen not to boot it
// again by themselves; and those that must not, until nothing of it is left. What was
// seen before a host came so far says nothing of what it finds there now.
func (p *planner) machinesToAsk() []string {
	if p.cluster == nil || p.cluster.State == model.ClusterUnknown {
		return nil
	}
	var ask []string
	for i := range p.spec.Spec.Hosts {
		host := &p.spec.Spec.Hosts[i]
		if !bootedByBMC(p.spec, host) {
			continue
		}
		state, known := p.observed.Machines[host.Name]
		now := p.phaseOf(host)
		if now == toBoot || now != nowhere && (!known || state.phase != now || !state.settled()) {
			ask = append(ask, host.Name)
		}
	}
	return ask
}

// settled says whether nothing is left to do to a machine that has booted.
func (s MachineState) settled() bool {
	if s.Trouble != "" || s.Inserting || s.BootStays {
		return false
	}
	return s.phase == runsImage || !s.OurMedia && !s.BootOnce
}

// BootedByBMC are the hosts of a file that are booted through their BMCs: those
// that have one with credentials, where boot.method is redfish.
func BootedByBMC(c *spec.Cluster) []*spec.Host {
	var hosts []*spec.Host
	for i := range c.Spec.Hosts {
		if host := &c.Spec.Hosts[i]; bootedByBMC(c, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}
