package service

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/steps"
)

// handClock is a clock that stands still until it is moved.
type handClock struct {
	at    time.Time
	speed time.Duration // 0 for the machine's own
}

func (c *handClock) Now() time.Time                             { return c.at }
func (c *handClock) Sleep(context.Context, time.Duration) error { return nil }
func (c *handClock) Wall(d time.Duration) time.Duration         { return d / max(c.speed, 1) }

// The shares, in percent, of statuses and values that a recording has to reach: as
// a whole if it holds the agents' side, else in the exchanges that need no host.
// Sweeps over all paths are judged by their statuses.
const (
	share      = 99.5
	sweepShare = 97
)

// TestReplay sends the requests of recorded conversations with a real service to
// this one, at their times, and compares the answers as far as they do not
// depend on ids, times or chance. It prints a table of shares.
func TestReplay(t *testing.T) {
	dir := os.Getenv("OAICTL_RECORDINGS")
	if dir == "" {
		t.Skip("OAICTL_RECORDINGS names no folder of recordings")
	}
	recordings := readRecordings(t, dir)
	if len(recordings) == 0 {
		t.Fatalf("no recordings in %s", dir)
	}
	rows := make([]string, len(recordings))
	t.Run("recordings", func(t *testing.T) {
		for i, rec := range recordings {
			t.Run(rec.name, func(t *testing.T) {
				t.Parallel()
				best := fit(rec)
				rows[i] = best.row()
				best.judge(t)
			})
		}
	})
	t.Logf("\n%-36s %8s %6s %7s | %14s %14s | %14s %14s | %14s\n%s", "recording", "monitor", "phase", "part",
		"alone: status", "values", "all: status", "values", "events", strings.Join(rows, "\n"))
}

// fit replays a recording at several phases of the service's monitor, stretch
// after stretch, at intervals of a second and at stock ones: first at those that the
// recording's events suggest. It ends where enough agrees: every replay is as long as
// its recording.
func fit(rec *recording) *replay {
	likely, other := time.Second, 10*time.Second
	if rec.looksEvery(other) {
		likely, other = other, likely
	}
	best := fitInterval(rec, likely)
	if !best.fits() {
		if r := fitInterval(rec, other); r.badness() < best.badness() {
			best = r
		}
	}
	if best.interval > pass && best.agentsSide() {
		best = fitOrder(best)
	}
	return best
}

// In so many looks of the monitor the order of hosts and clusters is fitted, and from this share
// of events, in percent, it is not.
const (
	fittedLooks = 24
	eventShare  = 95
)

// fitOrder finds, look after look, whether the loop for hosts was later than that for
// clusters: in a real service they race.
func fitOrder(best *replay) *replay {
	for look := range min(best.looks, fittedLooks) {
		if _, all := best.totals(); best.fits() && all.events.share() >= eventShare {
			return best
		}
		r := newReplay(best.recording, best.interval, best.phases, best.s.monitor.hostsLater)
		r.turned = maps.Clone(best.turned)
		r.turned[look] = true
		if r.run().badness() < best.badness() {
			best = r
		}
	}
	return best
}

func fitInterval(rec *recording, interval time.Duration) *replay {
	phases := make([]time.Duration, rec.parts)
	for i := range phases {
		phases[i] = rec.phase(interval)
	}
	best := newReplay(rec, interval, phases, false).run()
	for part := range phases {
		// Just before the events that gave the phase, then anywhere.
		for _, phase := range []time.Duration{phases[part] + margin*9/10, interval / 10, interval * 4 / 10, interval * 9 / 10, interval * 2 / 10, interval * 5 / 10} {
			if best.fits() {
				return best
			}
			tried := slices.Clone(best.phases)
			tried[part] = phase
			if r := newReplay(rec, interval, tried, false).run(); r.badness() < best.badness() {
				best = r
			}
		}
	}
	if !best.fits() {
		if r := newReplay(rec, interval, best.phases, true).run(); r.badness() < best.badness() {
			best = r
		}
	}
	return best
}

// replay is one run of a recording against a fresh service.
type replay struct {
	*recording
	clock    *handClock
	s        *Service
	interval time.Duration
	phases   []time.Duration
	next     time.Time // of the next tick
	standIns []*standIn
	names    map[string]string
	steps    map[string]string
	// doubts are what readings find that may have crossed a writing on the wire:
	// the recorded clients called side by side.
	doubts   map[int]*verdict
	verdicts []*verdict
	alone    []bool // which exchanges need no host that is not in the recording
	looks    int    // of the monitor, so far
	// turned are the looks at which the loops for hosts and clusters change places.
	turned map[int]bool
	unseen []bool // which depend on machines that cannot be played
}

