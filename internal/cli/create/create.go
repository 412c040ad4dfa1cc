// Package create has the commands that run the loop, and those that show its state: create cluster, add-node, replace-node,
// plan, why and wait.
package create

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/runlog"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type createOptions struct {
	runOptions
	simulation
	ResendSecrets bool
}

// NewCluster is `create cluster`.
func NewCluster(a *app.App) *cobra.Command {
	o := &createOptions{runOptions: runOptions{App: a}}
	command := &cobra.Command{
		Use:     "cluster -f FILE",
		Aliases: []string{"clusters"},
		Short:   "Install the cluster that a file describes, or continue its installation",
		Args:    app.NoArguments,
		RunE:    app.Run(o.run),
	}
	flags := command.Flags()
	o.runOptions.declare(flags)
	o.simulation.declare(flags, "install on a simulated service and simulated machines")
	flags.BoolVar(&o.ResendSecrets, "resend-secrets", false, "send the pull secret and BMC passwords again")
	return command
}

func (o *createOptions) check() error {
	if err := o.runOptions.check("create cluster"); err != nil {
		return err
	}
	if o.Simulate && o.Detach {
		return app.Usagef("--simulate and --detach cannot be used together: the simulated service ends with this command")
	}
	return o.simulation.check(&o.runOptions)
}

func (o *createOptions) run(ctx context.Context) error {
	if err := o.check(); err != nil {
		return err
	}
	cluster, err := o.LoadToInstall(ctx, o.File, o.foreign)
	if err != nil {
		return err
	}
	desired := &model.Desired{Spec: cluster, Options: model.Options{
		Reimage: o.Reimage, Adopt: o.Adopt, ResendSecrets: o.ResendSecrets, RebootRunning: o.boot.RebootRunning, Run: newRunID(),
	}}
	if !o.Simulate {
		return o.carryOut(ctx, desired, o.dial)
	}
	if err := o.resultsApart(cluster); err != nil {
		return err
	}
	return o.carryOut(ctx, desired, func(ctx context.Context, log *runlog.Log) (*install.Client, func(), error) {
		return o.simulate(ctx, o.simulation, cluster, log)
	})
}

type addNodeOptions struct {
	runOptions
	AcceptControlPlane bool
	ToCluster          app.ToCluster
	Approval           app.Approval
	Until              string
	host               hostFlags
}

// untilReady and untilAdded are where add-node may end.
const (
	untilReady = "ready" // the nodes take work
	untilAdded = "added" // the service has nothing more to do
)

// NewAddNode is `add-node`.
func NewAddNode(a *app.App) *cobra.Command {
	o := &addNodeOptions{runOptions: runOptions{App: a}}
	command := &cobra.Command{
		Use:     "add-node -f FILE | --cluster NAME --name HOST --mac MAC",
		Aliases: []string{"add-nodes"},
		Short:   "Add the hosts of a file to its installed cluster that it does not have yet",
		Args:    app.NoArguments,
		RunE:    app.Run(o.run),
	}
	o.declare(command.Flags())
	o.host.declare(command.Flags())
	o.ToCluster.Declare(command.Flags())
	o.Approval.Declare(command.Flags())
	command.Flags().StringVar(&o.Until, "until", untilReady,
		"end once nodes are `ready|added`: take work, or have been installed and rebooted, as far as the service can see")
	command.Flags().BoolVar(&o.AcceptControlPlane, "accept-control-plane", false,
		"permit to install control plane machines that the cluster may have already")
	return command
}

func (o *addNodeOptions) run(ctx context.Context) error {
	if err := o.checkHosts("add-node"); err != nil {
		return err
	}
	cluster, err := o.hosts(ctx, func(c *spec.Cluster) (*spec.Cluster, error) { return c, nil })
	if err != nil {
		return err
	}
	o.Say("oaictl does not change the nodes that are part of %s. It only installs the machines that the cluster does not have.",
		cluster.Metadata.Name)
	return o.add(ctx, cluster)
}

