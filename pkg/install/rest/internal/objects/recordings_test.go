package objects

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// recorded is one exchange of a recording.
type recorded struct {
	Method   string          `json:"method"`
	Path     string          `json:"path"`
	Status   int             `json:"status"`
	Request  json.RawMessage `json:"request"`
	Response json.RawMessage `json:"response"`
}

// TestRecordings reads every cluster, InfraEnv and host that was recorded
// from a real service, where OAICTL_RECORDINGS names the recordings.
func TestRecordings(t *testing.T) {
	folder := os.Getenv("OAICTL_RECORDINGS")
	if folder == "" {
		t.Skip("OAICTL_RECORDINGS names no folder")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s (%v)", folder, err)
	}
	r := &reader{T: t, tables: NewTables(), counts: map[string]int{}}
	for _, file := range files {
		for _, exchange := range readRecording(t, file) {
			r.exchange(exchange)
		}
	}
	t.Logf("read %v", r.counts)
	for _, kind := range []string{"cluster", "host", "infra-env"} {
		if r.counts[kind] == 0 {
			t.Errorf("no %s was recorded", kind)
		}
	}
}

// readRecording is every exchange of a recording.
func readRecording(t *testing.T, file string) []recorded {
	t.Helper()
	data := must.Get(os.ReadFile(file))(t)
	var out []recorded
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var exchange recorded
		must.Do(t, json.Unmarshal(lines.Bytes(), &exchange))
		out = append(out, exchange)
	}
	return out
}

type reader struct {
	*testing.T
	tables Tables
	counts map[string]int
}

var (
	clusterPath  = regexp.MustCompile(`^/v2/clusters(/[0-9a-f-]{36}(/actions/[a-z-]+)?|/import)?$`)
	infraEnvPath = regexp.MustCompile(`^/v2/infra-envs(/[0-9a-f-]{36})?$`)
	oneHostPath  = regexp.MustCompile(`^/v2/infra-envs/[0-9a-f-]{36}/hosts/[0-9a-f-]{36}$`)
	hostsPath    = regexp.MustCompile(`^/v2/infra-envs/[0-9a-f-]{36}/hosts$`)
)

func (r *reader) exchange(e recorded) {
	switch {
	case e.Status >= 400 || len(e.Response) == 0 || e.Response[0] == 'n':
	case clusterPath.MatchString(e.Path) && e.Response[0] == '{':
		r.cluster(e.Response)
	case infraEnvPath.MatchString(e.Path) && e.Response[0] == '{':
		r.infraEnv(e.Response)
	case oneHostPath.MatchString(e.Path), hostsPath.MatchString(e.Path) && e.Response[0] == '{':
		r.host(e.Response)
	case hostsPath.MatchString(e.Path):
		var hosts []json.RawMessage
		check.Do(r, json.Unmarshal(e.Response, &hosts))
		for _, h := range hosts {
			r.host(h)
		}
	}
}

func (r *reader) cluster(data json.RawMessage) {
	r.counts["cluster"]++
	var wire Cluster
	var raw struct {
		ValidationsInfo string            `json:"validations_info"`
		Hosts           []json.RawMessage `json:"hosts"`
	}
	must.Do(r, errorsOf(json.Unmarshal(data, &wire), json.Unmarshal(data, &raw)), "cluster")
	c := r.tables.ClusterOf(&wire, "")
	if c.State == model.ClusterUnknown || c.ID == "" || c.Name == "" || c.Created.IsZero() || c.StatusSince.IsZero() {
		r.Errorf("cluster read as %+v", c)
	}
	if (raw.ValidationsInfo != "") != (len(c.Validations) > 0) {
		r.Errorf("cluster validations were lost: %s", raw.ValidationsInfo)
	}
	for _, h := range raw.Hosts {
		r.host(h)
	}
}

func (r *reader) host(data json.RawMessage) {
	r.counts["host"]++
	var wire Host
	var raw struct {
		Inventory       string `json:"inventory"`
		ValidationsInfo string `json:"validations_info"`
		Progress        struct {
			Stage string `json:"current_stage"`
		} `json:"progress"`
	}
	must.Do(r, errorsOf(json.Unmarshal(data, &wire), json.Unmarshal(data, &raw)), "host")
	h := r.tables.HostOf(&wire)
	if h.State == model.HostUnknown || h.ID == "" || h.InfraEnvID == "" || h.Registered.IsZero() {
		r.Errorf("host read as %+v", h)
	}
	i := h.Inventory
	if i.Known != (raw.Inventory != "") || (i.Known && (i.Hostname == "" || i.Serial == "" || len(i.Interfaces) == 0 || len(i.Disks) == 0 || i.CPUs == 0 || i.MemoryBytes == 0)) {
		r.Errorf("inventory read as %+v", i)
	}
	if (raw.ValidationsInfo != "") != (len(h.Validations) > 0) || h.Progress.Stage != raw.Progress.Stage {
		r.Error("validations or stage were lost")
	}
}

func (r *reader) infraEnv(data json.RawMessage) {
	r.counts["infra-env"]++
	var wire InfraEnv
	must.Do(r, json.Unmarshal(data, &wire), "infra-env")
	e := r.tables.InfraEnvOf(&wire)
	if e.ID == "" || e.Name == "" || e.Created.IsZero() || e.Image.State != model.ImageReady || e.Image.URL == "" || !e.Image.Expires.IsZero() {
		r.Errorf("infra-env read as %+v", e)
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
