package install_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// rack is a world whose machines have BMCs: it models what they do when they
// are told to.
type rack struct {
	*world
	boxes map[string]*box
	asked map[string]int // how often each BMC was looked at
}

// box is one machine in the rack.
type box struct {
	power   model.Power
	media   string
	once    bool
	stays   bool // its BMC only knows Continuous: no boot uses the override up
	again   bool // it has booted our image once more, instead of its disk
	other   bool // runs something that somebody may need
	booted  bool // runs our image, or what was installed from it
	fetched model.Fetched
	trouble model.TroubleKind
	seen    func(*model.MachineState) // changes what its BMC shows; nil for nothing
}

const foreign = "http://192.0.2.77/rescue.iso?token=secret"

func imageOf(host string) string { return "http://192.0.2.1:8080/i/" + host + ".iso" }

// newRack gives every host of the desired cluster a BMC.
func newRack(desired *model.Desired) *rack {
	r := &rack{world: newWorld(desired), boxes: map[string]*box{}, asked: map[string]int{}}
	r.wire()
	return r
}

// wire gives the hosts of a world BMCs, and has only those boot that are made to.
func (r *rack) wire() {
	hosts := r.desired.Spec.Spec.Hosts
	r.desired.Spec.Spec.Boot.Method = spec.BootRedfish
	for i := range hosts {
		if hosts[i].Match.Agent != "" { // its image is not ours
			hosts[i].Match = spec.Match{MAC: fmt.Sprintf("52:54:00:00:08:%02x", i)}
		}
		hosts[i].BMC = &spec.BMC{Address: fmt.Sprintf("192.0.2.%d", i+100), Credentials: spec.CredentialsOf("root", spec.NewSecret("calvin"))}
		r.boxes[hosts[i].Name] = &box{power: model.PowerIsOff}
	}
	r.dark = func(name string) bool { return !r.boxes[name].booted }
}

// service is the rack's world as a service plane that gives it out as it is.
type service struct{ *rack }

func (s service) Observe(context.Context, model.Query, *model.Observed) (*model.Observed, error) {
	o := s.observed
	return &o, nil
}

func (s service) Act(_ context.Context, _ *model.Desired, a model.Action) error {
	return s.apply(a)
}

func (s service) Credential(context.Context, string, string) ([]byte, error) { return nil, nil }

// bmcs is the rack as a machines plane.
type bmcs struct{ *rack }

func (b bmcs) Observe(_ context.Context, _ *model.Desired, observed *model.Observed, ask []string) (map[string]model.MachineState, error) {
	states, err := b.look(ask)
	for name, state := range states {
		if last := &state.Fetch.Last; !last.IsZero() {
			*last = last.Add(time.Since(observed.At)) // a media server has the time of the machine that it runs on
		}
		states[name] = state
	}
	return states, err
}

// look reads the BMCs of some hosts. Its times are those of the service.
func (r *rack) look(ask []string) (map[string]model.MachineState, error) {
	states := map[string]model.MachineState{}
	for _, name := range ask {
		r.asked[name]++
		x := r.boxes[name]
		if x == nil {
			return nil, fmt.Errorf("%s has no BMC and is asked for", name)
		}
		state := model.MachineState{Power: x.power, Media: x.media, OurMedia: x.media == imageOf(name), BootOnce: x.once, BootStays: x.once && x.stays, Fetch: x.fetched}
		if x.trouble != "" {
			state = model.MachineState{Trouble: "something is wrong", TroubleKind: x.trouble}
		}
		if x.seen != nil {
			x.seen(&state)
		}
		states[name] = state
	}
	return states, nil
}

func (b bmcs) Act(_ context.Context, _ *model.Desired, _ *model.Observed, a model.Action) error {
	return b.tell(a)
}

// tell is the model of what a machine does with each action, and refuses what
// must never be asked for.
func (r *rack) tell(a model.Action) error {
	x := r.boxes[a.Name]
	switch a.Kind {
	case model.InsertMedia:
		if x.power == model.PowerIsOn {
			return fmt.Errorf("the image is inserted into %s, which is on", a.Name)
		}
		x.media = imageOf(a.Name)
	case model.SetBootOnce:
		x.once = true
	case model.PowerOn:
		if x.media != imageOf(a.Name) || !x.once {
			return fmt.Errorf("%s is switched on and would not boot the image", a.Name)
		}
		r.switchOn(a.Name)
	case model.PowerOff:
		allowed := r.desired.Options.RebootRunning
		for i := range r.desired.Spec.Spec.Hosts {
			h := &r.desired.Spec.Spec.Hosts[i]
			allowed = allowed || h.Name == a.Name && h.BMC.RebootRunning
		}
		if !allowed || !x.other || !a.Destructive {
			return fmt.Errorf("%s is switched off: allowed %v, runs something else %v, destructive %v", a.Name, allowed, x.other, a.Destructive)
		}
		x.power, x.other, x.booted = model.PowerIsOff, false, false
	case model.EjectMedia:
		if x.media != imageOf(a.Name) || r.stillBoots(a.Name) {
			return fmt.Errorf("the image of %s is ejected while %q is in the drive and it boots %v", a.Name, x.media, r.stillBoots(a.Name))
		}
		x.media = ""
	case model.RestoreBoot:
		if r.stillBoots(a.Name) && !(x.stays && x.booted) {
			return fmt.Errorf("the boot order of %s is restored before it has booted", a.Name)
		}
		x.once = false
	default:
		return fmt.Errorf("a BMC has no effect for %s", a.Kind)
	}
	return nil
}

