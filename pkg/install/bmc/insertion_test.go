package bmc_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	simbmc "github.com/oaictl/oaictl/internal/simulator/bmc"
	"github.com/oaictl/oaictl/pkg/install/bmc"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// hand is a clock that only a test moves: a caller sleeps on it until then.
type hand struct {
	mu     sync.Mutex
	change *sync.Cond
	now    time.Time
	until  map[*time.Time]bool // of the callers that sleep
}

func newHand() *hand {
	h := &hand{now: time.Unix(1, 0), until: map[*time.Time]bool{}}
	h.change = sync.NewCond(&h.mu)
	return h
}

func (h *hand) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hand) Sleep(ctx context.Context, d time.Duration) error {
	defer context.AfterFunc(ctx, h.change.Broadcast)()
	h.mu.Lock()
	defer h.mu.Unlock()
	until := h.now.Add(d)
	h.until[&until] = true
	h.change.Broadcast()
	for h.now.Before(until) && ctx.Err() == nil {
		h.change.Wait()
	}
	delete(h.until, &until)
	return context.Cause(ctx)
}

// asleep is how many callers will still sleep when those that are due have woken; mu is held.
func (h *hand) asleep() (n int) {
	for until := range h.until {
		if h.now.Before(*until) {
			n++
		}
	}
	return n
}

// pass moves the clock once so many callers sleep on it. While there are fewer, it waits up to a second for more: what
// a test waits for has happened then.
func (h *hand) pass(asleep int, d time.Duration) {
	late := time.Now().Add(time.Second)
	defer time.AfterFunc(time.Until(late), h.change.Broadcast).Stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.asleep() < asleep {
		if time.Now().After(late) {
			return
		}
		h.change.Wait()
	}
	h.now = h.now.Add(d)
	h.change.Broadcast()
}

// slowMedia are read by a BMC as slowly as a test has it.
type slowMedia struct {
	*httptest.Server
	asked chan struct{} // gets one for each request
	rest  chan struct{} // a request ends when it gets one, or is closed

	mu      sync.Mutex
	fetched model.Fetched
	most    int // of them, at once
}

func newSlowMedia(t *testing.T) *slowMedia {
	t.Helper()
	m := &slowMedia{asked: make(chan struct{}, 100), rest: make(chan struct{})}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.count(1)
		defer m.count(-1)
		m.asked <- struct{}{}
		select {
		case <-m.rest:
		case <-r.Context().Done():
		}
		http.ServeContent(w, r, "image.iso", time.Time{}, strings.NewReader("an image"))
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *slowMedia) count(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fetched.Active += n
	m.most = max(m.most, m.fetched.Active)
}

// send has bytes be sent at a moment.
func (m *slowMedia) send(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fetched.Bytes++
	m.fetched.Last = at
}

// idle has nothing been sent for so long.
func (m *slowMedia) idle(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fetched.Idle = d
}

func (m *slowMedia) URL(host string) (string, error) {
	return m.Server.URL + "/i/" + host + "x7.iso", nil
}
func (m *slowMedia) Prepare(context.Context, string) error { return nil }

func (m *slowMedia) Fetched(string) model.Fetched {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fetched
}

const tick = 5 * time.Second

// slowLab is a lab whose BMCs take their time to read the image. The BMC of sushy-tools, which answers when it has all
// of the image, was asked to insert it.
func slowLab(t *testing.T) (*lab, *slowMedia, *hand) {
	t.Helper()
	l, m, network := newLab(t, "", nil), newSlowMedia(t), newHand()
	l.Plane = bmc.New(bmc.Config{Media: m, Clock: l.clock, Network: network, Proxy: l.proxy})
	t.Cleanup(l.Plane.Close)
	acted := make(chan error)
	go func() { acted <- insertInto(t, l) }()
	<-m.asked
	network.pass(2, tick) // the caller that acts, and the one that watches
	if err := <-acted; err != nil {
		t.Fatal(err)
	}
	return l, m, network
}

func insertInto(t *testing.T, l *lab) error {
	return l.Act(t.Context(), l.desired, nil, model.Action{Kind: model.InsertMedia, Name: string(simbmc.Sushy)})
}

// ends waits for the end of the insertion.
func (l *lab) ends(t *testing.T, moves func()) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); l.see(t, "sushy").Inserting; moves() {
		if time.Now().After(deadline) {
			t.Fatal("the insertion does not end")
		}
	}
}

