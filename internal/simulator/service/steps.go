package service

import (
	"net/http"
	"strconv"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/steps"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

type instructions struct {
	Instructions []steps.Step `json:"instructions"`
	NextSeconds  int          `json:"next_instruction_seconds"`
	PostAction   string       `json:"post_step_action"`
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
	if h.AgentVersion != "" && h.AgentVersion != versions.AgentImage && !model.OneOf(h.State, model.HostBinding, model.HostUnbinding, model.HostInProgress) {
		s.noteHost(h, "upgrade_agent_started", severityInfo, "Host %s: Agent has been instructed to download image '%s' and restart", h.Name(), versions.AgentImage)
		return wire.OK(instructions{PostAction: "continue", NextSeconds: 60,
			Instructions: []steps.Step{s.steps.Step(steps.StepUpgrade, model.InString(map[string]string{"agent_image": versions.AgentImage}))}})
	}
	answer := instructions{PostAction: "continue", NextSeconds: 60}
	switch h.State {
	case model.HostBinding, model.HostUnbinding:
		answer.PostAction, answer.NextSeconds = "exit", 0
	case model.HostDisconnected, model.HostError, model.HostCancelled, model.HostInsufficientUnbound, model.HostDisconnectedUnbound:
		answer.NextSeconds = 120
	}
	answer.Instructions = s.steps.For(h)
	return wire.Reply{Status: http.StatusOK, Body: answer}, nil
}
