// Package condition computes the conditions of the objects of a hub from the state that the service reports.
package condition

import (
	_ "embed" // conditions.yaml
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
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

// outcome is how a condition is in some states, and where a fact holds; conditions.yaml says how it is read.
type outcome struct {
	States  []string `json:"states"`
	When    string   `json:"when"`
	Status  string   `json:"status"`
	Reason  string   `json:"reason"`
	Message string   `json:"message"`
}

type kind struct {
	Type     string    `json:"type"`
	Outcomes []outcome `json:"outcomes"`
}

//go:embed conditions.yaml
var text []byte

var kinds = sync.OnceValue(func() (all struct{ Cluster, Agent []kind }) {
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		panic(err) // the file is part of the program, and every test of the package reads it
	}
	return all
})

func in(state string, all []kind, facts map[string]bool, words map[string]string) []Condition {
	var out []Condition
	for _, k := range all {
		i := slices.IndexFunc(k.Outcomes, func(o outcome) bool {
			return (len(o.States) == 0 || slices.Contains(o.States, state)) && (o.When == "" || facts[o.When])
		})
		o := k.Outcomes[i]
		message := os.Expand(o.Message, func(name string) string { return words[name] })
		out = append(out, Condition{k.Type, o.Status, o.Reason, message})
	}
	return out
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
			at, have = len(have), append(have, map[string]any{})
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

// Of reads a condition of an object; a zero one where there is none.
func Of(o *apiobject.Object, kind string) Condition {
	written := apiobject.Condition(o, kind)
	text := func(name string) string { s, _ := written[name].(string); return s }
	return Condition{text("type"), text("status"), text("reason"), text("message")}
}

// Since is when the status of a condition changed last.
func Since(o *apiobject.Object, kind string) any {
	return apiobject.Condition(o, kind)["lastTransitionTime"]
}

// ClusterView is what the conditions of an AgentClusterInstall are derived from.
type ClusterView struct {
	State, Info string
	Checks      map[string][]assisted.Check
	Held        bool   // holdInstallation
	Preparation string // last-installation-preparation: not_started, success, failed
	Trouble     string // why the last preparation failed

	Want       objects.Counts // provisionRequirements
	Registered objects.Counts
	Approved   int
	Unsynced   int
}

// Startable tells of a ready cluster whether counts are exact, hosts approved and Agents' specs applied.
func (v *ClusterView) Startable() bool {
	return v.State == "ready" && v.counted() && v.Unsynced == 0 && v.Approved == v.Want.Sum()
}

func (v *ClusterView) counted() bool { return v.Registered == v.Want }

// Conditions are an AgentClusterInstall's, in the order in which the service writes them.
func (v *ClusterView) Conditions() []Condition {
	unapproved := v.Want.Sum() - v.Approved
	return in(v.State, kinds().Cluster, map[string]bool{
		"miscounted": !v.counted(), "unsynced": v.Unsynced > 0, "unapproved": unapproved != 0,
		"unchecked": v.Checks == nil, "held": v.Held,
		"prepared": v.Preparation == "success", "unprepared": v.Preparation == "failed",
	}, map[string]string{
		"state": v.State, "info": v.Info, "checks": complaints(v.Checks), "trouble": v.Trouble,
		"required": agents(v.Want), "registered": agents(v.Registered),
		"unsynced": strconv.Itoa(v.Unsynced), "unapproved": strconv.Itoa(unapproved),
	})
}

func agents(c objects.Counts) string {
	return fmt.Sprintf("%d master agents, %d arbiter agents and %d worker agents", c.Masters, c.Arbiters, c.Workers)
}

// NoCluster are the conditions of an AgentClusterInstall without a cluster.
func NoCluster() []Condition {
	var all []Condition
	for _, kind := range []string{"RequirementsMet", "Validated", "Completed", "Failed", "Stopped"} {
		all = append(all, Condition{kind, Unknown, "NotAvailable", "Information not available"})
	}
	return all
}

// AgentView is what the conditions of an Agent are derived from.
type AgentView struct {
	State, Info string
	Checks      map[string][]assisted.Check
	Approved    bool
}

// Conditions are those of an Agent, in the order in which the service writes them, but for SpecSynced.
func (v *AgentView) Conditions() []Condition {
	state, unbound := strings.CutSuffix(v.State, "-unbound")
	return in(state, kinds().Agent,
		map[string]bool{"unbound": unbound, "unapproved": !v.Approved, "unchecked": v.Checks == nil},
		map[string]string{"state": v.State, "info": v.Info, "checks": complaints(v.Checks)})
}
