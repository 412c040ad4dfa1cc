// Package create has the commands that bring a cluster to what its file says, and those that
// say how far it is: create cluster, add-node, plan, why and wait.
package create

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/runlog"
	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// createOptions are what `create cluster` needs and what its flags say.
type createOptions struct {
	runOptions
	Simulate      bool
	Speed         float64
	Seed          int64
	Scenario      string
	ResendSecrets bool
}

// NewCluster is `create cluster`.
func NewCluster(a *base.App) *cobra.Command {
	o := &createOptions{runOptions: runOptions{App: a}}
	command := &cobra.Command{
		Use:     "cluster -f FILE",
		Aliases: []string{"clusters"},
		Short:   "Install the cluster that a file describes, or go on where things stand",
		Long: `Install the cluster that a file describes, or go on where things stand.

What is there already is found and used; what is missing is done; then oaictl
waits until the cluster is installed and its kubeconfig is in DIR/CLUSTER/auth.
It can be stopped at any time. The same command goes on from there, on this
machine or another, and does nothing at all once everything is done.

--simulate installs on a service and machines inside this process, 300 times as
fast as in life: nothing outside is touched, and nothing is left but the files.`,
		Example: `  oaictl create cluster -f cluster.yaml --service-url https://assisted.example.com
  oaictl create cluster -f cluster.yaml --backend hub
  oaictl create cluster -f cluster.yaml --simulate
  oaictl create cluster -f cluster.yaml --dry-run --service-url https://assisted.example.com`,
		Args: base.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			o.explicit = command.Flags().Changed("output")
			if err := o.check(command); err != nil {
				return err
			}
			return o.run(command.Context())
		},
	}
	flags := command.Flags()
	o.declare(flags)
	flags.BoolVar(&o.Simulate, "simulate", false, "install on a simulated service and simulated machines")
	flags.Float64Var(&o.Speed, "speed", base.SimulateSpeed, "`N` times as fast as in life, with --simulate")
	flags.Int64Var(&o.Seed, "seed", 1, "`N` that decides chance, with --simulate")
	flags.StringVar(&o.Scenario, "scenario", "", "`FILE` with trouble to make, with --simulate")
	flags.BoolVar(&o.ResendSecrets, "resend-secrets", false, "send the pull secret and BMC passwords again")
	return command
}

// check refuses combinations of flags that mean nothing.
func (o *createOptions) check(command *cobra.Command) error {
	if err := o.runOptions.check("create cluster"); err != nil {
		return err
	}
	switch {
	case o.Simulate && o.Detach:
		return base.Usagef("--simulate and --detach exclude each other: the simulated service ends with this command")
	case o.Simulate && command.Flags().Changed("service-url"):
		return base.Usagef("--simulate and --service-url exclude each other")
	case o.Simulate && o.Globals.Backend == base.BackendHub:
		return base.Usagef("--simulate plays a REST service, and no hub: a hub needs an API server; play one on yours with `oaictl simulator hub --kubeconfig FILE -f FILE`, or give --backend rest")
	case o.Simulate && command.Flags().Changed("bmc-proxy"):
		return base.Usagef("--simulate and --bmc-proxy exclude each other: the BMCs are simulated too")
	case o.Simulate && o.Speed <= 0:
		return base.Usagef("--speed has to be above zero")
	}
	for _, flag := range []string{"speed", "seed", "scenario"} {
		if !o.Simulate && command.Flags().Changed(flag) {
			return base.Usagef("--%s goes with --simulate", flag)
		}
	}
	return nil
}

func (o *createOptions) run(ctx context.Context) error {
	cluster, err := o.LoadToInstall(ctx, o.File, o.foreign)
	if err != nil {
		return err
	}
	desired := &install.Desired{Spec: cluster, Options: install.Options{
		Reimage: o.Reimage, Adopt: o.Adopt, ResendSecrets: o.ResendSecrets, RebootRunning: o.boot.RebootRunning, Run: newRunID(),
	}}
	return o.carryOut(ctx, desired, func(ctx context.Context, log *runlog.Log) (*install.Client, func(), error) {
		return o.service(ctx, cluster, log)
	})
}

// service is the one that the flags name, or a simulated one.
func (o *createOptions) service(ctx context.Context, cluster *spec.Cluster, log *runlog.Log) (*install.Client, func(), error) {
	to := base.ClientConfig{Connection: o.Globals.Connection, Clock: o.Clock, Trace: o.Tracer(log.Exchange)}
	o.clusterClock = o.Clock
	o.Globals.Simulated = o.Simulate
	if !o.Simulate {
		service, err := o.DialWith(ctx, to)
		return service, func() {}, err
	}
	trouble, err := base.LoadScenario(o.Scenario)
	if err != nil {
		return nil, nil, err
	}
	o.clusterClock = clock.Scaled(o.Speed)
	running, err := o.StartSimulator(ctx, simulator.Config{Clock: o.clusterClock, Seed: o.Seed, Scenario: trouble, Cluster: cluster, Logf: log.Printf})
	if err != nil {
		return nil, nil, err
	}
	o.boot.BMCProxy = running.BMCProxy
	if !o.boot.given("media-listen") {
		o.boot.MediaListen = base.SimulatedMedia
	}
	to.Connection = base.Connection{Backend: base.BackendREST, ServiceURL: running.URL}
	to.Clock = o.clusterClock
	service, err := o.DialWith(ctx, to)
	return service, func() {
		if err := running.Stop(); err != nil {
			o.Warn("the simulator: %v", err)
			log.Printf("the simulator: %v", err)
		}
	}, err
}
