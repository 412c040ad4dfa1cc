package service

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// handClock is a clock that stands still until it is moved.
type handClock struct{ at time.Time }

func (c *handClock) Now() time.Time                             { return c.at }
func (c *handClock) Sleep(context.Context, time.Duration) error { return nil }
func (c *handClock) Wall(d time.Duration) time.Duration         { return d }

// exchange is one line of a recording.
type exchange struct {
	T        float64         `json:"t"`
	Method   string          `json:"method"`
	Path     string          `json:"path"`
	Status   int             `json:"status"`
	Request  json.RawMessage `json:"request"`
	Response json.RawMessage `json:"response"`
}

// TestReplay sends the requests of recorded conversations with a real service to
// this one, at their times, and compares the answers as far as they do not
// depend on ids, times or chance.
func TestReplay(t *testing.T) {
	dir := os.Getenv("OAICTL_RECORDINGS")
	if dir == "" {
		t.Skip("OAICTL_RECORDINGS names no folder of recordings")
	}
	for _, name := range []string{"sno", "workers", "fail", "day2"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, name+".jsonl")
			if _, err := os.Stat(file); err != nil {
				t.Skipf("no such recording: %v", err)
			}
			newReplay(t, readExchanges(t, file)).run()
		})
	}
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
			t.Fatal(err)
		}
		list = append(list, x)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

type replay struct {
	t     *testing.T
	list  []exchange
	clock *handClock
	s     *Service
	start time.Time // wall time of t = 0
	next  time.Time // of the next tick
	names map[string]string
	steps map[string]string
	bad   int
	// doubts are the differences of readings that may have crossed a writing on
	// the wire: the recorded clients called side by side.
	doubts  map[int][]string
	pending []pendingDiffs
}

// crossing is how near to a change a reading must be to be seen on either side.
const crossing = 60 * time.Millisecond

// nearby is how many exchanges can lie between the two.
const nearby = 16

// peek compares the readings nearby, and i itself before a tick, with what they
// would get now.
func (r *replay) peek(i int, at time.Time, self bool) {
	for j := max(0, i-nearby); j < min(len(r.list), i+nearby); j++ {
		x := r.list[j]
		apart := r.start.Add(time.Duration(x.T * float64(time.Second))).Sub(at).Abs()
		if j == i && !self || apart > crossing || x.Method != http.MethodGet || strings.Contains(x.Path, "instructions") {
			continue
		}
		if diffs, seen := r.doubts[j]; seen && len(diffs) == 0 {
			continue
		}
		r.doubts[j] = r.differences(x)
	}
}

// newReplay finds out from the first answer when the recording was made. The
// recorded service evaluated everything once a second, at the same fraction.
func newReplay(t *testing.T, list []exchange) *replay {
	t.Helper()
	var first struct {
		CreatedAt time.Time `json:"created_at"`
	}
	if err := json.Unmarshal(list[0].Response, &first); err != nil {
		t.Fatal(err)
	}
	r := &replay{t: t, list: list, names: map[string]string{}, steps: map[string]string{}, doubts: map[int][]string{}}
	r.start = first.CreatedAt.Add(-time.Duration(list[0].T * float64(time.Second)))
	const phase = 700 * time.Millisecond
	r.next = first.CreatedAt.Truncate(time.Second).Add(phase)
	if r.next.Before(first.CreatedAt) {
		r.next = r.next.Add(time.Second)
	}
	r.clock = &handClock{at: r.start}
	r.s = New(Config{Clock: r.clock, MonitorInterval: time.Second, PublicURL: func() string { return "http://127.0.0.1:8888" }})
	bootstraps := bootstrapsIn(list)
	r.s.pickBootstrap = func(masters []*host) *host {
		for _, h := range masters {
			if slices.Contains(bootstraps, h.ID) {
				return h
			}
		}
		return masters[0]
	}
	return r
}

// bootstrapsIn lists the hosts that chance made the bootstrap.
func bootstrapsIn(list []exchange) []string {
	var ids []string
	for _, x := range list {
		if strings.Contains(string(x.Request), `"current_stage": "Starting installation", "progress_info": "bootstrap"`) ||
			strings.Contains(string(x.Request), `"current_stage":"Starting installation","progress_info":"bootstrap"`) {
			ids = append(ids, strings.Split(x.Path, "/")[5])
		}
	}
	return ids
}

