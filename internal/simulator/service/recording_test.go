package service

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/steps"
)

// exchange is one line of a recording.
type exchange struct {
	T        float64           `json:"t"`
	Method   string            `json:"method"`
	Path     string            `json:"path"`
	Status   int               `json:"status"`
	Headers  map[string]string `json:"headers"`
	Sent     map[string]string `json:"request_headers"`
	Request  json.RawMessage   `json:"request"`
	Response json.RawMessage   `json:"response"`
	Note     string            `json:"note"`

	at   time.Time // by the recorded service's clock
	part int       // the stretch of the recording that it belongs to
}

// recording is a conversation with a real service, and what it tells about the
// hosts that are missing in it.
type recording struct {
	name      string
	exchanges []exchange
	parts     int
	hosts     map[string]*knownHost
	looks     map[string]time.Time // when the service's monitor wrote the events that it alone writes, by their text
	maybe     map[string]time.Time // the same of events that it writes mostly
}

// knownHost is what the answers show of a host.
type knownHost struct {
	id, infraEnv, cluster string
	registered            time.Time
	seen                  []sighting
	registers, reports    bool // the recording holds its registration, its inventory
	answers               map[string]bool
	spoke                 time.Time // its first answer to a step in the recording
}

// sighting is a host as one answer showed it.
type sighting struct {
	at     time.Time
	fields map[string]any
}

