package service

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/steps"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// mediaUnreadable is an agent's exit code for discovery media that it can no longer read.
const mediaUnreadable = 256

// agentAPI answers the agents of machines.
type agentAPI struct {
	records *records
	source  *source
	journal *journal
	variant *variant
	printer *printer
	steps   *steps.Maker
}

func (a *agentAPI) stepReply(c *wire.Call, h *model.Host) (wire.Reply, error) {
	p := wire.TypedBody[models.StepReply](c)
	if p.ExitCode != 0 {
		if err := a.stepFailed(h, &p); err != nil {
			return wire.Reply{}, err
		}
		return wire.NoContent()
	}
	if p.Output == "" {
		return wire.NoContent()
	}
	if err := a.takeReply(h, string(p.StepType), p.Output); err != nil {
		return wire.Reply{}, err
	}
	h.UpdatedAt = model.Micros(a.source.now())
	return wire.NoContent()
}

func (a *agentAPI) stepFailed(h *model.Host, p *models.StepReply) error {
	if p.ExitCode == mediaUnreadable && h.MediaStatus != "disconnected" {
		h.MediaStatus = "disconnected"
		a.journal.addHostEvent(h, "host_media_disconnected", severityError, "%s", model.InfoMediaDisconnected)
		switch {
		case model.HostUnbound(h.State):
			a.journal.setHost(h, model.HostDisconnectedUnbound, model.InfoMediaDisconnected)
		case model.HostEvaluated(h.State):
			a.journal.setHost(h, model.HostDisconnected, model.InfoMediaDisconnected)
		case model.OneOf(h.State, model.HostPreparing, model.HostPrepared, model.HostInstalling, model.HostInProgress):
			a.journal.setHost(h, model.HostError, model.StageFailed+" - "+model.InfoMediaDisconnected)
		}
		return nil
	}
	switch string(p.StepType) {
	case steps.StepInstall:
		const alreadyRunning = 125
		if p.ExitCode == alreadyRunning && strings.Contains(p.Error, `the container name "assisted-installer" is already in use`) {
			return nil
		}
		if !model.OneOf(h.State, model.HostInstalling, model.HostInProgress) {
			return nil // the installer ends after its last stage, Failed, too, and after a cancel
		}
		a.journal.setHost(h, model.HostError, model.InfoInstallFailed)
	case steps.StepDiskSpeed:
		h.DiskTested, h.DiskFailed, h.DiskPath = true, true, h.InstallationDiskID
		h.DisksInfo = model.InString(map[string]any{h.InstallationDiskID: map[string]any{
			"disk_speed": map[string]any{"exit_code": p.ExitCode, "tested": true}, "path": h.InstallationDiskID}})
	case steps.StepTang:
		h.Tang, h.TangConnectivity = &models.TangConnectivityResponse{}, p.Error
	case steps.StepUpgrade:
		a.journal.addHostEvent(
			h, "upgrade_agent_failed", severityError,
			"Host %s: Agent failed to download image '%s', will try again", h.Name(), "",
		)
	}
	return nil
}

func (a *agentAPI) takeReply(h *model.Host, kind, output string) error {
	switch kind {
	case steps.StepInventory:
		return a.takeInventory(h, output)
	case steps.StepConnectivity:
		return read(kind+": reading the connectivity report", output, h.SetConnectivity)
	case steps.StepNTP:
		return read(kind, output, func(r struct {
			Sources []models.NtpSource `json:"ntp_sources"`
		}) {
			h.NTP, h.NtpSources = r.Sources, model.InString(r.Sources)
		})
	case steps.StepDomains:
		return read(kind, output, func(r models.DomainResolutionResponse) {
			h.Resolutions, h.DomainNameResolutions = model.Present(r.Resolutions), model.InString(r)
		})
	case steps.StepFreeAddress:
		return read(kind, output, func(r models.FreeNetworksAddresses) {
			h.FreeAddresses = model.InString(r)
			h.FreeNetworks = make(map[string][]strfmt.IPv4, len(r))
			for _, n := range model.Present(r) {
				h.FreeNetworks[n.Network] = n.FreeAddresses
			}
		})
	case steps.StepAPIVip:
		return read(kind, output, func(r models.APIVipConnectivityResponse) { h.APICheck, h.APIVipConnectivity = &r, model.InString(r) })
	case steps.StepTang:
		return read(kind, output, func(r models.TangConnectivityResponse) { h.Tang, h.TangConnectivity = &r, output })
	case steps.StepDiskSpeed:
		return read(kind, output, func(r models.DiskSpeedCheckResponse) { a.takeDiskSpeed(h, r) })
	case steps.StepImages:
		return read(kind, output, func(r struct {
			Images []models.ContainerImageAvailability `json:"images"`
		}) {
			a.takeImages(h, r.Images)
		})
	case steps.StepVips:
		return read(kind, output, func(r []models.VerifiedVip) { takeVips(h.Cluster, r) })
	case steps.StepUpgrade:
		return read(kind, output, func(r models.UpgradeAgentResponse) {
			if r.Result == "success" {
				a.journal.addHostEvent(
					h, "upgrade_agent_finished", severityInfo,
					"Host %s: Agent has downloaded image '%s' and will now restart", h.Name(), r.AgentImage,
				)
			}
		})
	}
	return nil
}

