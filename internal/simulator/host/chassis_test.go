package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/image"
)

// board is a Chassis that a test switches.
type board struct {
	mu      sync.Mutex
	on      bool
	starts  int
	changed chan struct{}
	// media are what it boots; once has them count for one start only.
	media  []byte
	once   bool
	broken error
	boots  int
}

func (b *board) Switched() (bool, int, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.on, b.starts, b.changed
}

func (b *board) SetPower(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.on = on
}

func (b *board) Boot(context.Context) (io.ReaderAt, int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.boots++
	media := b.media
	if b.once {
		b.media = nil
	}
	if media == nil || b.broken != nil {
		return nil, 0, b.broken
	}
	return bytes.NewReader(media), int64(len(media)), nil
}

// turn switches the machine as its controller does.
func (b *board) turn(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.on = on
	if on {
		b.starts++
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// imageOf is a discovery image whose agent calls a service.
func imageOf(t *testing.T, service, infraEnv, token string) []byte {
	t.Helper()
	return mediaOf(t, "full", service, infraEnv, token)
}

func mediaOf(t *testing.T, kind, service, infraEnv, token string) []byte {
	t.Helper()
	unit := fmt.Sprintf("[Service]\\nEnvironment=PULL_SECRET_TOKEN=%s\\nExecStart=/usr/local/bin/agent --url %s --infra-env-id %s\\n", token, service, infraEnv)
	config := `{"ignition": {"version": "3.1.0"}, "systemd": {"units": [{"name": "agent.service", "enabled": true, "contents": "` + unit + `"}]}}`
	images, err := image.New(image.Config{Clock: clock.Real(), Lookup: func(context.Context, string) (image.Source, bool) {
		return image.Source{Ignition: []byte(config), MinimalIgnition: []byte(config)}, true
	}})
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	images.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/byid/"+infraEnv+"/4.20/x86_64/"+kind+".iso", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	return answer.Body.Bytes()
}

const serviceAddress = "http://service.example.com"

// act is something that is done to a machine at a time.
type act struct {
	at time.Duration
	do func(*board)
}

// told plays one machine that is switched as the acts say, and returns its log.
func told(t *testing.T, service http.Handler, media []byte, limit time.Duration, acts ...act) (*board, string) {
	t.Helper()
	b := &board{media: media, once: true}
	var mu sync.Mutex
	var log strings.Builder
	inBubble(t, service, limit, func(ctx context.Context, t *testing.T, cfg Config) {
		b.changed = make(chan struct{})
		for _, a := range acts {
			time.AfterFunc(a.at, func() { a.do(b) })
		}
		list := machines(t, 1)
		list[0].Chassis = b
		cfg.Machines = list
		cfg.Logf = func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(&log, format+"\n", args...)
		}
		if err := Run(ctx, cfg); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
	mu.Lock()
	defer mu.Unlock()
	return b, log.String()
}

// set changes a field of the board while the machine may be reading it.
func set(at time.Duration, change func(*board)) act {
	return act{at, func(b *board) {
		b.mu.Lock()
		defer b.mu.Unlock()
		change(b)
	}}
}

func turnOn(at time.Duration) act  { return act{at, func(b *board) { b.turn(true) }} }
func turnOff(at time.Duration) act { return act{at, func(b *board) { b.turn(false) }} }

func TestMachineBootsOnlyWhenSwitchedOn(t *testing.T) {
	media := imageOf(t, serviceAddress, fakeInfraEnv, "")
	for _, tc := range []struct {
		name          string
		media         []byte
		acts          []act
		registrations int
		says          string
	}{
		{"never", media, nil, 0, ""},
		{"on", media, []act{turnOn(time.Minute)}, 1, "registered"},
		{"on and off at once", media, []act{turnOn(time.Minute), turnOff(time.Minute + time.Second)}, 0, ""},
		{"without media", nil, []act{turnOn(time.Minute)}, 0, "finds nothing to boot"},
		{"media of zeros", make([]byte, 1<<20), []act{turnOn(time.Minute)}, 0, "not an ISO 9660 image"},
		{"media that cannot be read", media, []act{set(0, func(b *board) { b.broken = errors.New("no route") }), turnOn(time.Minute)}, 0, "no route"},
		{"media that call somebody else", imageOf(t, "http://another.example.com/elsewhere", fakeInfraEnv, ""), []act{turnOn(time.Minute)}, 0, "stops its agent"},
		{"restarted without media", media, []act{turnOn(time.Minute), turnOn(20 * time.Minute)}, 1, "finds nothing to boot"},
		{"restarted with media", media, []act{turnOn(time.Minute), set(19*time.Minute, func(b *board) { b.media = media }), turnOn(20 * time.Minute)}, 2, "registered"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fake := newFake(t, 3, 3) // never has all three
			_, log := told(t, fake, tc.media, 40*time.Minute, tc.acts...)
			registrations := 0
			for _, h := range fake.hosts {
				registrations += h.registrations
			}
			if registrations != tc.registrations || !strings.Contains(log, tc.says) {
				t.Errorf("it registered %d times, want %d with %q:\n%s", registrations, tc.registrations, tc.says, log)
			}
		})
	}
}

func TestMachineGoesDarkWhenSwitchedOff(t *testing.T) {
	fake := newFake(t, 3, 3)
	polls := func() (n int) {
		fake.mu.Lock()
		defer fake.mu.Unlock()
		for _, h := range fake.hosts {
			n += h.polls
		}
		return n
	}
	before := 0
	told(t, fake, imageOf(t, serviceAddress, fakeInfraEnv, ""), 2*time.Hour,
		turnOn(0), turnOff(30*time.Minute), act{31 * time.Minute, func(*board) { before = polls() }})
	if before == 0 || polls() != before {
		t.Errorf("it has polled %d times when switched off, and %d at the end", before, polls())
	}
}

func TestMachineRebootsFromWhatItFinds(t *testing.T) {
	for _, tc := range []struct {
		name   string
		once   bool
		status string
		boots  int
	}{
		{"from its disk", true, "installed", 2},
		{"from media that stay", false, "installing-pending-user-action", 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fake := newFake(t, 1, 1)
			b, log := told(t, fake, imageOf(t, serviceAddress, fakeInfraEnv, ""), 3*time.Hour, set(0, func(b *board) { b.once = tc.once }), turnOn(time.Minute))
			if h := fake.hosts[fake.order[0]]; h.status != tc.status || b.boots != tc.boots {
				t.Errorf("the host is %s after %d boots:\n%s", h.status, b.boots, log)
			}
		})
	}
}

// The agent shows the token of the Ignition that it was started by.
func TestAgentShowsTheTokenOfItsImage(t *testing.T) {
	fake := newFake(t, 3, 3)
	var mu sync.Mutex
	tokens := map[string]bool{}
	service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if r.Method == http.MethodPost {
			tokens[r.Header.Get(agentAuthHeader)] = true
		}
		mu.Unlock()
		fake.ServeHTTP(w, r)
	})
	told(t, service, imageOf(t, serviceAddress, fakeInfraEnv, "t0ken"), 20*time.Minute, turnOn(0))
	mu.Lock()
	defer mu.Unlock()
	if len(tokens) != 1 || !tokens["t0ken"] {
		t.Errorf("the service was shown %d tokens, among them the image's: %t", len(tokens), tokens["t0ken"])
	}
}

