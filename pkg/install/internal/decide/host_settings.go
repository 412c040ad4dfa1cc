package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/diskhints"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// hostSettings brings a host that is there to what the file says of it.
type hostSettings struct {
	*collector
	desired *model.Desired
	spec    *spec.Cluster
	roster  *roster
}

// update is the action that makes a host what the file says, without settings if it is that already. ok is false if
// that cannot be decided, which is reported.
func (s *hostSettings) update(want *spec.Host, have *model.Host) (update model.Action, ok bool) {
	field := hostField(want.Name)
	disk, err := resolveDisk(want.Disk.Hints, have.Inventory.Disks, s.diskChooser(want, have))
	if err != nil {
		s.block(model.Blocker{
			Key: "host/" + want.Name + "/disk", Scope: model.ScopeHost.Of(want.Name), Reason: "DiskHints", Cure: model.CureFile,
			Field: field + "disk.hints", Hosts: []string{want.Name},
			Message: fmt.Sprintf("%s: %v", want.Name, err),
			Remedy:  model.Advice("change disk.hints of " + want.Name + " so that it matches exactly one disk"),
		})
		return update, false
	}
	keep, err := resolveKeep(want.Disk.Keep, have.Inventory.Disks)
	if err != nil {
		s.block(model.Blocker{
			Key: "host/" + want.Name + "/keep", Scope: model.ScopeHost.Of(want.Name), Reason: "DiskToKeep", Cure: model.CureFile,
			Field: field + "disk.keep", Hosts: []string{want.Name},
			Message: fmt.Sprintf("%s: %v", want.Name, err), Remedy: model.Advice("change disk.keep of " + want.Name),
		})
		return update, false
	}
	id := ""
	if disk != nil {
		id = disk.ID
	}
	update = model.Action{
		Key: "host/" + want.Name + "/update", Scope: model.ScopeHost.Of(want.Name), Kind: model.UpdateHost, Target: have.ID,
		InfraEnv: have.InfraEnvID, Name: want.Name,
		Reason: "the host differs from " + s.desired.Source(), Settings: model.Settings{},
	}
	settings := approval(have, s.ofHost(want, have, id, keep))
	for _, d := range clustersettings.WorthWriting(clustersettings.Differences(settings, have.Settings)) {
		update.Settings[d.Setting] = d.Want
		update.Changes = append(update.Changes, changeOf(d, field))
	}
	if len(update.Settings) == 0 {
		s.neverSent(want.Name, settings)
	}
	return update, true
}

// diskChooser is the component that chooses the disk of a host: the service where a hub boots the host, also
// before its Agent says so.
func (s *hostSettings) diskChooser(want *spec.Host, have *model.Host) diskhints.Chooser {
	if have.DiskByService || s.spec.HubBoots(want) {
		return diskhints.Service
	}
	return diskhints.Oaictl
}

// ofHost are the settings of a host of the file as the service would hold them of
// its machine, and what the file says of every host in the service's own words.
func (s *hostSettings) ofHost(want *spec.Host, have *model.Host, disk string, keep []string) model.Settings {
	settings := clustersettings.OfHost(want, disk, keep)
	if want.Labels != nil && len(have.Inherited) > 0 {
		own := maps.Clone(want.Labels)
		maps.DeleteFunc(own, func(key, value string) bool {
			inherited, does := have.Inherited[key]
			return does && inherited == value
		})
		settings[model.SettingLabels] = model.ValueOf(own)
	}
	if extra := s.spec.Spec.Overrides.Host; len(extra) > 0 {
		settings[model.SettingHostExtra] = model.ValueOf(extra)
	}
	return settings
}

// approval adds to a host's settings that it may take part, where the service asks for that. It is sent together with
// role, hostname and disk, so that no host is ever free to be installed as what it shall not be. A host that joins an
// installed cluster is installed as soon as it is approved: that is the action InstallHost.
func approval(h *model.Host, settings model.Settings) model.Settings {
	if asksApproval(h) && !h.Day2 && h.Reserved == "" {
		settings[model.SettingApproved] = model.ValueOf(true)
	}
	return settings
}

// neverSent reports settings of a host that can only be sent together with other settings, if there are no such other
// settings.
func (s *hostSettings) neverSent(name string, settings model.Settings) {
	var alone []string
	for one := range settings {
		if clustersettings.RuleOf(one).Host != model.KeptHidden {
			return
		}
		alone = append(alone, string(one))
	}
	if len(alone) == 0 {
		return
	}
	slices.Sort(alone)
	s.warn(model.Warning{
		Key: "host/" + name + "/unreported", Scope: model.ScopeHost.Of(name), Reason: "NotCompared",
		Message: fmt.Sprintf("%s of %s: the service does not report its value. oaictl sends it only together with other settings of the "+
			"host, and the file has none", strings.Join(alone, ", "), name),
		Next: "give the host a role or a hostname",
	})
}

// wipes names the disks of a host that the install will write over.
func (s *hostSettings) wipes(name string, have *model.Host) {
	for i := range have.Inventory.Disks {
		d := &have.Inventory.Disks[i]
		install := d.ID == have.Disk
		if install || slices.Contains(have.Formatted, d.ID) {
			s.plan.Wipes = append(s.plan.Wipes, model.Wipe{Host: name, Disk: d.Label(), Size: d.SizeBytes, Install: install})
		}
	}
}

// approveUnnamed lets a machine take part that the file allows without naming it.
func (s *hostSettings) approveUnnamed(h *model.Host) {
	if !h.Inventory.Known || h.Day2 || !asksApproval(h) || approved(h) {
		return
	}
	id := s.roster.id(h)
	approved := model.Settings{model.SettingApproved: model.ValueOf(true)}
	s.act(model.Action{
		Key: "host/" + id + "/update", Scope: model.ScopeHost.Of(id), Kind: model.UpdateHost, Target: h.ID, InfraEnv: h.InfraEnvID,
		Name:   s.roster.Call(h),
		Reason: "the file accepts hosts that it does not name", Settings: approved,
		Changes: []model.Change{{Field: string(model.SettingApproved), From: h.Settings[model.SettingApproved].Text(), To: "true"}},
	})
}

// asksApproval reports whether the host's service installs only hosts that were approved.
func asksApproval(h *model.Host) bool {
	_, asks := h.Settings[model.SettingApproved]
	return asks
}

func approved(h *model.Host) bool { return h.Settings[model.SettingApproved] == model.ValueOf(true) }
