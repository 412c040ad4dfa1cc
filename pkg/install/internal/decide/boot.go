package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// boot has machines boot the discovery image, and has them leave it once they run from their disks.
type boot struct {
	*collector
	options  *model.Options
	spec     *spec.Cluster
	observed *model.Observed
	memory   model.Memory
	now      time.Time
	cluster  *model.Cluster
	explains bool
	roster   *roster
	members  *members
	images   *images

	held bool // machines are not to be booted yet
}

// byService gives a machine that has still to register to a service that
// boots machines itself, and says whether it is such a machine. wait is what
// would be waited for otherwise; one that the install can do without never
// blocks it.
func (b *boot) byService(want *spec.Host, wait model.Wait) bool {
	if b.observed.Enrolled == nil || !b.spec.HubBoots(want) {
		return false
	}
	wait.Who, wait.Next = model.WhoMachine, ""
	env := b.images.envOf(want.Name)
	i := slices.IndexFunc(b.observed.Enrolled, func(e model.Enrolled) bool { return isOf(&e, want) })
	switch {
	case i >= 0:
		b.enrolled(want, &b.observed.Enrolled[i], wait)
	case env == nil || b.held:
		b.wait(wait)
	default:
		b.act(model.Action{
			Key: "host/" + want.Name + "/register", Scope: model.ScopeHost.Of(want.Name), Kind: model.RegisterHost, Name: want.Name,
			InfraEnv: env.ID,
			Reason:   "the service boots the machine, but has no record of its BMC yet",
			Changes:  []model.Change{{Field: hostField(want.Name) + "bmc.address", To: want.BMC.Address}},
		})
	}
	return true
}

// isOf reports whether a machine is that of a host of the file: the one that oaictl created under the host's name, or
// one that another client created and that boots from the same MAC address.
func isOf(e *model.Enrolled, want *spec.Host) bool {
	if e.Owned && e.Name == want.Name {
		return true
	}
	mac := clustersettings.MAC(want.Match.MAC)
	return mac != "" && clustersettings.MAC(e.MAC) == mac
}

// enrolled waits for the service to boot a machine.
func (b *boot) enrolled(want *spec.Host, e *model.Enrolled, wait model.Wait) {
	if e.State != "" {
		wait.For += fmt.Sprintf("; the service boots it, and reports the state %s", e.State)
	}
	remedy := enrolledRemedy(e.Name)
	switch {
	case e.Trouble == "":
		b.wait(wait)
	case !wait.Until.IsZero():
		wait.For, wait.Who, wait.Next = want.Name+" to boot, which the service cannot do: "+e.Trouble, model.WhoUser, remedy
		b.wait(wait)
	default:
		b.block(model.Blocker{
			Key: "host/" + want.Name + "/bmc", Scope: model.ScopeHost.Of(want.Name), Reason: ReasonBMC, Cure: model.CurePerson,
			Hosts: []string{want.Name},
			Field: hostField(want.Name) + "bmc", Message: fmt.Sprintf("the service cannot boot %s: %s", want.Name, e.Trouble), Remedy: remedy,
		})
	}
}

// enrolledTrouble blocks for the machines of the cluster that the service cannot boot and the
// file does not name, and says whether there are any.
func (b *boot) enrolledTrouble() bool {
	found := false
	for i := range b.observed.Enrolled {
		e := &b.observed.Enrolled[i]
		named := slices.ContainsFunc(b.spec.Spec.Hosts, func(want spec.Host) bool { return isOf(e, &want) })
		ours := e.Owned || slices.ContainsFunc(b.observed.InfraEnvs, func(env model.InfraEnv) bool { return env.Name == e.InfraEnv })
		if e.Trouble == "" || named || !ours || b.hasRegistered(e.MAC) {
			continue
		}
		found = true
		b.block(model.Blocker{
			Key: "host/" + e.Name + "/bmc", Scope: model.ScopeCluster, Reason: ReasonBMC, Cure: model.CurePerson, Hosts: []string{e.Name},
			Message: fmt.Sprintf("the service cannot boot %s: %s", e.Name, e.Trouble), Remedy: enrolledRemedy(e.Name),
		})
	}
	return found
}

// hasRegistered reports whether a machine with a MAC address has registered.
func (b *boot) hasRegistered(mac string) bool {
	has := func(nic model.Interface) bool {
		return mac != "" && clustersettings.MAC(nic.MAC) == clustersettings.MAC(mac)
	}
	return slices.ContainsFunc(b.observed.Hosts, func(h model.Host) bool { return slices.ContainsFunc(h.Inventory.Interfaces, has) })
}

func enrolledRemedy(name string) model.Advice {
	return model.Advicef("kubectl describe baremetalhost,preprovisioningimage %s; correct what the message names", name)
}

// toBoot reports whether a host of the file has still to boot the discovery image.
func (b *boot) toBoot(want *spec.Host) bool {
	have := b.roster.ByName[want.Name]
	switch {
	case b.cluster == nil:
		return false
	case b.cluster.State.BeforeInstall():
		return (have == nil || waitsForBoot(have)) && b.images.ready(want)
	case b.cluster.State == model.ClusterAddingHosts && b.options.AddNodes:
		if !b.members.toAdd(want) {
			return false
		}
		env := b.images.lateEnvOf(want.Name)
		return env != nil && env.Image.State == model.ImageReady
	}
	return false
}