func newReplay(rec *recording, interval time.Duration, phases []time.Duration, hostsLater bool) *replay {
	r := &replay{recording: rec, interval: interval, phases: phases, names: map[string]string{}, steps: map[string]string{}, doubts: map[int]*verdict{}, turned: map[int]bool{}}
	r.clock = &handClock{at: rec.exchanges[0].at}
	r.s = New(Config{Clock: r.clock, MonitorInterval: interval, PublicURL: func() string { return "http://127.0.0.1:8888" }})
	r.s.monitor.hostsLater = hostsLater
	bootstraps := rec.bootstraps()
	r.s.clusters.pickBootstrap = func(masters []*model.Host) *model.Host {
		for _, h := range masters {
			if slices.Contains(bootstraps, h.ID) {
				return h
			}
		}
		return masters[0]
	}
	for _, id := range slices.Sorted(maps.Keys(rec.hosts)) {
		if h := rec.hosts[id]; !h.reports && !h.registered.IsZero() {
			r.standIns = append(r.standIns, &standIn{knownHost: h, r: r})
		}
	}
	return r
}

func (r *replay) run() *replay {
	part, blind := -1, r.blind()
	for i, x := range r.exchanges {
		if x.part != part {
			part = x.part
			r.begin(x)
		}
		if strings.Contains(x.Note, impatient) {
			r.s.monitor.steps.Patience = steps.Patience{Disk: 5 * time.Second, Images: 5 * time.Second}
		}
		r.pass(i, x.at)
		r.peek(i, x.at, false)
		r.alone = append(r.alone, !r.needsHosts(x))
		r.unseen = append(r.unseen, slices.ContainsFunc(blind, func(id string) bool { return strings.Contains(x.Path, id) }))
		r.verdicts = append(r.verdicts, r.exchange(i, x))
	}
	r.settleDoubts()
	return r
}

// begin sets the clock to where a stretch of the recording begins.
func (r *replay) begin(x exchange) {
	r.clock.at = x.at
	r.next = x.at.Truncate(r.interval).Add(r.phases[x.part])
	if !r.next.After(x.at) {
		r.next = r.next.Add(r.interval)
	}
}

// impatient is what recordings call a service with shorter limits, and what those
// were.
const impatient = "time limits cut: 65 s for a host"

// pass lets time go by until at: the monitor ticks, the stand-ins poll.
func (r *replay) pass(i int, at time.Time) {
	for {
		poll := nextPoll(r.clock.at, at)
		if len(r.standIns) > 0 && !poll.After(at) && poll.Before(r.next) {
			r.clock.at = poll
			for _, m := range r.standIns {
				m.act()
			}
			continue
		}
		if r.next.After(at) {
			break
		}
		r.clock.at = r.next
		r.peek(i, r.next, true)
		r.look()
		r.next = r.next.Add(r.interval)
	}
	r.clock.at = at
}

// look has the monitor look once.
func (r *replay) look() {
	usual := r.s.monitor.hostsLater
	r.s.monitor.hostsLater = usual != r.turned[r.looks]
	r.looks++
	r.s.tick()
	r.s.monitor.hostsLater = usual
}

// nextPoll is when the stand-ins ask next. Far from anything that was recorded
// they ask less often.
func nextPoll(now, until time.Time) time.Time {
	every := pollEvery
	if until.Sub(now) > 15*time.Second {
		every *= 10
	}
	return now.Truncate(every).Add(every)
}

// crossing is how near to a change a reading must be to be seen on either side.
const crossing = 60 * time.Millisecond

// nearby is how many exchanges can lie between the two.
const nearby = 16

// peek compares the readings nearby, and i itself before a tick, with what they
// would get now.
func (r *replay) peek(i int, at time.Time, self bool) {
	for j := max(0, i-nearby); j < min(len(r.exchanges), i+nearby); j++ {
		x := r.exchanges[j]
		if j == i && !self || x.at.Sub(at).Abs() > crossing || x.Method != http.MethodGet || strings.Contains(x.Path, "instructions") {
			continue
		}
		if seen := r.doubts[j]; seen != nil && seen.bad() == 0 {
			continue
		}
		r.doubts[j] = r.compared(x)
	}
}