func (r *replay) run() {
	for i, x := range r.list {
		at := r.start.Add(time.Duration(x.T * float64(time.Second)))
		for !r.next.After(at) {
			r.clock.at = r.next
			r.peek(i, r.next, true)
			r.s.tick()
			r.next = r.next.Add(time.Second)
		}
		r.clock.at = at
		r.peek(i, at, false)
		r.exchange(i, x)
	}
	r.report()
}

func (r *replay) exchange(i int, x exchange) {
	diffs := r.differences(x)
	if doubt, seen := r.doubts[i]; seen && len(doubt) == 0 || len(diffs) == 0 {
		r.doubts[i] = nil
		return
	}
	r.pending = append(r.pending, pendingDiffs{i, diffs})
}

// report complains about what differed on both sides of every change nearby.
func (r *replay) report() {
	for _, p := range r.pending {
		if doubt, seen := r.doubts[p.index]; seen && len(doubt) == 0 {
			continue
		}
		x := r.list[p.index]
		_, crossed := r.doubts[p.index]
		for _, d := range p.diffs {
			if crossed && torn(d) {
				continue
			}
			r.complain(fmt.Sprintf("#%d t=%.2f %s %s", p.index, x.T, x.Method, x.Path), "%s", d)
		}
	}
}

// torn tells the differences that a reading can show which saw one of two writings
// that were under way at once, but not the other.
func torn(diff string) bool {
	return strings.Contains(diff, ".logs_info") || strings.Contains(diff, "_percentage:")
}

type pendingDiffs struct {
	index int
	diffs []string
}

// differences sends a request and compares the answer with the recorded one.
func (r *replay) differences(x exchange) []string {
	recorder := httptest.NewRecorder()
	r.s.ServeHTTP(recorder, r.request(x))
	if recorder.Code != x.Status {
		return []string{fmt.Sprintf("status %d, recorded %d: %s", recorder.Code, x.Status, recorder.Body)}
	}
	if len(x.Response) == 0 || string(x.Response) == "null" {
		return nil
	}
	var want any
	if err := json.Unmarshal(x.Response, &want); err != nil {
		r.t.Fatal(err)
	}
	if text, ok := want.(string); ok && strings.HasSuffix(text, " bytes>") {
		return nil // a file: its bytes were not recorded
	}
	var got any
	if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil {
		if err := yaml.Unmarshal(recorder.Body.Bytes(), &got); err != nil {
			return []string{fmt.Sprintf("the answer is neither JSON nor YAML: %v", err)}
		}
	}
	r.learn(x, got, want)
	return r.compare("", got, want)
}

func (r *replay) complain(where, format string, args ...any) {
	r.bad++
	r.t.Errorf("%s\n      %s", where, fmt.Sprintf(format, args...))
}

// request is the recorded request with this service's ids.
func (r *replay) request(x exchange) *http.Request {
	path := r.rename(x.Path)
	text := r.rename(string(x.Request))
	var answer struct {
		StepID string `json:"step_id"`
	}
	if json.Unmarshal(x.Request, &answer) == nil && r.steps[answer.StepID] != "" {
		text = strings.Replace(text, answer.StepID, r.steps[answer.StepID], 1)
	}
	var body io.Reader = strings.NewReader(text)
	contentType := "application/json"
	if strings.HasPrefix(text, `"<`) {
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		part, err := w.CreateFormFile("upfile", "logs.tar.gz")
		if err == nil {
			_, err = part.Write([]byte("an archive"))
		}
		if err != nil || w.Close() != nil {
			r.t.Fatal("making the form")
		}
		body, contentType = &form, w.FormDataContentType()
	}
	request := httptest.NewRequest(x.Method, Base+path, body)
	request.Header.Set("Content-Type", contentType)
	return request
}

func (r *replay) rename(text string) string {
	for old, now := range r.names {
		text = strings.ReplaceAll(text, old, now)
	}
	return text
}

