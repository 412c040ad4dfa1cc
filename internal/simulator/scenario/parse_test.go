package scenario

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const header = "apiVersion: oaictl.io/v1alpha1\nkind: Scenario\nmetadata: {name: t}\n"

func TestParseReadsEveryField(t *testing.T) {
	one := 1
	got, err := Parse("t.yaml", []byte(header+`spec:
  service:
  - match: {method: GET, path: "/v2/clusters/*", client: user}
    at: {state: installing, after: 10m, call: 3}
    do: respond
    args: {status: 500, times: 5, for: 3m, body: "no"}
  hosts:
  - match: {name: worker-*, role: worker, index: 1, mac: "52:54:00:AA:00:01"}
    at: {stage: Writing image to disk}
    do: fail
    args: {reason: the disk died}
  - do: inventory
    args: {cpus: 2, memory: 4GiB, disk: 20GB, patch: {tpm_version: none}}
  - do: operators-timeout
    args: {operators: [console]}
  - do: network
    args: {subnet: 10.1.2.3/24}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := &Scenario{
		Name: "t",
		Service: []Rule{{
			Match: Match{Method: "GET", Path: "/v2/clusters/*", Client: "user"},
			At:    StartCondition{State: "installing", After: 10 * time.Minute, Call: 3},
			Do:    DoRespond, Line: 6, Column: 5,
			Args: Args{"status": 500, "times": 5, "for": 3 * time.Minute, "body": "no"},
		}},
		Hosts: []Rule{{
			Match: Match{Name: "worker-*", Role: "worker", Index: &one, MAC: "52:54:00:aa:00:01"},
			At:    StartCondition{Stage: "Writing image to disk"},
			Do:    DoFail, Line: 11, Column: 5,
			Args: Args{"reason": "the disk died"},
		}, {
			Do: DoInventory, Line: 15, Column: 5,
			Args: Args{"cpus": 2, "memory": 4 << 30, "disk": 20_000_000_000, "patch": map[string]any{"tpm_version": "none"}},
		}, {
			Do: DoOperatorsTimeout, Line: 17, Column: 5,
			Args: Args{"operators": []string{"console"}},
		}, {
			Do: DoNetwork, Line: 19, Column: 5,
			Args: Args{"subnet": "10.1.2.0/24"},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scenario (-want +got):\n%s", diff)
	}
	if r := got.Service[0]; r.Times() != 5 || r.For() != 3*time.Minute {
		t.Errorf("times %d, for %s", r.Times(), r.For())
	}
}

func TestParseSaysWhatIsWrongAndWhere(t *testing.T) {
	for _, tc := range []struct {
		name, data string
		want       []string
	}{
		{"empty", "", []string{"t.yaml: is empty; a scenario has apiVersion, kind, metadata and spec"}},
		{"no mapping", "- a\n", []string{"t.yaml:1:1: the scenario must be an object"}},
		{"broken", "a: [", []string{"t.yaml:1:4: "}},
		{"two documents", header + "spec: {}\n---\nkind: X\n", []string{"t.yaml:6:1: a second document"}},
		{"wrong kind", "apiVersion: v1\nkind: Cluster\nspec: {}\n", []string{
			`t.yaml:1:13: apiVersion is "v1"; it must be oaictl.io/v1alpha1`,
			`t.yaml:2:7: kind is "Cluster"; it must be Scenario`,
		}},
		{"no identity", "spec: {}\n", []string{"apiVersion is missing", "kind is missing"}},
		{"no spec", header, []string{"spec is missing"}},
		{"not a list", header + "spec: {hosts: {}}\n", []string{"spec.hosts must be a list"}},
		{"unknown field", header + "spec:\n  host: []\n", []string{`t.yaml:5:3: unknown field "host" in spec (did you mean "hosts"?)`}},
		{"twice", header + "kind: Scenario\nspec: {}\n", []string{"kind"}},
		{"no verb", header + "spec:\n  hosts:\n  - at: {after: 1m}\n", []string{"t.yaml:6:5: spec.hosts[0] has no do"}},
		{"unknown verb", header + "spec:\n  hosts:\n  - do: never-boots\n", []string{
			`t.yaml:6:9: unknown do "never-boots" for hosts (did you mean "never-boot"?)`,
		}},
		{"verb of the other half", header + "spec:\n  service:\n  - do: slow-disk\n", []string{`unknown do "slow-disk" for service`}},
		{"unknown argument", header + "spec:\n  hosts:\n  - do: fail\n    args: {raeson: x}\n", []string{
			`t.yaml:7:12: unknown field "raeson" in spec.hosts[0].args (did you mean "reason"?)`,
		}},
		{"wrong types, all at once", header + "spec:\n  service:\n  - do: respond\n    args: {status: bad, for: 3}\n  - do: hang\n    at: {after: soon}\n", []string{
			`spec.service[0].args.status must be a whole number, not "bad"`,
			`spec.service[0].args.for must be a duration such as 90s or 10m, not "3"`,
			`t.yaml:9:17: spec.service[1].at.after must be a duration such as 90s or 10m, not "soon"`,
		}},
		{"misspelt stage", header + "spec:\n  hosts:\n  - do: stall\n    at: {stage: Rebooted}\n", []string{
			`spec.hosts[0].at.stage is "Rebooted", which is not an install stage (did you mean "Rebooting"?)`,
		}},
		{"bad client", header + "spec:\n  service:\n  - do: hang\n    match: {client: me}\n", []string{`client is "me"; it must be user or agent`}},
		{"bad role", header + "spec:\n  hosts:\n  - do: fail\n    match: {role: boss}\n", []string{`role is "boss"`}},
		{"bad pattern", header + "spec:\n  hosts:\n  - do: fail\n    match: {name: \"[\"}\n", []string{`"[" is no pattern`}},
		{"bad sizes", header + "spec:\n  hosts:\n  - do: inventory\n    args: {memory: 4, disk: 3 parsecs}\n", []string{
			"args.memory must be a size", "args.disk must be a size",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := Parse("t.yaml", []byte(tc.data))
			if err == nil {
				t.Fatalf("accepted as %+v", s)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q:\n%v", want, err)
				}
			}
		})
	}
}

func TestLoadNamesTheFileThatIsMissing(t *testing.T) {
	if _, err := Load("testdata/none.yaml"); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("error %v does not name the file", err)
	}
}

func TestNoScenarioHasNoRules(t *testing.T) {
	var s *Scenario
	if len(s.ServiceRules())+len(s.HostRules()) != 0 {
		t.Error("a nil scenario has rules")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(header + "spec: {service: [{do: hang, at: {call: 3}}], hosts: [{do: fail}]}\n")
	f.Add("spec: &a {hosts: *a}\n")
	f.Add("? {}\n: [\n")
	f.Fuzz(func(t *testing.T, data string) {
		s, err := Parse("f.yaml", []byte(data))
		if (s == nil) == (err == nil) {
			t.Fatalf("scenario %v with error %v", s, err)
		}
	})
}

func TestExamplesAreScenarios(t *testing.T) {
	const folder = "../../../examples/scenarios"
	files, err := filepath.Glob(folder + "/*.yaml")
	if err != nil || len(files) < 18 {
		t.Fatalf("found %d examples: %v", len(files), err)
	}
	for _, file := range files {
		s, err := Load(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if want := strings.TrimSuffix(filepath.Base(file), ".yaml"); s.Name != want {
			t.Errorf("%s is named %q", file, s.Name)
		}
		if len(s.Service)+len(s.Hosts) == 0 {
			t.Errorf("%s makes no trouble", file)
		}
	}
}
