package install

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// defaultWithin is how long workers that are not required are waited for
// where the file does not say.
const defaultWithin = time.Hour

// counts are the machines that a cluster shall have.
type counts struct {
	controlPlane, workers, arbiters int
	requiredWorkers                 int
}

func (c counts) total() int    { return c.controlPlane + c.workers + c.arbiters }
func (c counts) required() int { return c.controlPlane + c.requiredWorkers + c.arbiters }

func (p *planner) counts() counts {
	return counts{
		controlPlane: p.spec.ControlPlaneCount(), workers: p.spec.WorkerCount(), arbiters: p.spec.ArbiterCount(),
		requiredWorkers: p.spec.RequiredWorkers(),
	}
}

// hosts brings every host of the file that is there to what the file says, and
// waits for those that are not.
func (p *planner) hosts() {
	for i := range p.spec.Spec.Hosts {
		want := &p.spec.Spec.Hosts[i]
		have := p.matches.byName[want.Name]
		if have == nil {
			if p.imagesReady() {
				p.wait(Wait{
					Key: "host/" + want.Name + "/register", Scope: HostScope(want.Name), Who: WhoUser, Since: p.imageSince(),
					For: want.Name + " to boot the discovery image and register",
				})
			}
			continue
		}
		p.host(want, have)
		for _, double := range p.matches.doubles[want.Name] {
			p.block(Blocker{
				Key: "host/" + want.Name + "/double/" + double.ID, Scope: HostScope(want.Name), Reason: "AmbiguousHost", Cure: CurePerson,
				Message: fmt.Sprintf("two machines fit %s: %s and %s", want.Name, have.label(), double.label()),
				Remedy:  "give spec.hosts[].match a second field, or power one off and `oaictl delete host " + double.ID + "`",
				Hosts:   []string{want.Name},
			})
		}
	}
	if missing := p.counts().total() - len(p.observed.Hosts); len(p.spec.Spec.Hosts) == 0 && missing > 0 && p.imagesReady() {
		p.wait(Wait{
			Key: "hosts/register", Scope: ScopeCluster, Who: WhoUser, Since: p.imageSince(),
			For: fmt.Sprintf("%d more hosts to boot the discovery image and register", missing),
		})
	}
}

// imagesReady says whether machines can be booted: every InfraEnv has an image.
func (p *planner) imagesReady() bool {
	return len(p.observed.InfraEnvs) > 0 && !slices.ContainsFunc(p.observed.InfraEnvs, func(e InfraEnv) bool {
		return e.Image.State != ImageReady
	})
}

// imageSince is when the first image could have been booted.
func (p *planner) imageSince() time.Time {
	var since time.Time
	for _, env := range p.observed.InfraEnvs {
		if since.IsZero() || env.Created.Before(since) {
			since = env.Created
		}
	}
	return since
}

// host brings one registered host to what the file says.
func (p *planner) host(want *spec.Host, have *Host) {
	scope := HostScope(want.Name)
	switch have.State {
	case HostUnbound:
		if have.Inventory.Known && have.Status == "known-unbound" {
			p.act(Action{
				Key: "host/" + want.Name + "/bind", Scope: scope, Kind: BindHost, Target: have.ID, InfraEnv: have.InfraEnvID, Name: want.Name,
				Reason: "the host is not bound to the cluster yet", Changes: []Change{{Field: "spec.infraEnv", To: p.name()}},
			})
			return
		}
		p.waitHost(want.Name, have, "to be discovered", WhoService)
	case HostBinding:
		p.waitHost(want.Name, have, "to be bound to the cluster", WhoService)
	case HostDisconnected:
		p.disconnected(want.Name, have)
	case HostResetting:
		p.resetting(want.Name, have)
	case HostDiscovering, HostBlocked, HostReady:
		p.configureHost(want, have)
	}
}

func (p *planner) waitHost(name string, have *Host, what string, who Who) {
	p.wait(Wait{Key: "host/" + name + "/" + strings.ReplaceAll(what, " ", "-"), Scope: HostScope(name), For: name + " " + what, Since: have.Since, Who: who})
}

