package install

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/bytesize"
	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// watcher turns what changes between two observations into events.
type watcher struct {
	report   func(model.Event)
	reported map[string]bool          // warnings, wipes and waits that were reported
	since    map[string]time.Time     // blocker → first seen
	stands   map[string]model.Blocker // blockers that were reported
	left     map[string]time.Time     // blockers that were reported and are not there → since when
	waits    map[string]time.Time     // of the nodes plane → first seen
	percent  int
	silence  bool
}

func newWatcher(report func(model.Event)) *watcher {
	return &watcher{report: report, reported: map[string]bool{}, since: map[string]time.Time{}, stands: map[string]model.Blocker{},
		left: map[string]time.Time{}, waits: map[string]time.Time{}, percent: -1}
}

// silent reports, once, that the service does not answer.
func (w *watcher) silent(err error) {
	if !w.silence {
		w.silence = true
		w.report(model.Event{
			Type: model.EventWarning, Key: "service/silent", Severity: model.SeverityWarning, Reason: "ServiceUnreachable",
			Message: fmt.Sprintf("the service does not answer: %v; trying again", err), Next: model.FaultOf(err).Next,
		})
	}
}

func (w *watcher) answered() {
	if w.silence {
		w.silence = false
		w.report(model.Event{Type: model.EventHint, Key: "service/silent", Reason: "ServiceAnswers", Message: "the service answers again"})
	}
}

// reportChanges reports what is new and says whether anything is. What happened first is reported first: the last
// stages of the hosts before the end of the cluster.
func (w *watcher) reportChanges(desired *model.Desired, before, now *model.Observed, plan model.Plan) bool {
	ended := now.Cluster != nil && !now.Cluster.State.BeforeInstall() && !now.Cluster.State.Running()
	changed := !ended && w.cluster(before, now)
	names := decide.MatchHosts(desired.Spec.Spec.Hosts, now)
	names.Part = concerned(desired, names, plan)
	for _, host := range names.Part {
		var old *model.Host
		if before != nil {
			old = before.HostByID(host.ID)
		}
		if host.Nameless() {
			continue
		}
		if old != nil && old.Nameless() {
			old = nil // it is reported once there is a name to report it by
		}
		changed = w.host(names.Call(host), old, host) || changed
	}
	changed = w.gone(desired, before, now) || changed
	changed = w.machines(before, now) || changed
	changed = w.nodes(names.Part, names.Call, before, now, desired.Options.Remove != nil) || changed
	changed = ended && w.cluster(before, now) || changed
	changed = w.standing(plan, now.At.Add(-now.Skew)) || changed // dates do not change how long is measured
	return w.progress(newView(desired, now, plan), changed)
}

// concerned are the hosts that are reported: all, but where nodes are removed only theirs.
func concerned(desired *model.Desired, names decide.Matches, plan model.Plan) []*model.Host {
	if desired.Options.Remove == nil {
		return names.Part
	}
	return slices.DeleteFunc(slices.Clone(names.Part), func(h *model.Host) bool {
		return !slices.ContainsFunc(plan.Removals, func(r model.NodeRemoval) bool { return r.Name == names.Call(h) })
	})
}

// progress gives the whole state when something changed. The percentage
// never goes back, even where the service begins a preparation anew.
func (w *watcher) progress(view *model.View, changed bool) bool {
	view.Percent = max(view.Percent, w.percent)
	if !changed && view.Percent == w.percent {
		return false
	}
	w.percent = view.Percent
	event := model.Event{Type: model.EventProgress, Key: "cluster/progress", State: clusterWord(view.Observed), Percent: &view.Percent,
		Message: view.Plan.Message, View: view}
	if seconds := int(view.ETA / time.Second); seconds > 0 {
		event.ETA = &seconds
	}
	w.report(event)
	return true
}

// machines reports, once for each boot, that a BMC has begun to read its host's image: what oaictl itself does to a
// machine is reported as actions.
func (w *watcher) machines(before, now *model.Observed) bool {
	changed := false
	for _, name := range slices.Sorted(maps.Keys(now.Machines)) {
		state := now.Machines[name]
		var old model.MachineState
		if before != nil {
			old = before.Machines[name]
		}
		reads := state.Power == model.PowerIsOn && state.OurMedia && state.Fetch.Bytes > 0
		if read := old.Power == model.PowerIsOn && old.OurMedia && old.Fetch.Bytes > 0; !reads || read || state.Phase != model.PhaseToBoot {
			continue
		}
		changed = true
		w.report(model.Event{Type: model.EventHost, Host: name, Key: "host/" + name + "/boot", State: string(model.HostAbsent),
			Message: name + " boots: its BMC reads the discovery image, " + decide.FetchText(state.Fetch)})
	}
	return changed
}

