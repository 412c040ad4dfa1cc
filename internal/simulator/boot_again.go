package simulator

import (
	"context"
	"slices"

	"github.com/oaictl/oaictl/internal/simulator/host"
)

// bootAgain is Boot, and anew each time that what the machines booted is gone: a
// cluster was deleted, and somebody boots its machines for the next. It ends with ctx.
func bootAgain(ctx context.Context, config BootConfig) error {
	for {
		machines, err := config.boot(ctx)
		if err != nil || len(machines) == 0 {
			return err
		}
		if err := config.awaitEnd(ctx, machines); err != nil {
			return err
		}
	}
}

// awaitEnd waits until the service has none of the InfraEnvs any more that machines
// have booted.
func (c *BootConfig) awaitEnd(ctx context.Context, machines []host.Machine) error {
	var booted []string
	known := false
	for {
		list, err := c.infraEnvs(ctx)
		if err == nil {
			if !known {
				booted, known = c.bootedBy(list, machines), true
			}
			if !slices.ContainsFunc(list, func(env infraEnv) bool { return slices.Contains(booted, env.ID) }) {
				return nil
			}
		}
		if err := c.Clock.Sleep(ctx, c.lookPause()); err != nil {
			return err
		}
	}
}

// bootedBy are the InfraEnvs that machines have booted. Those with a controller were
// told by it which, and not here: it is one of theirs.
func (c *BootConfig) bootedBy(list []infraEnv, machines []host.Machine) []string {
	var booted []string
	for i := range machines {
		if id := machines[i].InfraEnvID; id != "" {
			booted = append(booted, id)
			continue
		}
		for _, env := range list {
			if c.boots(&machines[i], env) {
				booted = append(booted, env.ID)
			}
		}
	}
	return booted
}
