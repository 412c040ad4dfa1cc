package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/hub/machinecause"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// rule is the part of JSON schema that docs/*.schema.json use.
type rule struct {
	Ref        string          `json:"$ref"`
	Defs       map[string]rule `json:"$defs"`
	Type       string          `json:"type"`
	Const      any             `json:"const"`
	Enum       []any           `json:"enum"`
	Pattern    string          `json:"pattern"`
	Format     string          `json:"format"`
	Minimum    *float64        `json:"minimum"`
	Maximum    *float64        `json:"maximum"`
	Required   []string        `json:"required"`
	Properties map[string]rule `json:"properties"`
	Items      *rule           `json:"items"`
	Additional *bool           `json:"additionalProperties"`
}

func readRule(t *testing.T, name string) rule {
	t.Helper()
	text := must.Get(os.ReadFile("../../docs/" + name + ".schema.json"))(t)
	var r rule
	must.Do(t, json.Unmarshal(text, &r), name)
	return r
}

// check says what is wrong with a value.
func (r rule) check(value any, at string, defs map[string]rule) []string {
	if r.Ref != "" {
		target, ok := defs[strings.TrimPrefix(r.Ref, "#/$defs/")]
		if !ok {
			return []string{at + ": nothing stands at " + r.Ref}
		}
		return target.check(value, at, defs)
	}
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, at+": "+fmt.Sprintf(format, args...)) }
	if r.Const != nil && value != r.Const {
		say("%v is not %v", value, r.Const)
	}
	if r.Enum != nil && !slices.Contains(r.Enum, value) {
		say("%v is none of %v", value, r.Enum)
	}
	switch value := value.(type) {
	case map[string]any:
		return append(wrong, r.object(value, at, defs)...)
	case []any:
		if r.Type != "array" {
			say("is a list, not %s", r.Type)
			return wrong
		}
		for i, item := range value {
			wrong = append(wrong, r.Items.check(item, fmt.Sprintf("%s[%d]", at, i), defs)...)
		}
	case string:
		if r.Type != "string" && r.Enum == nil {
			say("is a text, not %s", r.Type)
		}
		if r.Pattern != "" && !regexp.MustCompile(r.Pattern).MatchString(value) {
			say("%q does not match %s", value, r.Pattern)
		}
		if _, err := time.Parse(time.RFC3339, value); r.Format == "date-time" && err != nil {
			say("%v", err)
		}
	case float64:
		if r.Const == nil && (r.Type != "integer" || value != float64(int64(value))) {
			say("%v is not %s", value, r.Type)
		}
		if (r.Minimum != nil && value < *r.Minimum) || (r.Maximum != nil && value > *r.Maximum) {
			say("%v is out of bounds", value)
		}
	case bool:
		if r.Type != "boolean" {
			say("is a boolean, not %s", r.Type)
		}
	default:
		say("is %v", value)
	}
	return wrong
}

func (r rule) object(value map[string]any, at string, defs map[string]rule) []string {
	if r.Type != "object" {
		return []string{at + ": is an object, not " + r.Type}
	}
	var wrong []string
	for _, name := range r.Required {
		if _, ok := value[name]; !ok {
			wrong = append(wrong, at+"."+name+": is missing")
		}
	}
	for name, field := range value {
		property, ok := r.Properties[name]
		if !ok {
			wrong = append(wrong, at+"."+name+": is not described")
			continue
		}
		wrong = append(wrong, property.check(field, at+"."+name, defs)...)
	}
	return wrong
}

func holds(t *testing.T, name string, r rule, text string) {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, complaint := range r.check(value, "$", r.Defs) {
		t.Errorf("docs/%s.schema.json: %s", name, complaint)
	}
}

// TestSchemasDescribeTheOutput holds what is printed to the schemas in docs.
func TestSchemasDescribeTheOutput(t *testing.T) {
	rules := map[string]rule{}
	for _, name := range []string{"plan", "why", "event"} {
		rules[name] = readRule(t, name)
	}
	here(t)
	outputs := map[string]string{}
	empty := lab()
	empty.clusters = nil
	outputs["plan of nothing"] = run(t, empty, "", "plan", "-f", "cluster.yaml", "-o", "json").out
	outputs["plan of hosts"] = run(t, lab(), "", "plan", "-f", "cluster.yaml", "-o", "json").out
	ready := lab()
	ready.clusters[0].State, ready.hosts = model.ClusterReady, ready.hosts[:1]
	ready.hosts[0].State, ready.hosts[0].Validations = model.HostReady, nil
	outputs["plan of a ready cluster"] = run(t, ready, "", "plan", "-f", "cluster.yaml", "-o", "json").out
	outputs["why"] = run(t, lab(), "", "why", "lab", "-o", "json").out
	outputs["why of a file"] = run(t, lab(), "", "why", "-f", "cluster.yaml", "-o", "json").out
	outputs["why of a host"] = run(t, lab(), "", "why", "host", "node-1", "-o", "json").out
	machine := lab()
	machine.machines = []machinecause.Machine{machineOf("node-0", &machine.hosts[0])}
	outputs["why of a machine"] = run(t, machine, "", "why", "machine", "node-0", "-o", "json").out
	trouble := lab()
	trouble.looks = looksOf(model.ClusterInstalling, model.ClusterFailed)
	outputs["event"] = run(t, trouble, "", "create", "cluster", "-f", "cluster.yaml", "--progress", "json").out
	blocked := lab()
	outputs["event of blockers"] = run(t, blocked, "", "create", "cluster", "-f", "cluster.yaml", "--progress", "json", "--timeout", "10m").out
	outputs["event of a wait"] = run(t, lab(), "", "wait", "cluster", "lab", "--for", "ready", "--progress", "json", "--timeout", "1m").out

	for name, text := range outputs {
		t.Run(name, func(t *testing.T) {
			kind, _, _ := strings.Cut(name, " ")
			if kind != "event" {
				holds(t, kind, rules[kind], text)
				return
			}
			lines := strings.Split(strings.TrimSpace(text), "\n")
			for _, line := range lines {
				holds(t, kind, rules[kind], line)
			}
			if last := lines[len(lines)-1]; !strings.Contains(last, `"exitCode":`) || !strings.Contains(last, `"type":"run"`) {
				t.Errorf("the last line is no end: %s", last)
			}
		})
	}
}

// TestCheckerFindsMistakes holds the checker itself to finding something.
func TestCheckerFindsMistakes(t *testing.T) {
	r := readRule(t, "event")
	for _, text := range []string{
		`{"v":2,"time":"2026-08-01T12:00:00Z","type":"run"}`, `{"v":1,"time":"noon","type":"run"}`, `{"v":1,"type":"run"}`,
		`{"v":1,"time":"2026-08-01T12:00:00Z","type":"song"}`, `{"v":1,"time":"2026-08-01T12:00:00Z","type":"run","percent":101}`,
		`{"v":1,"time":"2026-08-01T12:00:00Z","type":"run","view":{}}`, `{"v":1,"time":"2026-08-01T12:00:00Z","type":"run","host":7}`, `[]`,
	} {
		var value any
		must.Do(t, json.Unmarshal([]byte(text), &value))
		if len(r.check(value, "$", r.Defs)) == 0 {
			t.Errorf("accepted %s", text)
		}
	}
}
