package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/diskhints"
	"github.com/oaictl/oaictl/internal/shared/setting"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// hostUpdate is the action that makes a host what the file says, without settings if it is that already. ok is false if
// that cannot be decided, which is reported.
func (p *planner) hostUpdate(want *spec.Host, have *model.Host) (update model.Action, ok bool) {
	field := p.hostField(want.Name)
	disk, err := resolveDisk(want.Disk.Hints, have.Inventory.Disks, p.diskChooser(want, have))
	if err != nil {
		p.block(model.Blocker{
			Key: "host/" + want.Name + "/disk", Scope: model.ScopeHost.Of(want.Name), Reason: "DiskHints", Cure: model.CureFile, Field: field + "disk.hints", Hosts: []string{want.Name},
			Message: fmt.Sprintf("%s: %v", want.Name, err), Remedy: model.Advice("change disk.hints of " + want.Name + " so that one disk fits"),
		})
		return update, false
	}
	keep, err := resolveKeep(want.Disk.Keep, have.Inventory.Disks)
	if err != nil {
		p.block(model.Blocker{
			Key: "host/" + want.Name + "/keep", Scope: model.ScopeHost.Of(want.Name), Reason: "DiskToKeep", Cure: model.CureFile, Field: field + "disk.keep", Hosts: []string{want.Name},
			Message: fmt.Sprintf("%s: %v", want.Name, err), Remedy: model.Advice("change disk.keep of " + want.Name),
		})
		return update, false
	}
	id := ""
	if disk != nil {
		id = disk.ID
	}
	update = model.Action{
		Key: "host/" + want.Name + "/update", Scope: model.ScopeHost.Of(want.Name), Kind: model.UpdateHost, Target: have.ID, InfraEnv: have.InfraEnvID, Name: want.Name,
		Reason: "the host differs from " + p.desired.Source(), Settings: model.Settings{},
	}
	settings := p.approval(have, p.ofHost(want, have, id, keep))
	for _, d := range setting.WorthWriting(setting.Differences(settings, have.Settings)) {
		update.Settings[d.Setting] = d.Want
		update.Changes = append(update.Changes, changeOf(d, field))
	}
	if len(update.Settings) == 0 {
		p.neverSent(want.Name, settings)
	}
	return update, true
}

// diskChooser is the component that chooses the disk of a host: the service where a hub boots the host, also
// before its Agent says so.
func (p *planner) diskChooser(want *spec.Host, have *model.Host) diskhints.Chooser {
	if have.DiskByService || p.spec.HubBoots(want) {
		return diskhints.Service
	}
	return diskhints.Oaictl
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
		s[model.SettingLabels] = model.ValueOf(own)
	}
	if extra := p.spec.Spec.Overrides.Host; len(extra) > 0 {
		s[model.SettingHostExtra] = model.ValueOf(extra)
	}
	return s
}

// neverSent reports settings of a host that can only be sent together with other settings, if there are no such other
// settings.
func (p *planner) neverSent(name string, settings model.Settings) {
	var alone []string
	for one := range settings {
		if setting.RuleOf(one).Host != model.KeptHidden {
			return
		}
		alone = append(alone, string(one))
	}
	if len(alone) == 0 {
		return
	}
	slices.Sort(alone)
	p.warn(model.Warning{
		Key: "host/" + name + "/unreported", Scope: model.ScopeHost.Of(name), Reason: "NotCompared",
		Message: fmt.Sprintf("%s of %s: the service does not say what it holds, and it is sent with other settings of the host, of which the file has none", strings.Join(alone, ", "), name),
		Next:    "give the host a role or a hostname",
	})
}

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
