package explain_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/explain"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestRecordings looks up every name in exchanges recorded from a real service.
func TestRecordings(t *testing.T) {
	folder := os.Getenv("OAICTL_RECORDINGS")
	if folder == "" {
		t.Skip("OAICTL_RECORDINGS names no folder with recordings")
	}
	s := &sightings{t: t, seen: map[string]int{}}
	must.Do(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return s.file(path)
	}))
	if s.seen["validation"] == 0 || s.seen["status"] == 0 || s.seen["stage"] == 0 || s.seen["event"] == 0 {
		t.Errorf("the recordings in %s hold too little to test with: %v", folder, s.seen)
	}
}

// sightings counts the names that were seen.
type sightings struct {
	t    *testing.T
	seen map[string]int
}

// file reads all JSON objects and lists that a file holds, with any text between them.
func (s *sightings) file(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		for at := strings.IndexAny(line, "{["); at >= 0 && at < len(line); {
			var value any
			decoder := json.NewDecoder(strings.NewReader(line[at:]))
			if decoder.Decode(&value) == nil {
				s.walk(value)
				at += int(decoder.InputOffset())
			} else {
				at++
			}
			next := strings.IndexAny(line[at:], "{[")
			if next < 0 {
				break
			}
			at += next
		}
	}
	return nil
}

func (s *sightings) walk(value any) {
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			s.walk(v)
		}
	case map[string]any:
		s.object(value)
		for _, v := range value {
			s.walk(v)
		}
	}
}

func (s *sightings) object(o map[string]any) {
	subject := explain.SubjectHost
	kind := text(o, "kind")
	if kind == "Cluster" || kind == "AddHostsCluster" {
		subject = explain.SubjectCluster
	}
	if strings.HasSuffix(text(o, "href"), text(o, "id")) && kind != "" && text(o, "status") != "" {
		find := explain.HostState
		if subject == explain.SubjectCluster {
			find = explain.ClusterState
		}
		_, ok := find(text(o, "status"))
		s.note("status", string(subject)+"/"+text(o, "status"), ok)
	}
	s.validations(subject, o)
	if stage := text(o, "current_stage"); stage != "" {
		_, ok := explain.Stage(stage)
		s.note("stage", stage, ok)
	}
	if stage := text(o, "finalizing_stage"); stage != "" {
		_, ok := explain.FinalizingStage(stage)
		s.note("finalizing stage", stage, ok)
	}
	if name := text(o, "name"); name != "" && text(o, "event_time") != "" {
		_, ok := explain.Event(name)
		s.note("event", name, ok)
	}
}

func (s *sightings) validations(subject explain.Subject, o map[string]any) {
	type check struct{ ID, Message string }
	var info map[string][]check
	if raw := text(o, "validations_info"); raw != "" {
		if json.Unmarshal([]byte(raw), &info) != nil {
			return // cut off in a log
		}
	} else if raw, ok := o["validationsInfo"]; ok {
		data, _ := json.Marshal(raw)
		if json.Unmarshal(data, &info) != nil {
			return
		}
		if _, ok := info["hosts-data"]; ok {
			subject = explain.SubjectCluster
		}
	}
	for category, checks := range info {
		for _, c := range checks {
			v, ok := explain.Validation(subject, c.ID)
			s.note("validation", string(subject)+"/"+c.ID, ok)
			if ok && v.Category != category {
				s.t.Errorf("%s/%s stands under %s, the catalogue says %s", subject, c.ID, category, v.Category)
			}
		}
	}
}

func (s *sightings) note(what, name string, known bool) {
	s.seen[what]++
	if !known {
		s.t.Errorf("%s %q is not in the catalogue", what, name)
	}
}

func text(o map[string]any, key string) string {
	value, _ := o[key].(string)
	return value
}
