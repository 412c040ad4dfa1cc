package install

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/explain"
	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// newView gathers what a live display draws.
func newView(desired *model.Desired, observed *model.Observed, plan model.Plan) *model.View {
	desired = desired.At(observed)
	view := &model.View{Desired: desired, Observed: observed, Plan: plan}
	names := decide.MatchHosts(desired.Spec.Spec.Hosts, observed)
	if desired.Options.Remove != nil {
		removals(view, names)
		return view
	}
	for i := range desired.Spec.Spec.Hosts {
		want := &desired.Spec.Spec.Hosts[i]
		line := model.HostView{Name: want.Name, Role: want.Role, State: model.HostAbsent}
		if have := names.ByName[want.Name]; have != nil {
			line = hostView(want.Name, have)
			line.Role = roleOf(want, have)
		}
		view.Hosts = append(view.Hosts, line)
	}
	for _, h := range names.Part {
		if names.Names[h.ID] == "" {
			view.Hosts = append(view.Hosts, hostView(names.Call(h), h))
		}
	}
	for i := range view.Hosts {
		describe(&view.Hosts[i], plan)
	}
	view.Percent, view.ETA = progress(observed)
	if desired.Options.AddNodes && observed.Cluster != nil && observed.Cluster.State.Installed() {
		view.Percent, view.ETA = adding(desired, names, plan.Ready, observed)
	}
	return view
}

// removals draws the nodes that are to be removed, and no other: what is next of each, and how far
// the whole is.
func removals(v *model.View, names decide.Matches) {
	left := 0
	for _, r := range v.Plan.Removals {
		line := model.HostView{Name: r.Name, State: model.HostAbsent, Percent: 100}
		for _, h := range names.Part {
			if names.Call(h) == r.Name {
				line = hostView(r.Name, h)
			}
		}
		line.Stage = "removed"
		if len(r.Left) > 0 {
			line.Stage, line.Percent = r.Left[0].Message, 100-100*min(len(r.Left), removalSteps)/removalSteps
		}
		left += 100 - line.Percent
		describe(&line, v.Plan)
		v.Hosts = append(v.Hosts, line)
	}
	if len(v.Hosts) > 0 {
		v.Percent = 100 - left/len(v.Hosts)
	}
}

// removalSteps is how many steps the removal of a node takes at most.
const removalSteps = 9

// roleOf is the role that a host will have: what the file says goes before what the
// service would choose.
func roleOf(want *spec.Host, have *model.Host) spec.Role {
	switch {
	case have.Role != spec.Auto && have.Role != "":
		return have.Role
	case want.Role != "" && want.Role != spec.Auto:
		return want.Role
	}
	return cmp.Or(have.Suggested, have.Role)
}

func hostView(name string, h *model.Host) model.HostView {
	view := model.HostView{Name: name, ID: h.ID, Role: h.Role, State: h.State, Stage: h.Progress.Stage, Percent: h.Progress.Percent,
		Since: h.Since}
	if (h.Role == spec.Auto || h.Role == "") && h.Suggested != "" {
		view.Role = h.Suggested
	}
	if !h.Progress.Since.IsZero() {
		view.Since = h.Progress.Since
	}
	if h.Progress.Info != "" && strings.HasSuffix(h.Progress.Info, "%") {
		view.Stage += " " + h.Progress.Info
	}
	return view
}

// usually is how long the service's own parts of an install take.
const (
	usualPreparing  = 4 * time.Minute
	usualFinalizing = 20 * time.Minute
	// finalized is the percentage at which the service has an install finalized, and finalizingShare
	// how much of it that is.
	finalized, finalizingShare = 95, 15
)

// progress is how far the whole install is, in percent, and how long it will still take if every stage takes what it
// usually does. An eta of zero means that it is not known.
func progress(o *model.Observed) (percent int, eta time.Duration) {
	if o.Cluster == nil {
		return 0, 0
	}
	percent = o.Cluster.Progress.Percent
	switch {
	case o.Cluster.State.Installed():
		return 100, 0
	case o.Cluster.State == model.ClusterPreparing:
		return percent, usualPreparing + slowest(o) + usualFinalizing
	case o.Cluster.State == model.ClusterInstalling:
		return percent, slowest(o) + usualFinalizing
	case o.Cluster.State == model.ClusterFinalizing:
		// Each of its stages is dated, and which are still to come only the percentage says.
		left := usualFinalizing * time.Duration(max(0, finalized-percent)) / finalizingShare
		return percent, max(time.Minute, min(usualFinalizing-o.At.Sub(o.Cluster.StatusSince), left), slowest(o))
	}
	return percent, 0
}

// joining is how far a host is, in percent, that is a member and no node yet that takes work.
const joining = 90

// adding is how far, in percent, the hosts of the file are that an installed
// cluster did not have, and how long the slowest of them will take to be installed.
func adding(desired *model.Desired, names decide.Matches, ready []string, o *model.Observed) (percent int, eta time.Duration) {
	hosts, sum := 0, 0
	for i := range desired.Spec.Spec.Hosts {
		name := desired.Spec.Spec.Hosts[i].Name
		have := names.ByName[name]
		if have != nil {
			eta = max(eta, remaining(have, o.At))
		}
		switch {
		case !decide.IsMember(have):
			hosts++
			if have != nil && have.Day2 {
				sum += min(have.Progress.Percent, joining)
			}
		case have.Day2:
			hosts++
			if sum += 100; o.Spoke != nil && !slices.Contains(ready, name) {
				sum += joining - 100
			}
		}
	}
	if hosts == 0 {
		return 100, 0
	}
	return sum / hosts, eta
}

// slowest is what the host with the longest way still to go usually takes.
func slowest(o *model.Observed) time.Duration {
	var longest time.Duration
	for i := range o.Hosts {
		longest = max(longest, remaining(&o.Hosts[i], o.At))
	}
	return longest
}

func remaining(h *model.Host, now time.Time) time.Duration {
	switch h.State {
	case model.HostInstalled, model.HostAdded, model.HostFailed, model.HostCancelled:
		return 0
	}
	stages := h.Progress.Stages
	at := slices.Index(stages, h.Progress.Stage)
	var left time.Duration
	for i, stage := range stages {
		switch {
		case i == at:
			left += max(0, usual(stage)-now.Sub(h.Progress.Since))
		case i > at:
			left += usual(stage)
		}
	}
	return left
}

func usual(stage string) time.Duration {
	entry, _ := explain.Stage(stage)
	return entry.Usual
}

// describe finds the one thing that a host waits for.
func describe(v *model.HostView, plan model.Plan) {
	scopes := []model.Scope{model.ScopeHost.Of(v.Name), model.ScopeHost.Of(v.ID)}
	if len(plan.Removals) > 0 {
		scopes = append(scopes, model.ScopeNode.Of(v.Name))
	}
	for _, b := range plan.Blockers {
		if slices.Contains(scopes, b.Scope) || slices.Contains(b.Hosts, v.Name) {
			v.Waiting, v.Trouble = b.Message, true
			return
		}
	}
	for _, w := range plan.Waits {
		if slices.Contains(scopes, w.Scope) {
			if stage := fmt.Sprintf("%s: %s", v.Name, v.Stage); strings.HasPrefix(stage, w.For) {
				continue // the stage stands in its own column
			}
			v.Waiting = strings.TrimPrefix(w.For, v.Name+" ")
			return
		}
	}
}
