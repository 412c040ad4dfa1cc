package hub

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// The values of a condition's status.
const (
	yes     = "True"
	no      = "False"
	unknown = "Unknown"
)

// condition is one entry of status.conditions, as ACI, InfraEnv, Agent and
// ClusterDeployment spell it alike.
type condition struct {
	Type, Status, Reason, Message string
}

// setConditions merges conditions into those of an object. What is unchanged
// keeps its times; a change of status moves lastTransitionTime. With heartbeat
// they also carry lastProbeTime, which moves at any change, as Hive's contract
// has it.
func setConditions(have []any, want []condition, now time.Time, heartbeat bool) []any {
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

// complaints are the messages of the validations that do not succeed, the
// categories in the order of their names.
func complaints(checks map[string][]check) string {
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

// specSynced says how the last transfer of a spec ended.
func specSynced(err error, good string) condition {
	switch {
	case err == nil:
		return condition{"SpecSynced", yes, "SyncOK", good}
	case isInput(err):
		return condition{"SpecSynced", no, "InputError", "The Spec could not be synced due to an input error: " + err.Error()}
	}
	return condition{"SpecSynced", no, "BackendError", "The Spec could not be synced due to backend error: " + err.Error()}
}