func (v *verdict) bad() int {
	// An answer of another kind is worse than any value in it.
	return 10_000*(v.status.all-v.status.same) + v.values.all - v.values.same + v.events.all - v.events.same
}

func (r *replay) exchange(i int, x exchange) *verdict {
	v := r.compared(x)
	if v.bad() == 0 {
		r.doubts[i] = v
	}
	if strings.HasSuffix(x.Path, "/instructions") && x.Method == http.MethodPost {
		for _, m := range r.standIns {
			if strings.Contains(x.Path, m.id) {
				m.act() // a machine that answers one step answers the others with it
			}
		}
	}
	return v
}

// settleDoubts takes, of what a reading finds on both sides of a change nearby,
// the better.
func (r *replay) settleDoubts() {
	for i, v := range r.verdicts {
		doubt := r.doubts[i]
		if doubt == nil || v.bad() == 0 {
			continue
		}
		if doubt.bad() < v.bad() {
			r.verdicts[i] = doubt
			continue
		}
		// A reading may have seen one of two writings under way, but not the other.
		torn := slices.IndexFunc(v.diffs, func(d string) bool { return !strings.Contains(d, ".logs_info") && !strings.Contains(d, "_percentage:") }) < 0
		if torn {
			v.values.same, v.diffs = v.values.all, nil
		}
	}
}

// connectedHosts is what a cluster says of machines that reach each other: it had
// some when it was read, though the recording may not name them.
var connectedHosts = regexp.MustCompile(`l3_connected_addresses\\?":\{\\?"`)

// needsHosts reports whether an answer depends on hosts that stand-ins play.
func (r *replay) needsHosts(x exchange) bool {
	if connectedHosts.Match(x.Response) {
		return true
	}
	for _, m := range r.standIns {
		if m.answers != nil && r.agentsSide() || m.registered.After(x.at) {
			continue
		}
		for _, id := range []string{m.id, m.infraEnv, m.cluster} {
			if id != "" && (strings.Contains(x.Path, id) || bytes.Contains(x.Request, []byte(id))) {
				return true
			}
		}
		if x.Path == "/v2/events" || strings.HasPrefix(x.Path, "/v2/clusters?") || x.Path == "/v2/clusters" && x.Method == "GET" {
			return true
		}
	}
	return false
}

// compared sends a request and compares the answer with the recorded one.
func (r *replay) compared(x exchange) *verdict {
	w := httptest.NewRecorder()
	r.s.ServeHTTP(w, r.request(x))
	v := &verdict{status: tally{1, 1}}
	if w.Code != x.Status {
		v.status.same = 0
		v.diffs = []string{fmt.Sprintf("status %d, recorded %d: %s", w.Code, x.Status, bytes.TrimSpace(w.Body.Bytes()))}
		return v
	}
	c := &comparison{r: r}
	for name, value := range x.Headers {
		switch mine := w.Header().Get(name); {
		case mine == r.rename(value) || name == "Last-Modified" || name == "Allow" || name == "Content-Length":
			c.same()
		default:
			c.differs(1, "header %s: %q, recorded %q", name, mine, value)
		}
	}
	r.compareBodies(c, v, x, w)
	v.values, v.diffs = c.values, append(v.diffs, c.diffs...)
	return v
}

func (r *replay) compareBodies(c *comparison, v *verdict, x exchange, w *httptest.ResponseRecorder) {
	if len(x.Response) == 0 || string(x.Response) == "null" {
		return
	}
	var want any
	if err := json.Unmarshal(x.Response, &want); err != nil {
		c.differs(1, "the recorded answer is no JSON: %v", err)
		return
	}
	text, isText := want.(string)
	if isText && strings.HasSuffix(text, " bytes>") {
		return // a file: its bytes were not recorded
	}
	var got any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		if isText {
			got = w.Body.String()
		} else if err := yaml.Unmarshal(w.Body.Bytes(), &got); err != nil {
			c.differs(countLeaves(want), "the answer is neither JSON nor YAML: %v", err)
			return
		}
	}
	r.learn(x, got, want)
	if strings.HasPrefix(x.Path, "/v2/events") && x.Status == http.StatusOK {
		ours, _ := got.([]any)
		theirs, _ := want.([]any)
		v.events = c.compareEvents(ours, theirs)
		return
	}
	if strings.Contains(x.Path, "discovery.ign") {
		got, want = networkOf(got), networkOf(want) // the rest of it is the simulator's own
	}
	c.compare("", got, want)
}

