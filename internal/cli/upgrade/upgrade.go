// Package upgrade has the command that brings an installed cluster to another version of OpenShift.
package upgrade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/cli/progress"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/node"
	"github.com/oaictl/oaictl/pkg/install/upgrade"
)

type clusterOptions struct {
	*app.App
	app.Target
	ToCluster app.ToCluster
	To        string
	Detach    bool
	Timeout   time.Duration
	Every     time.Duration

	found  *install.Found
	client *install.Client
	plane  *node.Plane
	// turn looks at the cluster once, and asks it for what follows if it may.
	turn   func(ctx context.Context, ask bool) (*upgrade.State, upgrade.Decision, error)
	shown  progress.Sink
	said   string // the last message of the update
	warned map[string]bool
	asked  bool // the cluster has been asked, by this command or before
}

// NewCluster is `upgrade cluster`.
func NewCluster(a *app.App) *cobra.Command {
	o := &clusterOptions{App: a, warned: map[string]bool{}}
	command := &cobra.Command{
		Use:   "cluster NAME|ID|-f FILE [--to VERSION]",
		Short: "Show which versions an installed cluster can be updated to, or update it",
	}
	flags := command.Flags()
	command.RunE = o.Then(func(ctx context.Context) error {
		o.To = strings.TrimPrefix(o.To, "v")
		if flags.Changed("to") && o.To == "" { // an empty variable in a script must not end as an update that is done
			return app.Usagef("--to needs a VERSION such as 4.20.5")
		}
		return o.run(ctx)
	}, "cluster")
	o.Declare(flags)
	flags.StringVar(&o.To, "to", "", "ask for the update to this `VERSION`, and wait until it is complete")
	flags.StringVar(&o.ToCluster.Dir, "dir", ".", "`DIR` below which the cluster's results are, as DIR/CLUSTER")
	o.ToCluster.Declare(flags)
	flags.BoolVar(&o.Detach, "detach", false, "end once the cluster has been asked, and do not wait")
	flags.DurationVar(&o.Timeout, "timeout", 4*time.Hour, "give up waiting after this `TIME`; 0 means never")
	flags.DurationVar(&o.Every, "poll-interval", 15*time.Second, "`TIME` between looks")
	return command
}

func (o *clusterOptions) run(ctx context.Context) error {
	if o.Detach && o.To == "" {
		return app.Usagef("--detach needs --to VERSION: without it nothing is asked for")
	}
	if err := app.CheckTimes(o.Timeout, o.Every); err != nil {
		return err
	}
	service, found, err := app.DialFor(ctx, o.App, o.Target, o.ObserveCluster)
	if err != nil {
		return err
	}
	o.found = found
	o.plane = o.Nodes(service, o.ToCluster, found.Spec, o.Tracer(nil))
	o.client = service.With(install.Config{Nodes: o.plane})
	o.turn = o.look
	if o.To == "" {
		return o.show(ctx)
	}
	o.shown = o.Progress(ctx, o.Clock)
	state, decision, failed := o.upgrade(ctx)
	code := endCode(ctx, failed)
	end := model.Event{Type: model.EventRun, State: string(decision.Verdict), Message: decision.Message, ExitCode: &code}
	if failed != nil {
		end.Severity, end.Message, end.Next = model.SeverityError, app.PlainError(failed), model.FaultOf(failed).Next
	}
	o.tell(end)
	o.shown.Close()
	if o.Globals.Progress == app.ProgressJSON || state == nil || failed != nil && !o.Globals.Format.Machine() {
		return failed
	}
	return errors.Join(failed, o.report(output.OfUpgrade(found.FullName(), o.To, state, &decision)))
}

// endCode is the exit code of a run. An interrupt outranks the error that it caused.
func endCode(ctx context.Context, failed error) int {
	if by := app.InterruptOf(ctx); by != nil && failed != nil {
		return int(by.Code)
	}
	return int(app.CodeOf(failed))
}

// reach looks at the cluster, which is checked to be the right one.
func (o *clusterOptions) reach(ctx context.Context) (*model.Spoke, error) {
	observed, err := o.client.Reach(ctx, "upgrade", o.found.Desired(), o.found.Observed)
	if err != nil {
		return nil, err
	}
	return observed.Spoke, nil
}

// want is a version of the cluster that was named, and of no other.
func (o *clusterOptions) want(version string) *upgrade.Want {
	want := &upgrade.Want{Version: version}
	if c := o.found.Observed.Cluster; c != nil {
		want.ClusterID = c.OpenShiftID
	}
	return want
}

