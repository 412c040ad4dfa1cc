package host

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openshift/assisted-service/models"
)

// exchange is one line of a recording of a real service.
type exchange struct {
	Method   string          `json:"method"`
	Path     string          `json:"path"`
	Status   int             `json:"status"`
	Request  json.RawMessage `json:"request"`
	Response json.RawMessage `json:"response"`
}

// recordings reads all that the folder named by OAICTL_RECORDINGS holds.
func recordings(t *testing.T) map[string][]exchange {
	t.Helper()
	folder := os.Getenv("OAICTL_RECORDINGS")
	if folder == "" {
		t.Skip("OAICTL_RECORDINGS names no folder with recordings")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s: %v", folder, err)
	}
	all := map[string][]exchange{}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var e exchange
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all[filepath.Base(name)] = append(all[filepath.Base(name)], e)
		}
		if err := lines.Err(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return all
}

// TestRecordedStepsGetRepliesOfTheSameShape gives our machines every step that a
// real service has asked for, and holds their replies against those that it took.
func TestRecordedStepsGetRepliesOfTheSameShape(t *testing.T) {
	for name, exchanges := range recordings(t) {
		steps := map[string]*models.Step{}
		seen := map[models.StepType]int{}
		for _, e := range exchanges {
			if !strings.Contains(e.Path, "/instructions") {
				continue
			}
			if e.Method == "GET" {
				var todo models.Steps
				if err := json.Unmarshal(e.Response, &todo); err != nil {
					t.Fatalf("%s: instructions: %v", name, err)
				}
				for _, s := range todo.Instructions {
					steps[s.StepID] = s
				}
				continue
			}
			var recorded models.StepReply
			if err := json.Unmarshal(e.Request, &recorded); err != nil {
				t.Fatalf("%s: reply: %v", name, err)
			}
			s, ok := steps[recorded.StepID]
			if !ok || s.StepType == models.StepTypeInstall || s.StepType == models.StepTypeLogsGather {
				continue
			}
			seen[s.StepType]++
			compareReply(t, name, s, recorded)
		}
		if len(seen) < 6 {
			t.Errorf("%s: replayed only %v", name, seen)
		}
	}
}

func compareReply(t *testing.T, name string, s *models.Step, recorded models.StepReply) {
	t.Helper()
	f, err := New(Config{ServiceURL: "http://s.example.com", Clock: testClock(), InfraEnvID: fakeInfraEnv, Machines: machines(t, 1), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	ours := f.lives[0].answer(s)
	if ours.ExitCode != recorded.ExitCode {
		t.Errorf("%s: %s: exit code %d, recorded %d", name, s.StepType, ours.ExitCode, recorded.ExitCode)
	}
	if recorded.Output == "" {
		if ours.Output != "" {
			t.Errorf("%s: %s: output %q, recorded none", name, s.StepType, ours.Output)
		}
		return
	}
	want, got := map[string]string{}, map[string]string{}
	for _, x := range []struct {
		text string
		into map[string]string
	}{{recorded.Output, want}, {ours.Output, got}} {
		var v any
		if err := json.Unmarshal([]byte(x.text), &v); err != nil {
			t.Fatalf("%s: %s: %q: %v", name, s.StepType, x.text, err)
		}
		shape("", v, x.into)
	}
	for path, kind := range want {
		// io_perf was sent empty, so that there is nothing to be like.
		if got[path] != kind && !strings.HasSuffix(path, "io_perf") {
			t.Errorf("%s: %s: %s is %q, recorded as %q", name, s.StepType, path, got[path], kind)
		}
	}
}

// shape notes the type of everything in a JSON value by its path; the elements
// of a list share one.
func shape(path string, v any, into map[string]string) {
	into[path] = fmt.Sprintf("%T", v)
	switch x := v.(type) {
	case map[string]any:
		for key, value := range x {
			shape(path+"."+key, value, into)
		}
	case []any:
		for _, value := range x {
			shape(path+"[]", value, into)
		}
	}
}

// TestRecordedStagesAreOurs holds the stages that recorded hosts went through, by
// role, against those of our machines.
func TestRecordedStagesAreOurs(t *testing.T) {
	all := recordings(t)
	progress := regexp.MustCompile(`^/v2/infra-envs/[^/]+/hosts/([^/]+)/progress$`)
	for _, tc := range []struct {
		file                 string
		controlPlanes, hosts int
	}{{"sno.jsonl", 1, 1}, {"workers.jsonl", 3, 5}} {
		roles, stages := map[string]string{}, map[string][]models.HostStage{}
		for _, e := range all[tc.file] {
			m := progress.FindStringSubmatch(e.Path)
			if m == nil || e.Status != 200 {
				continue
			}
			var p models.HostProgress
			if err := json.Unmarshal(e.Request, &p); err != nil {
				t.Fatal(err)
			}
			if p.CurrentStage == models.HostStageStartingInstallation {
				roles[m[1]] = p.ProgressInfo
			}
			if s := stages[m[1]]; len(s) == 0 || s[len(s)-1] != p.CurrentStage {
				stages[m[1]] = append(s, p.CurrentStage)
			}
		}
		if len(stages) != tc.hosts {
			t.Fatalf("%s: stages of %d hosts", tc.file, len(stages))
		}
		out := play(t, newFake(t, tc.controlPlanes, tc.hosts), machines(t, tc.hosts), "", 5*time.Hour)
		for id, want := range stages {
			ours := slices.ContainsFunc(out.fake.order, func(host string) bool { return slices.Equal(out.fake.hosts[host].stages, want) })
			if !ours {
				t.Errorf("%s: no machine of ours goes through what the recorded %s did: %v", tc.file, roles[id], want)
			}
		}
	}
}
