package kubetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/oaictl/oaictl/internal/shared/filelock"
)

// program is the path of a script that starts a program and leaves its process id
// behind. A test that is killed, or runs into its timeout, cannot stop what it
// started; where setpriv (util-linux) is at hand, the kernel does it then.
func (c *Cluster) program(ctx context.Context, name, path string) (string, error) {
	path = "'" + path + "'"
	if setpriv, err := exec.LookPath("setpriv"); err == nil && exec.CommandContext(ctx, setpriv, "--pdeathsig", "KILL", "true").Run() == nil {
		path = setpriv + " --pdeathsig KILL " + path
	}
	script := filepath.Join(c.scratch.folder, name)
	content := fmt.Sprintf("#!/bin/sh\necho $$ >'%s.pid'\nexec %s \"$@\"\n", script, path)
	return script, os.WriteFile(script, []byte(content), 0o700)
}

// kill ends a program at once. An API server that is asked to end takes a minute if a client watches, and its
// controllers always do.
func (c *Cluster) kill(name string) error {
	file := filepath.Join(c.scratch.folder, name+".pid")
	content, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return fmt.Errorf("the process id of %s: %w", name, err)
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return os.Remove(file)
}

// root is the folder of oaictl's go.mod, at or above the working folder.
func root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("%w: go env GOMOD: %w", ErrUnavailable, err)
	}
	file := strings.TrimSpace(string(out))
	if filepath.Base(file) != "go.mod" {
		return "", errors.New("not inside of oaictl's source tree")
	}
	return filepath.Dir(file), nil
}

// scratch is the folder of a hub's data, certificates and logs: some hundred
// megabytes. A test that is killed cannot remove it; the next one does, which knows
// by a lock that its owner is gone.
type scratch struct {
	folder string
	owner  *os.File // locked as long as the process lives
}

const (
	scratchName = "oaictl-kubetest-"
	ownerName   = "owner"
)

// newScratch makes a folder within another, and removes those that were left behind there.
func newScratch(within string) (*scratch, error) {
	abandoned, err := filepath.Glob(filepath.Join(within, scratchName+"*", ownerName))
	if err != nil {
		return nil, err
	}
	for _, owner := range abandoned {
		if err := removeAbandoned(owner); err != nil {
			return nil, err
		}
	}
	folder, err := os.MkdirTemp(within, scratchName)
	if err != nil {
		return nil, err
	}
	s := &scratch{folder: folder}
	if err := s.own(); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// own locks the folder. The lock has its name only once it is held: others look for those that are not.
func (s *scratch) own() error {
	var err error
	if s.owner, err = os.CreateTemp(s.folder, ownerName+"-"); err != nil {
		return err
	}
	if _, err := filelock.Try(s.owner, true); err != nil {
		return err
	}
	return os.Rename(s.owner.Name(), filepath.Join(s.folder, ownerName))
}

func (s *scratch) remove() error {
	err := os.RemoveAll(s.folder)
	if s.owner != nil {
		err = errors.Join(err, s.owner.Close())
	}
	return err
}

// removeAbandoned removes a folder that no process has locked, unless it is another user's or is being removed.
func removeAbandoned(owner string) error {
	file, err := os.Open(owner)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if free, err := filelock.Try(file, true); err != nil || !free {
		return err
	}
	return os.RemoveAll(filepath.Dir(owner))
}

// lock waits for the lock of a file, which the kernel takes back when a process ends, however it ends.
func lock(ctx context.Context, name string) (func(), error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	const pause = 200 * time.Millisecond
	if err := wait.PollUntilContextCancel(ctx, pause, true, func(context.Context) (bool, error) {
		return filelock.Try(file,
			true)
	}); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { file.Close() }, nil
}
