package cli

import (
	"context"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/runlog"
	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// createOptions are what `create cluster` needs and what its flags say.
type createOptions struct {
	*app
	File          string
	Dir           string
	Simulate      bool
	Speed         float64
	Seed          int64
	Scenario      string
	Detach        bool
	DryRun        bool
	Timeout       time.Duration
	UserTimeout   time.Duration
	PollInterval  time.Duration
	Reimage       bool
	Adopt         string
	ResendSecrets bool

	clusterClock clock.Clock // what the install lives by
	explicit     bool        // -o was given on the command line
}

func (a *app) createCommand() *cobra.Command {
	return group("create", "Create a cluster", a.createClusterCommand(nil))
}

// createClusterCommand is `create cluster`. run stands in for the work, in
// tests of the flags.
func (a *app) createClusterCommand(run func(context.Context, *createOptions) error) *cobra.Command {
	o := &createOptions{app: a}
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
  oaictl create cluster -f cluster.yaml --simulate
  oaictl create cluster -f cluster.yaml --dry-run --service-url https://assisted.example.com`,
		Args: args(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			o.explicit = command.Flags().Changed("output")
			if err := o.check(command); err != nil {
				return err
			}
			if run != nil {
				return run(command.Context(), o)
			}
			return o.run(command.Context())
		},
	}
	flags := command.Flags()
	flags.StringVarP(&o.File, "file", "f", "", "`FILE` with the cluster, - for standard input")
	flags.StringVar(&o.Dir, "dir", ".", "`DIR` below which results are written, as DIR/CLUSTER")
	flags.BoolVar(&o.Simulate, "simulate", false, "install on a simulated service and simulated machines")
	flags.Float64Var(&o.Speed, "speed", simulateSpeed, "`N` times as fast as in life, with --simulate")
	flags.Int64Var(&o.Seed, "seed", 1, "`N` that decides chance, with --simulate")
	flags.StringVar(&o.Scenario, "scenario", "", "`FILE` with trouble to make, with --simulate")
	flags.BoolVar(&o.Detach, "detach", false, "do what needs no waiting, say what is waited for, and leave")
	flags.BoolVar(&o.DryRun, "dry-run", false, "only show what would be done, as plan does")
	flags.DurationVar(&o.Timeout, "timeout", 4*time.Hour, "give up watching after this `TIME`; the install goes on")
	flags.DurationVar(&o.UserTimeout, "user-timeout", time.Hour, "give up watching when a person has been waited for for this `TIME`")
	flags.DurationVar(&o.PollInterval, "poll-interval", 0, "`TIME` between looks (default: adaptive, 1s to 10s)")
	flags.BoolVar(&o.Reimage, "reimage", false, "permit changes that make a new image, which hosts have to boot again")
	flags.StringVar(&o.Adopt, "adopt", "", "`ID` of a cluster that something else made, to take over")
	flags.BoolVar(&o.ResendSecrets, "resend-secrets", false, "send the pull secret and BMC passwords again")
	return command
}

// check refuses combinations of flags that mean nothing.
func (o *createOptions) check(command *cobra.Command) error {
	switch {
	case o.File == "":
		return usagef("create cluster needs -f FILE")
	case o.Timeout < 0 || o.UserTimeout < 0 || o.PollInterval < 0:
		return usagef("a time is never negative")
	case o.Detach && o.DryRun:
		return usagef("--detach and --dry-run exclude each other")
	case o.Simulate && o.Detach:
		return usagef("--simulate and --detach exclude each other: the simulated service ends with this command")
	case o.Simulate && command.Flags().Changed("service-url"):
		return usagef("--simulate and --service-url exclude each other")
	case o.Simulate && o.Speed <= 0:
		return usagef("--speed has to be above zero")
	case o.explicit && o.globals.Progress == progressJSON:
		return usagef("-o and --progress json exclude each other: the last event carries the result")
	}
	for _, flag := range []string{"speed", "seed", "scenario"} {
		if !o.Simulate && command.Flags().Changed(flag) {
			return usagef("--%s goes with --simulate", flag)
		}
	}
	return nil
}

