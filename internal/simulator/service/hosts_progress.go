package service

import (
	"maps"
	"slices"
	"strconv"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/steps"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
	"github.com/openshift/assisted-service/models"
)

type stageReport struct {
	CurrentStage string `json:"current_stage"`
	ProgressInfo string `json:"progress_info"`
}

func (s *Service) reportProgress(c *wire.Call, h *model.Host) (wire.Reply, error) {
	p := wire.Taken[stageReport](c)
	stage := p.CurrentStage
	if err := wire.BodyEnum("current_stage", stage, model.AllStages()...); err != nil {
		return wire.Reply{}, err
	}
	if h.Stage() == stage {
		s.sameStage(h, p.ProgressInfo)
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
		s.setHost(h, model.HostError, info)
		return wire.Reply{Status: 200}, nil
	}
	stages := s.stagesOf(h, h.Cluster != nil && h.Cluster.IsSingle())
	at := slices.Index(stages, stage)
	if at < 0 {
		return wire.Reply{}, wire.Conflict("Stages %s isn't available for host role %s bootstrap %t", stage, h.Role, h.Bootstrap)
	}
	if was := slices.Index(stages, h.Stage()); was > at {
		return wire.Reply{}, wire.Conflict("Can't assign lower stage \"%s\" after host has been in stage \"%s\"", stage, h.Stage())
	}
	s.advance(h, stage, p.ProgressInfo, (at+1)*100/len(stages))
	return wire.Reply{Status: 200}, nil
}

// sameStage keeps how far a host is within its stage.
func (s *Service) sameStage(h *model.Host, info string) {
	if h.Progress.ProgressInfo == info {
		return
	}
	h.Progress.ProgressInfo, h.Progress.StageUpdatedAt = info, model.Millis(s.now())
	h.UpdatedAt = model.Micros(s.now())
	s.noteStage(h)
}

func (s *Service) noteStage(h *model.Host) {
	text := "reached installation stage " + h.Stage()
	if h.Progress.ProgressInfo != "" {
		text += ": " + h.Progress.ProgressInfo
	}
	s.noteHost(h, "host_install_progress_updated", severityInfo, "Host: %s, %s", h.Name(), text)
}

func (s *Service) advance(h *model.Host, stage, info string, percent int) {
	now := model.Millis(s.now())
	*h.Progress = models.HostProgressInfo{CurrentStage: models.HostStage(stage), ProgressInfo: info, InstallationPercentage: int64(percent), StageStartedAt: now, StageUpdatedAt: now}
	s.noteStage(h)
	if h.Kind == model.KindAddedHost && stage == model.StageRebooting {
		h.Progress.CurrentStage, h.Progress.InstallationPercentage = model.StageDone, 100
		s.setHost(h, model.HostAdded, model.InfoRebootedDay2)
	} else if stage == model.StageDone {
		s.setHost(h, model.HostInstalled, stage)
	} else {
		s.setHost(h, model.HostInProgress, stage)
	}
	h.UpdatedAt = model.Micros(s.now())
	if h.Cluster != nil {
		s.measureInstalling(h.Cluster)
	}
}

// measureInstalling works out how far the hosts are, all together: the stages
// reached out of all the stages there are. As in the real service those of hosts that
// were deleted count, which will not get any further.
func (s *Service) measureInstalling(c *model.Cluster) {
	if c.Progress == nil || c.IsDay2() || len(c.Hosts) == 0 {
		return
	}
	reached, all := 0, 0
	for _, h := range slices.Concat(c.Hosts, slices.Collect(maps.Values(c.Deleted))) {
		stages := s.stagesOf(h, c.IsSingle())
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
	NextSeconds  int           `json:"next_instruction_seconds"`
	PostAction   string        `json:"post_step_action"`
}

// nextSteps answers an agent's poll, which is also its heartbeat.
func (s *Service) nextSteps(c *wire.Call, h *model.Host) (wire.Reply, error) {
	now := s.now()
	h.CheckedInAt = model.Millis(now)
	if text := c.URL.Query().Get("timestamp"); text != "" {
		if at, err := strconv.ParseInt(text, 10, 64); err == nil {
			h.Timestamp = at
		}
	}
	if version := c.Header.Get("discovery_agent_version"); version != "" {
		h.AgentVersion = version
	}
	answer := instructions{PostAction: "continue", NextSeconds: 60}
	if h.AgentVersion != "" && h.AgentVersion != versions.AgentImage && !model.OneOf(h.State, model.HostBinding, model.HostUnbinding, model.HostInProgress) {
		s.noteHost(h, "upgrade_agent_started", severityInfo, "Host %s: Agent has been instructed to download image '%s' and restart", h.Name(), versions.AgentImage)
		step := s.steps.Step(steps.StepUpgrade, model.InString(map[string]string{"agent_image": versions.AgentImage}))
		answer.Instructions = []models.Step{step}
		return wire.OK(answer)
	}
	switch h.State {
	case model.HostBinding, model.HostUnbinding:
		answer.PostAction, answer.NextSeconds = "exit", 0
	case model.HostDisconnected, model.HostError, model.HostCancelled, model.HostInsufficientUnbound, model.HostDisconnectedUnbound:
		answer.NextSeconds = 120
	}
	answer.Instructions = s.steps.For(h)
	return wire.OK(answer)
}

// stagesOf is the ordered list of a host's stages; empty while its role is open.
func (s *Service) stagesOf(h *model.Host, single bool) []string {
	return slices.DeleteFunc(model.RoleStages(h, single), func(stage string) bool {
		return stage == model.StageCopying && !s.cfg.Release.Has(copiesSince)
	})
}
