package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/internal/nodeplan"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// collector gathers the plan that all decisions make together.
type collector struct {
	plan     model.Plan
	readOnly bool // nothing is to be done
}

func (c *collector) wait(w model.Wait)     { c.plan.Waits = append(c.plan.Waits, w) }
func (c *collector) block(b model.Blocker) { c.plan.Blockers = append(c.plan.Blockers, b) }
func (c *collector) warn(w model.Warning)  { c.plan.Warnings = append(c.plan.Warnings, w) }
func (c *collector) idle() bool            { return len(c.plan.Actions) == 0 }
func (c *collector) unhindered() bool      { return len(c.plan.Blockers) == 0 }

// atRest reports whether there is nothing to do, nothing in the way and nothing to wait for.
func (c *collector) atRest() bool { return c.idle() && c.unhindered() && len(c.plan.Waits) == 0 }

func (c *collector) end(v model.Verdict, message string, next model.Advice) {
	c.plan.Verdict, c.plan.Message, c.plan.Next = v, message, next
}

// act adds something to do, where anything is to be done.
func (c *collector) act(a model.Action) {
	if !c.readOnly {
		c.plan.Actions = append(c.plan.Actions, a)
	}
}

// otherwise records what the run waits for where there is no other wait: a wait always has a reason.
func (c *collector) otherwise(what string, since time.Time) {
	if c.atRest() {
		c.wait(model.Wait{Key: "cluster/service", Scope: model.ScopeCluster, For: what, Since: since, Who: model.WhoService})
	}
}

// take adds what follows for the nodes of the installed cluster.
func (c *collector) take(a nodeplan.Answer) {
	for _, x := range a.Actions {
		c.act(x)
	}
	c.plan.Waits = append(c.plan.Waits, a.Waits...)
	c.plan.Blockers = append(c.plan.Blockers, a.Blockers...)
	c.plan.Warnings = append(c.plan.Warnings, a.Warnings...)
	c.plan.Requests = append(c.plan.Requests, a.Requests...)
	c.plan.Questions = append(c.plan.Questions, a.Questions...)
}

// apart makes a plan of some decisions alone, which does not become part of the whole.
func (c *collector) apart(decide func()) model.Plan {
	whole := c.plan
	defer func() { c.plan = whole }()
	c.plan = model.Plan{}
	decide()
	return c.plan
}

// slow reports whether a blocker is that something takes too long, and no more is known.
func slow(b model.Blocker) bool {
	return b.Reason == "StageTimedOut" || b.Reason == "FinalizingTimedOut"
}

// asWarning is a blocker of something that the install does not depend on.
func asWarning(b model.Blocker) model.Warning {
	return model.Warning{Key: b.Key, Scope: b.Scope, Reason: b.Reason, Message: b.Message, Next: b.Remedy}
}

// changeOf is what a person is shown of a difference.
func changeOf(d clustersettings.Difference, prefix string) model.Change {
	if strings.HasPrefix(string(d.Setting), "spec.") || d.Setting == model.SettingApproved {
		prefix = "" // not relative to the object, or no field of the file
	}
	return model.Change{Field: prefix + string(d.Setting), From: clustersettings.Show(d.Setting, d.Have),
		To: clustersettings.Show(d.Setting, d.Want)}
}

func (c *collector) reportDrift(scope model.Scope, d clustersettings.Difference, why string) {
	c.reportDriftOf(scope, string(d.Setting), d, why)
}

// reportDriftOf reports a difference that is not written, of a field of the file.
func (c *collector) reportDriftOf(scope model.Scope, field string, d clustersettings.Difference, why string) {
	c.warn(model.Warning{
		Key: "drift/" + string(scope) + "/" + string(d.Setting), Scope: scope, Reason: "Drift",
		Message: fmt.Sprintf("%s is %s in the file and %s in the service; it %s", field, orNothing(clustersettings.Show(d.Setting, d.Want)),
			orNothing(clustersettings.Show(d.Setting, d.Have)), why),
	})
}

func orNothing(text string) string { return cmp.Or(text, "nothing") }

// allChanges lists the settings of a new object as changes from nothing.
func allChanges(settings model.Settings) []model.Change {
	var changes []model.Change
	for name, value := range settings {
		changes = append(changes, changeOf(clustersettings.Difference{Setting: name, Want: value}, ""))
	}
	slices.SortFunc(changes, func(a, b model.Change) int { return cmp.Compare(a.Field, b.Field) })
	return changes
}

// redactedChanges names settings without what they are.
func redactedChanges(settings model.Settings) []model.Change {
	changes := make([]model.Change, 0, len(settings))
	for _, setting := range slices.Sorted(maps.Keys(settings)) {
		changes = append(changes, model.Change{Field: string(setting), From: "[redacted]", To: "[redacted]"})
	}
	return changes
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