// show prints how the cluster stands, and asks it for nothing.
func (o *clusterOptions) show(ctx context.Context) error {
	spoke, err := o.reach(ctx)
	if err != nil {
		return err
	}
	state, decision, err := o.plane.Upgrade(ctx, o.want(""), false)
	if err == nil && state.Next() != "" {
		state, decision, err = o.plane.Upgrade(ctx, o.want(state.Next()), false)
	}
	if err != nil {
		return o.unread(err)
	}
	u := output.OfUpgrade(o.found.FullName(), state.Next(), state, &decision)
	for i := range spoke.Operators {
		if operator := &spoke.Operators[i]; !operator.Well() {
			u.InTheWay = append(u.InTheWay, fmt.Sprintf("ClusterOperator %s is %s: %s", operator.Name, illness(operator),
				redact.Text(operator.Message)))
		}
	}
	if err := o.report(u); err != nil {
		return err
	}
	next := u.To
	if i := slices.IndexFunc(u.Updates, func(u output.Update) bool { return u.Recommended }); next == "" && i >= 0 {
		next = u.Updates[i].Version
	}
	if next != "" && u.Version != "" {
		o.Say("Next: %s", o.Hint(o.command(next)))
	}
	return nil
}

func illness(o *model.ClusterOperator) string {
	if o.Degraded {
		return "degraded"
	}
	return "not available"
}

// command is the one that updates the cluster to a version, or that waits until it is.
func (o *clusterOptions) command(version string) model.Advice {
	return model.Command("upgrade cluster", listtext.Quoted(o.found.Ref.Name), "--to", listtext.Quoted(version))
}

// unread completes the error of a cluster that was reached and does not answer.
func (o *clusterOptions) unread(err error) error {
	fault, is := errors.AsType[*model.Fault](err)
	if !is {
		return err
	}
	named := *fault
	named.On = o.found.FullName()
	named.Next = cmp.Or(named.Next, "check that the API server of the cluster can be reached from here, and run the same command again")
	return &named
}

// upgrade asks for the wanted version, and waits until the cluster runs it. What it has seen last stands beside the error.
func (o *clusterOptions) upgrade(ctx context.Context) (state *upgrade.State, decision upgrade.Decision, err error) {
	began := o.Clock.Now()
	for {
		seen, decided, err := o.turn(ctx, !o.asked)
		switch {
		case err == nil:
			state, decision = seen, decided
			if over, err := o.follow(state, &decision); over {
				return state, decision, err
			}
		case ctx.Err() != nil, state == nil, isFinal(err):
			return state, decision, o.unread(err)
		default: // its API servers restart in an update, one after the other
			o.warn(app.PlainError(err))
		}
		pause := max(o.Every, 100*time.Millisecond)
		if o.Timeout > 0 { // zero is no limit
			left := o.Timeout - o.Clock.Now().Sub(began)
			if left <= 0 {
				return state, decision, o.late(&decision)
			}
			pause = min(pause, left)
		}
		if err := o.Clock.Sleep(ctx, pause); err != nil {
			return state, decision, err
		}
	}
}

// look reads how the cluster stands, which is checked to be the right one each time.
func (o *clusterOptions) look(ctx context.Context, ask bool) (*upgrade.State, upgrade.Decision, error) {
	if _, err := o.reach(ctx); err != nil {
		return nil, upgrade.Decision{}, err
	}
	return o.plane.Upgrade(ctx, o.want(o.To), ask)
}

// isFinal reports whether the next look would bring the same error.
func isFinal(err error) bool {
	fault, is := errors.AsType[*model.Fault](err)
	return is && (fault.Permanent || fault.Code == model.CodeAuth || fault.Code == model.CodeInput)
}

// follow says what has changed, and whether there is nothing left to wait for.
func (o *clusterOptions) follow(state *upgrade.State, d *upgrade.Decision) (over bool, err error) {
	for _, note := range d.Notes {
		o.warn(note)
	}
	if d.Verdict == model.VerdictInstalled {
		return true, nil
	}
	if o.asked && d.Verdict == model.VerdictWorking {
		return true, o.withdrawn(d)
	}
	o.asked = o.asked || d.Asks != nil || d.Verdict == model.VerdictWaiting
	if err := d.Fault(o.found.FullName()); err != nil && !d.Passes {
		return true, o.advised(err, state)
	}
	if d.Message != o.said {
		o.said = d.Message
		o.tell(model.Event{Type: model.EventHint, Reason: d.Reason, Message: d.Message})
	}
	return o.Detach && (d.Asks != nil || d.Verdict == model.VerdictWaiting), nil
}

