package bmc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
)

// How long switching takes, on the clock.
const (
	powerOnTime  = 3 * time.Second
	shutdownTime = 20 * time.Second
)

// override is what boots instead of what the machine's own order says.
type override struct {
	Target  string
	Enabled string // Disabled, Once or Continuous
	Mode    string // UEFI or Legacy
}

const (
	disabled   = "Disabled"
	once       = "Once"
	continuous = "Continuous"
)

func (d *dialect) noOverride() override {
	if d.Emulator {
		return override{Target: ownDisk, Enabled: continuous, Mode: "UEFI"}
	}
	return override{Target: "None", Enabled: disabled, Mode: "UEFI"}
}

// System is the part of a machine that its controller has in hand. It is safe for concurrent use.
type System struct {
	machine Machine
	id      string
	manager string
	dialect *dialect
	clock   clock.Clock
	reader  *mediaReader
	logf    func(format string, args ...any)

	mu      sync.Mutex
	on      bool
	starts  int       // how often the controller has made it start: on, or anew
	settles time.Time // until then it is on its way to the state it is in
	shown   bool      // until then, where what is said of it follows later
	boot    override
	media   map[string]string // URL by slot
	copies  map[string][]byte // of what is in a slot, where that was downloaded
	reading reading
	changed chan struct{}
}

// reading is what the machine has booted from and may still read.
type reading struct {
	slot string
	stop context.CancelCauseFunc // nil before the first
}

// Why a machine reads no more.
var (
	errSwitched = errors.New("the machine has been switched")
	errEjected  = errors.New("the media have been taken out")
)

// Switched is whether the machine is on, how often it was started, and what is closed at the next switch.
func (s *System) Switched() (on bool, starts int, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.on, s.starts, s.changed
}

// SetPower is the machine going off or on by itself, which its controller only sees.
func (s *System) SetPower(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on, s.settles = on, time.Time{}
	if !on {
		s.reading.end(errSwitched)
	}
}

// Boot is the content that the firmware starts from: the inserted media if an override says so, else nil, which is
// the machine's own disk. A one-time override is used up. The machine hangs at its drive while the server of the
// media is away. The content can be read until ctx ends, the machine is switched or the media are ejected.
func (s *System) Boot(ctx context.Context) (io.ReaderAt, int64, error) {
	ctx, url, copied := s.takeBoot(ctx)
	if url == "" {
		return nil, 0, nil
	}
	s.logf("%s: boots from %s", s.machine.Name, withoutSecrets(url))
	if copied != nil {
		return bytes.NewReader(copied), int64(len(copied)), nil
	}
	content, err := s.reader.read(ctx, url, func(err error) { s.logf("%s: hangs at its drive: %v", s.machine.Name, err) })
	if err != nil {
		return nil, 0, fmt.Errorf("boot from virtual media: %w", err)
	}
	return content, content.Size(), nil
}

// takeBoot is the URL to boot from (or ""), the controller's copy of it, and a context for reading it.
func (s *System) takeBoot(ctx context.Context) (_ context.Context, url string, copied []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reading.end(errSwitched)
	if s.boot.Enabled != disabled && s.boot.Target == s.dialect.MediaTarget {
		for _, slot := range slices.Sorted(maps.Keys(s.media)) {
			if url = s.media[slot]; url != "" {
				s.reading.slot, copied = slot, s.copies[slot]
				ctx, s.reading.stop = context.WithCancelCause(ctx)
				break
			}
		}
	}
	if s.boot.Enabled == once {
		s.boot = override{Target: "None", Enabled: disabled, Mode: s.boot.Mode}
	}
	return ctx, url, copied
}

func (r *reading) end(why error) {
	if r.stop != nil {
		r.stop(why)
	}
}

func (s *System) power() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.powerLocked()
}

func (s *System) powerLocked() string {
	state, moving := "Off", "PoweringOff"
	if s.showsOn() {
		state, moving = "On", "PoweringOn"
	}
	if !s.dialect.Emulator && s.clock.Now().Before(s.settles) {
		return moving
	}
	return state
}

// reset does ComputerSystem.Reset; false where the machine is in that state already.
func (s *System) reset(kind string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind == "PushPowerButton" {
		kind = "On"
		if s.on {
			kind = "GracefulShutdown"
		}
	}
	was := s.on
	switch kind {
	case "On", "ForceOn":
		if !was {
			s.switchLocked(true, powerOnTime)
		}
		return !was
	case "ForceOff", "GracefulShutdown", "ForceRestart", "GracefulRestart", "PowerCycle":
	default:
		return true
	}
	switch {
	case !was:
	case kind == "ForceOff":
		s.switchLocked(false, 0)
	case kind == "GracefulShutdown":
		s.switchLocked(false, shutdownTime)
	default:
		s.switchLocked(true, powerOnTime)
	}
	return was
}

func (s *System) switchLocked(on bool, takes time.Duration) {
	s.on, s.settles = on, time.Time{}
	if takes > 0 {
		s.settles = s.clock.Now().Add(takes)
	}
	if on {
		s.starts++
	}
	s.reading.end(errSwitched)
	close(s.changed)
	s.changed = make(chan struct{})
	s.logf("%s: is switched %s by its BMC", s.machine.Name, map[bool]string{true: "on", false: "off"}[on])
}

func (s *System) settings() override {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.boot
}

func (s *System) set(boot override) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.boot = boot
}

func (s *System) inserted(slot string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.media[slot]
}

// insert puts the media behind a URL into a slot; an empty one takes out what is there.
func (s *System) insert(slot, url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slot == s.reading.slot && url != s.media[slot] {
		s.reading.end(errEjected)
	}
	s.media[slot] = url
	delete(s.copies, slot)
}
