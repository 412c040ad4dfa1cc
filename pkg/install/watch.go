package install

import (
	"fmt"
	"slices"
	"time"
)

// watcher turns what changes between two observations into events.
type watcher struct {
	tell    func(Event)
	told    map[string]bool      // warnings and blockers that were told, by key
	since   map[string]time.Time // blocker → first seen
	percent int
	silence bool
}

func newWatcher(tell func(Event)) *watcher {
	return &watcher{tell: tell, told: map[string]bool{}, since: map[string]time.Time{}, percent: -1}
}

// silent tells, once, that the service does not answer.
func (w *watcher) silent(err error) {
	if !w.silence {
		w.silence = true
		w.tell(Event{Type: EventWarning, Key: "service/silent", Severity: SeverityWarning, Reason: "ServiceUnreachable", Message: fmt.Sprintf("the service does not answer: %v; trying again", err), Next: NextOf(err)})
	}
}

func (w *watcher) answered() {
	if w.silence {
		w.silence = false
		w.tell(Event{Type: EventHint, Key: "service/silent", Reason: "ServiceAnswers", Message: "the service answers again"})
	}
}

// see tells what is new and says whether anything is.
func (w *watcher) see(desired *Desired, before, now *Observed, plan Plan) bool {
	changed := w.cluster(before, now)
	names := matchHosts(desired.Spec.Spec.Hosts, now)
	for i := range now.Hosts {
		host := &now.Hosts[i]
		name := names.names[host.ID]
		if name == "" {
			name = firstOf(host.Hostname, host.ID)
		}
		var old *Host
		if before != nil {
			old = before.host(host.ID)
		}
		changed = w.host(name, old, host) || changed
	}
	changed = w.standing(plan, now.At) || changed
	view := newView(desired, now, plan)
	if changed || view.Percent != w.percent {
		changed = true
		w.percent = view.Percent
		event := Event{Type: EventProgress, Key: "cluster/progress", State: clusterWord(now), Percent: &view.Percent, Message: plan.Message, View: view}
		if seconds := int(view.ETA / time.Second); seconds > 0 {
			event.ETA = &seconds
		}
		w.tell(event)
	}
	return changed
}

func clusterWord(o *Observed) string {
	if o.Cluster == nil {
		return "Absent"
	}
	return string(o.Cluster.State)
}

func (w *watcher) cluster(before, now *Observed) bool {
	word := clusterWord(now)
	if before != nil && clusterWord(before) == word {
		return before.Cluster != nil && before.Cluster.Progress != now.Cluster.Progress
	}
	event := Event{Type: EventRun, Key: "cluster/state", State: word}
	if now.Cluster != nil {
		event.Message = now.Cluster.StatusInfo
		switch now.Cluster.State {
		case ClusterFailed, ClusterCancelled:
			event.Severity = SeverityError
		case ClusterNeedsUser, ClusterUnknown:
			event.Severity = SeverityWarning
		}
	}
	w.tell(event)
	return true
}

func (w *watcher) host(name string, before, now *Host) bool {
	changed := false
	if before == nil || before.State != now.State {
		changed = true
		event := Event{Type: EventHost, Host: name, Key: "host/" + name + "/state", State: string(now.State), Message: now.StatusInfo}
		switch now.State {
		case HostFailed:
			event.Severity = SeverityError
		case HostBlocked:
			event.Message = "" // most checks fail for a moment; those that stand are explained as blockers
		case HostNeedsUser, HostDisconnected, HostUnknown:
			event.Severity = SeverityWarning
		}
		if now.State == HostUnknown {
			event.Message = fmt.Sprintf("the service says %q, which this oaictl does not know", now.Status)
		}
		w.tell(event)
	}
	return w.stages(name, before, now) || changed
}

