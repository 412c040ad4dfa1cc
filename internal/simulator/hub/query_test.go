package hub

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// machineText is an inventory to ask about.
const machineText = `{"cpu":{"count":16,"architecture":"x86_64"},"memory":{"physicalBytes":34359738368},
"disks":[{"name":"sda","sizeBytes":120,"driveType":"HDD"},{"name":"nvme0n1","sizeBytes":500,"driveType":"SSD"}],
"systemVendor":{"manufacturer":"Dell Inc.","virtual":false}}`

func TestQuery(t *testing.T) {
	var machine any
	if err := json.Unmarshal([]byte(machineText), &machine); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`.cpu.count == 16 and .memory.physicalBytes >= 34359738368`: `[true]`,
		`.cpu.count > 16 or .cpu["architecture"] == "arm64"`:        `[false]`,
		`[.disks[] | select(.driveType == "SSD")] | length > 0`:     `[true]`,
		`.disks | map(.sizeBytes) | add`:                            `[620]`,
		`any(.disks[]; .sizeBytes / 100 >= 5)`:                      `[true]`,
		`.disks | all(.driveType == "SSD")`:                         `[false]`,
		`.systemVendor.virtual | not`:                               `[true]`,
		`.systemVendor.manufacturer | test("^Dell")`:                `[true]`,
		`.gpus // [] | length == 0`:                                 `[true]`,
		`.disks[-1].name, .disks[0].name`:                           `["nvme0n1","sda"]`,
		`(.disks | length) * 2 - -1 == 5`:                           `[true]`,
		`.systemVendor | has("serialNumber")`:                       `[false]`,
		`.disks[] | .name | startswith("nvme")`:                     `[false,true]`,
		`.cpu | contains({architecture})?`:                          "",
		`.cpu.count.x`:                                              "",
		`.disks.name`:                                               "",
		`.cpu |`:                                                    "",
		`(.cpu`:                                                     "",
		`"open`:                                                     "",
		`.cpu & .memory`:                                            "",
		`nonsense(.cpu)`:                                            "",
		`1 / 0`:                                                     "",
	} {
		q, err := parseQuery(text)
		var out []any
		if err == nil {
			out, err = q(machine)
		}
		switch {
		case want == "" && err == nil:
			t.Errorf("%s gives %v and no error", text, out)
		case want != "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "":
			if diff := cmp.Diff(want, toJSON(out)); diff != "" {
				t.Errorf("%s: -want +have\n%s", text, diff)
			}
		}
	}
}

// TestQueriesDoNotBlowUp doubles a text and a list with each step.
func TestQueriesDoNotBlowUp(t *testing.T) {
	for _, text := range []string{`"x"`, `[1]`} {
		q, err := parseQuery(text + strings.Repeat("|.+.", 40))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q(nil); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func FuzzQuery(f *testing.F) {
	for _, text := range []string{".", ".a[0].b", `[.[] | select(.x == "y")] | length > 1`, "any(.a; . < 3) // null", "-(1 % 2)", `."a"?`} {
		f.Add(text)
	}
	var machine any
	if err := json.Unmarshal([]byte(machineText), &machine); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 200 {
			return // longer ones find nothing that these do not
		}
		if q, err := parseQuery(text); err == nil {
			_, _ = q(machine) // must end and not panic
		}
	})
}