func (o *createOptions) run(ctx context.Context) error {
	cluster, err := spec.Load(ctx, o.File, o.specEnv())
	if err != nil {
		return err
	}
	desired := &install.Desired{Spec: cluster, Options: install.Options{
		Reimage: o.Reimage, Adopt: o.Adopt, ResendSecrets: o.ResendSecrets, Run: newRunID(),
	}}
	if o.DryRun {
		service, stop, err := o.service(ctx, cluster, nil)
		if err != nil {
			return err
		}
		defer stop()
		return (&planOptions{app: o.app, Dir: o.Dir}).show(ctx, service, desired)
	}
	log, err := o.openLog(ctx, cluster)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	log.Printf("%s, %s", readBuildInfo(), o.commandLine())

	service, stop, err := o.service(ctx, cluster, log)
	if err != nil {
		return err
	}
	defer stop()
	result, err := o.install(ctx, service, desired, log)
	return o.report(result, log.Path(), cluster, err)
}

// openLog opens the log. A folder that takes no files would not take the
// kubeconfig either, and ends the run before it begins; a log alone that cannot
// be written is no reason to install nothing: it is told once.
func (o *createOptions) openLog(ctx context.Context, cluster *spec.Cluster) (*runlog.Log, error) {
	dir, err := folder(o.clusterDir(cluster))
	if err != nil {
		return nil, err
	}
	failed := func(err error) {
		o.warn("the log of this run cannot be written: %v", err)
	}
	log, err := runlog.Open(ctx, dir, o.clock.Now, secretsOf(cluster)...)
	if err != nil {
		if err := takesFiles(dir); err != nil {
			return nil, err
		}
		failed(err)
		return nil, nil
	}
	log.OnFailure(failed)
	return log, nil
}

// service is the one that the flags name, or a simulated one.
func (o *createOptions) service(ctx context.Context, cluster *spec.Cluster, log *runlog.Log) (remote, func(), error) {
	to := line{connection: o.globals.connection, clock: o.clock, trace: o.tracer(log.Exchange)}
	o.clusterClock = o.clock
	o.globals.vanishes = o.Simulate
	if !o.Simulate {
		service, err := o.dialWith(ctx, to)
		return service, func() {}, err
	}
	trouble, err := loadScenario(o.Scenario)
	if err != nil {
		return nil, nil, err
	}
	o.clusterClock = clock.Scaled(o.Speed)
	url, stop, err := o.simulate(ctx, simulation{clock: o.clusterClock, seed: o.Seed, scenario: trouble, cluster: cluster, log: log.Printf})
	if err != nil {
		return nil, nil, err
	}
	to.connection = connection{Backend: backendREST, ServiceURL: url}
	to.clock = o.clusterClock
	service, err := o.dialWith(ctx, to)
	return service, func() {
		if err := stop(); err != nil {
			o.warn("the simulator: %v", err)
			log.Printf("the simulator: %v", err)
		}
	}, err
}

// install runs the loop and shows it.
func (o *createOptions) install(ctx context.Context, service remote, desired *install.Desired, log *runlog.Log) (install.Result, error) {
	shown := o.progress(ctx, o.clusterClock)
	defer shown.Close()
	installer := install.New(service,
		install.WithFiles(install.NewFiles(o.Dir)),
		install.WithClock(o.clusterClock),
		install.WithPollInterval(o.PollInterval),
		install.WithTimeouts(o.Timeout, o.UserTimeout),
		install.WithEvents(func(e install.Event) {
			log.Event(e)
			shown.Event(e)
		}),
	)
	if o.Detach {
		return installer.Detach(ctx, desired)
	}
	return installer.Run(ctx, desired)
}

func (o *createOptions) clusterDir(c *spec.Cluster) string {
	return filepath.Join(o.Dir, c.Metadata.Name)
}