// readRecordings reads all REST recordings below a folder. Those of a hub and of
// BMCs have another form, and tests of their own.
func readRecordings(t *testing.T, folder string) []*recording {
	t.Helper()
	var all []*recording
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".jsonl" {
			return err
		}
		name, err := filepath.Rel(folder, file)
		if err != nil || strings.HasPrefix(filepath.ToSlash(name), "hub/") || strings.Contains(filepath.Base(name), "redfish") {
			return err
		}
		all = append(all, newRecording(strings.TrimSuffix(filepath.ToSlash(name), ".jsonl"), readExchanges(t, file)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func readExchanges(t *testing.T, file string) []exchange {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []exchange
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var x exchange
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		list = append(list, x)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

func newRecording(name string, list []exchange) *recording {
	r := &recording{name: name, exchanges: list, hosts: map[string]*knownHost{}, looks: map[string]time.Time{}, maybe: map[string]time.Time{}}
	r.date()
	for _, x := range r.exchanges {
		var answer any
		if json.Unmarshal(x.Response, &answer) == nil {
			r.learnHosts(x, answer)
		}
		r.learnAgent(x)
		r.learnEvents(x)
	}
	if len(r.looks) < 2 {
		maps.Copy(r.looks, r.maybe)
	}
	return r
}

// monitorAlone reports whether only the service's monitor writes an event.
func monitorAlone(name, message string) bool {
	return name == "host_status_updated" && (strings.Contains(message, "from known to preparing-for-installation") || strings.Contains(message, "to preparing-successful"))
}

// monitorMostly reports whether its monitor writes an event, unless it was asked for a change
// or an install that it answers at once.
func monitorMostly(name, message string) bool {
	return name == "host_role_updated" || name == "host_status_updated" && strings.Contains(message, "from discovering to")
}

// learnEvents finds hosts that only events show.
func (r *recording) learnEvents(x exchange) {
	var list []struct {
		ClusterID  string    `json:"cluster_id"`
		HostID     string    `json:"host_id"`
		InfraEnvID string    `json:"infra_env_id"`
		EventTime  time.Time `json:"event_time"`
		Name       string    `json:"name"`
		Message    string    `json:"message"`
	}
	if !strings.HasPrefix(x.Path, "/v2/events") || json.Unmarshal(x.Response, &list) != nil {
		return
	}
	for _, e := range list {
		switch key := e.Message + e.EventTime.String(); {
		case monitorAlone(e.Name, e.Message):
			r.looks[key] = e.EventTime
		case monitorMostly(e.Name, e.Message):
			r.maybe[key] = e.EventTime
		}
		if e.HostID == "" || e.InfraEnvID == "" {
			continue
		}
		h := r.host(e.HostID)
		h.infraEnv = e.InfraEnvID
		h.cluster = cmp.Or(h.cluster, e.ClusterID)
		if at := e.EventTime; h.registered.IsZero() || at.Before(h.registered) {
			h.registered = at
		}
	}
}

// pass is how long one look of the monitor at all its hosts may take.
const pass = time.Second

// looksEvery reports whether the monitor's events come in an interval, as far as the
// recording holds any.
func (r *recording) looksEvery(interval time.Duration) bool {
	phase := r.phase(interval)
	for _, at := range r.looks {
		if late := at.Sub(at.Truncate(interval).Add(phase)); late < 0 || late > pass {
			return false
		}
	}
	return len(r.looks) > 1
}

// margin is how long before its first event a look of the monitor begins.
const margin = 100 * time.Millisecond

// phase is when in an interval the monitor looks: just before its first event. Where a
// recording holds none it is a guess.
func (r *recording) phase(interval time.Duration) time.Duration {
	first := time.Time{}
	for _, at := range r.looks {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	if interval <= pass || first.IsZero() {
		return interval * 7 / 10
	}
	return first.Sub(first.Truncate(interval)) - margin
}

// date finds out when each exchange took place: what was created says so. Where
// the two clocks part, another stretch of the recording begins.
func (r *recording) date() {
	var offset time.Time // when t was 0
	for i := range r.exchanges {
		x := &r.exchanges[i]
		var made struct {
			CreatedAt time.Time `json:"created_at"`
		}
		spent := time.Duration(x.T * float64(time.Second))
		if x.Method == "POST" && x.Status == 201 && json.Unmarshal(x.Response, &made) == nil && made.CreatedAt.Year() > 2000 {
			if begin := made.CreatedAt.Add(-spent); begin.Sub(offset).Abs() > time.Second {
				if !offset.IsZero() {
					r.parts++
				}
				offset = begin
			}
		}
		x.part = r.parts
		x.at = offset.Add(spent)
	}
	first := slices.IndexFunc(r.exchanges, func(x exchange) bool { return x.at.Year() > 2000 })
	for i := range max(first, 0) { // what came before the first thing that was made
		x, known := &r.exchanges[i], &r.exchanges[first]
		x.at = known.at.Add(time.Duration((x.T - known.T) * float64(time.Second)))
	}
	for i := range r.exchanges {
		if first < 0 {
			r.exchanges[i].at = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(r.exchanges[i].T * float64(time.Second)))
		}
	}
	r.parts++
}

// learnHosts keeps every host that an answer shows.
func (r *recording) learnHosts(x exchange, answer any) {
	switch v := answer.(type) {
	case []any:
		for _, one := range v {
			r.learnHosts(x, one)
		}
	case map[string]any:
		if hosts, ok := v["hosts"]; ok {
			r.learnHosts(x, hosts)
		}
		id, _ := v["id"].(string)
		infraEnv, _ := v["infra_env_id"].(string)
		if id == "" || infraEnv == "" || v["kind"] == nil {
			return
		}
		h := r.host(id)
		h.infraEnv = infraEnv
		if c, ok := v["cluster_id"].(string); ok {
			h.cluster = c
		}
		if at, ok := v["created_at"].(string); ok && h.registered.IsZero() {
			if when, err := time.Parse(time.RFC3339Nano, at); err == nil && when.Year() > 2000 {
				h.registered = when
			}
		}
		h.seen = append(h.seen, sighting{x.at, v})
	}
}

func (r *recording) host(id string) *knownHost {
	h := r.hosts[id]
	if h == nil {
		h = &knownHost{id: id, answers: map[string]bool{}}
		r.hosts[id] = h
	}
	return h
}

var (
	hostPath     = regexp.MustCompile(`^/v2/infra-envs/[^/]+/hosts/([^/?]+)`)
	registerPath = regexp.MustCompile(`^/v2/infra-envs/([^/]+)/hosts$`)
)

// learnAgent notes which hosts speak for themselves.
func (r *recording) learnAgent(x exchange) {
	if registerPath.MatchString(x.Path) && x.Method == "POST" && x.Status == 201 {
		var p struct {
			HostID string `json:"host_id"`
		}
		if json.Unmarshal(x.Request, &p) == nil {
			r.host(p.HostID).registers = true
		}
	}
	m := hostPath.FindStringSubmatch(x.Path)
	if m == nil || x.Method != "POST" || !strings.HasSuffix(x.Path, "/instructions") {
		return
	}
	var p struct {
		StepType string `json:"step_type"`
	}
	if json.Unmarshal(x.Request, &p) == nil {
		h := r.host(m[1])
		h.answers[p.StepType] = true
		h.reports = h.reports || p.StepType == steps.StepInventory
		if h.spoke.IsZero() {
			h.spoke = x.at
		}
	}
}

// blind lists what depends on machines of which the recording shows no inventory:
// they cannot be played.
func (r *recording) blind() []string {
	var ids []string
	for _, h := range r.hosts {
		told := h.reports || slices.ContainsFunc(h.seen, func(s sighting) bool { text, _ := s.fields["inventory"].(string); return text != "" })
		if h.registers && !told {
			ids = append(ids, h.infraEnv, h.cluster)
		}
	}
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}

// agentsSide reports whether the agents' side is in the recording: their
// registrations at least.
func (r *recording) agentsSide() bool {
	if len(r.hosts) == 0 {
		return false
	}
	for _, h := range r.hosts {
		if !h.registers {
			return false
		}
	}
	return true
}

// bootstraps lists the hosts that chance made the bootstrap.
func (r *recording) bootstraps() []string {
	var ids []string
	for _, h := range r.hosts {
		for _, s := range h.seen {
			if s.fields["bootstrap"] == true {
				ids = append(ids, h.id)
				break
			}
		}
	}
	began := regexp.MustCompile(`"current_stage": ?"Starting installation", ?"progress_info": ?"bootstrap"`)
	for _, x := range r.exchanges {
		if began.Match(x.Request) {
			ids = append(ids, strings.Split(x.Path, "/")[5])
		}
	}
	return ids
}
