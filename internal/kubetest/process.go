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
)

// program is the path of a script that starts a program and leaves its process id
// behind. A test that is killed, or runs into its timeout, cannot stop what it
// started; where setpriv (util-linux) is at hand, the kernel does it then.
func (c *Cluster) program(ctx context.Context, name string) (string, error) {
	path := "'" + filepath.Join(c.programs, name) + "'"
	if setpriv, err := exec.LookPath("setpriv"); err == nil && exec.CommandContext(ctx, setpriv, "--pdeathsig", "KILL", "true").Run() == nil {
		path = setpriv + " --pdeathsig KILL " + path
	}
	script := filepath.Join(c.scratch.folder, name)
	content := fmt.Sprintf("#!/bin/sh\necho $$ >'%s.pid'\nexec %s \"$@\"\n", script, path)
	return script, os.WriteFile(script, []byte(content), 0o700)
}

// kill ends a program at once. An API server that is asked to end takes a minute if
// somebody watches, and its controllers always do.
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