func read[T any](kind, output string, take func(T)) error {
	var r T
	if err := json.Unmarshal([]byte(output), &r); err != nil {
		return wire.Refuse(http.StatusInternalServerError, "failed to unmarshal reply of step %s: %s", kind, err)
	}
	take(r)
	return nil
}

func (a *agentAPI) takeInventory(h *model.Host, output string) error {
	if !model.HostEvaluated(h.State) {
		states := append(model.HostChangeableStates(), model.HostPreparationFailed)
		return wire.Refuse(http.StatusInternalServerError, "Host is in %s state, host can be updated only in one of %s states", h.State,
			model.InString(states))
	}
	inv, err := model.ParseInventory(output)
	if err != nil {
		return wire.Refuse(http.StatusInternalServerError, "failed to unmarshal inventory of host %s: %s", h.ID, err)
	}
	need := validate.Requirements(h.Cluster, h.EffectiveRole())
	inv.JudgeDisks(need.DiskGB)
	a.countInterfaces(h, inv)
	h.Inv, h.Inventory = inv, model.InString(inv)
	h.MediaStatus = ""
	chooseDisk(h)
	return nil
}

// countInterfaces tells those who measure how many interfaces a cluster's host has, where that is new.
func (a *agentAPI) countInterfaces(h *model.Host, inv *model.Inventory) {
	if h.Cluster == nil || h.Inv != nil && len(h.Inv.Interfaces) == len(inv.Interfaces) {
		return
	}
	types := append([]string{}, inv.Virtual...)
	a.journal.measure(h, "nic.virtual_interfaces", map[string]any{"count": len(types), "types": types})
	a.journal.measure(h, "nic.physical_interfaces", map[string]any{"count": len(inv.Interfaces)})
}

// chooseDisk takes the user's disk, else the one before, else the best.
func chooseDisk(h *model.Host) {
	eligible := h.Inv.EligibleDisks()
	if len(eligible) == 0 {
		h.InstallationDiskID, h.InstallationDiskPath = "", ""
		return
	}
	chosen := eligible[0]
	for _, id := range []string{h.InstallationDiskID, h.ChosenDisk} {
		i := slices.IndexFunc(eligible, func(d *models.Disk) bool { return id != "" && model.DiskID(d) == id })
		if i >= 0 {
			chosen = eligible[i]
		}
	}
	h.InstallationDiskID, h.InstallationDiskPath = model.DiskID(chosen), chosen.Path
}

// takeDiskSpeed keeps a measurement. A slow disk is an event; only a failed measurement hinders.
func (a *agentAPI) takeDiskSpeed(h *model.Host, r models.DiskSpeedCheckResponse) {
	limit := validate.Requirements(h.Cluster, h.EffectiveRole()).DiskSpeedMs
	h.DiskTested, h.DiskPath, h.DiskSpeedMs = true, r.Path, r.IoSyncDuration
	h.DiskFailed = false
	h.DisksInfo = model.InString(map[string]any{r.Path: map[string]any{
		"disk_speed": map[string]any{"speed_ms": r.IoSyncDuration, "tested": true}, "path": r.Path}})
	if limit > 0 && r.IoSyncDuration > limit {
		a.journal.addHostEvent(h, "disk_speed_slower_than_supported", severityWarning,
			"Host's disk %s is slower than the supported speed, and may cause degraded cluster performance (fdatasync duration: %d ms)", r.Path,
			r.IoSyncDuration)
	}
}

func (a *agentAPI) takeImages(h *model.Host, images []models.ContainerImageAvailability) {
	if h.ImageResults == nil {
		h.ImageResults = map[string]models.ContainerImageAvailability{}
	}
	for _, r := range images {
		if old, known := h.ImageResults[r.Name]; known {
			old.Result = r.Result // what was measured first is kept
			h.ImageResults[r.Name] = old
			continue
		}
		h.ImageResults[r.Name] = r
		measured := ""
		if r.SizeBytes > 0 {
			measured = fmt.Sprintf("time: %.2f seconds; size: %.2f Megabytes; download rate: %.2f MBps", r.Time, r.SizeBytes/(1<<20), r.DownloadRate)
		}
		a.journal.addHostEvent(
			h, "image_status_updated", severityInfo, "Host %s: New image status %s. result: %s. %s", h.Name(), r.Name, r.Result, measured,
		)
	}
	h.ImagesStatus = model.InString(h.ImageResults)
}

