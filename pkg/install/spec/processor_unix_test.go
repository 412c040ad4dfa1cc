//go:build unix

package spec

import (
	"syscall"
	"time"
)

// processorTime is how long the processor has worked for this process.
func processorTime() time.Duration {
	var spent syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &spent); err != nil {
		panic(err)
	}
	return time.Duration(spent.Utime.Nano() + spent.Stime.Nano())
}