// learn pairs the ids that this service gave with the recorded ones. Hosts bring
// their ids along.
func (r *replay) learn(x exchange, got, want any) {
	g, isObject := got.(map[string]any)
	w, wasObject := want.(map[string]any)
	if !isObject || !wasObject {
		return
	}
	pair := func(key string) {
		old, _ := w[key].(string)
		now, _ := g[key].(string)
		if len(old) == 36 && len(now) == 36 && old != now {
			r.names[old] = now
		}
	}
	pair("openshift_cluster_id")
	if x.Method == http.MethodPost && slices.Contains([]string{"/v2/clusters", "/v2/infra-envs", "/v2/clusters/import"}, x.Path) {
		pair("id")
	}
}

var timeLike = regexp.MustCompile(`^\d{4}-\d\d-\d\dT[\d:.]+Z$`)

// skipped tells the keys whose values depend on time or chance.
func skipped(path string) bool {
	for _, end := range []string{"_at", ".timestamp", ".step_id", ".updated_at", "cvo-overrides.yaml", ".contents.source", ".password"} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// compare lists the differences: of shape everywhere, of values where they do
// not depend on ids, times or chance.
func (r *replay) compare(path string, got, want any) []string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s: %v, recorded an object", path, brief(got))}
		}
		var diffs []string
		for k, v := range w {
			mine, has := g[r.rename(k)]
			if !has {
				diffs = append(diffs, fmt.Sprintf("%s.%s is missing, recorded %s", path, k, brief(v)))
				continue
			}
			diffs = append(diffs, r.compare(path+"."+k, mine, v)...)
		}
		for k, v := range g {
			if !slices.ContainsFunc(keys(w), func(old string) bool { return r.rename(old) == k }) {
				diffs = append(diffs, fmt.Sprintf("%s.%s is too much: %s", path, k, brief(v)))
			}
		}
		return diffs
	case []any:
		return r.compareLists(path, got, w)
	case string:
		return r.compareTexts(path, got, w)
	}
	if skipped(path) || reflect.DeepEqual(got, want) {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s, recorded %s", path, brief(got), brief(want))}
}

func keys(m map[string]any) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	return list
}

// compareLists compares lists in order, and lists of things with ids or of ids
// regardless of it.
func (r *replay) compareLists(path string, got any, w []any) []string {
	g, ok := got.([]any)
	if !ok {
		return []string{fmt.Sprintf("%s: %s, recorded a list", path, brief(got))}
	}
	if len(g) != len(w) {
		return []string{fmt.Sprintf("%s has %d entries, recorded %d: %s / %s", path, len(g), len(w), brief(got), brief(w))}
	}
	mine := r.sorted(g, false)
	var diffs []string
	for i, v := range r.sorted(w, true) {
		diffs = append(diffs, r.compare(fmt.Sprintf("%s[%d]", path, i), mine[i], v)...)
	}
	return diffs
}

func (r *replay) sorted(list []any, recorded bool) []any {
	key := func(v any) string {
		switch x := v.(type) {
		case string:
			if len(x) == 36 && strings.Count(x, "-") == 4 {
				if recorded {
					return r.rename(x)
				}
				return x
			}
		case map[string]any:
			for _, k := range []string{"host_id", "id"} {
				if id, ok := x[k].(string); ok && len(id) == 36 {
					if recorded {
						return r.rename(id)
					}
					return id
				}
			}
		}
		return ""
	}
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b any) int { return strings.Compare(key(a), key(b)) })
	return out
}

func (r *replay) compareTexts(path string, got any, w string) []string {
	g, ok := got.(string)
	if !ok {
		return []string{fmt.Sprintf("%s: %s, recorded %s", path, brief(got), brief(w))}
	}
	if skipped(path) {
		if strings.HasSuffix(path, ".step_id") {
			r.steps[w] = g
		}
		return nil
	}
	if timeLike.MatchString(w) && timeLike.MatchString(g) {
		return nil
	}
	var a, b any
	if strings.ContainsAny(w[:min(1, len(w))], "{[") && json.Unmarshal([]byte(w), &b) == nil && json.Unmarshal([]byte(g), &a) == nil {
		return r.compare(path+"(json)", a, b)
	}
	if renamed := r.rename(w); g != renamed {
		return []string{fmt.Sprintf("%s: %s, recorded %s", path, brief(g), brief(renamed))}
	}
	return nil
}

func brief(v any) string {
	text := inString(v)
	if len(text) > 300 {
		text = text[:300] + "…"
	}
	return text
}
