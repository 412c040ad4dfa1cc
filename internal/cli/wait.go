package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/pkg/install"
)

// waitOptions are what `wait` needs and what its flags say.
type waitOptions struct {
	*app
	target
	For         string
	Timeout     time.Duration
	UserTimeout time.Duration
	Every       time.Duration

	until condition
}

// condition is what is waited for.
type condition struct {
	name  string // "installed", "ready", "3 hosts"
	text  string // "to be installed", "to have 3 hosts"
	met   func(*install.Observed) bool
	hosts int
}

func (a *app) waitCommand(run func(context.Context, *waitOptions) error) *cobra.Command {
	o := &waitOptions{app: a}
	command := &cobra.Command{
		Use:   "wait [cluster] NAME|ID|-f FILE --for installed|ready|hosts=N",
		Short: "Wait until a cluster is installed, ready, or has enough hosts",
		Long: `Wait until a cluster is installed, until it is ready to be installed (or further),
or until at least N hosts have registered and are connected. Nothing is written.
A cluster that can no longer get there ends the wait, with the same exit codes as
create cluster.`,
		Example: `  oaictl wait lab --for installed
  oaictl wait lab --for hosts=3 --timeout 30m
  oaictl wait -f cluster.yaml --for ready`,
		RunE: func(command *cobra.Command, given []string) error {
			if err := o.read(command, given, "cluster"); err != nil {
				return err
			}
			until, err := parseCondition(o.For)
			if err != nil {
				return err
			}
			o.until = until
			if run != nil {
				return run(command.Context(), o)
			}
			return o.run(command.Context())
		},
	}
	flags := command.Flags()
	o.declare(flags)
	flags.StringVar(&o.For, "for", "", "what to wait for: `installed|ready|hosts=N`")
	flags.DurationVar(&o.Timeout, "timeout", 4*time.Hour, "give up after this `TIME`")
	flags.DurationVar(&o.UserTimeout, "user-timeout", time.Hour, "give up when a person has been needed for this `TIME`")
	flags.DurationVar(&o.Every, "poll-interval", 5*time.Second, "`TIME` between looks")
	return command
}

// forInstalled is the condition that somebody who holds the installation keeps from
// being met.
const forInstalled = "installed"

func parseCondition(text string) (condition, error) {
	switch {
	case text == "":
		return condition{}, usagef("wait needs --for installed, ready or hosts=N")
	case text == forInstalled:
		return condition{name: text, text: "to be installed", met: func(o *install.Observed) bool {
			return o.Cluster.State == install.ClusterInstalled || o.Cluster.State == install.ClusterAddingHosts
		}}, nil
	case text == "ready":
		return condition{name: text, text: "to be ready", met: readyOrFurther}, nil
	}
	count, found := strings.CutPrefix(text, "hosts=")
	n, err := strconv.Atoi(count)
	if !found || err != nil || n < 1 {
		return condition{}, usagef("--for %q is none of installed, ready, hosts=N", text)
	}
	return condition{name: counted(n, "host"), text: "to have " + counted(n, "host"), hosts: n, met: func(o *install.Observed) bool { return connected(o.Hosts) >= n }}, nil
}

func readyOrFurther(o *install.Observed) bool {
	switch o.Cluster.State {
	case install.ClusterReady, install.ClusterPreparing, install.ClusterInstalling, install.ClusterFinalizing, install.ClusterInstalled, install.ClusterAddingHosts:
		return true
	}
	return false
}

// connected counts the hosts that the service hears of.
func connected(hosts []install.Host) int {
	n := 0
	for _, h := range hosts {
		switch h.State {
		case install.HostAbsent, install.HostDisconnected, install.HostFailed, install.HostCancelled:
		default:
			n++
		}
	}
	return n
}

func (o *waitOptions) run(ctx context.Context) error {
	started := o.clock.Now()
	service, err := o.dial(ctx)
	if err != nil {
		return err
	}
	seen, err := o.look(ctx, service, o.target)
	if err != nil {
		return err
	}
	shown := o.progress(ctx, o.clock)
	w := &waiting{waitOptions: o, name: seen.name(), sink: shown, started: started, earlier: seen.observed.Cluster.Preparation.Cancelled}
	code, failed := w.watch(ctx, service, seen)
	w.end(code, failed)
	shown.Close()
	if o.globals.Progress != progressJSON {
		if err := o.print(resultOf(w.result(code, failed))); err != nil {
			return errors.Join(failed, err)
		}
	}
	return failed
}

// result is what is printed at the end.
func (w *waiting) result(code install.Code, failed error) document.Result {
	doc := document.Result{Cluster: w.seen.ref.Name, ID: w.seen.ref.ID, State: string(w.seen.observed.Cluster.State), Version: w.seen.observed.Cluster.Version, ExitCode: int(code)}
	if failed != nil {
		doc.Message, doc.Next = plainError(failed), w.hint(install.NextOf(failed))
	}
	return doc
}

// fault is a wait that ended without what was waited for.
func (w *waiting) fault(code install.Code, next, format string, args ...any) error {
	return &install.Fault{Code: code, Op: "wait for", On: w.name + " " + w.until.text, Err: fmt.Errorf(format, args...), Next: next}
}
