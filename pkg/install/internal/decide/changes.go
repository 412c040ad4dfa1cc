package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
)

// changeOf is what a person is shown of a difference.
func changeOf(d setting.Difference, prefix string) model.Change {
	if strings.HasPrefix(string(d.Setting), "spec.") || d.Setting == setting.Approved {
		prefix = "" // not relative to the object, or no field of the file
	}
	return model.Change{Field: prefix + string(d.Setting), From: d.Have.Show(d.Setting), To: d.Want.Show(d.Setting)}
}

func (p *planner) drift(scope model.Scope, d setting.Difference, why string) {
	p.driftOf(scope, "", d, why)
}

// driftOf reports a difference that is not written. prefix is the path that the
// setting is relative to.
func (p *planner) driftOf(scope model.Scope, prefix string, d setting.Difference, why string) {
	p.warn(model.Warning{
		Key: "drift/" + string(scope) + "/" + string(d.Setting), Scope: scope, Reason: "Drift",
		Message: fmt.Sprintf("%s%s is %s in the file and %s in the service; it %s", prefix, d.Setting, orNothing(d.Want.Show(d.Setting)), orNothing(d.Have.Show(d.Setting)), why),
	})
}

func orNothing(text string) string { return cmp.Or(text, "nothing") }

// allChanges lists the settings of a new object as changes from nothing.
func allChanges(prefix string, settings model.Settings) []model.Change {
	var changes []model.Change
	for name, value := range settings {
		changes = append(changes, changeOf(setting.Difference{Setting: name, Want: value}, prefix))
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

// imageDifferences compares what is said of an InfraEnv with it, but for what the
// file overrides in the service's own words.
func imageDifferences(want model.Settings, env *model.InfraEnv) []setting.Difference {
	return slices.DeleteFunc(setting.Differences(want, env.Settings), func(d setting.Difference) bool { return slices.Contains(env.Overridden, d.Setting) })
}