// networkOf is what of a discovery Ignition is the same in both: the version, and
// the files of the machines' networks.
func networkOf(ignition any) any {
	object, _ := ignition.(map[string]any)
	about, _ := object["ignition"].(map[string]any)
	storage, _ := object["storage"].(map[string]any)
	files, _ := storage["files"].([]any)
	var paths []string
	for _, f := range files {
		if path := fmt.Sprint(f.(map[string]any)["path"]); strings.HasPrefix(path, "/etc/assisted/network/") {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return map[string]any{"version": about["version"], "files": strings.Join(paths, " "), "proxy": about["proxy"]}
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
		body, contentType = someForm()
	}
	request := httptest.NewRequest(x.Method, Base+strings.ReplaceAll(path, " ", "%20"), body)
	request.Header.Set("Content-Type", contentType)
	for name, value := range x.Sent {
		request.Header.Set(name, value)
	}
	return request
}

// someForm is a form with a file, for those whose bytes were not recorded.
func someForm() (io.Reader, string) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	if part, err := w.CreateFormFile("upfile", "logs.tar.gz"); err == nil { // a buffer takes everything
		_, _ = part.Write([]byte("an archive"))
	}
	_ = w.Close()
	return &form, w.FormDataContentType()
}

// idLength is the length of an id.
const idLength = 36

// rename puts the ids of this service in the place of the recorded ones.
func (r *replay) rename(text string) string {
	if len(text) < idLength {
		return text
	}
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
		if len(old) == idLength && len(now) == idLength && old != now {
			r.names[old] = now
		}
	}
	pair("openshift_cluster_id")
	if x.Method == http.MethodPost && slices.Contains([]string{"/v2/clusters", "/v2/infra-envs", "/v2/clusters/import"}, x.Path) {
		pair("id")
	}
}

// totals sums up the verdicts of the exchanges that need no host, and of all.
func (r *replay) totals() (alone, all verdict) {
	for i, v := range r.verdicts {
		for _, sum := range []*verdict{&alone, &all} {
			if sum == &alone && !r.alone[i] || r.unseen[i] {
				continue
			}
			sum.status.add(v.status)
			sum.values.add(v.values)
			sum.events.add(v.events)
		}
	}
	return alone, all
}

// badness is what fitting makes small.
func (r *replay) badness() int {
	_, all := r.totals()
	return all.bad()
}

// bounds are the shares that the statuses and the values of a recording have to reach, and
// what of it they are about.
func (r *replay) bounds() (judged verdict, statuses, values float64) {
	alone, all := r.totals()
	switch {
	case strings.Contains(r.name, "sweep"):
		return all, sweepShare, 0
	case r.agentsSide():
		return all, share, share
	}
	return alone, share, share
}

// fits reports whether enough agrees for no other phase to be tried.
func (r *replay) fits() bool {
	judged, statuses, values := r.bounds()
	return judged.status.share() >= statuses && judged.values.share() >= values
}

func (r *replay) row() string {
	alone, all := r.totals()
	cell := func(t tally) string { return fmt.Sprintf("%6.2f%% %6d", t.share(), t.all) }
	side := "client"
	if r.agentsSide() {
		side = "agents"
	}
	return fmt.Sprintf("%-36s %8s %6v %7s | %s %s | %s %s | %s", r.name, r.interval, r.phases[0].Round(time.Millisecond), side,
		cell(alone.status), cell(alone.values), cell(all.status), cell(all.values), cell(all.events))
}

// judge complains about a recording that agrees too little, and lists what
// differs.
func (r *replay) judge(t *testing.T) {
	t.Helper()
	judged, statuses, values := r.bounds()
	atLeast(t, "statuses", judged.status, statuses)
	atLeast(t, "values", judged.values, values)
	for i, v := range r.verdicts {
		for _, d := range v.diffs {
			mark := " "
			if r.alone[i] || r.agentsSide() {
				mark = "*"
			}
			x := r.exchanges[i]
			t.Logf("%s #%d t=%.2f %s %s: %s", mark, i, x.T, x.Method, x.Path, d)
		}
	}
}

func atLeast(t *testing.T, what string, got tally, share float64) {
	t.Helper()
	if got.share() < share {
		t.Errorf("%.2f %% of %d %s agree, not %v %%", got.share(), got.all, what, share)
	}
}