func (p *planner) disconnected(name string, have *Host) {
	p.block(Blocker{
		Key: "host/" + name + "/disconnected", Scope: HostScope(name), Reason: "HostDisconnected", Cure: CurePerson, Since: have.Since, Hosts: []string{name},
		Message: fmt.Sprintf("%s does not answer: its agent was last heard at %s", have.label(), have.CheckedIn.UTC().Format(time.RFC3339)),
		Remedy:  "check its power, cable and network; it goes on by itself when the agent answers",
	})
}

func (p *planner) resetting(name string, have *Host) {
	p.block(Blocker{
		Key: "host/" + name + "/reset", Scope: HostScope(name), Reason: "BootDiscoveryImage", Cure: CurePerson, Since: have.Since, Hosts: []string{name},
		Message: have.label() + " was reset and has to boot the discovery image again",
		Remedy:  "boot " + name + " from the discovery image: oaictl download iso " + p.name(),
	})
}

// configureHost sets role, hostname, disks and the like.
func (p *planner) configureHost(want *spec.Host, have *Host) {
	if !have.Inventory.Known {
		p.waitHost(want.Name, have, "to send its inventory", WhoMachine)
		return
	}
	field := p.hostField(want.Name)
	disk, err := resolveDisk(want.Disk.Hints, have.Inventory.Disks)
	if err != nil {
		p.block(Blocker{
			Key: "host/" + want.Name + "/disk", Scope: HostScope(want.Name), Reason: "DiskHints", Cure: CureFile, Field: field + "disk.hints", Hosts: []string{want.Name},
			Message: fmt.Sprintf("%s: %v", want.Name, err), Remedy: "change disk.hints of " + want.Name + " so that one disk fits",
		})
		return
	}
	keep, err := resolveKeep(want.Disk.Keep, have.Inventory.Disks)
	if err != nil {
		p.block(Blocker{
			Key: "host/" + want.Name + "/keep", Scope: HostScope(want.Name), Reason: "DiskToKeep", Cure: CureFile, Field: field + "disk.keep", Hosts: []string{want.Name},
			Message: fmt.Sprintf("%s: %v", want.Name, err), Remedy: "change disk.keep of " + want.Name,
		})
		return
	}
	id := ""
	if disk != nil {
		id = disk.ID
	}
	update := Action{
		Key: "host/" + want.Name + "/update", Scope: HostScope(want.Name), Kind: UpdateHost, Target: have.ID, InfraEnv: have.InfraEnvID, Name: want.Name,
		Reason: "the host differs from the file", Settings: Settings{},
	}
	for _, d := range differences(hostSettings(want, id, keep), have.Settings) {
		update.Settings[d.setting] = d.want
		update.Changes = append(update.Changes, d.change(field))
	}
	if len(update.Settings) > 0 {
		p.act(update)
		return
	}
	switch have.State {
	case HostDiscovering:
		p.waitHost(want.Name, have, "to be checked", WhoService)
	case HostReady:
		p.wipes(want.Name, have)
	}
}

func (p *planner) hostField(name string) string { return "spec.hosts[" + name + "]." }

// wipes names the disks of a host that the install will write over.
func (p *planner) wipes(name string, have *Host) {
	for i := range have.Inventory.Disks {
		d := &have.Inventory.Disks[i]
		install := d.ID == have.Disk
		if install || slices.Contains(have.Formatted, d.ID) {
			p.plan.Wipes = append(p.plan.Wipes, Wipe{Host: name, Disk: d.label(), Size: d.SizeBytes, Install: install})
		}
	}
}

// unknownHosts sees to it that no machine is wiped that the file does not name.
func (p *planner) unknownHosts() {
	if p.spec.Spec.AcceptUnknownHosts {
		for _, host := range append(slices.Clone(p.matches.unknown), p.matches.unread...) {
			p.acceptUnknown(host)
		}
		return
	}
	for _, host := range p.matches.unread {
		p.wait(Wait{
			Key: "host/" + host.ID + "/inventory", Scope: HostScope(host.ID), Since: host.Registered, Who: WhoMachine,
			For: "the inventory of a new host, to see which one it is",
		})
	}
	for _, host := range p.matches.unknown {
		p.block(Blocker{
			Key: "host/" + host.ID + "/unknown", Scope: HostScope(host.ID), Reason: "UnknownHost", Cure: CurePerson, Since: host.Registered, Field: "spec.hosts",
			Message: fmt.Sprintf("%s registered, but the file does not name it; installing would wipe it", host.label()),
			Remedy:  fmt.Sprintf("power it off and `oaictl delete host %s --yes`, or add it to spec.hosts", host.ID),
			Hosts:   []string{cmp.Or(host.Hostname, host.ID)},
		})
	}
}

