//go:build linux

package inventory

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/openshift/assisted-service/models"
)

// tpmVersion is the version of the TPM, "none" if there is no TPM, "" if it cannot be read.
func (c Collector) tpmVersion() string {
	content, err := c.files().text("sys/class/tpm/tpm0/tpm_version_major")
	switch major := strings.TrimSpace(content); {
	case errors.Is(err, fs.ErrNotExist):
		return models.InventoryTpmVersionNone
	case err != nil:
	case major == "1":
		return models.InventoryTpmVersionNr12
	case major == "2":
		return models.InventoryTpmVersionNr20
	default:
		err = fmt.Errorf("the major version %q is not known", major)
	}
	c.warn("read the version of the TPM", err)
	return ""
}
