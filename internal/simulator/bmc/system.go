package bmc

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
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

func noOverride() override { return override{Target: "None", Enabled: disabled, Mode: "UEFI"} }

// System is the part of a machine that its controller has in hand. It is safe for
// concurrent use.
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
	boot    override
	media   map[string]string // URL by slot
	changed chan struct{}
}

// Switched is whether the machine is on, how often its controller has made it
// start, and a channel that is closed when the controller switches it again.
func (s *System) Switched() (on bool, starts int, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.on, s.starts, s.changed
}

// SetPower is the machine going off or on by itself, without being told by its
// controller, which only sees it.
func (s *System) SetPower(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on, s.settles = on, time.Time{}
}

// Boot is what the firmware finds to start from: the content of the inserted
// media if an override says so, else nil, which is the machine's own disk. A
// one-time override is used up.
func (s *System) Boot(ctx context.Context) (io.ReaderAt, int64, error) {
	url := s.takeBoot()
	if url == "" {
		return nil, 0, nil
	}
	s.logf("%s: boots from %s", s.machine.Name, withoutSecrets(url))
	content, err := s.reader.read(ctx, url)
	if err != nil {
		return nil, 0, fmt.Errorf("boot from virtual media: %w", err)
	}
	return content, content.Size(), nil
}

func (s *System) takeBoot() (url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.boot.Enabled != disabled && s.boot.Target == s.dialect.mediaTarget {
		for _, slot := range slices.Sorted(maps.Keys(s.media)) {
			if url = s.media[slot]; url != "" {
				break
			}
		}
	}
	if s.boot.Enabled == once {
		s.boot = override{Target: "None", Enabled: disabled, Mode: s.boot.Mode}
	}
	return url
}

// power is the state in the words of Redfish (PowerState).
func (s *System) power() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.powerLocked()
}

func (s *System) powerLocked() string {
	state, moving := "Off", "PoweringOff"
	if s.on {
		state, moving = "On", "PoweringOn"
	}
	if s.clock.Now().Before(s.settles) {
		return moving
	}
	return state
}

// reset does what ComputerSystem.Reset asks for. It says false where a strict
// controller refuses, since the machine is in that state already.
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
		if was {
			return false
		}
		s.switchLocked(true, powerOnTime)
	case "ForceOff", "GracefulShutdown":
		if !was {
			return false
		}
		takes := time.Duration(0)
		if kind == "GracefulShutdown" {
			takes = shutdownTime
		}
		s.switchLocked(false, takes)
	case "ForceRestart", "GracefulRestart", "PowerCycle":
		if !was {
			return false
		}
		s.switchLocked(true, powerOnTime)
	}
	return true
}

// switchLocked switches the machine. The caller holds mu.
func (s *System) switchLocked(on bool, takes time.Duration) {
	s.on, s.settles = on, time.Time{}
	if takes > 0 {
		s.settles = s.clock.Now().Add(takes)
	}
	if on {
		s.starts++
	}
	close(s.changed)
	s.changed = make(chan struct{})
	s.logf("%s: is switched %s by its BMC", s.machine.Name, map[bool]string{true: "on", false: "off"}[on])
}

// settings are the boot override as it stands.
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

// inserted is the URL in a slot; empty for none.
func (s *System) inserted(slot string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.media[slot]
}

func (s *System) insert(slot, url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.media[slot] = url
}
