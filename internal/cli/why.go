package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/escape"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/catalogue"
	"github.com/oaictl/oaictl/pkg/install/diagnose"
)

func (a *app) whyCommand() *cobra.Command {
	t := &target{}
	command := &cobra.Command{
		Use:   "why [cluster|host] NAME|ID|-f FILE",
		Short: "Say what stands in the way, by its root causes, and what to do",
		Long: `Say what stands in the way of a cluster or a host. Failing checks are grouped by
their cause over all hosts; what only follows from another failure is left out,
and each cause has its remedy. With -f the field of the file that it belongs to
is named with its place, and what the file itself forbids is told as well.`,
		Example: `  oaictl why lab
  oaictl why -f cluster.yaml
  oaictl why host cp-0 -o json`,
		RunE: func(command *cobra.Command, given []string) error {
			if err := t.read(command, given, "cluster", "host"); err != nil {
				return err
			}
			if t.Kind == "host" {
				return a.whyHost(command.Context(), *t)
			}
			return a.whyCluster(command.Context(), *t)
		},
	}
	t.declare(command.Flags())
	t.declareOfHost(command.Flags())
	return command
}

func (a *app) whyCluster(ctx context.Context, t target) error {
	service, err := a.dial(ctx)
	if err != nil {
		return err
	}
	seen, err := a.look(ctx, service, t)
	if err != nil {
		return err
	}
	return a.printWhy(seen, seen.name())
}

// whyHost tells of one host alone: the cluster around it is cut down to it.
func (a *app) whyHost(ctx context.Context, t target) error {
	if t.Name == "" {
		return usagef("why host needs a NAME or ID")
	}
	service, err := a.dial(ctx)
	if err != nil {
		return err
	}
	host, err := a.findHostIn(ctx, service, t)
	if err != nil {
		return err
	}
	seen := &sight{observed: &install.Observed{At: a.clock.Now(), Hosts: []install.Host{host}}}
	return a.printWhy(seen, document.OfHost(host, "").Name)
}

func (a *app) printWhy(seen *sight, name string) error {
	reason := reasonOf(seen)
	a.fill(&reason, seen)
	state := string(install.HostAbsent)
	if seen.observed.Cluster != nil {
		state = string(seen.observed.Cluster.State)
	} else if len(seen.observed.Hosts) == 1 {
		state = string(seen.observed.Hosts[0].State)
	}
	doc := document.OfWhy(name, state, reason.blockers, reason.waits, reason.report)
	names := make([]string, 0, len(doc.Blockers))
	for _, blocker := range doc.Blockers {
		names = append(names, blocker.Reason)
	}
	return a.print(printer.Result{Data: doc, Names: names, Text: func(w io.Writer) error {
		_, err := io.WriteString(w, whyText(seen, doc, reason))
		return err
	}})
}

// fill makes of all advice what can be typed as it stands.
func (a *app) fill(r *reason, seen *sight) {
	names := catalogue.Names{Cluster: seen.ref.Name}
	if seen.spec != nil {
		names.File = seen.spec.File()
	}
	if seen.ref.Name == "" && len(seen.observed.Hosts) == 1 {
		names.Cluster = seen.observed.Hosts[0].ClusterID
	}
	advice := func(text string, hosts []string) string {
		names.Hosts = hosts
		return a.hint(catalogue.Fill(text, names))
	}
	for i := range r.blockers {
		b := &r.blockers[i]
		b.Remedy = advice(b.Remedy, b.Hosts)
	}
	for i := range r.waits {
		r.waits[i].Next = advice(r.waits[i].Next, nil)
	}
	for i := range r.report.Warnings {
		cause := &r.report.Warnings[i]
		cause.Remedy = advice(cause.Remedy, cause.Hosts)
	}
	for key, cause := range r.causes {
		cause.Check = advice(cause.Check, cause.Hosts)
		r.causes[key] = cause
	}
}

// reason is what stands in the way of a cluster.
type reason struct {
	blockers []install.Blocker
	waits    []install.Wait
	report   diagnose.Report
	causes   map[string]diagnose.Cause // by the key of their blocker
}