func takeVips(c *model.Cluster, replies []models.VerifiedVip) {
	if c == nil {
		return
	}
	keep := func(list []model.VIP, kind models.VipType) []model.VIP {
		changed := slices.Clone(list)
		for i := range changed {
			for _, r := range replies {
				if r.VipType == kind && string(r.Vip) == changed[i].IP && model.Value(r.Verification) != models.VipVerificationUnverified {
					changed[i].Verification = string(model.Value(r.Verification))
				}
			}
		}
		return changed
	}
	c.APIVips, c.IngressVips = keep(c.APIVips, models.VipTypeAPI), keep(c.IngressVips, models.VipTypeIngress)
}

type stageReport struct {
	CurrentStage string `json:"current_stage"`
	ProgressInfo string `json:"progress_info"`
}

func (a *agentAPI) reportProgress(c *wire.Call, h *model.Host) (wire.Reply, error) {
	p := wire.TypedBody[stageReport](c)
	stage := p.CurrentStage
	if stage != "" {
		if err := wire.BodyEnum("current_stage", stage, model.AllStages()...); err != nil {
			return wire.Reply{}, err
		}
	}
	if h.Cluster == nil {
		return wire.Reply{}, wire.BadRequest("host %s is not bound to any cluster, cannot update progress", h.ID)
	}
	if h.Stage() == stage {
		a.sameStage(h, p.ProgressInfo)
		return wire.Reply{Status: 200}, nil
	}
	if !model.OneOf(h.State, model.HostInstalling, model.HostInProgress, model.HostPendingUser) {
		return wire.Reply{}, wire.Conflict("Can't set progress <%s> to host in status <%s>", stage, h.State)
	}
	if stage == model.StageFailed {
		info := model.StageFailed
		if p.ProgressInfo != "" {
			info += " - " + p.ProgressInfo
		}
		a.journal.setHost(h, model.HostError, info)
		return wire.Reply{Status: 200}, nil
	}
	stages := a.printer.stagesOf(h, h.Cluster.IsSingle())
	at := slices.Index(stages, stage)
	if at < 0 && h.Stage() != "" {
		return wire.Reply{}, wire.Conflict("Stages %s isn't available for host role %s bootstrap %t", stage, h.Role, h.Bootstrap)
	}
	if was := slices.Index(stages, h.Stage()); was > at {
		return wire.Reply{}, wire.Conflict("Can't assign lower stage \"%s\" after host has been in stage \"%s\"", stage, h.Stage())
	}
	a.advance(h, stage, p.ProgressInfo, (at+1)*100/len(stages))
	return wire.Reply{Status: 200}, nil
}

func (a *agentAPI) sameStage(h *model.Host, info string) {
	if h.Progress.ProgressInfo == info {
		return
	}
	h.Progress.ProgressInfo, h.Progress.StageUpdatedAt = info, model.Millis(a.source.now())
	h.UpdatedAt = model.Micros(a.source.now())
	a.recordStage(h)
}

func (a *agentAPI) recordStage(h *model.Host) {
	text := "reached installation stage " + h.Stage()
	if h.Progress.ProgressInfo != "" {
		text += ": " + h.Progress.ProgressInfo
	}
	a.journal.addHostEvent(h, "host_install_progress_updated", severityInfo, "Host: %s, %s", h.Name(), text)
}

func (a *agentAPI) advance(h *model.Host, stage, info string, percent int) {
	now := model.Millis(a.source.now())
	*h.Progress = models.HostProgressInfo{
		CurrentStage: models.HostStage(stage), ProgressInfo: info, InstallationPercentage: int64(percent), StageStartedAt: now,
		StageUpdatedAt: now,
	}
	a.recordStage(h)
	switch added := h.Kind == model.KindAddedHost; {
	case added && stage == model.StageRebooting && !a.variant.hub: // after which nothing more is known of it
		h.Progress.CurrentStage, h.Progress.InstallationPercentage = model.StageDone, 100
		a.journal.setHost(h, model.HostAdded, model.InfoRebootedDay2)
	case added && stage == model.StageDone:
		a.journal.setHost(h, model.HostAdded, stage)
	case stage == model.StageDone:
		a.journal.setHost(h, model.HostInstalled, stage)
	default:
		a.journal.setHost(h, model.HostInProgress, stage)
	}
	h.UpdatedAt = model.Micros(a.source.now())
	if h.Cluster != nil {
		a.measureInstalling(h.Cluster)
	}
}