// switchOn has a machine start from what it finds.
func (r *rack) switchOn(name string) {
	x := r.boxes[name]
	x.power, x.booted = model.PowerIsOn, x.once && x.media == imageOf(name)
	x.other, x.once = !x.booted, x.once && x.stays
	if x.booted {
		x.fetched = model.Fetched{Requests: 9, Bytes: 1 << 30, Size: 1 << 30, Last: r.observed.At}
	}
}

// stillBoots says whether a machine still needs the image in its drive.
func (r *rack) stillBoots(name string) bool {
	switch r.observed.Cluster.State {
	case model.ClusterFailed, model.ClusterCancelled, model.ClusterInstalled, model.ClusterAddingHosts:
		if !r.desired.Options.AddNodes {
			return false
		}
	}
	for _, h := range r.observed.Hosts {
		if h.ID != "host-"+name {
			continue
		}
		switch h.State {
		case model.HostInstalled, model.HostAdded, model.HostFailed, model.HostCancelled:
			return false
		}
		return h.Progress.Stage != "Rebooting"
	}
	return true
}

// plan looks once and decides.
func (r *rack) plan() (model.Plan, *model.Observed, error) {
	observed := r.observed
	observed.Machines = map[string]model.MachineState{}
	ask, phases := decide.MachinesToAsk(r.desired, &observed)
	states, err := r.look(ask)
	if err != nil {
		return model.Plan{}, nil, err
	}
	for name, state := range states {
		state.Phase = phases[name]
		observed.Machines[name] = state
	}
	return install.Decide(r.desired, &observed, observed.MemoryBefore(), observed.At), &observed, nil
}

// settle decides and acts until there is nothing left to do at this moment.
func (r *rack) settle() error {
	asked := map[string]int{}
	for range 60 {
		plan, _, err := r.plan()
		if err != nil {
			return err
		}
		if err := wellFormed(plan); err != nil {
			return err
		}
		if len(plan.Actions) == 0 {
			return nil
		}
		for _, a := range plan.Actions {
			key := fmt.Sprint(a.Key, a.Settings, a.Target)
			if asked[key]++; asked[key] > 1 {
				return fmt.Errorf("%s is asked for again after it was carried out", a.Key)
			}
			do := r.apply
			if r.boxes[a.Name] != nil && byBMC(a.Kind) {
				r.writes, do = append(r.writes, a), r.tell
			}
			if err := do(a); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("does not come to rest")
}

func byBMC(kind model.Kind) bool {
	switch kind {
	case model.InsertMedia, model.SetBootOnce, model.PowerOn, model.PowerOff, model.EjectMedia, model.RestoreBoot:
		return true
	}
	return false
}

// pass lets time go by, for the machines too: hosts that install come to the
// reboot, and what somebody needs is some day switched off by a person.
func (r *rack) pass() {
	r.world.pass()
	for i := range r.observed.Hosts {
		if h := &r.observed.Hosts[i]; h.State == model.HostInstalling {
			if x := r.boxes[strings.TrimPrefix(h.ID, "host-")]; x != nil && h.Progress.Stage != "Rebooting" {
				x.again = x.again || x.stays && x.once && x.media != ""
			}
			h.Progress.Stage = "Rebooting"
		}
	}
	for _, x := range r.boxes {
		x.trouble = ""
		if x.other {
			x.power, x.other = model.PowerIsOff, false
		}
	}
}

// anyRack is some state in which a crash, or somebody else, may have left
// service and machines.
func anyRack(random *rand.Rand) *rack {
	w := newWorld(&model.Desired{Spec: anyCluster(random), Options: model.Options{Run: "run1", Reimage: random.IntN(2) == 0}})
	r := &rack{world: w, boxes: map[string]*box{}, asked: map[string]int{}}
	r.wire()
	r.desired.Options.RebootRunning = random.IntN(3) == 0
	for i := range r.desired.Spec.Spec.Hosts {
		h := &r.desired.Spec.Spec.Hosts[i]
		h.BMC.RebootRunning = random.IntN(4) == 0
		if random.IntN(8) == 0 {
			h.BMC, r.boxes[h.Name].booted = nil, true // booted by a person
			r.desired.Spec.Spec.Boot.Method = spec.BootRedfish
			continue
		}
		r.boxes[h.Name].stays = random.IntN(4) == 0
		r.boxes[h.Name].disturb(random, h.Name)
	}
	for range random.IntN(12) {
		plan, _, _ := r.plan()
		for _, a := range plan.Actions {
			if random.IntN(4) == 0 {
				continue
			}
			if byBMC(a.Kind) {
				_ = r.tell(a)
			} else {
				_ = r.apply(a)
			}
		}
		r.pass()
	}
	r.disturb(random)
	for name, x := range r.boxes {
		x.again = false
		if !x.booted {
			x.disturb(random, name)
		}
	}
	r.writes = nil
	return r
}

// disturb changes a machine that does not run anything of ours.
func (x *box) disturb(random *rand.Rand, name string) {
	switch random.IntN(5) {
	case 0:
		x.power, x.other = model.PowerIsOn, true
	case 1:
		x.media = foreign
	case 2:
		x.media, x.once = imageOf(name), random.IntN(2) == 0
	case 3:
		kinds := []model.TroubleKind{model.TroubleUnreachable, model.TroubleCredentials, model.TroubleNoVirtualMedia, model.TroubleBusy}
		x.trouble = kinds[random.IntN(len(kinds))]
	}
	if x.power == model.PowerIsOn && x.media == imageOf(name) {
		x.media = ""
	}
}