// waitsForBoot reports whether a host was reset or released after it had left the discovery image, so that it has to be
// booted from it again.
func waitsForBoot(h *model.Host) bool {
	return (h.State == model.HostResetting || h.State == model.HostReleasing) && strings.HasSuffix(h.Status, "-pending-user-action")
}

// pastBoot reports whether a host must not boot the discovery image again: it runs from its disk or is about to, or
// nothing more is installed.
func (b *boot) pastBoot(want *spec.Host) bool {
	over := b.cluster.State.Installed() && !b.options.AddNodes || b.cluster.State == model.ClusterFailed ||
		b.cluster.State == model.ClusterCancelled
	have := b.roster.ByName[want.Name]
	switch {
	case b.toBoot(want):
		return false
	case have == nil:
		return over && !b.roster.later(want.Name) // which was never booted for the install
	case over:
		return true
	}
	switch have.State {
	case model.HostInstalled, model.HostAdded, model.HostFailed, model.HostCancelled:
		return true
	}
	return have.HasRebooted()
}

// byBMC brings a machine that has still to register one step further, and
// says whether it is this plane's business. wait is what would be waited for
// otherwise; a machine that the install can do without never blocks it.
func (b *boot) byBMC(want *spec.Host, wait model.Wait) bool {
	if b.observed.Machines == nil || !b.spec.BootsByBMC(want) {
		return false
	}
	state, known := b.observed.Machines[want.Name]
	if !known {
		return false
	}
	step := &booting{
		collector: b.collector, options: b.options, roster: b.roster, want: want, state: state, memory: b.memory, now: b.now,
		waiting: wait, held: b.held, explains: b.explains,
	}
	step.waiting.Who, step.waiting.Next = model.WhoMachine, ""
	if state.Trouble != "" {
		step.trouble()
		return true
	}
	if state.Failed != "" {
		step.failed()
	}
	if state.Inserting {
		step.inserting()
		return true
	}
	switch state.Power {
	case model.PowerIsOff:
		step.off()
	case model.PowerIsOn:
		step.on()
	case model.PowerGoingOn, model.PowerGoingOff:
		step.wait("to be switched " + strings.ToLower(strings.TrimPrefix(string(state.Power), "Powering")))
	default:
		step.block(ReasonBMC, "its BMC does not report whether the machine is on",
			model.Advice("look at the BMC of "+want.Name+"; a reset of the BMC may help"))
	}
	return true
}

// retireMedia takes our image out of the drives of machines that must not boot
// it again, and puts the boot order back where it still stands. What is not to
// be read of a machine then is a warning: its install does not depend on it.
func (b *boot) retireMedia() {
	if b.observed.Machines == nil {
		return
	}
	for i := range b.spec.Spec.Hosts {
		want := &b.spec.Spec.Hosts[i]
		state, known := b.observed.Machines[want.Name]
		if !known || !b.spec.BootsByBMC(want) {
			continue
		}
		if !b.pastBoot(want) {
			b.bootOnce(want, state)
			continue
		}
		switch {
		case state.Trouble != "":
			b.warn(model.Warning{
				Key: "host/" + want.Name + "/machine/trouble", Scope: model.ScopeHost.Of(want.Name), Reason: ReasonBMC,
				Message: fmt.Sprintf("oaictl cannot see whether the discovery image is still in the virtual drive of %s: %s",
					want.Name, state.Trouble),
				Next: troubleRemedy(want.Name, state.TroubleKind),
			})
		case state.Inserting: // the run waits for it while there is anything else to wait for
			b.warn(model.Warning{
				Key: "host/" + want.Name + "/machine/inserting", Scope: model.ScopeHost.Of(want.Name), Reason: ReasonBMC,
				Message: "the BMC of " + want.Name + " still inserts the discovery image, which the host does not need any more",
				Next:    "run the same command again, which ejects it",
			})
		case state.OurMedia:
			b.act(machineAction(model.EjectMedia, want.Name, "the host does not need the discovery image any more"))
		case state.BootOnce, state.BootStays:
			b.act(machineAction(model.RestoreBoot, want.Name, "the next boot must be from its disk"))
		}
	}
}

// bootOnce takes the boot from the virtual drive back once the host runs the image,
// where the BMC would have it boot that at each start. The image stays: it is read.
func (b *boot) bootOnce(want *spec.Host, state model.MachineState) {
	if b.phaseOf(want) == model.PhaseRunsImage && state.Phase == model.PhaseRunsImage && state.Trouble == "" && state.BootStays {
		b.act(machineAction(model.RestoreBoot, want.Name, "it has booted the discovery image, and its BMC would boot this image again"))
	}
}

// phaseOf is where a host of the file is.
func (b *boot) phaseOf(want *spec.Host) model.Phase {
	switch {
	case b.toBoot(want):
		return model.PhaseToBoot
	case b.pastBoot(want):
		return model.PhaseLeavesDisc
	case b.roster.ByName[want.Name] != nil:
		return model.PhaseRunsImage
	}
	return model.PhaseUnknown
}

// settled reports whether nothing is left to do to a machine that has booted.
func settled(s model.MachineState) bool {
	if s.Trouble != "" || s.Inserting || s.BootStays {
		return false
	}
	return s.Phase == model.PhaseRunsImage || !s.OurMedia && !s.BootOnce
}