// withdrawn: the cluster was asked, and is not any more. It is not asked again: that was a person's decision.
func (o *clusterOptions) withdrawn(d *upgrade.Decision) error {
	why := "request to update to " + o.To + " was withdrawn before the update began"
	*d = upgrade.Decision{Verdict: model.VerdictBlocked, Reason: "UpgradeWithdrawn", Message: "The " + why, Notes: d.Notes}
	return &model.Fault{
		Code: model.CodeFailed, Op: "upgrade", On: o.found.FullName(), Permanent: true, Err: errors.New("the " + why),
		Next: model.Advicef("%s", o.CommandLine()+", which asks for it again"),
	}
}

// advised completes the fault of a decision with what to type next.
func (o *clusterOptions) advised(err error, state *upgrade.State) error {
	fault, is := errors.AsType[*model.Fault](err)
	if !is {
		return err
	}
	switch next := state.Next(); {
	case fault.Code == model.CodeFailed:
		fault.Next = model.Advicef("%s", o.CommandLine())
	case fault.Code == model.CodeFailure && next != "" && next != o.To:
		fault.Next = o.command(next) + ", which waits for that update"
	default:
		fault.Next = model.Command("upgrade cluster", listtext.Quoted(o.found.Ref.Name)) + ", which shows what it offers and what is in the way"
	}
	return fault
}

func (o *clusterOptions) late(d *upgrade.Decision) error {
	stands := "and goes on"
	if !o.asked {
		stands = "and the cluster was asked for nothing"
	}
	return &model.Fault{
		Code: model.CodeTimeout, Op: "upgrade", On: o.found.FullName(), Next: model.Advicef("%s", o.CommandLine()),
		Err: fmt.Errorf("it has taken longer than %s, %s: %s", o.Timeout, stands, cmp.Or(d.Message, "the cluster does not answer")),
	}
}

// warn says once what a person should know.
func (o *clusterOptions) warn(text string) {
	if !o.warned[text] {
		o.warned[text] = true
		o.tell(model.Event{Type: model.EventWarning, Severity: model.SeverityWarning, Message: text})
	}
}

func (o *clusterOptions) tell(e model.Event) {
	e.V, e.Time, e.Cluster = 1, o.Clock.Now(), o.found.Ref.Name
	e.Severity = cmp.Or(e.Severity, model.SeverityInfo)
	o.shown.Event(e)
}

// report prints how the cluster stands.
func (o *clusterOptions) report(u output.Upgrade) error {
	shown := func() string { return text(&u, o.To == "") }
	return o.Print(printer.Result{Data: u, Names: []string{"cluster/" + o.found.Ref.Name}, Text: shown})
}

// text is how a cluster stands, with all that it can be updated to or that alone which was asked for.
func text(u *output.Upgrade, all bool) string {
	var text strings.Builder
	app.Facts(&text, "", [][2]string{
		{"Cluster", u.Cluster}, {"Version", u.Version}, {"Channel", cmp.Or(u.Channel, "none")}, {"Update", u.Message},
	})
	if !all {
		return text.String()
	}
	var risky []output.Update
	recommended := []string{}
	for _, update := range u.Updates {
		if update.Recommended {
			recommended = append(recommended, update.Version)
		} else {
			risky = append(risky, update)
		}
	}
	if len(recommended) == 0 {
		recommended = append(recommended, "none")
	}
	app.Section(&text, "Available updates", recommended, func(version string) string { return escape.Sprintf("  %s\n", version) })
	app.Section(&text, "Updates that are not recommended for this cluster", risky, func(u output.Update) string {
		return escape.Sprintf("  %s  %s\n", u.Version, strings.Join(u.Risks, "; "))
	})
	app.Section(&text, "In the way", u.InTheWay, func(line string) string { return escape.Sprintf("  ! %s\n", line) })
	notes := slices.DeleteFunc(slices.Clone(u.Notes), func(note string) bool { return slices.Contains(u.InTheWay, note) })
	app.Section(&text, "Notes", notes, func(line string) string { return escape.Sprintf("  %s\n", line) })
	return text.String()
}
