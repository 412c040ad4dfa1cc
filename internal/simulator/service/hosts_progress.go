package service

import (
	"maps"
	"slices"
)

// stageReport is what a host says of its stage.
type stageReport struct {
	CurrentStage string `json:"current_stage"`
	ProgressInfo string `json:"progress_info"`
}

// reportProgress takes a stage that a host has reached.
func (s *Service) reportProgress(c *call) (reply, error) {
	h, err := s.getHost(c.PathValue("infra_env_id"), c.PathValue("host_id"))
	if err != nil {
		return reply{}, err
	}
	p := taken[stageReport](c)
	stage := p.CurrentStage
	if err := bodyEnum("current_stage", stage, allStages()...); err != nil {
		return reply{}, err
	}
	if h.stage() == stage {
		s.sameStage(h, p.ProgressInfo)
		return reply{status: 200}, nil
	}
	if !oneOf(h.state, hostInstalling, hostInProgress, hostPendingUser) {
		return reply{}, conflict("Can't set progress <%s> to host in status <%s>", stage, h.state)
	}
	if stage == stageFailed {
		info := stageFailed
		if p.ProgressInfo != "" {
			info += " - " + p.ProgressInfo
		}
		s.setHost(h, hostError, info)
		return reply{status: 200}, nil
	}
	stages := s.stagesOf(h, h.cluster != nil && h.cluster.isSingle())
	at := slices.Index(stages, stage)
	if at < 0 {
		return reply{}, conflict("Stages %s isn't available for host role %s bootstrap %t", stage, h.Role, h.Bootstrap)
	}
	if was := slices.Index(stages, h.stage()); was > at {
		return reply{}, conflict("Can't assign lower stage \"%s\" after host has been in stage \"%s\"", stage, h.stage())
	}
	s.advance(h, stage, p.ProgressInfo, (at+1)*100/len(stages))
	return reply{status: 200}, nil
}

// sameStage keeps how far a host is within its stage.
func (s *Service) sameStage(h *host, info string) {
	if h.Progress.ProgressInfo == info {
		return
	}
	progress := *h.Progress
	progress.ProgressInfo, progress.StageUpdatedAt = info, millis(s.now())
	h.Progress = &progress
	h.UpdatedAt = micros(s.now())
	s.noteStage(h)
}

// noteStage writes an event of how far the host is.
func (s *Service) noteStage(h *host) {
	text := "reached installation stage " + h.Progress.CurrentStage
	if h.Progress.ProgressInfo != "" {
		text += ": " + h.Progress.ProgressInfo
	}
	s.noteHost(h, "host_install_progress_updated", severityInfo, "Host: %s, %s", h.name(), text)
}

// advance moves a host to a stage.
func (s *Service) advance(h *host, stage, info string, percent int) {
	now := millis(s.now())
	progress := *h.Progress
	progress.StageStartedAt = now
	progress.CurrentStage, progress.ProgressInfo, progress.Percentage, progress.StageUpdatedAt = stage, info, percent, now
	h.Progress = &progress
	s.noteStage(h)
	if h.Kind == kindAddedHost && stage == stageRebooting {
		progress.CurrentStage, progress.Percentage = stageDone, 100
		h.Progress = &progress
		s.setHost(h, hostAdded, infoRebootedDay2)
	} else if stage == stageDone {
		s.setHost(h, hostInstalled, stage)
	} else {
		s.setHost(h, hostInProgress, stage)
	}
	h.UpdatedAt = micros(s.now())
	if h.cluster != nil {
		s.measureInstalling(h.cluster)
	}
}

// measureInstalling works out how far the hosts are, all together: the stages
// reached out of all the stages there are. As in the real service those of hosts that
// were deleted count, which will not get any further.
func (s *Service) measureInstalling(c *cluster) {
	if c.Progress == nil || c.isDay2() || len(c.hosts) == 0 {
		return
	}
	reached, all := 0, 0
	for _, h := range slices.Concat(c.hosts, slices.Collect(maps.Values(c.deleted))) {
		stages := s.stagesOf(h, c.isSingle())
		reached += slices.Index(stages, h.stage()) + 1
		all += len(stages)
	}
	if all == 0 {
		return
	}
	progress := *c.Progress
	progress.InstallingPercentage = reached * 100 / all
	c.Progress = &progress
	c.measureTotal()
}

// The shares of the three phases in the whole; the last part comes with
// "installed".
const (
	preparingShare  = 0.1
	installingShare = 0.7
	finalizingShare = 0.15
)

func (c *cluster) measureTotal() {
	progress := *c.Progress
	progress.TotalPercentage = int(preparingShare*float64(progress.PreparingPercentage) +
		installingShare*float64(progress.InstallingPercentage) +
		finalizingShare*float64(progress.FinalizingPercentage))
	if c.Status == clusterInstalled {
		progress.TotalPercentage = 100
	}
	c.Progress = &progress
}
