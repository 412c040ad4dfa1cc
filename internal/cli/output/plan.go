package output

import (
	"slices"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/upgrade"
)

// Plan is `plan -o json`.
type Plan struct {
	Verdict  model.Verdict `json:"verdict"`
	Message  string        `json:"message,omitempty"`
	Next     string        `json:"next,omitempty"`
	Actions  []Action      `json:"actions"`
	Waits    []Wait        `json:"waits"`
	Blockers []Blocker     `json:"blockers"`
	Warnings []Warning     `json:"warnings"`
	Wipes    []Wipe        `json:"wipes"`
	Missing  []string      `json:"missing"`
	Added    []string      `json:"added,omitempty"`
	Ready    []string      `json:"ready,omitempty"`
	Requests []Request     `json:"requests,omitempty"`
	Then     []Step        `json:"then,omitempty"`
	Removals []Removal     `json:"removals,omitempty"`
}

// Removal is how far the removal of a node is.
type Removal struct {
	Asked string `json:"asked"` // the name by which it was asked for
	Name  string `json:"name"`
	Node  string `json:"node"`
	Left  []Step `json:"left"` // what is still to be done
}

// Action is something to be done.
type Action struct {
	Key         string      `json:"key"`
	Scope       model.Scope `json:"scope"`
	Kind        model.Kind  `json:"kind"`
	Reason      string      `json:"reason"`
	Destructive bool        `json:"destructive"`
	Changes     []Change    `json:"changes"`
}

