package hub

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
)

// machineText is an inventory to ask about.
const machineText = `{"cpu":{"count":16,"architecture":"x86_64"},"memory":{"physicalBytes":34359738368},
"disks":[{"name":"sda","sizeBytes":120,"driveType":"HDD"},{"name":"nvme0n1","sizeBytes":500,"driveType":"SSD"}],
"systemVendor":{"manufacturer":"Dell Inc.","virtual":false}}`

// labelled is an Agent with an inventory and the label of the classification "size".
func labelled(t *testing.T, inventory, label string) *apiobject.Object {
	t.Helper()
	agent := &apiobject.Object{Object: map[string]any{"metadata": map[string]any{"name": "a"}, "status": map[string]any{}}}
	if label != "" {
		agent.SetLabels(map[string]string{hubapi.LabelClassificationPrefix + "size": label})
	}
	if inventory != "" {
		var content map[string]any
		if err := json.Unmarshal([]byte(inventory), &content); err != nil {
			t.Fatal(err)
		}
		agent.Object["status"] = map[string]any{"inventory": content}
	}
	return agent
}

// TestClassificationAnswers gives an Agent the label that a query's answer to its inventory asks for.
func TestClassificationAnswers(t *testing.T) {
	const matches, fails = "big", "QUERYERROR-big"
	for query, want := range map[string]string{
		`.cpu.count == 16 and .memory.physicalBytes >= 34359738368`:                 matches,
		`.cpu.count > 16 or .cpu["architecture"] == "arm64"`:                        "",
		`[.disks[] | select(.driveType == "SSD")] | length > 0`:                     matches,
		`.disks | map(.sizeBytes) | add == 620`:                                     matches,
		`any(.disks[]; .sizeBytes / 100 >= 5)`:                                      matches,
		`.disks | all(.driveType == "SSD")`:                                         "",
		`.systemVendor.virtual | not`:                                               matches,
		`.systemVendor.manufacturer | test("^Dell")`:                                matches,
		`.gpus // [] | length == 0`:                                                 matches,
		`[.disks[-1].name, .disks[0].name] == ["nvme0n1", "sda"]`:                   matches,
		`(.disks | length) * 2 - -1 == 5`:                                           matches,
		`.systemVendor | has("serialNumber")`:                                       "",
		`[.disks[] | .name | startswith("nvme")] == [false, true]`:                  matches,
		`.cpu | contains({architecture})?`:                                          matches,
		`.disks as [$first] | $first.name | if . == "sda" then true else false end`: matches,
		// A value that is not a boolean matches nothing.
		`.disks | map(.sizeBytes) | add`: "",
		`.systemVendor.manufacturer`:     "",
		`.gpus`:                          "",
		// One value is asked for.
		`.disks[] | .name == "sda"`: fails,
		`empty`:                     fails,
		// Queries that cannot be read or run.
		`.cpu.count.x`:   fails,
		`.disks.name`:    fails,
		`.cpu |`:         fails,
		`(.cpu`:          fails,
		`"open`:          fails,
		`.cpu & .memory`: fails,
		`nonsense(.cpu)`: fails,
		`1 / 0`:          fails,
	} {
		agent := labelled(t, machineText, "")
		classify(t.Context(), agent, &agentinstall.AgentClassificationSpec{LabelKey: "size", LabelValue: "big", Query: query}, false)
		if have := agent.GetLabels()[hubapi.LabelClassificationPrefix+"size"]; have != want {
			t.Errorf("%s: the label is %q, not %q", query, have, want)
		}
	}
}

// TestClassificationLabels changes no label that another classification gave, unless its own query matches or fails.
func TestClassificationLabels(t *testing.T) {
	for name, row := range map[string]struct {
		inventory, query, have string
		deleting               bool
		want                   string
	}{
		"before an inventory":                {"", ".cpu.count > 8", "", false, ""},
		"a query that asks for nothing":      {"", ".cpu.count == null", "", false, "big"},
		"no longer":                          {machineText, ".cpu.count > 99", "big", false, ""},
		"the query was mended":               {machineText, ".cpu.count > 99", "QUERYERROR-big", false, ""},
		"another's":                          {machineText, ".cpu.count > 99", "small", false, "small"},
		"another's, and this one matches":    {machineText, ".cpu.count > 8", "small", false, "big"},
		"another's, and this one fails":      {machineText, ".cpu.count.x", "small", false, "QUERYERROR-big"},
		"being deleted":                      {machineText, ".cpu.count > 8", "big", true, ""},
		"a failed one being deleted":         {machineText, ".cpu.count.x", "QUERYERROR-big", true, ""},
		"another's, and this one is deleted": {machineText, ".cpu.count > 8", "small", true, "small"},
	} {
		agent := labelled(t, row.inventory, row.have)
		changed := classify(t.Context(), agent, &agentinstall.AgentClassificationSpec{LabelKey: "size", LabelValue: "big", Query: row.query}, row.deleting)
		if have := agent.GetLabels()[hubapi.LabelClassificationPrefix+"size"]; have != row.want || changed != (row.have != row.want) {
			t.Errorf("%s: the label is %q, not %q, and changed is %v", name, have, row.want, changed)
		}
	}
}

func TestClassificationCounts(t *testing.T) {
	var agents []*apiobject.Object
	for _, label := range []string{"", "big", "big", "small", "QUERYERROR-big", "QUERYERROR-small"} {
		agents = append(agents, labelled(t, machineText, label))
	}
	matched, failed := countClassified(agents, &agentinstall.AgentClassificationSpec{LabelKey: "size", LabelValue: "big"})
	if diff := cmp.Diff([]int64{2, 2}, []int64{matched, failed}); diff != "" {
		t.Errorf("matched and failed: -want +have\n%s", diff)
	}
}
