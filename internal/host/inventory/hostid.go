//go:build linux

package inventory

import (
	"crypto/md5" // not for security: the service knows hosts by these sums
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/escape"
)

// FailureID is the id of a machine that has nothing to tell it from others.
const FailureID = "deaddead-dead-dead-dead-deaddeaddead"

// HostID is the UUID by which the service knows the machine, also after a reboot: made of the serial number of its main
// board; if it has none, the system's UUID; if it has none, made of its lowest MAC address; else FailureID.
func (c Collector) HostID() string {
	board := c.dmi("board_serial")
	if isSerial(board) {
		return hashed(board)
	}
	c.logger().Warn("host id: the main board has no serial number; the system's UUID is used", "serial", escape.Word(board))
	system := strings.ToLower(c.dmi("product_uuid"))
	if isSystemUUID(system) {
		return system
	}
	c.logger().Warn("host id: the system has no UUID; the lowest MAC address is used", "uuid", escape.Word(system))
	var addresses []string
	for _, link := range c.links() {
		if link.MAC != "" {
			addresses = append(addresses, link.MAC)
		}
	}
	if len(addresses) == 0 {
		c.logger().Error("host id: the machine has no MAC address; all such machines have the same id", "id", FailureID)
		return FailureID
	}
	return hashed(slices.Min(addresses))
}

// isSerial reports whether a text is a serial number, and not one of the texts that vendors leave in its place.
func isSerial(text string) bool {
	return !slices.Contains([]string{
		"", unknown, "none", "(none)", "-", "default string", "not specified",
		"unspecified base board serial number", "unspecified system serial number",
		"pca_number.acc", // HPE ProLiant Gen11
	}, strings.ToLower(text))
}

// isSystemUUID reports whether a text in lower case is a UUID, and none that many machines have.
func isSystemUUID(text string) bool {
	return regexp.MustCompile(`^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$`).MatchString(text) &&
		!slices.Contains([]string{"00000000-0000-0000-0000-000000000000", "03000200-0400-0500-0006-000700080009"}, text)
}

// hashed is the MD5 sum of a text, written as a UUID.
func hashed(text string) string {
	sum := md5.Sum([]byte(text))
	digits := hex.EncodeToString(sum[:])
	return strings.Join([]string{digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]}, "-")
}
