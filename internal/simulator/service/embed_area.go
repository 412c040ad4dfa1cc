package service

import (
	"github.com/oaictl/oaictl/internal/simulator/service/discovery"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

// embedArea is how many bytes of compressed Ignition a live image has room for.
const embedArea = 256 << 10

// checkEmbedArea refuses a discovery Ignition that no image has room for. The
// service looks only where a request brings an Ignition config of the user's
// (bminventory, validateDiscoveryIgnitionImageSize); otherwise it is the image
// service that fails, when the image is asked for.
func (s *Service) checkEmbedArea(e *model.InfraEnv) error {
	text, err := s.ignitionOf(e, "")
	if err != nil {
		return err
	}
	if size := discovery.ArchiveSize(text); size > embedArea {
		return wire.BadRequest("The ignition archive size (%d KiB) is over the maximum allowable size (%d KiB)", size/1024, embedArea/1024)
	}
	return nil
}
