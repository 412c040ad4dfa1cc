package cli

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/runlog"
	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/boot"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// runOptions are what commands need that work on a cluster until it is as a
// file says, and what their flags say.
type runOptions struct {
	*app
	File         string
	Dir          string
	Detach       bool
	DryRun       bool
	Timeout      time.Duration
	UserTimeout  time.Duration
	PollInterval time.Duration
	Reimage      bool
	Adopt        string
	foreign      foreign
	boot         bootOptions

	clusterClock clock.Clock // what the cluster lives by
	explicit     bool        // -o was given on the command line
}

func (o *runOptions) declare(flags *pflag.FlagSet) {
	flags.StringVarP(&o.File, "file", "f", "", "`FILE` with the cluster, - for standard input")
	flags.StringVar(&o.Dir, "dir", ".", "`DIR` below which results are written, as DIR/CLUSTER")
	flags.BoolVar(&o.Detach, "detach", false, "do what needs no waiting, say what is waited for, and leave")
	flags.BoolVar(&o.DryRun, "dry-run", false, "only show what would be done, as plan does")
	flags.DurationVar(&o.Timeout, "timeout", 4*time.Hour, "give up watching after this `TIME`; the install goes on")
	flags.DurationVar(&o.UserTimeout, "user-timeout", time.Hour, "give up watching when a person has been needed for this `TIME`")
	flags.DurationVar(&o.PollInterval, "poll-interval", 0, "`TIME` between looks (default: adaptive, 1s to 10s)")
	flags.BoolVar(&o.Reimage, "reimage", false, "permit changes that make a new image, which hosts have to boot again")
	flags.StringVar(&o.Adopt, "adopt", "", "`ID` of a cluster that something else made, to take over")
	o.foreign.declare(flags)
	o.boot.declare(flags)
}

// check refuses what means nothing to the command of a name.
func (o *runOptions) check(name string) error {
	switch {
	case o.File == "":
		return usagef("%s needs -f FILE", name)
	case o.Timeout < 0 || o.UserTimeout < 0 || o.PollInterval < 0:
		return usagef("a time is never negative")
	case o.Detach && o.DryRun:
		return usagef("--detach and --dry-run exclude each other")
	case o.explicit && o.globals.Progress == progressJSON:
		return usagef("-o and --progress json exclude each other: the last event carries the result")
	}
	return o.boot.check(o.Detach)
}

// carryOut shows what would be done to a cluster, or does it and tells how it
// ended. service reaches the service, with a log where there is one.
func (o *runOptions) carryOut(ctx context.Context, desired *install.Desired, service func(context.Context, *runlog.Log) (*install.Client, func(), error)) error {
	cluster := desired.Spec
	if err := o.fitsBackend(cluster); err != nil {
		return err
	}
	if err := o.boot.fits(o.File, install.BootedByBMC(boot.ToBoot(desired)), o.Detach); err != nil {
		return err
	}
	if err := o.checkBase(ctx, cluster); err != nil {
		return err
	}
	if o.DryRun {
		to, stop, err := service(ctx, nil)
		if err != nil {
			return err
		}
		defer stop()
		return (&planOptions{app: o.app, File: o.File, Dir: o.Dir, BMCProxy: o.boot.BMCProxy, MediaURL: o.boot.MediaURL, MediaListen: o.boot.MediaListen}).show(ctx, to, desired)
	}
	log, err := o.openLog(ctx, cluster)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	log.Printf("%s, %s", readBuildInfo(), o.commandLine())

	to, stop, err := service(ctx, log)
	if err != nil {
		return err
	}
	defer stop()
	boot, err := o.bootHandsFree(ctx, to, desired, log)
	if err != nil {
		return err
	}
	result, err := o.install(ctx, to, desired, boot, log)
	o.tellReading(result, desired, boot, err)
	if boot != nil {
		if err := boot.close(); err != nil {
			o.warn("%v", err)
		}
	}
	return o.report(result, log.Path(), desired, boot, err)
}

// openLog opens the log. A folder that takes no files would not take the
// kubeconfig either, and ends the run before it begins; a log alone that cannot
// be written is no reason to install nothing: it is told once.
func (o *runOptions) openLog(ctx context.Context, cluster *spec.Cluster) (*runlog.Log, error) {
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

// install runs the loop and shows it.
func (o *runOptions) install(ctx context.Context, service *install.Client, desired *install.Desired, boot *handsFree, log *runlog.Log) (install.Result, error) {
	shown := o.progress(ctx, o.clusterClock)
	defer shown.Close()
	var telling sync.Mutex
	tell := func(e install.Event) {
		telling.Lock()
		defer telling.Unlock()
		log.Event(e)
		shown.Event(e)
	}
	options := []install.Option{
		install.WithFiles(install.NewFiles(o.Dir)),
		install.WithClock(o.clusterClock),
		install.WithPollInterval(o.PollInterval),
		install.WithTimeouts(o.Timeout, o.UserTimeout),
		install.WithEvents(func(e install.Event) {
			e.Next = o.placed(e.Next)
			tell(e)
		}),
	}
	if boot != nil {
		boot.tell = tell
		options = append(options, install.WithMachines(boot))
	}
	installer := service.With(options...)
	if o.Detach {
		return installer.Detach(ctx, desired)
	}
	return installer.Run(ctx, desired)
}

func (o *runOptions) clusterDir(c *spec.Cluster) string {
	return filepath.Join(o.Dir, c.Metadata.Name)
}