// nodes reports when hosts have become nodes of the installed cluster, when these become Ready, and when they are not
// Ready any more, which is expected where they are removed. Of the first look nothing is reported: all of it was so
// before.
func (w *watcher) nodes(hosts []*model.Host, call func(*model.Host) string, before, now *model.Observed, leaves bool) bool {
	if before == nil || before.Spoke == nil || now.Spoke == nil {
		return false
	}
	changed := false
	for _, host := range hosts {
		is, was := now.Spoke.NodeByName(host.Hostname), before.Spoke.NodeByName(host.Hostname)
		state, severity, why := "", model.SeverityInfo, ""
		switch {
		case is == nil && was == nil, is != nil && was != nil && is.Ready == was.Ready:
			continue
		case is == nil && leaves:
			state = "Gone"
		case is == nil:
			state, severity = "Gone", model.SeverityWarning
		case is.Ready:
			state = "Ready"
		case was == nil:
			state = "Joined"
		default:
			state, severity, why = "NotReady", model.SeverityWarning, is.Message
		}
		changed = true
		name := call(host)
		w.report(model.Event{Type: model.EventHost, Host: name, Key: string(model.ScopeNode.Of(name)) + "/state", State: state,
			Severity: severity, Message: why})
	}
	return changed
}

// gone reports hosts that the service no longer has.
func (w *watcher) gone(desired *model.Desired, before, now *model.Observed) bool {
	if before == nil {
		return false
	}
	names, changed := decide.Matches{}, false
	for i := range before.Hosts {
		host := &before.Hosts[i]
		if now.HostByID(host.ID) != nil {
			continue
		}
		if names.Names == nil {
			names = decide.MatchHosts(desired.Spec.Spec.Hosts, before)
		}
		if !slices.Contains(names.Part, host) {
			continue
		}
		changed = true
		name := names.Call(host)
		w.report(model.Event{Type: model.EventHost, Host: name, Key: "host/" + name + "/state", State: string(model.HostAbsent),
			Message: "the service no longer has " + name})
	}
	return changed
}

func clusterWord(o *model.Observed) string {
	if o.Cluster == nil {
		return "Absent"
	}
	return string(o.Cluster.State)
}

func (w *watcher) cluster(before, now *model.Observed) bool {
	word := clusterWord(now)
	if before != nil && clusterWord(before) == word {
		return before.Cluster != nil && before.Cluster.Progress != now.Cluster.Progress
	}
	event := model.Event{Type: model.EventRun, Key: "cluster/state", State: word}
	if now.Cluster != nil {
		event.Message = now.Cluster.StatusInfo
		switch now.Cluster.State {
		case model.ClusterFailed, model.ClusterCancelled:
			event.Severity = model.SeverityError
		case model.ClusterNeedsUser, model.ClusterUnknown:
			event.Severity = model.SeverityWarning
		}
	}
	w.report(event)
	return true
}

// host reports a host's new state and stages. A host that has left the install has gone through its stages before.
func (w *watcher) host(name string, before, now *model.Host) bool {
	left := before != nil && (before.State == model.HostInstalling || before.State == model.HostNeedsUser) && now.State != model.HostInstalling
	if left {
		stages := w.stages(name, before, now)
		return w.state(name, before, now) || stages
	}
	state := w.state(name, before, now)
	return w.stages(name, before, now) || state
}

func (w *watcher) state(name string, before, now *model.Host) bool {
	if before != nil && before.State == now.State {
		return false
	}
	event := model.Event{Type: model.EventHost, Host: name, Key: "host/" + name + "/state", State: string(now.State), Message: now.StatusInfo}
	switch now.State {
	case model.HostFailed:
		event.Severity = model.SeverityError
	case model.HostBlocked:
		event.Message = "" // most checks fail for a moment; those that stand are explained as blockers
	case model.HostNeedsUser, model.HostDisconnected, model.HostUnknown:
		event.Severity = model.SeverityWarning
	}
	if now.State == model.HostUnknown {
		event.Message = fmt.Sprintf("the service says %q, which this oaictl does not know", now.Status)
	}
	w.report(event)
	return true
}

// stages reports every stage that a host has gone through since it was last seen, those between two looks included: the
// service's list of the role's stages is in order, and none is left out. For a host that is seen for the first time,
// only the present stage is reported: the run that saw the earlier ones reported them.
func (w *watcher) stages(name string, before, now *model.Host) bool {
	reached := func(stage, info string, percent int) {
		w.report(model.Event{Type: model.EventStage, Host: name, Key: "host/" + name + "/stage", State: string(now.State), Stage: stage,
			Percent: &percent, Message: info})
	}
	is := now.Progress
	to := slices.Index(is.Stages, is.Stage)
	if to < 0 && now.State == model.HostAdded {
		to = len(is.Stages) // a host that was added ends at a stage that its list does not have
	}
	from := to - 1
	if before != nil {
		if before.Progress.Stage == is.Stage && before.Progress.Info == is.Info {
			return false
		}
		from = slices.Index(is.Stages, before.Progress.Stage) // in the list of now: roles change
	}
	if is.Stage == "" || before == nil && now.State == model.HostResetting {
		return false
	}
	if to < from {
		from = -1 // the host began again
	}
	for i := from + 1; i < to; i++ {
		if !skippable(is.Stages[i], now.Day2) {
			reached(is.Stages[i], "", (i+1)*100/len(is.Stages))
		}
	}
	reached(is.Stage, is.Info, is.Percent)
	return true
}

