//go:build linux

package installer

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestPlan compares plans with those in testdata/plans.txt.
func TestPlan(t *testing.T) {
	update := os.Getenv("UPDATE") != ""
	root := []string{"--coreos-image", "quay.io/x/coreos:1"}
	skip := []string{"--enable-skip-mco-reboot"}
	var got strings.Builder
	used := map[Name]bool{}
	for _, row := range []struct {
		name  string
		flags []string
		facts Facts
	}{
		{"bootstrap of 3", flags("bootstrap", 3), Facts{}},
		{"bootstrap of 3, no reboot by the machine-config-operator", flags("bootstrap", 3, skip...), Facts{}},
		{"bootstrap of 4", flags("bootstrap", 4), Facts{}},
		{"bootstrap of 5", flags("bootstrap", 5), Facts{}},
		{"bootstrap of 2 with an arbiter or fencing", flags("bootstrap", 2), Facts{}},
		{"bootstrap on a live system without OpenShift's programs", flags("bootstrap", 3), Facts{NodeImage: true}},
		{"bootstrap with the registry of an appliance", flags("bootstrap", 3), Facts{Registry: true}},
		{"bootstrap into the root file system that runs", flags("bootstrap", 3, append(root, skip...)...), Facts{}},
		{"master", flags("master", 3), Facts{}},
		{"master, no reboot by the machine-config-operator", flags("master", 3, skip...), Facts{}},
		{"master on s390x", flags("master", 3, skip...), Facts{Architecture: "s390x"}},
		{"master with the registry of an appliance", flags("master", 3), Facts{Registry: true}},
		{"master that Ironic boots", flags("master", 3), Facts{Ironic: true}},
		{"master whose disk is not cleaned", flags("master", 3, "--skip-installation-disk-cleanup"), Facts{}},
		{"master with disks to format", flags("master", 3, "--format-disk", "/dev/vdb"), Facts{}},
		{"master into the root file system that runs", flags("master", 3, append(root, "--format-disk", "/dev/vdb")...), Facts{}},
		{"arbiter", flags("arbiter", 2), Facts{Registry: true}},
		{"worker", flags("worker", 3), Facts{Registry: true}},
		{"worker, no reboot by the machine-config-operator", flags("worker", 3, skip...), Facts{}},
		{"worker that is added to a cluster", flags("worker", 3), Facts{AddHosts: true}},
		{"master that is added to a cluster", flags("master", 3), Facts{AddHosts: true}},
		{"master that is added to a single node", flags("master", 1), Facts{AddHosts: true}},
		{"single node", flags("bootstrap", 1), Facts{}},
		{"single node, no reboot by the machine-config-operator", flags("bootstrap", 1, skip...), Facts{NodeImage: true, Registry: true}},
	} {
		steps := must.Get(Plan(parse(t, row.flags...), row.facts))(t, row.name)
		fmt.Fprintf(&got, "# %s\n", row.name)
		names := map[Name]bool{}
		for _, s := range steps {
			if names[s.Name] {
				t.Errorf("%s: the step %s stands twice: the journal would leave the second out", row.name, s.Name)
			}
			names[s.Name], used[s.Name] = true, true
			got.WriteString(line(s))
		}
	}
	golden := filepath.Join("testdata", "plans.txt")
	if update {
		must.Do(t, os.MkdirAll("testdata", 0o755))
		must.Do(t, os.WriteFile(golden, []byte(got.String()), 0o600))
	}
	check.Equal(t, got.String(), string(must.Get(os.ReadFile(golden))(t)))
	for name := range (&run{Installer: New(Config{}, Deps{})}).actions() {
		if !used[name] {
			t.Errorf("no plan has the step %s", name)
		}
	}
}

// line is a step for people.
func line(s Step) string {
	text := string(s.Name)
	if s.Stage != "" {
		text += fmt.Sprintf(" | %s %q", s.Stage, s.Info)
	}
	text += fmt.Sprintf(" | %s", s.Limit)
	if s.Retry.Times > 0 {
		text += fmt.Sprintf(" | %d times, %s", s.Retry.Times, s.Retry.Pause)
	}
	if s.BestEffort {
		text += " | best effort"
	}
	if s.Patient {
		text += " | patient"
	}
	if s.Always {
		text += " | always"
	}
	return text + "\n"
}

func TestPlanRefusesConfigs(t *testing.T) {
	_, err := Plan(Config{}, Facts{})
	check.Says(t, err, "--boot-device")
}

func TestEveryStepHasALimit(t *testing.T) {
	for _, f := range [][]string{flags("bootstrap", 3), flags("bootstrap", 1), flags("worker", 3)} {
		for _, s := range must.Get(Plan(parse(t, f...), Facts{}))(t) {
			if s.Limit < time.Minute || s.Limit > 3*time.Hour {
				t.Errorf("%s has the limit %s", s.Name, s.Limit)
			}
		}
	}
}

// TestRecordedStages compares plans with what the original installer posted to the real service and to the simulated one.
func TestRecordedStages(t *testing.T) {
	folder := os.Getenv("OAICTL_RECORDINGS")
	if folder == "" {
		t.Skip("OAICTL_RECORDINGS names no folder with recordings")
	}
	for file, plans := range map[string]map[string][]string{
		"real-agent-installer-compact3-real-2": {"bootstrap": flags("bootstrap", 3), "master": flags("master", 3)},
		"real-agent-installer-sno-ours":        {"bootstrap": flags("bootstrap", 1)},
	} {
		for host, stages := range recordedStages(t, filepath.Join(folder, "host", file+".jsonl.gz")) {
			_, role, _ := strings.Cut(stages[0], " installation ")
			args, known := plans[strings.Trim(role, `"`)]
			if !known {
				t.Errorf("%s: host %s begins with %s", file, host, stages[0])
				continue
			}
			var planned []string
			for _, s := range must.Get(Plan(parse(t, args...), Facts{}))(t) {
				if s.Stage != "" {
					planned = append(planned, fmt.Sprintf("%s %q", s.Stage, s.Info))
				}
			}
			check.Slice(t, planned, stages, file, host)
		}
	}
}

// recordedStages are the stages and infos of each host that its installer posted, without percents.
func recordedStages(t *testing.T, path string) map[string][]string {
	t.Helper()
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	lines := bufio.NewScanner(must.Get(gzip.NewReader(file))(t))
	lines.Buffer(nil, 64<<20)
	stages := map[string][]string{}
	for lines.Scan() {
		var exchange struct {
			Method, Path string
			Request      json.RawMessage
		}
		must.Do(t, json.Unmarshal(lines.Bytes(), &exchange))
		parts := strings.Split(exchange.Path, "/")
		at := slices.Index(parts, "hosts")
		if exchange.Method != "PUT" || at < 0 || parts[len(parts)-1] != "progress" {
			continue
		}
		var body struct {
			Stage string `json:"current_stage"`
			Info  string `json:"progress_info"`
		}
		must.Do(t, json.Unmarshal(exchange.Request, &body))
		if !strings.HasSuffix(body.Info, "%") && !slices.Contains([]string{"Configuring", "Joined", "Done"}, body.Stage) {
			stages[parts[at+1]] = append(stages[parts[at+1]], fmt.Sprintf("%s %q", body.Stage, body.Info))
		}
	}
	must.Do(t, lines.Err())
	return stages
}
