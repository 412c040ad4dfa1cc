package decide

import (
	"cmp"
	"fmt"
	"net/url"
	"time"

	"github.com/oaictl/oaictl/internal/shared/bytesize"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// How long a machine that is on with our image may take.
const (
	fetchWithin    = 10 * time.Minute // until its BMC reads the first byte
	registerWithin = 30 * time.Minute // until its agent calls the service
	stillReading   = 2 * time.Minute  // as long as it reads on, it is slow and not stuck
	readingWithin  = 90 * time.Minute // and after so long it is stuck nevertheless
	lateReading    = 30 * time.Minute // how long a machine that has read the image counts as booting it although the drive is empty
)

// The reasons of the blockers that are about a machine and its BMC.
const (
	reasonRunning    = "RunningMachine"
	ReasonBMC        = "BMCTrouble"
	reasonNotFetched = "MediaNotFetched"
	reasonNotBooted  = "AgentNotCalled"
)

// booting is the way of one machine to its registration.
type booting struct {
	*collector
	options  *model.Options
	roster   *roster
	want     *spec.Host
	state    model.MachineState
	memory   model.Memory
	now      time.Time
	waiting  model.Wait // for the machine to register
	held     bool       // machines are not to be booted yet
	explains bool       // what its BMC is asked next is said as well
}

func (b *booting) act(kind model.Kind, reason string) {
	if b.held {
		b.wait("to be booted, when the service has everything for its image")
		return
	}
	action := machineAction(kind, b.want.Name, reason)
	b.collector.act(action)
	if b.explains {
		b.asksNext(action)
	}
}

// asksNext names, in a look that writes nothing, what the BMC is asked next: only what asks it learns its answer.
func (b *booting) asksNext(action model.Action) {
	verb := "create cluster"
	if b.options.AddNodes {
		verb = "add-node"
	}
	b.waiting.Who, b.waiting.Next = model.WhoUser, model.Advice("{"+verb+" -f FILE}")
	b.wait("to be booted: " + verb + " still has to " + action.Task() + ", and shows the answer of its BMC")
}

// machineAction is an action on a host's machine. Only switching off what runs
// something destroys.
func machineAction(kind model.Kind, host, reason string) model.Action {
	return model.Action{
		Key: "host/" + host + "/machine/" + string(kind), Scope: model.ScopeHost.Of(host), Kind: kind, Name: host, Reason: reason,
		Destructive: kind == model.PowerOff,
	}
}

func (b *booting) wait(what string) {
	b.waiting.For = b.want.Name + " " + what
	b.collector.wait(b.waiting)
}

// block says what stands in a machine's way: where the install can do without
// the machine, as the wait for it.
func (b *booting) block(reason, message string, remedy model.Advice) {
	if !b.waiting.Until.IsZero() {
		b.waiting.Next = remedy
		b.wait("to be booted: " + message)
		return
	}
	b.collector.block(model.Blocker{
		Key: "host/" + b.want.Name + "/machine/" + reason, Scope: model.ScopeHost.Of(b.want.Name), Reason: reason, Cure: model.CurePerson,
		Since:   b.memory.Machines[b.want.Name].Boots,
		Message: b.want.Name + ": " + message, Remedy: remedy, Hosts: []string{b.want.Name},
	})
}

// trouble is a BMC that cannot be read, or a host whose image cannot be made. What
// passes by itself is waited for.
func (b *booting) trouble() {
	switch b.state.TroubleKind {
	case model.TroubleBusy:
		b.wait("to be booted; its BMC is busy: " + b.state.Trouble)
	case model.TroubleNoImage:
		b.wait("to be booted: " + b.state.Trouble)
	default:
		b.block(ReasonBMC, b.state.Trouble, troubleRemedy(b.want.Name, b.state.TroubleKind))
	}
}

// failed is a request that the BMC had accepted and could not finish. It is tried again.
func (b *booting) failed() {
	a := machineAction(b.state.Failed, b.want.Name, "")
	message := fmt.Sprintf("could not %s: %s", a.Task(), b.state.Cause)
	remedy := cmp.Or(b.state.Next, troubleRemedy(b.want.Name, model.TroubleOther))
	if !b.waiting.Until.IsZero() {
		b.waiting.Next = remedy
		b.wait("to be booted: " + message)
		return
	}
	b.collector.block(model.Blocker{
		Key: a.Key + "/refused", Scope: a.Scope, Reason: "Refused", Cure: model.CurePerson, Hosts: []string{b.want.Name}, Message: message,
		Remedy: remedy,
	})
}

// quietWithin is how long a download may pause before a warning says so.
const quietWithin = 30 * time.Second

// inserting is a BMC that reads the image, or has been asked to.
func (b *booting) inserting() {
	fetch := b.state.Fetch
	quiet := fetch.Quiet()
	switch {
	case b.state.Failed != "": // this is reported
		return
	case fetch.Stalled():
		b.block(reasonNotFetched, fmt.Sprintf("its BMC has stopped reading the discovery image: %s, and nothing for %s", FetchText(fetch),
			quiet.Round(time.Second)),
			model.Advice("check the network path from the BMC of "+b.want.Name+
				" to the address of the image: firewall, MTU, proxy; or give another address with --media-url"))
		return
	case quiet >= quietWithin:
		b.warn(model.Warning{
			Key: "host/" + b.want.Name + "/machine/quiet", Scope: model.ScopeHost.Of(b.want.Name), Reason: reasonNotFetched,
			Message: fmt.Sprintf("the BMC of %s has not read the discovery image for %s: %s", b.want.Name, quietWithin, FetchText(fetch)),
		})
	}
	text := "to be booted: its BMC inserts the discovery image, " + FetchText(fetch)
	if quiet >= quietShown {
		text += fmt.Sprintf(", nothing for %s", quiet.Round(time.Second))
	}
	b.wait(text)
}

// quietShown is from when on a wait says how long a download pauses.
const quietShown = 5 * time.Second

func troubleRemedy(host string, kind model.TroubleKind) model.Advice {
	field := "spec.hosts[" + host + "].bmc"
	switch kind {
	case model.TroubleUnreachable:
		return model.Advice("check " + field + ".address, and the network path from here to the BMC")
	case model.TroubleCredentials:
		return model.Advice("correct " + field +
			".credentials, or the user on the BMC, or wait if the BMC is still starting, and run the same command again: oaictl does not " +
			"try a refused password twice, because this can lock the account")
	case model.TroubleNoVirtualMedia:
		return model.Advice("boot " + host + " from the discovery image by hand ({create images}), or give its BMC a licence with " +
			"virtual media")
	case model.TroubleMediaRefused:
		return model.Advice("check that the BMC of " + host + " can reach the media URL and accepts it: --media-url")
	}
	return model.Advice("look at the BMC of " + host)
}

// off is a machine that is off: image, then one boot from it, then power.
func (b *booting) off() {
	switch {
	case !b.state.OurMedia && b.state.Media != "":
		b.act(model.InsertMedia, "another image is in its virtual drive")
	case !b.state.OurMedia:
		b.act(model.InsertMedia, "the host is off and must boot the discovery image")
	case !b.state.BootOnce:
		b.act(model.SetBootOnce, "the discovery image is in its virtual drive")
	default:
		b.act(model.PowerOn, "it boots the discovery image when it is switched on")
	}
}

// on is a machine that is on. With our image in the drive it boots, no matter who switched it on. Otherwise it runs
// something else that may still be needed.
func (b *booting) on() {
	first := b.roster.ByName[b.want.Name] == nil // otherwise what was read may have been for its last boot
	read := first && b.state.Fetch.Bytes > 0 && b.now.Sub(b.state.Fetch.Last) < lateReading
	switch {
	case b.state.OurMedia || read:
		b.boots()
	case first && len(b.roster.unread) > 0: // a host that just called may be this one
		b.wait("to be identified, because other hosts have not sent their inventory yet")
	case b.want.BMC.RebootRunning:
		b.act(model.PowerOff, "it is on and has not registered; bmc.rebootRunning permits a reboot")
	case b.options.RebootRunning:
		b.act(model.PowerOff, "it is on and has not registered; --reboot-running permits a reboot")
	default:
		b.block(reasonRunning, "the machine is on, but it does not run the discovery image of this cluster",
			"if you do not need what it runs, switch it off, or permit oaictl to do this: --reboot-running, or bmc.rebootRunning: true")
	}
}

// boots follows a machine from power-on to its agent's first call. Where the state is read only once, without memory, a
// machine that does not read the image counts as on for long.
func (b *booting) boots() {
	fetch, boot := b.state.Fetch, b.memory.Machines[b.want.Name]
	since := func(t time.Time) time.Duration {
		if t.IsZero() {
			return 0
		}
		return b.now.Sub(t)
	}
	on, long := since(boot.Boots), b.memory.Machines == nil
	reads := fetch.Bytes > 0 && on < readingWithin && !boot.Grew.IsZero() && since(boot.Grew) < stillReading ||
		long && (fetch.Active > 0 || !fetch.Last.IsZero() && since(fetch.Last) < stillReading)
	within, ago := " in "+minutes(on), "it was switched on "+minutes(on)+" ago"
	if long {
		within, ago = "", "it is on, with the image in its virtual drive"
	}
	switch {
	case fetch.Requests == 0 && !fetch.Unknown && (long || on >= fetchWithin):
		b.block(reasonNotFetched, fmt.Sprintf("its BMC has not fetched the image%s: is %s reachable from the BMC?", within,
			origin(b.state.Media)),
			model.Advice("check the network path from the BMC to that address, or give another address with --media-url; to "+
				"try again, switch "+b.want.Name+
				" off"))
	case fetch.Bytes == 0 && fetch.Requests > 0 && !reads && (long || on >= fetchWithin):
		b.block(reasonNotFetched, "its BMC has found the image, but the machine has not read it"+within,
			model.Advice("look at the console of "+b.want.Name+": does it boot from its virtual drive? To try again, switch it off"))
	case !reads && (long || on >= registerWithin):
		b.block(reasonNotBooted, fmt.Sprintf("%s, %s, but its agent has not called the service", ago, FetchText(fetch)),
			model.Advice("look at the console of "+b.want.Name+
				": does it boot the image, does it have an address, does it reach the service? To try again, switch it off"))
	default:
		b.waiting.Since = cmp.Or(boot.Boots, b.waiting.Since)
		b.wait("to register: the BMC is reached, the image is inserted, " + FetchText(fetch) + ", the agent has not called yet")
	}
}

func minutes(d time.Duration) string { return fmt.Sprintf("%d minutes", int(d/time.Minute)) }

// FetchText is how much of its image a BMC has read.
func FetchText(f model.Fetched) string {
	switch {
	case f.Unknown:
		return "and only the server of the image knows how much of it was fetched"
	case f.Requests == 0:
		return "nothing is fetched yet"
	case f.Size <= 0:
		return bytesize.Rough(f.Bytes) + " fetched"
	}
	return fmt.Sprintf("%s of %s fetched", bytesize.Rough(f.Bytes), bytesize.Rough(f.Size))
}

// origin is where a URL points to, without the secret path.
func origin(media string) string {
	u, err := url.Parse(media)
	if err != nil || u.Host == "" {
		return "the media server"
	}
	return u.Scheme + "://" + u.Host
}
