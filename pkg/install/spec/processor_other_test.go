//go:build !unix

package spec

import "time"

// processorTime is not known here.
func processorTime() time.Duration { return 0 }
