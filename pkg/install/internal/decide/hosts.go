package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
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
	p.held = !p.idle() || !p.unhindered()
	for i := range p.spec.Spec.Hosts {
		want := &p.spec.Spec.Hosts[i]
		have := p.matches.ByName[want.Name]
		switch {
		case have == nil:
			p.absent(want)
		case p.ambiguous(want, have):
		case p.runsOldImage(have):
			p.bootNewImage(have)
		case p.usable(have):
			p.configureHost(want, have)
		}
	}
	p.unnamedAbsent()
}

// ambiguous says whether it can't be told which machine a host of the file is,
// or which host of the file a machine. Nothing is written to either then.
func (p *planner) ambiguous(want *spec.Host, have *model.Host) bool {
	for _, double := range p.matches.doubles[want.Name] {
		p.block(model.Blocker{
			Key: "host/" + want.Name + "/double/" + double.ID, Scope: model.HostScope(want.Name), Reason: "AmbiguousHost", Cure: model.CurePerson,
			Message: fmt.Sprintf("two machines fit %s: %s and %s", want.Name, have.Label(), double.Label()),
			Remedy:  "give spec.hosts[].match a second field, or power one off and `oaictl delete host " + double.ID + "`",
			Hosts:   []string{want.Name},
		})
	}
	several := p.matches.several[have.ID]
	if len(several) > 0 {
		p.block(model.Blocker{
			Key: "host/" + want.Name + "/several", Scope: model.HostScope(want.Name), Reason: "AmbiguousHost", Cure: model.CureFile, Field: p.hostField(want.Name) + "match",
			Message: fmt.Sprintf("%s fits several hosts of the file: %s", have.Label(), strings.Join(append([]string{want.Name}, several...), ", ")),
			Remedy:  "make spec.hosts[].match of one of them say another machine", Hosts: append([]string{want.Name}, several...),
		})
	}
	return len(several) > 0 || len(p.matches.doubles[want.Name]) > 0
}

// absent waits for a host of the file that the service has not seen.
func (p *planner) absent(want *spec.Host) {
	if !p.imagesReady() || p.fitsAnother(want.Name) {
		return
	}
	wait := model.Wait{
		Key: "host/" + want.Name + "/register", Scope: model.HostScope(want.Name), Who: model.WhoUser, Since: p.imageSince(),
		For: want.Name + " to boot the discovery image and register", Next: "oaictl download iso " + p.name(),
	}
	if want.Role == spec.Worker && p.presentWorkers() >= p.counts().requiredWorkers {
		wait.Until = p.optionalEnds()
	}
	p.awaitMachine(want, wait)
}

// awaitMachine waits for a machine to register, and boots it where that is
// oaictl's to do. One that is bound to another cluster is left alone.
func (p *planner) awaitMachine(want *spec.Host, wait model.Wait) {
	bound := p.boundElsewhere(want)
	if bound && p.elsewhere(want, &wait) {
		return
	}
	if bound || !p.bootByService(want, wait) && !p.bootByBMC(want, wait) {
		p.wait(wait)
	}
}

// fitsAnother says whether the machine of a host of the file has registered
// but was taken for another host, which is told there.
func (p *planner) fitsAnother(name string) bool {
	for _, names := range p.matches.several {
		if slices.Contains(names, name) {
			return true
		}
	}
	return false
}

func (p *planner) presentWorkers() int {
	workers := 0
	for i := range p.spec.Spec.Hosts {
		if host := &p.spec.Spec.Hosts[i]; host.Role == spec.Worker && p.matches.ByName[host.Name] != nil {
			workers++
		}
	}
	return workers
}

// unnamedAbsent waits for machines that the file counts without naming them.
func (p *planner) unnamedAbsent() {
	missing := p.unnamedMissing()
	if missing <= 0 || !p.imagesReady() {
		return
	}
	wait := model.Wait{
		Key: "hosts/register", Scope: model.ScopeCluster, Who: model.WhoUser, Since: p.imageSince(),
		For: fmt.Sprintf("%d more hosts to boot the discovery image and register", missing), Next: "oaictl download iso " + p.name(),
	}
	if len(p.matches.Part) >= p.counts().required() {
		wait.Until = p.optionalEnds()
	}
	p.wait(wait)
}