// Change is one field that an action changes.
type Change struct {
	Field string `json:"field"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// Wait is something that can only be waited for.
type Wait struct {
	Scope model.Scope `json:"scope"`
	For   string      `json:"for"`
	Since *time.Time  `json:"since,omitempty"`
	Who   model.Who   `json:"who"`
}

// Blocker is something that blocks an install.
type Blocker struct {
	Scope       model.Scope `json:"scope"`
	Reason      string      `json:"reason"`
	Message     string      `json:"message"`
	Field       string      `json:"field,omitempty"`
	Remedy      string      `json:"remedy,omitempty"`
	Since       *time.Time  `json:"since,omitempty"`
	Validations []string    `json:"validations"`
	Hosts       []string    `json:"hosts"`
}

// Warning is something to know that stops nothing.
type Warning struct {
	Scope   model.Scope `json:"scope"`
	Reason  string      `json:"reason"`
	Message string      `json:"message"`
	Next    string      `json:"next,omitempty"`
}

// Wipe is a disk that will be written over.
type Wipe struct {
	Host      string `json:"host"`
	Disk      string `json:"disk"`
	SizeBytes int64  `json:"sizeBytes"`
	Install   bool   `json:"install"`
}

// Step is something that follows on the plan.
type Step struct {
	Scope   model.Scope `json:"scope"`
	Kind    model.Kind  `json:"kind,omitempty"` // "": to wait for
	Message string      `json:"message"`
	Hosts   []string    `json:"hosts,omitempty"`
}

// OfPlan is the form of a plan and of what follows on it.
func OfPlan(plan model.Plan, then []model.Step) Plan {
	return Plan{
		Verdict: plan.Verdict, Message: plan.Message, Next: plan.Next.String(),
		Waits: Each(plan.Waits, ofWait), Blockers: Each(plan.Blockers, ofBlocker), Warnings: Each(plan.Warnings, ofWarning),
		Missing: orEmpty(plan.Missing), Added: plan.Added, Ready: plan.Ready, Requests: requestsOf(plan.Requests),
		Then: Each(then, func(s model.Step) Step { return Step(s) }),
		Actions: Each(plan.Actions, func(a model.Action) Action {
			changes := Each(a.Changes, func(c model.Change) Change { return Change(c) })
			return Action{Key: a.Key, Scope: a.Scope, Kind: a.Kind, Reason: a.Reason, Destructive: a.Destructive, Changes: changes}
		}),
		Removals: ofRemovals(plan.Removals),
		Wipes: Each(plan.Wipes, func(w model.Wipe) Wipe {
			return Wipe{Host: w.Host, Disk: w.Disk, SizeBytes: w.Size, Install: w.Install}
		}),
	}
}

// requestsOf are the requests that are not answered yet.
func requestsOf(verdicts []model.RequestVerdict) []Request {
	var out []Request
	for _, v := range verdicts {
		if v.Decision != model.RequestIgnore {
			out = append(out, OfRequest(v))
		}
	}
	return out
}

func ofRemovals(all []model.NodeRemoval) []Removal {
	if len(all) == 0 {
		return nil
	}
	return Each(all, func(r model.NodeRemoval) Removal {
		return Removal{Asked: r.Asked, Name: r.Name, Node: r.Node, Left: Each(r.Left, func(s model.Step) Step { return Step(s) })}
	})
}

func ofBlocker(b model.Blocker) Blocker {
	return Blocker{
		Scope: b.Scope, Reason: b.Reason, Message: b.Message, Field: b.Field, Remedy: b.Remedy.String(), Since: moment(b.Since),
		Validations: orEmpty(b.Validations), Hosts: orEmpty(b.Hosts),
	}
}

func ofWait(w model.Wait) Wait {
	return Wait{Scope: w.Scope, For: w.For, Since: moment(w.Since), Who: w.Who}
}

func ofWarning(w model.Warning) Warning {
	return Warning{Scope: w.Scope, Reason: w.Reason, Message: w.Message, Next: w.Next.String()}
}

// Why is `why -o json`.
type Why struct {
	// Machine is set where it was asked for.
	Machine  *Machine  `json:"machine,omitempty"`
	Cluster  string    `json:"cluster"`
	State    string    `json:"state"`
	Blockers []Blocker `json:"blockers"`
	// Waits are what is expected to pass by itself.
	Waits []Wait `json:"waits"`
	// Warnings are checks that fail and hold nothing up.
	Warnings []Warning `json:"warnings"`
}

// OfWhy is the output form of what blocks a cluster.
func OfWhy(cluster, state string, plan model.Plan) Why {
	return Why{
		Cluster: cluster, State: state, Blockers: Each(plan.Blockers, ofBlocker), Waits: Each(plan.Waits, ofWait),
		Warnings: Each(slices.Concat(plan.Checks, plan.Warnings), ofWarning),
	}
}

// Upgrade is an installed cluster as it stands to another version of OpenShift.
type Upgrade struct {
	Cluster string `json:"cluster"`
	Version string `json:"version"`
	Channel string `json:"channel"`
	// To is the version that was asked for, by this command or before.
	To      string `json:"to,omitempty"`
	Verdict string `json:"verdict,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Percent *int32 `json:"percent,omitempty"`
	// Updates are newest first.
	Updates []Update `json:"updates"`
	// InTheWay is what stands in the way of updates, Notes what a person should know of the one that runs.
	InTheWay []string `json:"inTheWay"`
	Notes    []string `json:"notes,omitempty"`
}

// Update is a release that a cluster may be updated to.
type Update struct {
	Version     string   `json:"version"`
	Image       string   `json:"image,omitempty"`
	Recommended bool     `json:"recommended"`
	Risks       []string `json:"risks,omitempty"`
}

// OfUpgrade is the document of how a cluster stands, and of what follows for the version that it is asked for.
func OfUpgrade(cluster, to string, s *upgrade.State, d *upgrade.Decision) Upgrade {
	u := Upgrade{
		Cluster: cluster, Version: s.Current(), Channel: s.Channel(), To: to, InTheWay: orEmpty(s.Obstacles()),
		Updates: Each(s.Updates(), func(u upgrade.Update) Update { return Update(u) }),
	}
	if to != "" {
		u.Verdict, u.Reason, u.Message, u.Percent, u.Notes = string(d.Verdict), d.Reason, d.Message, d.Percent, d.Notes
	}
	return u
}