// reasonOf goes by the service's checks and states, and where there is a file,
// by the decision of create cluster as well: a file adds to the causes, and
// takes none away.
func reasonOf(seen *sight) reason {
	desired := seen.desired()
	r := reason{report: install.Explain(desired, seen.observed), causes: map[string]diagnose.Cause{}}
	causes, waits := r.report.Causes, r.report.Waits
	if seen.spec != nil {
		plan := install.Decide(desired, seen.observed, install.Memory{}, seen.observed.At)
		r.blockers, r.waits = plan.Blockers, plan.Waits
		causes, waits = agreed(r.report, install.Explain((&sight{ref: seen.ref}).desired(), seen.observed))
	}
	have := map[string]bool{}
	told := map[install.Scope]bool{}
	for _, b := range r.blockers {
		have[b.Key] = true
		told[b.Scope] = told[b.Scope] || b.Scope != install.ScopeCluster && b.Reason != validationFails
	}
	for _, cause := range causes {
		b := blockerOf(cause)
		r.causes[b.Key] = cause
		if !have[b.Key] {
			r.blockers = append(r.blockers, b)
		}
	}
	for _, b := range statesOf(seen.observed) {
		if !told[b.Scope] {
			r.blockers = append(r.blockers, b)
		}
	}
	if held, is := heldOf(seen); is && !slices.ContainsFunc(r.waits, func(w install.Wait) bool { return w.Key == held.Key }) {
		r.waits = append(r.waits, held)
	}
	if len(r.waits) == 0 { // a decision waits for the hosts by their names
		for _, cause := range waits {
			r.waits = append(r.waits, install.Wait{Scope: scopeOf(cause), For: "the service: " + firstOf(messageOf(cause), cause.Title), Who: install.WhoService})
		}
	}
	return r
}

// heldOf is the wait for whoever holds the start of a cluster that could begin to be
// installed. While something else stands in the way as well, that goes first.
func heldOf(seen *sight) (held install.Wait, is bool) {
	if seen.observed.Cluster == nil || seen.observed.Cluster.State != install.ClusterReady {
		return held, false
	}
	return seen.observed.Cluster.Held()
}

// agreed sorts what the file's report takes for a wait, because hosts are still
// to come, under the causes where the service's checks alone make it one: both
// ways to ask must name the same causes.
func agreed(file, alone diagnose.Report) (causes, waits []diagnose.Cause) {
	causes = slices.Clone(file.Causes)
	for _, wait := range file.Waits {
		same := func(c diagnose.Cause) bool { return c.Subject == wait.Subject && c.ID == wait.ID }
		if slices.ContainsFunc(alone.Causes, same) {
			causes = append(causes, wait)
		} else {
			waits = append(waits, wait)
		}
	}
	return causes, waits
}

// validationFails is the reason of a blocker that is a failing check.
const validationFails = "ValidationFails"

func blockerOf(cause diagnose.Cause) install.Blocker {
	return install.Blocker{
		Key: "validation/" + string(cause.Subject) + "/" + cause.ID, Scope: scopeOf(cause), Reason: validationFails,
		Message: withHosts(cause.Hosts, firstOf(messageOf(cause), cause.Title)), Field: cause.Field, Hosts: cause.Hosts,
		Remedy: firstOf(cause.Remedy, "oaictl explain validation "+cause.ID), Validations: []string{cause.ID},
	}
}

func scopeOf(cause diagnose.Cause) install.Scope {
	if len(cause.Hosts) == 1 {
		return install.HostScope(cause.Hosts[0])
	}
	return install.ScopeCluster
}

func messageOf(cause diagnose.Cause) string {
	if len(cause.Messages) > 0 {
		return strings.Join(strings.Fields(cause.Messages[0].Text), " ")
	}
	return cause.Meaning
}

