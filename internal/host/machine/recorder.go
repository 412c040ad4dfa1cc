//go:build linux

package machine

import (
	"context"
	"os/exec"
	"slices"
	"sync"
)

// Recorder notes the programs that would run, and runs none. It is for tests and for plans.
type Recorder struct {
	// Reply answers a command. A command without an answer succeeds and prints nothing. May be nil.
	Reply func(Command) (Result, error)
	// Absent are programs that Has does not find, and that cannot run.
	Absent []string

	mu       sync.Mutex
	commands []Command
	reboots  int
}

// Run implements Runner.
func (r *Recorder) Run(ctx context.Context, c Command) (Result, error) {
	r.mu.Lock()
	r.commands = append(r.commands, c)
	r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Result{}, &Failed{Command: c, Err: err}
	}
	if !r.Has(c.Name) {
		return Result{}, &exec.Error{Name: c.Name, Err: exec.ErrNotFound}
	}
	if r.Reply == nil {
		return Result{}, nil
	}
	result, err := r.Reply(c)
	if c.Output != nil {
		if _, err := c.Output.Write(result.Stdout); err != nil {
			return Result{}, err
		}
		result.Stdout = nil
	}
	if c.Errors != nil {
		if _, err := c.Errors.Write(result.Stderr); err != nil {
			return Result{}, err
		}
	}
	if err == nil && result.Code != 0 {
		err = &Failed{Command: c, Result: result}
	}
	return result, err
}

// Has implements Runner.
func (r *Recorder) Has(name string) bool { return !slices.Contains(r.Absent, name) }

// Reboot implements Runner.
func (r *Recorder) Reboot(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reboots++
	return nil
}

// Commands are what would have run so far, in order.
func (r *Recorder) Commands() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := make([]string, 0, len(r.commands))
	for _, c := range r.commands {
		lines = append(lines, c.String())
	}
	return lines
}

// Reboots is how often the machine would have been rebooted.
func (r *Recorder) Reboots() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reboots
}
