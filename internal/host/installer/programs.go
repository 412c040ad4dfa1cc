//go:build linux

package installer

import (
	"context"
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/internal/host/machine"
)

// program runs a program of the live system.
func (r *run) program(ctx context.Context, name string, args ...string) (string, error) {
	result, err := r.Runner.Run(ctx, machine.Command{Name: name, Args: args})
	return strings.TrimSpace(string(result.Stdout)), err
}

// command is a program with its arguments, in a list that is run in order.
type command []string

// programs runs programs one after the other, until one fails.
func (r *run) programs(ctx context.Context, commands ...command) error {
	for _, c := range commands {
		if _, err := r.program(ctx, c[0], c[1:]...); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) systemctl(ctx context.Context, args ...string) error {
	if _, err := r.program(ctx, "systemctl", args...); err != nil {
		return fmt.Errorf("control the services of this machine: %w", err)
	}
	return nil
}

// unitState is the state of a unit, such as active, activating, inactive or failed.
func (r *run) unitState(ctx context.Context, unit string) (string, error) {
	return r.program(ctx, "systemctl", "show", "-P", "ActiveState", unit)
}

const ironicAgent = "ironic-agent.service"

// hasIronic reports whether Ironic boots this machine.
func (r *run) hasIronic(ctx context.Context) (bool, error) {
	units, err := r.program(ctx, "systemctl", "list-units", "--no-legend", ironicAgent)
	if err != nil {
		return false, fmt.Errorf("find out whether Ironic boots this machine: %w", err)
	}
	return strings.Contains(units, ironicAgent), nil
}
