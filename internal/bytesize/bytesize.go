// Package bytesize writes sizes for people.
package bytesize

import (
	"fmt"
	"strings"
)

// Text is a size as disks are sold.
func Text(bytes int64) string {
	const unit = 1000
	size, units := float64(bytes), "B kB MB GB TB PB"
	for _, name := range strings.Fields(units) {
		if size < unit || name == "PB" {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", size), ".0") + " " + name
		}
		size /= unit
	}
	return ""
}
