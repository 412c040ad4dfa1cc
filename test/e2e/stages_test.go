//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestEveryStageIsShown reads the event stream of one simulated install at the
// default speed: every host goes through every stage of its role, and the last
// line says how it ended.
func TestEveryStageIsShown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	command := exec.CommandContext(t.Context(), build(t), "create", "cluster", "-f", "../../examples/compact/cluster.yaml", "--simulate", "--dir", dir, "--progress", "json")
	command.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir)
	var stream, said bytes.Buffer
	command.Stdout, command.Stderr = &stream, &said
	if err := command.Run(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}

	form := eventForm(t)
	stages := map[string][]string{}
	var last model.Event
	for lines := bufio.NewScanner(&stream); lines.Scan(); {
		if complaint := form.complaint(lines.Bytes()); complaint != "" {
			t.Errorf("%s in %s", complaint, lines.Text())
		}
		last = model.Event{}
		if err := json.Unmarshal(lines.Bytes(), &last); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		if last.Type == model.EventStage && !slices.Contains(stages[last.Host], last.Stage) {
			stages[last.Host] = append(stages[last.Host], last.Stage)
		}
	}
	if last.Type != model.EventRun || last.State != "installed" || last.ExitCode == nil || *last.ExitCode != 0 {
		t.Errorf("the last line is %+v", last)
	}

	member := []string{"Starting installation", "Installing", "Writing image to disk", "Rebooting", "Configuring", "Joined", "Done"}
	bootstrap := []string{
		"Starting installation", "Installing", "Writing image to disk", "Waiting for control plane", "Waiting for bootkube",
		"Waiting for controller", "Rebooting", "Configuring", "Joined", "Done",
	}
	bootstraps := 0
	for _, host := range []string{"cp-0", "cp-1", "cp-2"} {
		switch {
		case slices.Equal(stages[host], bootstrap):
			bootstraps++
		case !slices.Equal(stages[host], member):
			t.Errorf("%s shows the stages %q", host, stages[host])
		}
	}
	if bootstraps != 1 || len(stages) != 3 {
		t.Errorf("%d bootstrap hosts among %d", bootstraps, len(stages))
	}
}

// form is the part of JSON schema that docs/event.schema.json uses: a flat
// object.
type form struct {
	Required   []string        `json:"required"`
	Properties map[string]rule `json:"properties"`
}

type rule struct {
	Type    string   `json:"type"`
	Enum    []string `json:"enum"`
	Const   any      `json:"const"`
	Minimum *float64 `json:"minimum"`
	Maximum *float64 `json:"maximum"`
}

func eventForm(t *testing.T) form {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("..", "..", "docs", "event.schema.json")))(t)
	var f form
	if err := json.Unmarshal(text, &f); err != nil || len(f.Properties) < 10 {
		t.Fatalf("docs/event.schema.json: %d properties, %v", len(f.Properties), err)
	}
	return f
}

// complaint is what is wrong with a line, "" for nothing.
func (f form) complaint(line []byte) string {
	var object map[string]any
	if err := json.Unmarshal(line, &object); err != nil {
		return err.Error()
	}
	for _, name := range f.Required {
		if _, there := object[name]; !there {
			return name + " is missing"
		}
	}
	for name, value := range object {
		r, known := f.Properties[name]
		if !known {
			return name + " is not in the schema"
		}
		if !r.allows(value) {
			return name + " is not what the schema says"
		}
	}
	return ""
}

func (r rule) allows(value any) bool {
	text, isText := value.(string)
	number, isNumber := value.(float64)
	switch {
	case r.Const != nil:
		return value == r.Const
	case len(r.Enum) > 0:
		return isText && slices.Contains(r.Enum, text)
	case r.Type == "string":
		return isText
	case r.Type == "integer":
		return isNumber && number == float64(int64(number)) && (r.Minimum == nil || number >= *r.Minimum) && (r.Maximum == nil || number <= *r.Maximum)
	}
	return false
}
