package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/internal/cli/progress"
	"github.com/oaictl/oaictl/pkg/install"
)

// waiting is one wait under way: it only looks.
type waiting struct {
	*waitOptions
	name    string
	sink    progress.Sink
	started time.Time

	seen    *sight
	before  *install.Observed
	earlier time.Time // when a preparation was cancelled last before the wait began
	needed  time.Time // since when a person has been needed
	silent  time.Time // since when the service has not answered
	hold    string    // for whom it was last told to wait
}

// patience is how long a wait bears a service that does not answer.
const patience = 5 * time.Minute

// watch looks until the condition is met or cannot be met any more.
func (w *waiting) watch(ctx context.Context, service remote, seen *sight) (install.Code, error) {
	for {
		w.seen = seen
		w.tell()
		if done, err := w.judge(); done || err != nil {
			return codeOf(err), err
		}
		pause := max(w.Every, 100*time.Millisecond)
		if w.Timeout > 0 {
			left := w.Timeout - w.clock.Now().Sub(w.started)
			if left <= 0 {
				return install.CodeTimeout, w.timedOut()
			}
			pause = min(pause, left)
		}
		if err := w.clock.Sleep(ctx, pause); err != nil {
			err = watchEnded(ctx, err)
			return codeOf(err), err
		}
		next, err := w.again(ctx, service, seen)
		if err != nil {
			return codeOf(err), err
		}
		seen = next
	}
}

// timedOut is the end of a wait whose time is up, with what it waited for where
// somebody has to act.
func (w *waiting) timedOut() error {
	if held, is := w.held(); is {
		return w.fault(install.CodeTimeout, held.Next, "timed out after %s, waiting for %s", w.Timeout, held.For)
	}
	return w.fault(install.CodeTimeout, w.commandLine(), "timed out after %s; the cluster is %s", w.Timeout, w.seen.observed.Cluster.State)
}

// held is the wait for whoever holds the installation that is waited for.
func (w *waiting) held() (install.Wait, bool) {
	if w.until.name != forInstalled {
		return install.Wait{}, false
	}
	return heldOf(w.seen)
}

// needsPerson ends a wait in which somebody has been needed for too long. next is
// what they are to do.
func (w *waiting) needsPerson(next, why string) error {
	if w.needed.IsZero() {
		w.needed = w.clock.Now()
	}
	if stood := w.clock.Now().Sub(w.needed); w.UserTimeout > 0 && stood >= w.UserTimeout {
		return w.fault(install.CodeNeedsUser, next, "somebody has been needed for %s: %s", stood.Round(time.Second), why)
	}
	return nil
}

// again looks once more. A service that does not answer is borne for a while.
func (w *waiting) again(ctx context.Context, service remote, seen *sight) (*sight, error) {
	query := install.Query{ID: seen.ref.ID, Name: seen.ref.Name, BaseDomain: seen.ref.BaseDomain}
	observed, err := service.Observe(ctx, query, seen.observed)
	var fault *install.Fault
	switch {
	case err == nil && observed.Cluster == nil:
		return nil, w.fault(install.CodeNotFound, "oaictl get clusters", "the cluster was deleted")
	case err == nil:
		w.silent = time.Time{}
		return &sight{ref: observed.Cluster.ClusterRef, spec: seen.spec, observed: observed}, nil
	case ctx.Err() != nil:
		return nil, watchEnded(ctx, err)
	case errors.As(err, &fault) && (fault.Permanent || fault.Code == install.CodeAuth):
		return nil, err
	}
	if w.silent.IsZero() {
		w.silent = w.clock.Now()
		w.sink.Event(w.event(install.Event{Type: install.EventWarning, Severity: install.SeverityWarning, Reason: "ServiceUnreachable", Message: "the service does not answer: " + err.Error()}))
	}
	if w.clock.Now().Sub(w.silent) >= patience {
		return nil, err
	}
	return seen, nil
}

// judge says whether the wait is over, and how.
func (w *waiting) judge() (done bool, err error) {
	observed := w.seen.observed
	cluster := observed.Cluster
	if w.until.met(observed) {
		return true, w.degraded()
	}
	if at := cluster.Preparation.Cancelled; at.After(w.earlier) {
		return false, w.fault(install.CodeFailed, "oaictl create cluster -f FILE", "the install was cancelled while it was being prepared")
	}
	switch cluster.State {
	case install.ClusterFailed:
		return false, w.fault(install.CodeFailed, "oaictl why "+w.seen.ref.Name, "the install failed: %s", firstOf(cluster.StatusInfo, cluster.Status))
	case install.ClusterCancelled:
		return false, w.fault(install.CodeFailed, cluster.StartOver(), "the install was cancelled")
	case install.ClusterUnknown:
		return false, w.fault(install.CodeFailure, "oaictl version", "the service says %q, which this oaictl does not know", cluster.Status)
	case install.ClusterNeedsUser:
		return false, w.needsPerson("oaictl why "+w.seen.ref.Name, firstOf(cluster.StatusInfo, cluster.Status))
	}
	if held, is := w.held(); is {
		return false, w.needsPerson(held.Next, "waiting for "+held.For)
	}
	w.needed = time.Time{}
	return false, nil
}