// unnamedMissing is how many machines that the file counts without naming them
// have not come yet.
func (p *planner) unnamedMissing() int {
	if !p.spec.Spec.AcceptUnknownHosts {
		return 0
	}
	return p.counts().total() - len(p.matches.Part) - len(p.missingHosts())
}

// imagesReady says whether machines can be booted: there is an image.
func (p *planner) imagesReady() bool {
	return slices.ContainsFunc(p.observed.InfraEnvs, func(e model.InfraEnv) bool { return e.Image.State == model.ImageReady })
}

// imageSince is when the first image could have been booted for this cluster.
func (p *planner) imageSince() time.Time {
	var since time.Time
	for _, env := range p.observed.InfraEnvs {
		if since.IsZero() || env.Created.Before(since) {
			since = env.Created
		}
	}
	if since.Before(p.cluster.Created) {
		return p.cluster.Created // a pool that is older than the cluster
	}
	return since
}

// configureHost sets role, hostname, disks and the like.
func (p *planner) configureHost(want *spec.Host, have *model.Host) {
	if !have.Inventory.Known {
		p.waitHost(have, "to send its inventory", model.WhoMachine)
		return
	}
	field := p.hostField(want.Name)
	disk, err := resolveDisk(want.Disk.Hints, have.Inventory.Disks)
	if err != nil {
		p.block(model.Blocker{
			Key: "host/" + want.Name + "/disk", Scope: model.HostScope(want.Name), Reason: "DiskHints", Cure: model.CureFile, Field: field + "disk.hints", Hosts: []string{want.Name},
			Message: fmt.Sprintf("%s: %v", want.Name, err), Remedy: "change disk.hints of " + want.Name + " so that one disk fits",
		})
		return
	}
	keep, err := resolveKeep(want.Disk.Keep, have.Inventory.Disks)
	if err != nil {
		p.block(model.Blocker{
			Key: "host/" + want.Name + "/keep", Scope: model.HostScope(want.Name), Reason: "DiskToKeep", Cure: model.CureFile, Field: field + "disk.keep", Hosts: []string{want.Name},
			Message: fmt.Sprintf("%s: %v", want.Name, err), Remedy: "change disk.keep of " + want.Name,
		})
		return
	}
	id := ""
	if disk != nil {
		id = disk.ID
	}
	update := model.Action{
		Key: "host/" + want.Name + "/update", Scope: model.HostScope(want.Name), Kind: model.UpdateHost, Target: have.ID, InfraEnv: have.InfraEnvID, Name: want.Name,
		Reason: "the host differs from the file", Settings: model.Settings{},
	}
	settings := p.approval(have, p.ofHost(want, have, id, keep))
	for _, d := range setting.WorthWriting(setting.Differences(settings, have.Settings)) {
		update.Settings[d.Setting] = d.Want
		update.Changes = append(update.Changes, changeOf(d, field))
	}
	if len(update.Settings) > 0 {
		p.act(update)
		return
	}
	p.neverSent(want.Name, settings)
	switch have.State {
	case model.HostDiscovering:
		p.waitHost(have, "to be checked", model.WhoService)
	case model.HostReady:
		p.wipes(want.Name, have)
	}
}

func (p *planner) hostField(name string) string { return "spec.hosts[" + name + "]." }

// wipes names the disks of a host that the install will write over.
func (p *planner) wipes(name string, have *model.Host) {
	for i := range have.Inventory.Disks {
		d := &have.Inventory.Disks[i]
		install := d.ID == have.Disk
		if install || slices.Contains(have.Formatted, d.ID) {
			p.plan.Wipes = append(p.plan.Wipes, model.Wipe{Host: name, Disk: d.Label(), Size: d.SizeBytes, Install: install})
		}
	}
}

// ofHost are the settings of a host of the file as the service would hold them of
// its machine, and what the file says of every host in the service's own words.
func (p *planner) ofHost(want *spec.Host, have *model.Host, disk string, keep []string) model.Settings {
	s := setting.OfHost(want, disk, keep)
	if want.Labels != nil && len(have.Inherited) > 0 {
		own := maps.Clone(want.Labels)
		maps.DeleteFunc(own, func(key, value string) bool {
			inherited, does := have.Inherited[key]
			return does && inherited == value
		})
		s[setting.Labels] = setting.ValueOf(own)
	}
	if extra := p.spec.Spec.Overrides.Host; len(extra) > 0 {
		s[setting.HostExtra] = setting.ValueOf(extra)
	}
	return s
}
