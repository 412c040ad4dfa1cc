// Package scenario reads and matches scripts of trouble for the simulator: what
// the service does wrong, and what happens to the machines. It knows the format
// and the words; making the trouble happen is the business of the two halves of
// the simulator.
package scenario

import (
	"fmt"
	"os"
	"time"
)

// The identity of the format, as a file's apiVersion and kind state it.
const (
	APIVersion = "oaictl.io/v1alpha1"
	Kind       = "Scenario"
)

// Scenario is a script of trouble. A nil *Scenario means that nothing goes wrong.
type Scenario struct {
	// Name is metadata.name.
	Name string
	// Service holds the rules that the service half carries out, in file order.
	Service []Rule
	// Hosts holds the rules that the machines carry out, in file order.
	Hosts []Rule
}

// Rule is one piece of trouble: whom it hits, when it starts, and what it is.
type Rule struct {
	Match Match
	At    At
	// Do is the verb: one of the Do… constants of its half.
	Do   string
	Args Args
	// Line and Column say where in the file the rule begins, both from 1.
	Line, Column int
}

// Verbs of spec.service, all with args.times and args.for; with neither, one call is hit.
const (
	DoRespond     = "respond"      // answer with args.status and args.body
	DoGarbage     = "garbage"      // answer 200 with bytes that are no JSON
	DoTruncate    = "truncate"     // close the connection in the middle of the body
	DoHang        = "hang"         // accept the request and do not answer
	DoReset       = "reset"        // close the connection without an answer
	DoExpireToken = "expire-token" // refuse the caller's present token
	DoExpireImage = "expire-image" // let the image URLs given out so far expire
	DoDelay       = "delay"        // answer args.delay later than usual
)

// Verbs of spec.hosts.
const (
	DoNeverBoot        = "never-boot"         // the machine stays dark, or for args.for
	DoInventory        = "inventory"          // the hardware is not what it should be
	DoUnreachableNTP   = "unreachable-ntp"    // no time source answers; the clock is args.skew ahead
	DoNetwork          = "network"            // the machine sits in the wrong subnet
	DoHostname         = "hostname"           // the machine calls itself something unfit
	DoSlowDisk         = "slow-disk"          // the disk speed check takes args.sync, or fails with args.fails
	DoImagePullFailure = "image-pull-failure" // container images cannot be pulled
	DoStopAgent        = "stop-agent"         // the agent stops polling, the machine runs on
	DoPowerOff         = "power-off"          // the machine goes dark
	DoBootISO          = "boot-iso"           // it reboots into the ISO instead of its disk
	DoFail             = "fail"               // the installer fails with args.reason
	DoStall            = "stall"              // a stage does not end, or for args.for
	DoAppear           = "appear"             // a machine that nobody asked for boots the ISO
	DoOperatorsTimeout = "operators-timeout"  // the named operators do not become available
)

// Verbs of spec.hosts about management controllers, which begin at a time (at.after).
const (
	DoPowerOn             = "power-on"              // the machine is on from the start, and runs something else
	DoBMCKind             = "bmc-kind"              // whose controller it is: args.kind
	DoBMCUnreachable      = "bmc-unreachable"       // nothing answers at the controller's address
	DoBMCWrongCredentials = "bmc-wrong-credentials" // it takes no user and password, with args.status
	DoBMCNoVirtualMedia   = "bmc-no-virtual-media"  // it has no virtual media
	DoBMCMediaRefused     = "bmc-media-refused"     // it inserts no image, with args.status
	DoBMCPowerLies        = "bmc-power-lies"        // it says args.says whatever the power is
	DoBMCSessionLimit     = "bmc-session-limit"     // it has no session left for anyone
)

// ServiceRules is the rules of spec.service; none for a nil scenario.
func (s *Scenario) ServiceRules() []Rule {
	if s == nil {
		return nil
	}
	return s.Service
}

// HostRules is the rules of spec.hosts; none for a nil scenario.
func (s *Scenario) HostRules() []Rule {
	if s == nil {
		return nil
	}
	return s.Hosts
}

// Load reads the scenario at path; everything wrong is reported at once, by file, line and column.
func Load(path string) (*Scenario, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading scenario: %w", err)
	}
	return Parse(path, data)
}

// Args are the details of a rule. The loader has checked their names and types
// against the verb, so the getters fall back to the given default only for what
// the file does not say.
type Args map[string]any

// String is the text of key, or def.
func (a Args) String(key, def string) string { return valueOf(a, key, def) }

// Int is the whole number of key, or def.
func (a Args) Int(key string, def int) int { return valueOf(a, key, def) }

// Bool is the truth of key, or def.
func (a Args) Bool(key string, def bool) bool { return valueOf(a, key, def) }

// Duration is the time span of key, or def.
func (a Args) Duration(key string, def time.Duration) time.Duration { return valueOf(a, key, def) }

func valueOf[T any](a Args, key string, def T) T {
	if v, ok := a[key].(T); ok {
		return v
	}
	return def
}

// Map is the object of key, or nil.
func (a Args) Map(key string) map[string]any {
	v, _ := a[key].(map[string]any)
	return v
}

// Strings is the list of texts of key, or nil.
func (a Args) Strings(key string) []string {
	v, _ := a[key].([]string)
	return v
}

// Times is args.times: how many matching calls the trouble hits; 0 is no limit.
func (r Rule) Times() int { return r.Args.Int("times", 0) }

// For is args.for: how long the trouble lasts; 0 is for good.
func (r Rule) For() time.Duration { return r.Args.Duration("for", 0) }
