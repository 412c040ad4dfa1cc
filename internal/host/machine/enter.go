//go:build linux

package machine

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/oaictl/oaictl/internal/host/guard"
)

// InContainer reports whether this process has another root file system than process 1, as in a privileged container with
// the process ids of the machine.
func InContainer() bool {
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return false
	}
	first, err := os.Readlink("/proc/1/ns/mnt")
	return err == nil && own != first
}

// namespaces are those that a container has for itself, the mounts last: the others are found in /proc.
var namespaces = []struct {
	name string
	kind int
}{
	{"cgroup", unix.CLONE_NEWCGROUP},
	{"ipc", unix.CLONE_NEWIPC},
	{"uts", unix.CLONE_NEWUTS},
	{"net", unix.CLONE_NEWNET},
	{"mnt", unix.CLONE_NEWNS},
}

// Enter replaces this process by a program of the machine, outside the container. It returns only an error. The program has
// the process id of this process, so signals of the container engine reach it.
func Enter(program string, argv, environ []string) error {
	if err := guard.Live(); err != nil {
		return fmt.Errorf("leave the container: %w", err)
	}
	// Only this thread leaves. The kernel ends the others when the program starts.
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("leave the container: %w", err)
	}
	var files []int
	for _, n := range namespaces {
		fd, err := unix.Open("/proc/1/ns/"+n.name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("leave the container: the %s namespace of process 1: %w", n.name, err)
		}
		files = append(files, fd)
	}
	for i, n := range namespaces {
		if err := unix.Setns(files[i], n.kind); err != nil {
			return fmt.Errorf("leave the container: enter the %s namespace of process 1: %w", n.name, err)
		}
	}
	if err := unix.Exec(program, argv, environ); err != nil {
		return fmt.Errorf("leave the container: start %s: %w", program, err)
	}
	return nil
}