// A minimal image boots only where its root file system can be had.
func TestMinimalImageFetchesItsRoot(t *testing.T) {
	for name, root := range map[string]string{"an archive": archiveMagic, "a page": "<html>", "nothing": ""} {
		t.Run(name, func(t *testing.T) {
			fake := newFake(t, 3, 3)
			service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/boot-artifacts/rootfs" && root != "" {
					_, _ = io.WriteString(w, root)
					return
				}
				fake.ServeHTTP(w, r)
			})
			_, log := told(t, service, mediaOf(t, "minimal", serviceAddress, fakeInfraEnv, ""), 20*time.Minute, turnOn(0))
			if registered := len(fake.hosts) == 1; registered != (root == archiveMagic) {
				t.Errorf("it has registered: %t\n%s", registered, log)
			}
		})
	}
}

// A machine that fetches its root file system lets the server write all that it asked
// for, and does not wait forever for one that does not answer.
func TestRootIsFetchedToItsEnd(t *testing.T) {
	var written []error
	fake := newFake(t, 3, 3)
	service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/boot-artifacts/rootfs" {
			fake.ServeHTTP(w, r)
			return
		}
		_, err := io.WriteString(w, archiveMagic+strings.Repeat("0", rootHead-len(archiveMagic)))
		written = append(written, err)
	})
	media := mediaOf(t, "minimal", serviceAddress, fakeInfraEnv, "")
	told(t, service, media, 20*time.Minute, turnOn(0))
	if len(written) != 1 || written[0] != nil || len(fake.hosts) != 1 {
		t.Errorf("the server wrote with %v, and %d machines have registered", written, len(fake.hosts))
	}
	var waited time.Duration
	silent := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/boot-artifacts/rootfs" {
			since := time.Now()
			<-r.Context().Done()
			waited = time.Since(since)
		}
	})
	if _, log := told(t, silent, media, 20*time.Minute, turnOn(0)); waited == 0 || waited > 2*time.Minute || !strings.Contains(log, "cannot boot") {
		t.Errorf("it has waited for %v for a server that does not answer:\n%s", waited, log)
	}
}
