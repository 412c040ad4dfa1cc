package create

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

type waitOptions struct {
	*app.App
	app.Target
	For         string
	Timeout     time.Duration
	UserTimeout time.Duration
	Every       time.Duration
}

// NewWait is `wait`.
func NewWait(a *app.App) *cobra.Command {
	o := &waitOptions{App: a}
	command := &cobra.Command{
		Use:   "wait [cluster] NAME|ID|-f FILE --for installed|ready|hosts=N",
		Short: "Wait until a cluster is installed, ready, or has enough hosts",
		RunE:  o.Then(o.run, "cluster"),
	}
	flags := command.Flags()
	o.Declare(flags)
	flags.StringVar(&o.For, "for", "", "what to wait for: `installed|ready|hosts=N`")
	flags.DurationVar(&o.Timeout, "timeout", 4*time.Hour, "give up after this `TIME`")
	flags.DurationVar(&o.UserTimeout, "user-timeout", time.Hour, "give up when a person has been needed for this `TIME`")
	flags.DurationVar(&o.Every, "poll-interval", 5*time.Second, "`TIME` between looks")
	return command
}

// parseCondition has the condition in words, too: "to be installed", "to have 3 hosts".
func parseCondition(word string) (until install.Condition, text string, err error) {
	switch word {
	case "":
		return until, "", app.Usagef("wait needs --for installed, ready or hosts=N")
	case "installed":
		return install.Condition{Name: word, Whole: true, Met: func(o *model.Observed) bool {
			return o.Cluster.State == model.ClusterInstalled || o.Cluster.State == model.ClusterAddingHosts
		}}, "to be installed", nil
	case "ready":
		return install.Condition{Name: word, Met: func(o *model.Observed) bool { return slices.Contains(readyOrFurther[:], o.Cluster.State) }},
			"to be ready", nil
	}
	count, found := strings.CutPrefix(word, "hosts=")
	n, err := strconv.Atoi(count)
	if !found || err != nil || n < 1 {
		return until, "", app.Usagef("--for %q is not one of installed, ready, hosts=N", word)
	}
	hosts := listtext.CountText(n, "host")
	return install.Condition{Name: hosts, Met: func(o *model.Observed) bool { return connected(o.Hosts) >= n }, Regardless: true},
		"to have " + hosts, nil
}

var readyOrFurther = [...]model.ClusterState{
	model.ClusterReady, model.ClusterPreparing, model.ClusterInstalling, model.ClusterFinalizing, model.ClusterInstalled,
	model.ClusterAddingHosts,
}

func connected(hosts []model.Host) int {
	n := 0
	for _, h := range hosts {
		switch h.State {
		case model.HostAbsent, model.HostDisconnected, model.HostFailed, model.HostCancelled:
		default:
			n++
		}
	}
	return n
}

func (o *waitOptions) run(ctx context.Context) error {
	if err := app.CheckTimes(o.Timeout, o.UserTimeout, o.Every); err != nil {
		return err
	}
	until, text, err := parseCondition(o.For)
	if err != nil {
		return err
	}
	service, seen, err := app.DialFor(ctx, o.App, o.Target, o.ObserveCluster)
	if err != nil {
		return err
	}
	shown := o.Progress(ctx, o.Clock)
	installer := service.With(install.Config{Events: shown.Event,
		PollInterval: max(o.Every, 100*time.Millisecond), Timeout: app.Limit(o.Timeout), UserTimeout: app.Limit(o.UserTimeout)})
	result, failed := installer.Wait(ctx, seen.Observed, until)
	shown.Close()
	if fault, is := errors.AsType[*model.Fault](failed); is {
		ended := *fault
		ended.Op, ended.On = "wait for", seen.FullName()+" "+text
		switch {
		case result.Verdict == model.VerdictFailed:
			ended.Next = model.Command("why", seen.Ref.Name)
		case ended.Code == model.CodeTimeout:
			ended.Next = model.Advicef("%s", o.CommandLine())
		}
		failed = &ended
	}
	if o.Globals.Progress != app.ProgressJSON {
		if err := o.Print(resultOf(o.result(seen, result, failed))); err != nil {
			return errors.Join(failed, err)
		}
	}
	return failed
}

func (o *waitOptions) result(seen *install.Found, result install.Result, failed error) output.Result {
	observed := seen.Observed
	if result.Observed != nil && result.Observed.Cluster != nil {
		observed = result.Observed
	}
	doc := output.Result{Cluster: seen.Ref.Name, ID: seen.Ref.ID, State: string(observed.Cluster.State), Version: observed.Cluster.Version,
		ExitCode: result.ExitCode}
	if failed != nil {
		doc.Message, doc.Next = app.PlainError(failed), o.Hint(model.FaultOf(failed).Next)
	}
	return doc
}