// skippable reports whether a host may pass from the stage before to the stage after without this one: the registry is
// copied from appliance media only, and a host that joins an installed cluster finds its control plane there.
func skippable(stage string, joins bool) bool {
	return stage == "Copying registry data to disk" || joins && stage == "Waiting for control plane"
}

// standing reports once every warning, blocker and wipe of a plan.
func (w *watcher) standing(plan model.Plan, now time.Time) bool {
	changed := false
	once := func(key string, e model.Event) {
		if !w.reported[key] {
			w.reported[key], changed = true, true
			w.report(e)
		}
	}
	for _, x := range plan.Wipes {
		what := "will be formatted"
		if x.Install {
			what = "will be installed on"
		}
		once("wipe/"+x.Host+x.Disk, model.Event{
			Type: model.EventHint, Host: x.Host, Key: "host/" + x.Host + "/disk", Reason: "DiskWillBeWiped",
			Message: fmt.Sprintf("%s, %s, %s", x.Disk, bytesize.Rough(x.Size), what),
		})
	}
	for _, x := range plan.Warnings {
		once("warning/"+x.Key+x.Message, model.Event{Type: model.EventWarning, Host: x.Scope.Host(), Key: x.Key, Severity: model.SeverityWarning,
			Reason: x.Reason, Message: x.Message, Next: x.Next})
	}
	changed = w.blockers(plan, now) || changed
	there := map[string]bool{}
	for _, x := range plan.Waits {
		there[x.Key] = true
		reason := "Waiting" // for a person
		switch {
		case x.Who == model.WhoUser:
		case w.lasts(x, now):
			reason = "StillWaiting"
		default:
			continue
		}
		once("wait/"+reason+"/"+x.Key, model.Event{Type: model.EventHint, Host: x.Scope.Host(), Key: x.Key, Reason: reason,
			Message: "waiting for " + x.For, Next: x.Next})
	}
	maps.DeleteFunc(w.waits, func(key string, _ time.Time) bool { return !there[key] })
	return changed
}

// lasts reports whether the run has waited for a node for a while: then its stages are not reported.
func (w *watcher) lasts(x model.Wait, now time.Time) bool {
	if !strings.HasPrefix(string(x.Scope), string(model.ScopeNode.Of(""))) {
		return false
	}
	if _, known := w.waits[x.Key]; !known {
		w.waits[x.Key] = now
	}
	return now.Sub(w.waits[x.Key]) >= steady
}

// steady is how long a failing check has to stand before it is reported: most fail for a moment while hosts find each
// other.
const steady = 90 * time.Second

// severity is how severe a blocker is: one that a run does not wait for ends the run, and is an error.
func severityOf(c model.Cure) model.Severity {
	if c == model.CureFile || c == model.CurePerson {
		return model.SeverityWarning
	}
	return model.SeverityError
}

// blockers reports new blockers, and blockers that no longer apply. A failed install is not cured by that.
func (w *watcher) blockers(plan model.Plan, now time.Time) bool {
	changed := false
	lost := plan.Verdict == model.VerdictFailed || plan.Verdict == model.VerdictCancelled || plan.Verdict == model.VerdictUnknown
	there := map[string]bool{}
	for _, x := range plan.Blockers {
		there[x.Key] = true
		if _, known := w.since[x.Key]; !known {
			w.since[x.Key] = now
		}
		event := model.Event{Type: model.EventWarning, Host: x.Scope.Host(), Key: x.Key, Severity: severityOf(x.Cure), Reason: x.Reason,
			Message: x.Message, Next: x.Remedy}
		if x.Reason == decide.ReasonValidation {
			event.Type, event.State = model.EventValidation, "failure"
			if !x.Certain && now.Sub(w.since[x.Key]) < steady {
				continue
			}
		}
		// A new remedy is reported, too: a BMC that begins to answer may refuse the password.
		if old, known := w.stands[x.Key]; !known || x.Reason != decide.ReasonValidation && old.Remedy != x.Remedy {
			w.stands[x.Key], changed = x, true
			w.report(event)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(w.since)) {
		if there[key] {
			delete(w.left, key)
			continue
		}
		if _, told := w.stands[key]; told && !w.goneFor(key, now) {
			continue
		}
		// An attempt alone does not cure what preparations fail over; if it does, the cluster's next state shows it.
		if x, known := w.stands[key]; known && !lost && x.Reason != decide.ReasonPreparation {
			changed = true
			w.report(model.Event{Type: model.EventHint, Host: x.Scope.Host(), Key: key, State: "cured", Reason: "Cured",
				Message: "no longer in the way: " + x.Message})
		}
		delete(w.since, key)
		delete(w.stands, key) // reported again should it come back
		delete(w.left, key)
	}
	return changed
}

// withdrawn is how long a blocker has to be gone before that is reported: checks waver.
const withdrawn = 30 * time.Second

// goneFor reports whether a blocker has been gone for long enough.
func (w *watcher) goneFor(key string, now time.Time) bool {
	if _, noted := w.left[key]; !noted {
		w.left[key] = now
	}
	return now.Sub(w.left[key]) >= withdrawn
}