// checkHosts checks which hosts are added, and how.
func (o *addNodeOptions) checkHosts(command string) error {
	switch given := o.host.given(); {
	case len(given) > 0 && o.File != "":
		return app.Usagef("-f and %s cannot be used together: the file contains the hosts to add", strings.Join(given, ", "))
	case len(given) > 0 && o.host.Cluster == "":
		return app.Usagef("%s needs --cluster NAME; or give -f FILE", strings.Join(given, ", "))
	case len(given) == 0 || o.File != "":
		if err := o.check(command); err != nil {
			return err
		}
	default:
		if err := o.checkRun(); err != nil {
			return err
		}
	}
	if o.Until != untilReady && o.Until != untilAdded {
		return app.Usagef("--until %q is not one of %s, %s", o.Until, untilReady, untilAdded)
	}
	return nil
}

// add adds the hosts of a file to its cluster, until their nodes take work.
func (o *addNodeOptions) add(ctx context.Context, cluster *spec.Cluster) error {
	desired := &model.Desired{Spec: cluster, Options: model.Options{
		Reimage: o.Reimage, Adopt: o.Adopt, AddNodes: true, AcceptControlPlane: o.AcceptControlPlane, RebootRunning: o.boot.RebootRunning,
		Unattended: !o.CanAsk(), ClusterKubeconfig: o.ToCluster.Kubeconfig,
	}}
	if err := o.Approval.Into(&desired.Options); err != nil {
		return err
	}
	if named, known := app.NamesOf(cluster); known {
		if err := app.CheckAllowed(&desired.Options, named); err != nil {
			return err
		}
	}
	if o.Until == untilReady {
		o.approves = desired.Options.Approve != model.ApproveOff
		o.ToCluster.Dir = o.Dir
		o.withNodes = func(service *install.Client, trace func(install.Call)) []install.Config {
			options := []install.Config{{Nodes: o.Nodes(service, o.ToCluster, cluster, trace)}}
			if desired.Options.Approve == model.ApproveAsk && o.CanAsk() {
				options = append(options, install.Config{Ask: o.askRequest})
			}
			return options
		}
	}
	return o.carryOut(ctx, desired, o.dial)
}

// runOptions are of the commands that work on a cluster until it is as a file says.
type runOptions struct {
	*app.App
	File         string
	Dir          string
	Detach       bool
	DryRun       bool
	Timeout      time.Duration
	UserTimeout  time.Duration
	PollInterval time.Duration
	Reimage      bool
	Adopt        string
	foreign      app.Foreign
	boot         bootOptions

	clusterClock clock.Clock // what the cluster lives by
	approves     bool        // the requests of kubelets for certificates
	told         []string    // what was shown of a run that leaves, which is not said again at its end
	// withNodes makes the client observe the installed cluster itself; nil: it does not.
	withNodes func(service *install.Client, trace func(install.Call)) []install.Config
}

func (o *runOptions) declare(flags *pflag.FlagSet) {
	flags.StringVarP(&o.File, "file", "f", "", "`FILE` with the cluster, - for standard input")
	flags.StringVar(&o.Dir, "dir", ".", "`DIR` below which results are written, as DIR/CLUSTER")
	flags.BoolVar(&o.Detach, "detach", false, "do what needs no waiting, say what is waited for, and leave")
	flags.BoolVar(&o.DryRun, "dry-run", false, "only show what would be done, as plan does")
	flags.DurationVar(&o.Timeout, "timeout", 4*time.Hour, "give up watching after this `TIME`; the install goes on")
	flags.DurationVar(&o.UserTimeout, "user-timeout", time.Hour, "give up watching when a person has been needed for this `TIME`")
	flags.DurationVar(&o.PollInterval, "poll-interval", 0, "`TIME` between looks (default: adaptive, 500ms to 10s)")
	flags.BoolVar(&o.Reimage, "reimage", false, "permit changes that make a new image, which hosts have to boot again")
	flags.StringVar(&o.Adopt, "adopt", "", "`ID` of a cluster that something else made, to take over")
	o.foreign.Declare(flags)
	o.boot.declare(flags)
}

