package service

import (
	"bytes"
	"compress/gzip"
	"fmt"
)

// embedArea is how many bytes of compressed Ignition a live image has room for.
const embedArea = 256 << 10

// checkEmbedArea refuses a discovery Ignition that no image has room for. The
// service looks only where a request brings an Ignition config of the user's
// (bminventory, validateDiscoveryIgnitionImageSize); otherwise it is the image
// service that fails, when the image is asked for.
func (s *Service) checkEmbedArea(e *infraEnv) error {
	text, err := s.discoveryIgnition(e, "")
	if err != nil {
		return err
	}
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	// The config is the only member of a cpio archive.
	_, _ = fmt.Fprintf(zip, "070701%0104Xconfig.ign\x00%s070701%0104XTRAILER!!!\x00", 0, text, 0) // writes memory
	_ = zip.Close()
	if size := out.Len(); size > embedArea {
		return badRequest("The ignition archive size (%d KiB) is over the maximum allowable size (%d KiB)", size/1024, embedArea/1024)
	}
	return nil
}
