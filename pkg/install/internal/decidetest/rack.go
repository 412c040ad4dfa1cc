package decidetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Rack is a world of machines with BMCs: it models what they do with each action.
type Rack struct {
	*World
	Boxes map[string]*Box
	Asked map[string]int // how often each BMC was read
}

// Box is one machine in the rack.
type Box struct {
	Power   model.Power
	Media   string
	Once    bool
	Stays   bool // its BMC only knows Continuous: no boot uses the override up
	Again   bool // it has booted our image once more, instead of its disk
	Other   bool // runs something that a user may need
	Booted  bool // runs our image, or what was installed from it
	Fetched model.Fetched
	Trouble model.TroubleKind
	Seen    func(*model.MachineState) // changes what its BMC shows; nil for nothing
}

// Foreign is an image in a virtual drive that a user has inserted.
const Foreign = "http://192.0.2.77/rescue.iso?token=secret"

// ImageOf is the URL of the discovery image of a host.
func ImageOf(host string) string { return "http://192.0.2.1:8080/i/" + host + ".iso" }

// NewRack gives every host of the desired cluster a BMC.
func NewRack(desired *model.Desired) *Rack {
	r := &Rack{World: NewWorld(desired), Boxes: map[string]*Box{}, Asked: map[string]int{}}
	r.Wire()
	return r
}

// Wire gives the hosts of a world BMCs, and has only those boot that are made to.
func (r *Rack) Wire() {
	hosts := r.Desired.Spec.Spec.Hosts
	r.Desired.Spec.Spec.Boot.Method = spec.BootRedfish
	for i := range hosts {
		if hosts[i].Match.Agent != "" { // its image is not ours
			hosts[i].Match = spec.Match{MAC: fmt.Sprintf("52:54:00:00:08:%02x", i)}
		}
		hosts[i].BMC = &spec.BMC{Address: fmt.Sprintf("192.0.2.%d", i+100),
			Credentials: spec.CredentialsOf("root", spec.NewSecret("calvin"))}
		r.Boxes[hosts[i].Name] = &Box{Power: model.PowerIsOff}
	}
	r.Dark = func(name string) bool { return !r.Boxes[name].Booted }
}

// Look reads the BMCs of some hosts. Its times are those of the service.
func (r *Rack) Look(ask []string) (map[string]model.MachineState, error) {
	states := map[string]model.MachineState{}
	for _, name := range ask {
		r.Asked[name]++
		x := r.Boxes[name]
		if x == nil {
			return nil, fmt.Errorf("%s has no BMC and is asked for", name)
		}
		state := model.MachineState{Power: x.Power, Media: x.Media, OurMedia: x.Media == ImageOf(name), BootOnce: x.Once,
			BootStays: x.Once && x.Stays, Fetch: x.Fetched}
		if x.Trouble != "" {
			state = model.MachineState{Trouble: "something is wrong", TroubleKind: x.Trouble}
		}
		if x.Seen != nil {
			x.Seen(&state)
		}
		states[name] = state
	}
	return states, nil
}

// Tell is the model of what a machine does with each action, and refuses what
// must never be asked for.
func (r *Rack) Tell(a model.Action) error {
	x := r.Boxes[a.Name]
	switch a.Kind {
	case model.InsertMedia:
		if x.Power == model.PowerIsOn {
			return fmt.Errorf("the image is inserted into %s, which is on", a.Name)
		}
		x.Media = ImageOf(a.Name)
	case model.SetBootOnce:
		x.Once = true
	case model.PowerOn:
		if x.Media != ImageOf(a.Name) || !x.Once {
			return fmt.Errorf("%s is switched on and would not boot the image", a.Name)
		}
		r.SwitchOn(a.Name)
	case model.PowerOff:
		allowed := r.Desired.Options.RebootRunning
		for i := range r.Desired.Spec.Spec.Hosts {
			h := &r.Desired.Spec.Spec.Hosts[i]
			allowed = allowed || h.Name == a.Name && h.BMC.RebootRunning
		}
		if !allowed || !x.Other || !a.Destructive {
			return fmt.Errorf("%s is switched off: allowed %v, runs something else %v, destructive %v", a.Name, allowed, x.Other,
				a.Destructive)
		}
		x.Power, x.Other, x.Booted = model.PowerIsOff, false, false
	case model.EjectMedia:
		if x.Media != ImageOf(a.Name) || r.stillBoots(a.Name) {
			return fmt.Errorf("the image of %s is ejected while %q is in the drive and it boots %v", a.Name, x.Media, r.stillBoots(a.Name))
		}
		x.Media = ""
	case model.RestoreBoot:
		if r.stillBoots(a.Name) && !(x.Stays && x.Booted) {
			return fmt.Errorf("the boot order of %s is restored before it has booted", a.Name)
		}
		x.Once = false
	default:
		return fmt.Errorf("a BMC has no effect for %s", a.Kind)
	}
	return nil
}

