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

// Rough is a size without fractions.
func Rough(bytes int64) string {
	const kB, MB, GB = 1000, 1000 * 1000, 1000 * 1000 * 1000
	switch {
	case bytes >= 10*GB:
		return fmt.Sprintf("%d GB", bytes/GB)
	case bytes >= 10*MB:
		return fmt.Sprintf("%d MB", bytes/MB)
	case bytes >= 10*kB:
		return fmt.Sprintf("%d kB", bytes/kB)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