func withHosts(hosts []string, text string) string {
	if len(hosts) == 0 {
		return text
	}
	return strings.Join(hosts, ", ") + ": " + text
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// statesOf is what the states alone say: an install that failed, and hosts at
// which somebody has to act.
func statesOf(o *install.Observed) []install.Blocker {
	var out []install.Blocker
	if c := o.Cluster; c != nil && (c.State == install.ClusterFailed || c.State == install.ClusterCancelled) {
		entry, _ := catalogue.ClusterState(c.Status)
		out = append(out, install.Blocker{
			Scope: install.ScopeCluster, Reason: "Cluster" + string(c.State), Message: firstOf(c.StatusInfo, entry.Meaning), Remedy: firstOf(entry.Remedy, "oaictl logs "+c.Name), Since: c.StatusSince,
		})
	}
	for _, h := range o.Hosts {
		switch h.State {
		case install.HostFailed, install.HostNeedsUser, install.HostDisconnected, install.HostResetting, install.HostReleasing:
			name := document.OfHost(h, "").Name
			entry, _ := catalogue.HostState(h.Status)
			out = append(out, install.Blocker{
				Scope: install.HostScope(name), Reason: "Host" + string(h.State), Message: name + ": " + firstOf(h.StatusInfo, entry.Meaning),
				Remedy: entry.Remedy, Since: h.Since, Hosts: []string{name},
			})
		}
	}
	return out
}

// whyText tells each cause with the hosts that it concerns, what the service
// says of them, how to be sure, and what to do.
func whyText(seen *sight, doc document.Why, r reason) string {
	var text strings.Builder
	escape.Fprintf(&text, "%s is %s: ", doc.Cluster, doc.State)
	switch {
	case len(r.blockers) > 0:
		escape.Fprintf(&text, "%s in the way.\n", counted(len(r.blockers), "thing"))
	case len(r.waits) > 0:
		escape.Fprintf(&text, "waiting for: %s.\n", strings.TrimSuffix(r.waits[0].For, "."))
	default:
		text.WriteString("nothing stands in the way.\n")
	}
	for i, b := range r.blockers {
		escape.Fprintf(&text, "\n%d. %s\n", i+1, b.Message)
		if cause, ok := r.causes[b.Key]; ok {
			text.WriteString(causeText(cause))
		}
		if b.Field != "" {
			place := b.Field
			if seen.spec != nil {
				if file, line, column := seen.spec.Position(b.Field); line > 0 {
					place = fmt.Sprintf("%s:%d:%d: %s", file, line, column, b.Field)
				}
			}
			escape.Fprintf(&text, "   Field: %s\n", place)
		}
		if b.Remedy != "" {
			escape.Fprintf(&text, "   Next: %s\n", b.Remedy)
		}
	}
	section(&text, "To wait for", r.waits, waitText)
	section(&text, "Only warnings", doc.Warnings, func(w document.Warning) string {
		return escape.Sprintf("  ! %s: %s\n", w.Reason, w.Message)
	})
	return text.String()
}

// waitText is something that is waited for, and what helps where somebody has to act.
func waitText(w install.Wait) string {
	text := escape.Sprintf("  … %s\n", w.For)
	if w.Who == install.WhoUser && w.Next != "" {
		text += escape.Sprintf("    Next: %s\n", w.Next)
	}
	return text
}

// causeText is what lies behind a blocker that comes from checks.
func causeText(cause diagnose.Cause) string {
	var text strings.Builder
	for _, m := range cause.Messages[min(1, len(cause.Messages)):] {
		escape.Fprintf(&text, "   %s\n", withHosts(m.Hosts, strings.Join(strings.Fields(m.Text), " ")))
	}
	if cause.Usual != "" {
		escape.Fprintf(&text, "   Usually: %s\n", cause.Usual)
	}
	if cause.Check != "" {
		escape.Fprintf(&text, "   Check: %s\n", cause.Check)
	}
	var follows []string
	for _, ref := range cause.Consequences {
		follows = append(follows, ref.String())
	}
	if len(follows) > 0 {
		escape.Fprintf(&text, "   Follows from it: %s\n", strings.Join(follows, ", "))
	}
	return text.String()
}