// TestSlowInsertion waits for a BMC that answers when it has read the whole image, and does not send the request a
// second time meanwhile.
func TestSlowInsertion(t *testing.T) {
	l, m, network := slowLab(t)
	for range 2 * 12 { // two minutes, and bytes all the time
		m.send(network.Now())
		network.pass(1, tick)
	}
	if got := l.see(t, "sushy"); !got.Inserting || got.Trouble != "" {
		t.Errorf("meanwhile: %+v", got)
	}
	check.Do(t, insertInto(t, l), "told again")
	close(m.rest)
	l.ends(t, func() {})
	if got := l.see(t, "sushy"); !got.OurMedia || m.most != 1 || len(m.asked) != 0 {
		t.Errorf("%+v; read %d times at once, and %d times more", got, m.most, len(m.asked))
	}
}

// TestInsertionWithoutEnd gives up a quarter of an hour after nothing was read, or a minute after the last byte,
// reports that, and reads the drive before it sends the request again.
func TestInsertionWithoutEnd(t *testing.T) {
	for name, test := range map[string]struct {
		read   bool
		within time.Duration
		says   string
	}{
		"nothing read": {false, 15 * time.Minute, "has not answered the insertion for 15m0s"},
		"read in part": {true, time.Minute, "has not answered the insertion, and has read nothing for 1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf("", map[string]map[string]any{"Cd": {
				"MediaTypes": []string{"CD"}, "Actions": map[string]any{"#VirtualMedia.InsertMedia": map[string]any{"target": drives + "Cd/Insert"}},
			}})
			told := make(chan struct{}, 10)
			l := s.behind(t, func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/Insert") {
					s.ServeHTTP(w, r)
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				told <- struct{}{}
				<-r.Context().Done()
			})
			m, network := newSlowMedia(t), newHand()
			l.Plane = bmc.New(bmc.Config{Media: m, Clock: l.clock, Network: network})
			t.Cleanup(l.Plane.Close)
			insert := func() error {
				return l.Act(t.Context(), l.desired, nil, model.Action{Kind: model.InsertMedia, Name: "a"})
			}
			acted := make(chan error)
			begins := func() {
				t.Helper()
				go func() { acted <- insert() }()
				<-told
				network.pass(2, tick)
				if err := <-acted; err != nil {
					t.Fatal(err)
				}
			}
			begins()
			if test.read {
				m.send(network.Now())
				network.pass(1, tick)
			}
			began := network.Now()
			for network.Now().Sub(began) < test.within-2*tick {
				network.pass(1, tick)
			}
			if got := l.see(t, "a"); !got.Inserting {
				t.Fatalf("given up too early: %+v", got)
			}
			for deadline := time.Now().Add(20 * time.Second); l.see(t, "a").Inserting; network.pass(1, tick) {
				if time.Now().After(deadline) {
					t.Fatal("it is not given up")
				}
			}
			if passed := network.Now().Sub(began); passed > test.within+3*tick {
				t.Errorf("given up after %s", passed)
			}
			if got := l.see(t, "a"); got.Failed != model.InsertMedia || !strings.Contains(got.Cause, test.says) || len(told) > 0 {
				t.Errorf("%+v; told %d times more", got, len(told))
			}
			begins()
			s.mu.Lock()
			s.docs[drives+"Cd"]["Image"], _ = m.URL("a") // it came in late
			s.mu.Unlock()
			l.Plane.Close()
			if got := l.see(t, "a"); !got.OurMedia {
				t.Errorf("%+v", got)
			}
			if err := insert(); err != nil || len(told) > 0 {
				t.Errorf("it was inserted, and then: %v; told %d times more", err, len(told))
			}
		})
	}
}

// TestReadByAnother does not ask a BMC to insert what it reads already, since an earlier run has asked for it.
func TestReadByAnother(t *testing.T) {
	l, m := newLab(t, "", nil), newSlowMedia(t)
	l.Plane = bmc.New(bmc.Config{Media: m, Clock: l.clock, Proxy: l.proxy})
	m.count(1)
	if got := l.see(t, "sushy"); !got.Inserting {
		t.Errorf("%+v", got)
	}
	m.idle(time.Hour)
	if got := l.see(t, "sushy"); got.Inserting || !got.Fetch.Stalled() {
		t.Errorf("the download stands: %+v", got)
	}
	m.count(-1)
	if got := l.see(t, "sushy"); got.Inserting {
		t.Errorf("%+v", got)
	}
}