// degraded tells an installed cluster from one that is installed in part. A
// decision knows; it is made as if the results were on disk, since a wait saves
// none.
func (w *waiting) degraded() error {
	if w.until.name != forInstalled {
		return nil
	}
	observed := *w.seen.observed
	observed.Results = install.Results{NoIngress: true, Kubeconfig: true, Password: true}
	cluster := *observed.Cluster
	cluster.Owned = true // whoever made it
	observed.Others, observed.Cluster = nil, &cluster
	desired := w.seen.desired()
	plan := install.Decide(desired, &observed, install.Memory{}, observed.At)
	if plan.Verdict != install.VerdictDegraded {
		return nil
	}
	return w.fault(install.CodeDegraded, "oaictl why "+w.seen.ref.Name, "%s", plan.Message)
}

func (w *waiting) event(e install.Event) install.Event {
	e.V, e.Cluster = 1, w.seen.ref.Name
	if e.Time.IsZero() {
		e.Time = w.seen.observed.At
	}
	if e.Severity == "" {
		e.Severity = install.SeverityInfo
	}
	return e
}

// tell shows what has changed since the last look.
func (w *waiting) tell() {
	now, before := w.seen.observed, w.before
	w.before = now
	if before == nil || before.Cluster.State != now.Cluster.State {
		w.sink.Event(w.event(install.Event{Type: install.EventRun, Key: "cluster/state", State: string(now.Cluster.State), Message: now.Cluster.StatusInfo}))
	}
	old := map[string]install.Host{}
	if before != nil {
		for _, h := range before.Hosts {
			old[h.ID] = h
		}
	}
	for _, h := range now.Hosts {
		w.tellHost(old[h.ID], h)
	}
	held, is := w.held()
	if is && held.For != w.hold {
		w.sink.Event(w.event(install.Event{Type: install.EventHint, Key: held.Key, Reason: "Waiting", Message: "waiting for " + held.For, Next: held.Next}))
	}
	w.hold = held.For
	percent := now.Cluster.Progress.Percent
	w.sink.Event(w.event(install.Event{Type: install.EventProgress, Key: "cluster/progress", State: string(now.Cluster.State), Percent: &percent, View: w.view()}))
}

func (w *waiting) tellHost(before, now install.Host) {
	name := document.OfHost(now, "").Name
	if before.State != now.State {
		e := install.Event{Type: install.EventHost, Host: name, Key: "host/" + name + "/state", State: string(now.State), Message: now.StatusInfo}
		switch now.State {
		case install.HostFailed:
			e.Severity = install.SeverityError
		case install.HostNeedsUser, install.HostDisconnected, install.HostBlocked, install.HostUnknown:
			e.Severity = install.SeverityWarning
		}
		w.sink.Event(w.event(e))
	}
	if now.Progress.Stage != "" && (before.Progress.Stage != now.Progress.Stage || before.Progress.Info != now.Progress.Info) {
		percent := now.Progress.Percent
		w.sink.Event(w.event(install.Event{
			Type: install.EventStage, Host: name, Key: "host/" + name + "/stage", State: string(now.State), Stage: now.Progress.Stage, Percent: &percent, Message: now.Progress.Info,
		}))
	}
}

// view is the picture for a live display.
func (w *waiting) view() *install.View {
	observed := w.seen.observed
	view := &install.View{Desired: w.seen.desired(), Observed: observed, Percent: observed.Cluster.Progress.Percent}
	view.Plan.Message = "waiting for " + w.until.name
	for _, h := range observed.Hosts {
		line := install.HostView{
			Name: document.OfHost(h, "").Name, ID: h.ID, Role: document.OfHost(h, "").Role, State: h.State, Percent: h.Progress.Percent, Since: h.Since,
			Stage: strings.TrimSpace(h.Progress.Stage + " " + percentOnly(h.Progress.Info)),
		}
		if !h.Progress.Since.IsZero() {
			line.Since = h.Progress.Since
		}
		if h.State == install.HostNeedsUser || h.State == install.HostFailed || h.State == install.HostBlocked {
			line.Waiting, line.Trouble = h.StatusInfo, true
		}
		view.Hosts = append(view.Hosts, line)
	}
	return view
}

// percentOnly is a stage's detail where it is a percentage.
func percentOnly(info string) string {
	if strings.HasSuffix(info, "%") {
		return info
	}
	return ""
}

// end tells how the wait ended, as the last event of a run.
func (w *waiting) end(code install.Code, failed error) {
	exit := int(code)
	e := install.Event{Type: install.EventRun, Key: "run/end", State: w.until.name, ExitCode: &exit}
	if failed != nil {
		e.State, e.Severity, e.Message, e.Next = "error", install.SeverityError, failed.Error(), install.NextOf(failed)
		switch code {
		case install.CodeTimeout:
			e.State = "timed-out"
		case install.CodeNeedsUser:
			e.State = "needs-user"
		case install.CodeFailed:
			e.State = "failed"
		case install.CodeDegraded:
			e.State = "degraded"
		case install.CodeInterrupted, install.CodeTerminated:
			e.State = "interrupted"
		}
	}
	w.sink.Event(w.event(e))
}
