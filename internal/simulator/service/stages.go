package service

import (
	"slices"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// stagesOf is the ordered list of a host's stages; empty while its role is open.
func (s *Service) stagesOf(h *model.Host, single bool) []string {
	return slices.DeleteFunc(model.RoleStages(h, single), func(stage string) bool {
		return stage == model.StageCopying && !s.cfg.Release.Has(copiesSince)
	})
}