func (o *runOptions) check(name string) error {
	if o.File == "" {
		return app.Usagef("%s needs -f FILE", name)
	}
	return o.checkRun()
}

// checkRun checks the flags that say how a run goes.
func (o *runOptions) checkRun() error {
	if err := app.CheckTimes(o.Timeout, o.UserTimeout, o.PollInterval); err != nil {
		return err
	}
	switch {
	case o.Detach && o.DryRun:
		return app.Usagef("--detach and --dry-run cannot be used together")
	case o.boot.given("output") && o.Globals.Progress == app.ProgressJSON:
		return app.Usagef("-o and --progress json cannot be used together: the last event contains the result")
	}
	return o.boot.check(o.Detach)
}

func (o *runOptions) dial(ctx context.Context, log *runlog.Log) (*install.Client, func(), error) {
	o.clusterClock = o.Clock
	service, err := o.DialWith(ctx, app.ClientConfig{Connection: o.Globals.Connection, Clock: o.Clock, Trace: o.Tracer(log.Exchange)})
	return service, func() {}, err
}

// carryOut is a dry run, or a run. service reaches the service, with a log if there is one.
func (o *runOptions) carryOut(ctx context.Context, desired *model.Desired,
	service func(context.Context, *runlog.Log) (*install.Client, func(), error)) error {
	cluster := desired.Spec
	if err := o.CheckBackend(cluster); err != nil {
		return err
	}
	if err := o.boot.checkHosts(o.File, desired.ToBoot().BootedByBMC(), o.Detach); err != nil {
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
		return o.show(ctx, to, desired)
	}
	log, err := o.openLog(ctx, cluster)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	log.Printf("%s, %s", app.ReadBuildInfo(), o.CommandLine())

	to, stop, err := service(ctx, log)
	if err != nil {
		return err
	}
	defer stop()
	machines, err := o.bootMachines(ctx, to, desired, log)
	if err != nil {
		return err
	}
	result, err := o.install(ctx, to, desired, machines, log)
	o.warnReading(result, desired, machines, err)
	if machines != nil {
		if err := errors.Join(machines.Close(), machines.forget()); err != nil {
			o.Warn("%v", err)
		}
	}
	return o.report(result, log.Path(), desired, machines, err)
}

// openLog fails where a folder takes no files, and so no kubeconfig either. A log alone
// that cannot be written ends no install.
func (o *runOptions) openLog(ctx context.Context, cluster *spec.Cluster) (*runlog.Log, error) {
	dir, err := app.Folder(o.clusterDir(cluster))
	if err != nil {
		return nil, err
	}
	failed := func(err error) {
		o.Warn("the log of this run cannot be written: %v", err)
	}
	log, err := runlog.Open(ctx, dir, o.Clock.Now, secretsOf(cluster)...)
	if err != nil {
		if err := app.TakesFiles(dir); err != nil {
			return nil, err
		}
		failed(err)
		return nil, nil
	}
	log.OnFailure(failed)
	return log, nil
}

