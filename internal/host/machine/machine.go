//go:build linux

// Package machine is the only way in which oaictl-host runs programs, reboots the machine and writes EFI variables.
// Programs that change disks, the boot order, the power or services run only on a live system of an installation
// medium; a test can only record them.
package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/oaictl/oaictl/internal/host/guard"
	"github.com/oaictl/oaictl/internal/shared/redact"
)

// Effect says what a command does to the machine.
type Effect int

// The effects: a command that only looks reads, or sends packets. One that changes the machine changes disks, the boot
// order, the power, services or containers.
const (
	Looks Effect = iota
	Changes
)

// Command is a program with its arguments. No shell sees it. Secrets are never arguments.
type Command struct {
	Name string
	Args []string
	// Env has more variables of the form NAME=VALUE. They may be secret, and are never printed.
	Env []string
	// Output gets standard output while the program runs, if it is not nil. Result.Stdout is empty then.
	Output io.Writer
	// Errors gets standard error while the program runs, if it is not nil. Result.Stderr has it, too.
	Errors io.Writer
	// Timeout ends the program. Zero means no limit except the context's.
	Timeout time.Duration
	// Limit is how many bytes of each output are kept. Zero means DefaultLimit.
	Limit int
}

// DefaultLimit is how many bytes of an output are kept.
const DefaultLimit = 4 << 20

func (c Command) String() string { return strings.Join(append([]string{c.Name}, c.Args...), " ") }

// Result is what a program printed.
type Result struct {
	Stdout, Stderr []byte
	Code           int  // the exit code; 128 + the signal if a signal ended it
	Cut            bool // an output was longer than the limit; what follows is lost
}

// Failed is the error of a program that ended with an exit code other than zero.
type Failed struct {
	Command Command
	Result  Result
	Err     error // such as context.DeadlineExceeded; nil if the program ended by itself
}

// Error has no secrets: a flag of the original installer has the proxy with its password.
func (f *Failed) Error() string {
	text := fmt.Sprintf("%s ended with exit code %d", f.Command, f.Result.Code)
	if f.Err != nil {
		text = fmt.Sprintf("%s did not end: %v", f.Command, f.Err)
	}
	if said := strings.TrimSpace(string(lastLines(f.Result.Stderr))); said != "" {
		text += ": " + said
	}
	return redact.Text(text)
}

func (f *Failed) Unwrap() error { return f.Err }

// lastLines is the end of an output, for an error text.
func lastLines(output []byte) []byte {
	const enough = 2000
	if len(output) <= enough {
		return output
	}
	return output[len(output)-enough:]
}

// Runner runs programs. A Host runs them on this machine; a Recorder notes them.
type Runner interface {
	// Run runs a program until it ends. The error is a *Failed if its exit code is not zero, or if ctx ended it.
	// It wraps exec.ErrNotFound if there is no such program.
	Run(ctx context.Context, c Command) (Result, error)
	// Has reports whether there is such a program.
	Has(name string) bool
	// Reboot asks the kernel to reboot at once, after sync(2). It does not stop services.
	Reboot(ctx context.Context) error
}

// Host runs programs on this machine.
type Host struct {
	// Environ is the environment of programs, of the form NAME=VALUE. Programs get no other variables.
	Environ []string
}

// allowed returns an error if a command may not run here.
func allowed(c Command) error {
	effect, known := effectOf(c)
	if !known {
		return fmt.Errorf("run %s: oaictl-host does not know this program", c.Name)
	}
	if effect == Looks {
		return nil
	}
	if err := guard.Live(); err != nil {
		return fmt.Errorf("run %s: %w", c, err)
	}
	return nil
}

// Has reports whether PATH has such a program.
func (h Host) Has(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// grace is how long a program may take to end after SIGTERM.
const grace = 2 * time.Second

// Run implements Runner. The program and its children are a process group; they get SIGTERM when ctx ends, and SIGKILL two
// seconds later.
func (h Host) Run(ctx context.Context, c Command) (Result, error) {
	if err := allowed(c); err != nil {
		return Result{}, err
	}
	return h.run(ctx, c)
}

func (h Host) run(ctx context.Context, c Command) (Result, error) {
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	limit := c.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	stdout, stderr := &kept{limit: limit}, &kept{limit: limit}
	command := exec.CommandContext(ctx, c.Name, c.Args...)
	// Not nil: nil means all variables of this process.
	command.Env = append(append([]string{}, h.Environ...), c.Env...)
	command.Stdout, command.Stderr = stdout, stderr
	if c.Output != nil {
		command.Stdout = c.Output
	}
	if c.Errors != nil {
		command.Stderr = io.MultiWriter(stderr, c.Errors)
	}
	command.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return unix.Kill(-command.Process.Pid, unix.SIGTERM) }
	command.WaitDelay = grace
	err := command.Run()
	if command.Process != nil && ctx.Err() != nil {
		_ = unix.Kill(-command.Process.Pid, unix.SIGKILL) // children that ignore SIGTERM
	}
	result := Result{Stdout: stdout.first.Bytes(), Stderr: stderr.first.Bytes(), Cut: stdout.cut || stderr.cut}
	if command.ProcessState != nil {
		result.Code = exitCode(command.ProcessState)
	}
	if err == nil || errors.Is(err, exec.ErrWaitDelay) { // a child that lives on has the output open
		return result, nil
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) || ctx.Err() != nil {
		return result, &Failed{Command: c, Result: result, Err: ctx.Err()}
	}
	return result, fmt.Errorf("run %s: %w", c.Name, err)
}

func exitCode(state *os.ProcessState) int {
	const signalled = 128
	if status, is := state.Sys().(syscall.WaitStatus); is && status.Signaled() {
		return signalled + int(status.Signal())
	}
	return state.ExitCode()
}

// Reboot implements Runner.
func (h Host) Reboot(context.Context) error {
	if err := guard.Live(); err != nil {
		return fmt.Errorf("reboot: %w", err)
	}
	unix.Sync()
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART); err != nil {
		return fmt.Errorf("reboot: %w", err)
	}
	return nil
}

// kept keeps the first bytes of an output, and drops the rest without an error, so that the program goes on. It has no
// methods of bytes.Buffer: io.Copy would write past the limit by them.
type kept struct {
	first bytes.Buffer
	limit int
	cut   bool
}

func (k *kept) Write(p []byte) (int, error) {
	free := k.limit - k.first.Len()
	if len(p) > free {
		k.cut = true
		k.first.Write(p[:free])
		return len(p), nil
	}
	return k.first.Write(p)
}