// stages tells of every stage that a host has gone through since it was last
// seen, those between two looks included: the service's list of the role's
// stages is in order, and none is left out.
func (w *watcher) stages(name string, before, now *Host) bool {
	at := func(h *Host) int {
		if h == nil {
			return -1
		}
		return slices.Index(h.Progress.Stages, h.Progress.Stage)
	}
	stage := func(s, info string, percent int, when time.Time) {
		w.tell(Event{Type: EventStage, Time: when, Host: name, Key: "host/" + name + "/stage", State: string(now.State), Stage: s, Percent: &percent, Message: info})
	}
	from, to := at(before), at(now)
	switch {
	case now.Progress.Stage == "":
		return false
	case to < 0: // a stage outside of the role's list: Failed, or one we don't know
		if before == nil || before.Progress.Stage != now.Progress.Stage {
			stage(now.Progress.Stage, now.Progress.Info, now.Progress.Percent, time.Time{})
			return true
		}
		return false
	case to == from:
		if before.Progress.Info == now.Progress.Info {
			return false
		}
		stage(now.Progress.Stage, now.Progress.Info, now.Progress.Percent, time.Time{})
		return true
	case to < from:
		from = -1 // the host began again
	}
	for i := from + 1; i < to; i++ {
		if skippable(now.Progress.Stages[i]) {
			continue
		}
		stage(now.Progress.Stages[i], "", (i+1)*100/len(now.Progress.Stages), time.Time{})
	}
	stage(now.Progress.Stage, now.Progress.Info, now.Progress.Percent, time.Time{})
	return true
}

// skippable says whether a host may pass from the stage before to the stage
// after without this one: the registry is copied from appliance media only.
func skippable(stage string) bool { return stage == "Copying registry data to disk" }

// standing tells once of every warning, blocker and wipe of a plan.
func (w *watcher) standing(plan Plan, now time.Time) bool {
	changed := false
	once := func(key string, e Event) {
		if !w.told[key] {
			w.told[key], changed = true, true
			w.tell(e)
		}
	}
	for _, x := range plan.Wipes {
		what := "will be formatted"
		if x.Install {
			what = "will be installed on"
		}
		once("wipe/"+x.Host+x.Disk, Event{
			Type: EventHint, Host: x.Host, Key: "host/" + x.Host + "/disk", Reason: "DiskWillBeWiped",
			Message: fmt.Sprintf("%s, %s, %s", x.Disk, sizeText64(x.Size), what),
		})
	}
	for _, x := range plan.Warnings {
		once("warning/"+x.Key+x.Message, Event{Type: EventWarning, Host: hostOf(x.Scope), Key: x.Key, Severity: SeverityWarning, Reason: x.Reason, Message: x.Message, Next: x.Next})
	}
	changed = w.blockers(plan.Blockers, now) || changed
	for _, x := range plan.Waits {
		if x.Who == WhoUser {
			once("wait/"+x.Key, Event{Type: EventHint, Host: hostOf(x.Scope), Key: x.Key, Reason: "Waiting", Message: "waiting for " + x.For})
		}
	}
	return changed
}

// steady is how long a failing check has to stand before it is told of: most
// fail for a moment while hosts find each other.
const steady = 90 * time.Second

// blockers tells of what begins to stand in the way, and of what no longer does.
func (w *watcher) blockers(list []Blocker, now time.Time) bool {
	changed := false
	there := map[string]bool{}
	for _, x := range list {
		there[x.Key] = true
		if _, known := w.since[x.Key]; !known {
			w.since[x.Key] = now
		}
		event := Event{Type: EventWarning, Host: hostOf(x.Scope), Key: x.Key, Severity: SeverityWarning, Reason: x.Reason, Message: x.Message, Next: x.Remedy}
		if x.Reason == reasonValidation {
			event.Type, event.State = EventValidation, "failure"
			if now.Sub(w.since[x.Key]) < steady {
				continue
			}
		}
		if key := "blocker/" + x.Key; !w.told[key] {
			w.told[key], changed = true, true
			w.tell(event)
		}
	}
	for key := range w.since {
		if there[key] {
			continue
		}
		if w.told["blocker/"+key] {
			changed = true
			w.tell(Event{Type: EventHint, Key: key, State: "cured", Reason: "Cured", Message: "no longer in the way: " + key})
		}
		delete(w.since, key)
		delete(w.told, "blocker/"+key) // told again should it come back
	}
	return changed
}