func (o *runOptions) install(ctx context.Context, service *install.Client, desired *model.Desired, machines *bootedMachines,
	log *runlog.Log) (install.Result, error) {
	shown := o.Progress(ctx, o.clusterClock)
	defer shown.Close()
	var reporting sync.Mutex
	silent := false
	report := func(e model.Event) {
		reporting.Lock()
		defer reporting.Unlock()
		if again := e.Reason == reasonAnswers; e.Key == keySilent {
			if again && !silent {
				return // it was reported already
			}
			silent = !again
		}
		log.Event(e)
		shown.Event(e)
		if o.Detach {
			o.told = append(o.told, e.Message)
		}
	}
	defer o.TellSilence(func(s app.Silence) {
		e := model.Event{
			V: 1, Type: model.EventWarning, Cluster: desired.Spec.Metadata.Name, Time: o.clusterClock.Now(),
			Key: keySilent, Severity: model.SeverityWarning, Reason: reasonSilent, Message: s.Text,
		}
		if s.Again {
			e.Type, e.Severity, e.Reason = model.EventHint, model.SeverityInfo, reasonAnswers
		}
		report(e)
	})()
	options := []install.Config{
		{Files: install.Directory(o.Dir),
			Clock:        o.clusterClock,
			PollInterval: o.PollInterval,
			Timeout:      app.Limit(o.Timeout), UserTimeout: app.Limit(o.UserTimeout),
			Events: func(e model.Event) {
				e.Next, e.Message = o.completeAdvice(e.Next), o.approvalIn(e.Message)
				report(e)
			}},
	}
	if machines != nil {
		machines.report = report
		options = append(options, install.Config{Machines: machines})
	}
	if o.withNodes != nil {
		options = append(options, o.withNodes(service, o.Tracer(log.Exchange))...)
	}
	installer := service.With(options...)
	if o.Detach {
		return installer.Detach(ctx, desired)
	}
	return installer.Run(ctx, desired)
}

// What the service says of every host that was added, and what is so where oaictl approves requests.
const (
	leavesApproval = "Please check console for progress and to possibly approve pending CSRs"
	approvesItself = "oaictl approves the certificate requests of its node"
)

// approvalIn is a message of the service, which knows nothing of oaictl.
func (o *runOptions) approvalIn(message string) string {
	if !o.approves {
		return message
	}
	return strings.Replace(message, leavesApproval, approvesItself, 1)
}

// The keys of events that report that the service does not answer, and that it does again: a run uses the same ones.
const (
	keySilent     = "service/silent"
	reasonSilent  = "ServiceUnreachable"
	reasonAnswers = "ServiceAnswers"
)

// hosts are those that are added, with the cluster that they are added to; only takes of a file what
// is meant.
func (o *addNodeOptions) hosts(ctx context.Context, only func(*spec.Cluster) (*spec.Cluster, error)) (cluster *spec.Cluster, err error) {
	if o.File != "" {
		cluster, err = o.LoadAny(ctx, o.File, o.foreign)
	} else {
		cluster, err = o.host.nodes(ctx, o.App, o.foreign)
	}
	if err == nil {
		cluster, err = only(cluster)
	}
	if err != nil {
		return nil, err
	}
	return o.known(ctx, cluster)
}

// known is the cluster of a file of kind Nodes as the service knows it. Any other file says itself what its cluster is.
func (o *runOptions) known(ctx context.Context, cluster *spec.Cluster) (*spec.Cluster, error) {
	if cluster.Existing() == "" {
		return cluster, nil
	}
	service, err := o.Dial(ctx)
	if err != nil {
		return nil, err
	}
	found, err := service.Inspect(ctx, install.Target{Name: cluster.Existing()})
	if err != nil {
		return nil, err
	}
	if cluster.Existing() == found.Ref.ID && !found.Ref.Owned { // it was named by what nothing else has
		o.Adopt = found.Ref.ID
	}
	at := spec.Target{Name: found.Ref.Name, BaseDomain: found.Ref.BaseDomain}
	if c := found.Observed.Cluster; c != nil {
		at.Version, at.Arch = minorOf(c.Version), spec.Arch(c.Settings[model.SettingArch].Text())
	}
	return cluster.AddedTo(at)
}

// minorOf is a version as files have it: 4.20 of 4.20.33.
func minorOf(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// askRequest asks a person whether a request for a certificate is approved.
func (o *addNodeOptions) askRequest(ctx context.Context, v model.RequestVerdict) (bool, error) {
	question := fmt.Sprintf("approve the request %s of %s for a %s certificate?", v.Name, v.Host, v.Kind)
	if v.Message != "" {
		o.Say("%s", v.Message)
	}
	return o.AskWithin(ctx, question)
}

func (o *runOptions) clusterDir(c *spec.Cluster) string {
	return filepath.Join(o.Dir, c.Metadata.Name)
}