// measureInstalling works out how many of their stages all hosts have reached. As in the
// real service those that were deleted count, which will not get any further.
func (a *agentAPI) measureInstalling(c *model.Cluster) {
	if c.Progress == nil || c.IsDay2() || len(c.Hosts) == 0 {
		return
	}
	reached, all := 0, 0
	for _, h := range slices.Concat(c.Hosts, slices.Collect(maps.Values(c.Deleted))) {
		stages := a.printer.stagesOf(h, c.IsSingle())
		reached += slices.Index(stages, h.Stage()) + 1
		all += len(stages)
	}
	if all == 0 {
		return
	}
	c.Progress.InstallingStagePercentage = int64(reached * 100 / all)
	measureTotal(c)
}

// The shares of the three phases in the whole; the last part comes with "installed".
const (
	preparingShare  = 0.1
	installingShare = 0.7
	finalizingShare = 0.15
)

func measureTotal(c *model.Cluster) {
	progress := c.Progress
	progress.TotalPercentage = int64(preparingShare*float64(progress.PreparingForInstallationStagePercentage) +
		installingShare*float64(progress.InstallingStagePercentage) +
		finalizingShare*float64(progress.FinalizingStagePercentage))
	if c.Status == model.ClusterInstalled {
		progress.TotalPercentage = 100
	}
}

type instructions struct {
	Instructions []models.Step `json:"instructions"`
	// NextSeconds is in real time, since real agents have no other.
	NextSeconds int    `json:"next_instruction_seconds"`
	PostAction  string `json:"post_step_action"`
	// SimulatedSeconds is the same on the clock of the service, for simulated hosts, if that clock is faster.
	SimulatedSeconds int `json:"simulated_next_instruction_seconds,omitempty"`
}

// paced converts the pause before the next poll to real time, in which a real agent lives. A second is the shortest.
func (a *agentAPI) paced(answer instructions) instructions {
	pause := time.Duration(answer.NextSeconds) * time.Second
	real := a.source.clock.Wall(pause)
	if real == pause {
		return answer
	}
	answer.SimulatedSeconds = answer.NextSeconds
	answer.NextSeconds = int(max(real, time.Second) / time.Second)
	return answer
}

// ahead is by how many seconds the clock of the service has run ahead of real time, because it is faster. The time of a real
// agent lags behind by as much: that does not mean that the clock of its machine is wrong. Simulated hosts live by the clock of the
// service, and their polls do not name a version.
func (a *agentAPI) ahead(now time.Time) int64 {
	if a.source.clock.Wall(time.Second) == time.Second {
		return 0
	}
	return int64(now.Sub(clock.Real().Now()) / time.Second)
}

// nextSteps answers an agent's poll, which is also its heartbeat.
func (a *agentAPI) nextSteps(c *wire.Call, h *model.Host) (wire.Reply, error) {
	now := a.source.now()
	h.CheckedInAt = model.Millis(now)
	version := c.Header.Get("discovery_agent_version")
	if text := c.URL.Query().Get("timestamp"); text != "" {
		if at, err := strconv.ParseInt(text, 10, 64); err == nil {
			h.Timestamp = at
			if version != "" {
				h.Timestamp += a.ahead(now)
			}
		}
	}
	if version != "" {
		h.AgentVersion = version
	}
	answer := instructions{PostAction: "continue", NextSeconds: 60}
	if h.AgentVersion != "" && h.AgentVersion != versions.AgentImage &&
		!model.OneOf(h.State, model.HostBinding, model.HostUnbinding, model.HostInProgress) {
		a.journal.addHostEvent(
			h, "upgrade_agent_started", severityInfo, "Host %s: Agent has been instructed to download image '%s' and restart", h.Name(),
			versions.AgentImage,
		)
		step := a.steps.Step(steps.StepUpgrade, model.InString(map[string]string{"agent_image": versions.AgentImage}))
		answer.Instructions = []models.Step{step}
		return wire.OK(a.paced(answer))
	}
	switch h.State {
	case model.HostBinding, model.HostUnbinding, model.HostUnbindingPending:
		answer.PostAction, answer.NextSeconds = "exit", 0
	case model.HostDisconnected, model.HostError, model.HostCancelled, model.HostDisconnectedUnbound:
		answer.NextSeconds = 120
	}
	answer.Instructions = a.steps.For(h)
	return wire.OK(a.paced(answer))
}
