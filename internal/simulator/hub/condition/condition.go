// Package condition tells the conditions of a hub's objects from what the service says.
package condition

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The values of a condition's status.
const (
	True    = "True"
	False   = "False"
	Unknown = "Unknown"
)

// Condition is one entry of status.conditions, which all kinds spell alike.
type Condition struct {
	Type, Status, Reason, Message string
}

// outcome is how a condition is in some states, which are separated by |; without any, in all of them.
type outcome struct{ states, status, reason, message string }

// inState is a condition by the first of its outcomes that is for a state.
func inState(kind, state string, all ...outcome) Condition {
	i := slices.IndexFunc(all, func(o outcome) bool { return o.states == "" || slices.Contains(strings.Split(o.states, "|"), state) })
	return Condition{kind, all[i].status, all[i].reason, all[i].message}
}

func unrecognised(state string) outcome {
	return outcome{"", Unknown, "UnknownStatus", "The installation status is currently not recognized: " + state}
}

// Set merges conditions into those of an object. What is unchanged
// keeps its times; a change of status moves lastTransitionTime. With heartbeat
// they also carry lastProbeTime, which moves at any change, as Hive's contract
// has it.
func Set(have []any, want []Condition, now time.Time, heartbeat bool) []any {
	have = slices.Clone(have)
	stamp := now.UTC().Format(time.RFC3339)
	for _, w := range want {
		at := slices.IndexFunc(have, func(c any) bool {
			m, _ := c.(map[string]any)
			return m["type"] == w.Type
		})
		entry := map[string]any{"type": w.Type, "status": w.Status, "reason": w.Reason}
		if w.Message != "" {
			entry["message"] = w.Message
		}
		if at < 0 {
			entry["lastTransitionTime"] = stamp
			if heartbeat {
				entry["lastProbeTime"] = stamp
			}
			have = append(have, entry)
			continue
		}
		old := have[at].(map[string]any)
		message, _ := old["message"].(string)
		if old["status"] == w.Status && old["reason"] == w.Reason && message == w.Message {
			continue
		}
		entry["lastTransitionTime"] = old["lastTransitionTime"]
		if old["status"] != w.Status || old["reason"] != w.Reason && heartbeat {
			entry["lastTransitionTime"] = stamp
		}
		if heartbeat {
			entry["lastProbeTime"] = stamp
		}
		have[at] = entry
	}
	return have
}

// complaints are the messages of what does not succeed, by the names of their categories.
func complaints(checks map[string][]assisted.Check) string {
	var said []string
	for _, category := range slices.Sorted(maps.Keys(checks)) {
		for _, c := range checks[category] {
			if c.Status != "success" && c.Status != "disabled" {
				said = append(said, c.Message)
			}
		}
	}
	return strings.Join(said, ",")
}

// SpecSynced says how the last transfer of a spec ended.
func SpecSynced(err error, good string) Condition {
	switch {
	case err == nil:
		return Condition{"SpecSynced", True, "SyncOK", good}
	case assisted.IsInput(err):
		return Condition{"SpecSynced", False, "InputError", "The Spec could not be synced due to an input error: " + err.Error()}
	}
	return Condition{"SpecSynced", False, "BackendError", "The Spec could not be synced due to backend error: " + err.Error()}
}

// Of finds a condition of an object; nil where there is none.
func Of(o *objects.Object, kind string) map[string]any {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list {
		if m, ok := c.(map[string]any); ok && m["type"] == kind {
			return m
		}
	}
	return nil
}

// ReasonOf is the reason of a condition of an object; "" where there is none.
func ReasonOf(o *objects.Object, kind string) string {
	reason, _ := Of(o, kind)["reason"].(string)
	return reason
}
