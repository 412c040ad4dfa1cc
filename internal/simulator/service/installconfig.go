package service

import (
	"net/http"

	"github.com/oaictl/oaictl/internal/simulator/service/installfiles"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/request"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

func (s *Service) readInstallConfig(_ *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	text, err := installfiles.Config(cl)
	if err != nil {
		return wire.Reply{}, wire.Refuse(http.StatusInternalServerError, "Failed to get cluster %s install config: %s", cl.ID, err)
	}
	return wire.OK(text)
}

// updateInstallConfig replaces the user's changes. The body is JSON in a JSON
// string; the answer is empty.
func (s *Service) updateInstallConfig(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	text := wire.Taken[string](c)
	ic, err := installfiles.ConfigWith(cl, text)
	if err == nil && ic.AdditionalTrustBundle != "" {
		err = request.CheckTrustBundle(ic.AdditionalTrustBundle)
	}
	if err != nil {
		return wire.Reply{}, wire.BadRequest("%s", err)
	}
	cl.InstallConfigOverrides = text
	request.UseOverrides(cl)
	cl.UpdatedAt = model.Micros(s.now())
	s.note(cl, "install_config_applied", severityInfo, "Custom install config was applied to the cluster")
	return wire.Reply{Status: http.StatusCreated}, nil
}