// SwitchOn makes a machine start from what it finds.
func (r *Rack) SwitchOn(name string) {
	x := r.Boxes[name]
	x.Power, x.Booted = model.PowerIsOn, x.Once && x.Media == ImageOf(name)
	x.Other, x.Once = !x.Booted, x.Once && x.Stays
	if x.Booted {
		x.Fetched = model.Fetched{Requests: 9, Bytes: 1 << 30, Size: 1 << 30, Last: r.Observed.At}
	}
}

// stillBoots reports whether a machine still needs the image in its drive.
func (r *Rack) stillBoots(name string) bool {
	switch r.Observed.Cluster.State {
	case model.ClusterFailed, model.ClusterCancelled, model.ClusterInstalled, model.ClusterAddingHosts:
		if !r.Desired.Options.AddNodes {
			return false
		}
	}
	for _, h := range r.Observed.Hosts {
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

// Plan looks once and decides.
func (r *Rack) Plan() (model.Plan, *model.Observed, error) {
	observed := r.Observed
	observed.Machines = map[string]model.MachineState{}
	ask, phases := decide.MachinesToAsk(r.Desired, &observed)
	states, err := r.Look(ask)
	if err != nil {
		return model.Plan{}, nil, err
	}
	for name, state := range states {
		state.Phase = phases[name]
		observed.Machines[name] = state
	}
	return decide.Decide(r.Desired, &observed, observed.MemoryBefore(), observed.At), &observed, nil
}

// Settle decides and acts until there is nothing left to do at this moment.
func (r *Rack) Settle() error {
	plan := func() (model.Plan, error) {
		plan, _, err := r.Plan()
		return plan, err
	}
	return settle(60, plan, func(a model.Action) error {
		if r.Boxes[a.Name] != nil && a.Kind.ByBMC() {
			r.Writes = append(r.Writes, a)
			return r.Tell(a)
		}
		return r.Apply(a)
	})
}

// Live settles and lets time pass, so many times.
func (r *Rack) Live(t testing.TB, times int) {
	t.Helper()
	for range times {
		if err := r.Settle(); err != nil {
			t.Fatal(err)
		}
		r.Pass()
	}
}

// Pass lets time go by, for the machines too: hosts that install come to the
// reboot, and what a user needs is some day switched off by that user.
func (r *Rack) Pass() {
	r.World.Pass()
	for i := range r.Observed.Hosts {
		if h := &r.Observed.Hosts[i]; h.State == model.HostInstalling {
			if x := r.Boxes[strings.TrimPrefix(h.ID, "host-")]; x != nil && h.Progress.Stage != "Rebooting" {
				x.Again = x.Again || x.Stays && x.Once && x.Media != ""
			}
			h.Progress.Stage = "Rebooting"
		}
	}
	for _, x := range r.Boxes {
		x.Trouble = ""
		if x.Other {
			x.Power, x.Other = model.PowerIsOff, false
		}
	}
}

// Disturb changes a machine that does not run anything of ours.
func (x *Box) Disturb(random *rand.Rand, name string) {
	switch random.IntN(5) {
	case 0:
		x.Power, x.Other = model.PowerIsOn, true
	case 1:
		x.Media = Foreign
	case 2:
		x.Media, x.Once = ImageOf(name), random.IntN(2) == 0
	case 3:
		kinds := []model.TroubleKind{model.TroubleUnreachable, model.TroubleCredentials, model.TroubleNoVirtualMedia, model.TroubleBusy}
		x.Trouble = kinds[random.IntN(len(kinds))]
	}
	if x.Power == model.PowerIsOn && x.Media == ImageOf(name) {
		x.Media = ""
	}
}

// ReadyRack is a rack with a cluster and an image, and with machines that have still to boot.
func ReadyRack(t *testing.T, controlPlane, workers int) *Rack {
	t.Helper()
	r := NewRack(&model.Desired{Spec: Sample(controlPlane, workers)})
	for range 2 {
		r.Do(t, r.Decide().Actions...)
	}
	if len(r.Observed.InfraEnvs) == 0 {
		t.Fatal("there is no image to boot")
	}
	return r
}

// Call makes a machine register without its inventory.
func (r *Rack) Call() {
	h := Machine("someone", "52:54:00:00:00:00", 1)
	h.Inventory = model.Inventory{}
	r.Observed.Hosts = append(r.Observed.Hosts, h)
}
