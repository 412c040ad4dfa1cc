// Package guard decides whether oaictl-host may change the machine that it runs on. A live system of an
// installation medium may be changed; an installed system may not.
package guard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// RackMarker is the kernel argument of machines that exist only for trials, such as virtual machines.
const RackMarker = "oaictl.rack"

// livePrefix starts the kernel arguments of a live CoreOS: coreos.liveiso, coreos.live.rootfs_url.
const livePrefix = "coreos.live"

const commandLine = "/proc/cmdline"

// ErrTest is the error of what would change the machine during go test.
var ErrTest = errors.New("a test may not change this machine")

// Live reads the kernel's command line. It returns an error if the machine runs an installed system, or if a test runs.
func Live() error {
	if Testing() {
		return ErrTest
	}
	content, err := os.ReadFile(commandLine)
	if err != nil {
		return fmt.Errorf("cannot find out whether this is a live system: %w", err)
	}
	return LiveCommandLine(string(content))
}

// LiveCommandLine returns an error if a kernel with this command line runs an installed system.
func LiveCommandLine(line string) error {
	for argument := range strings.FieldsSeq(line) {
		name, _, _ := strings.Cut(argument, "=")
		if name == RackMarker || strings.HasPrefix(name, livePrefix) {
			return nil
		}
	}
	return fmt.Errorf("this machine does not run from an installation medium: its kernel command line has neither %s* nor %s",
		livePrefix, RackMarker)
}

// Rack reports whether this is a machine that exists only for trials. Its disks may be files.
func Rack() bool {
	content, err := os.ReadFile(commandLine)
	return err == nil && !Testing() && slices.ContainsFunc(strings.Fields(string(content)), func(argument string) bool {
		name, _, _ := strings.Cut(argument, "=")
		return name == RackMarker
	})
}

// Testing reports whether this process is a test program of go test.
func Testing() bool { return testing.Testing() }

// TempFile returns an error if a test may not write to this path: a test may write only in its t.TempDir().
func TempFile(path string) error {
	within, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return err
	}
	real, err := existing(filepath.Clean(path))
	if err != nil {
		return err
	}
	rest, found := strings.CutPrefix(real, within+"/")
	// t.TempDir() makes folders such as TestOpen123456/001.
	folder, _, below := strings.Cut(rest, "/")
	if !found || !below || !slices.ContainsFunc([]string{"Test", "Fuzz", "Benchmark", "Example"}, func(prefix string) bool {
		return strings.HasPrefix(folder, prefix)
	}) {
		return fmt.Errorf("%w: %q is not in its t.TempDir()", ErrTest, path)
	}
	return nil
}

// existing follows the links of a path. What does not exist yet, at its end, stays as it is.
func existing(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, os.ErrNotExist) {
		return real, err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("%q is a link to nothing", path)
	}
	folder := filepath.Dir(path)
	if folder == path {
		return path, nil
	}
	if folder, err = existing(folder); err != nil {
		return "", err
	}
	return filepath.Join(folder, filepath.Base(path)), nil
}

// File returns an error if oaictl-host may not write to this path: an installed system is not changed, and a test writes
// only in its t.TempDir().
func File(path string) error {
	if Testing() {
		return TempFile(path)
	}
	return Live()
}