// acceptUnknown lets a machine take part that the file allows without naming.
func (p *planner) acceptUnknown(host *Host) {
	name := p.hostName(host)
	switch host.State {
	case HostUnbound:
		if host.Inventory.Known && host.Status == "known-unbound" {
			p.act(Action{
				Key: "host/" + host.ID + "/bind", Scope: HostScope(name), Kind: BindHost, Target: host.ID, InfraEnv: host.InfraEnvID, Name: name,
				Reason: "the host is not bound to the cluster yet",
			})
		}
	case HostDisconnected:
		p.disconnected(name, host)
	case HostResetting:
		p.resetting(name, host)
	case HostReady:
		p.wipes(name, host)
	}
}

// start makes the install call once everything is as the file says, and not
// before.
func (p *planner) start() {
	if p.cluster.State != ClusterReady || !p.idle() || !p.unhindered() {
		return
	}
	for i := range p.observed.Hosts {
		if p.observed.Hosts[i].State != HostReady {
			return
		}
	}
	present, missing, ok := p.enoughHosts()
	if !ok {
		return
	}
	if p.preparationFailed() {
		return
	}
	p.plan.Missing = missing
	reason := fmt.Sprintf("all %d hosts are ready", present)
	if len(missing) > 0 {
		reason = fmt.Sprintf("%d hosts are ready; not required and missing: %s", present, strings.Join(missing, ", "))
	}
	p.act(Action{Key: "cluster/install", Scope: ScopeCluster, Kind: StartInstall, Target: p.cluster.ID, Name: p.name(), Reason: reason, Destructive: true})
}

// enoughHosts says whether the hosts that are there suffice for the start, and
// names those that are missing. Workers that are not required are waited for
// until their time is up.
func (p *planner) enoughHosts() (present int, missing []string, ok bool) {
	n := p.counts()
	present = len(p.observed.Hosts)
	if len(p.spec.Spec.Hosts) == 0 {
		for range max(0, n.total()-present) {
			missing = append(missing, "a worker")
		}
		return present, missing, present >= n.total() || (present >= n.required() && p.optionalTimeUp())
	}
	workers := 0
	for i := range p.spec.Spec.Hosts {
		host := &p.spec.Spec.Hosts[i]
		there := p.matches.byName[host.Name] != nil
		optional := host.Role == spec.Worker
		switch {
		case there && optional:
			workers++
		case !there && !optional:
			return present, nil, false
		case !there:
			missing = append(missing, host.Name)
		}
	}
	if len(missing) == 0 {
		return present, nil, true
	}
	return present, missing, workers >= n.requiredWorkers && p.optionalTimeUp()
}

// optionalTimeUp says whether workers that are not required have been waited
// for long enough.
func (p *planner) optionalTimeUp() bool {
	within := time.Duration(p.spec.Spec.Topology.Required.Within)
	if within == 0 {
		within = defaultWithin
	}
	return !p.now.Before(p.imageSince().Add(within))
}

// preparationRetries is how often a failed preparation is tried again.
const preparationRetries = 2

// preparationFailed says whether the service has failed too often to prepare
// this install. A cluster that is ready after an install call is one whose
// preparation failed.
func (p *planner) preparationFailed() bool {
	failures := 0
	for _, at := range p.cluster.Preparation.FailedAt {
		if !at.Before(p.desired.Options.Started) {
			failures++
		}
	}
	if failures <= preparationRetries {
		return false
	}
	p.block(Blocker{
		Key: "cluster/preparation", Scope: ScopeCluster, Reason: "PreparationFailed", Cure: CureNone,
		Message: fmt.Sprintf("the service failed %d times to prepare the installation: %s", failures, cmp.Or(p.cluster.Preparation.Reason, p.cluster.StatusInfo)),
		Remedy:  "oaictl why cluster " + p.name() + ", cure that, and run the same command again",
	})
	return true
}
