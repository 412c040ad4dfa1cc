// Package scenario reads and matches scripts of trouble for the simulator: what
// the service does wrong, what happens to the machines, and what is wrong with an
// installed cluster that they join. It knows the format and the words; making the
// trouble happen is the business of the parts of the simulator.
package scenario

import (
	_ "embed"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/yaml"
)

// The identity of the format, as a file's apiVersion and kind state it.
const (
	APIVersion = "oaictl.io/v1alpha1"
	Kind       = "Scenario"
)

// Scenario is a script of trouble. A nil *Scenario means that nothing goes wrong.
type Scenario struct {
	Name string
	// Service holds the rules that the service half carries out, in file order.
	Service []Rule
	// Hosts holds the rules that the machines carry out, in file order.
	Hosts []Rule
	// Cluster holds those of an installed cluster, and of the nodes that join it, in file order.
	Cluster []Rule
}

// Rule is one piece of trouble: what it hits, when it starts, and what it is.
type Rule struct {
	Match Match
	At    StartCondition
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
	DoDNS              = "dns"                // names of the cluster do not resolve, or every name does
	DoHostname         = "hostname"           // the machine calls itself something unfit
	DoSlowDisk         = "slow-disk"          // the disk speed check takes args.sync, or fails with args.fails
	DoImagePullFailure = "image-pull-failure" // container images cannot be pulled
	DoStopAgent        = "stop-agent"         // the agent stops polling, the machine runs on
	DoPowerOff         = "power-off"          // the machine goes dark
	DoBootISO          = "boot-iso"           // it reboots into the ISO instead of its disk
	DoFail             = "fail"               // the installer fails with args.reason
	DoStall            = "stall"              // a stage does not end, or for args.for
	DoAppear           = "appear"             // an unexpected machine boots the ISO
	DoOperatorsTimeout = "operators-timeout"  // the named operators do not become available
)

// Verbs of spec.hosts about management controllers, which begin at a time (at.after).
const (
	DoPowerOn             = "power-on"              // the machine is on from the start, and runs something else
	DoBMCKind             = "bmc-kind"              // the maker of the controller: args.kind
	DoBMCUnreachable      = "bmc-unreachable"       // nothing answers at the controller's address
	DoBMCWrongCredentials = "bmc-wrong-credentials" // it takes no user and password, with args.status
	DoBMCNoVirtualMedia   = "bmc-no-virtual-media"  // it has no virtual media
	DoBMCMediaRefused     = "bmc-media-refused"     // it inserts no image, with args.status
	DoBMCPowerLies        = "bmc-power-lies"        // it always says that the power is args.says
	DoBMCSessionLimit     = "bmc-session-limit"     // it has no session left for anyone
)

// Verbs of spec.cluster. match.name is that of a node, a pool or an operator, as a whole.
const (
	DoRequest         = "request"          // a client that is no kubelet asks for a certificate, args.count times
	DoReplay          = "replay"           // a node's first request is made again
	DoRotate          = "rotate"           // a kubelet asks for another certificate
	DoNodeName        = "node-name"        // the machine calls itself args.name once it has rebooted
	DoNodeAddresses   = "node-addresses"   // the node has args.addresses, and not those of the machine's inventory
	DoNodeNotReady    = "node-not-ready"   // the node never becomes ready, for args.reason
	DoPausePool       = "pause-pool"       // the MachineConfigPool is paused
	DoDegradePool     = "degrade-pool"     // one of its nodes cannot be configured, for args.reason
	DoDegradeOperator = "degrade-operator" // the ClusterOperator is degraded, for args.reason
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

// ClusterRules is the rules of spec.cluster; none for a nil scenario.
func (s *Scenario) ClusterRules() []Rule {
	if s == nil {
		return nil
	}
	return s.Cluster
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
func (a Args) Map(key string) map[string]any { return valueOf[map[string]any](a, key, nil) }

// Strings is the list of texts of key, or nil.
func (a Args) Strings(key string) []string { return valueOf[[]string](a, key, nil) }

// Times is args.times: how many matching calls the trouble hits; 0 is no limit.
func (r Rule) Times() int { return r.Args.Int("times", 0) }

// For is args.for: how long the trouble lasts; 0 is for good.
func (r Rule) For() time.Duration { return r.Args.Duration("for", 0) }

// pathPrefix is where the service's API lives; globs are written below it.
const pathPrefix = "/api/assisted-install"

// Match says what a rule hits. Every field that is set must fit; none set fits all.
type Match struct {
	// Method is the HTTP method of a call.
	Method string
	// Path is a glob over a call's path below /api/assisted-install: * within one segment, ** over any.
	Path string
	// Client is "user" for calls of people and programs, "agent" for calls of machines.
	Client string

	// Name is a glob over a machine's name.
	Name string
	// Role is control-plane, worker or arbiter, as chosen or as the service gave it.
	Role string
	// Index counts machines from 0: those of the role if Role is set, else all.
	Index *int
	// MAC is the address of any of a machine's network cards.
	MAC string
}

// The two kinds of clients that call the service.
const (
	ClientUser  = "user"
	ClientAgent = "agent"
)

// Call reports whether a rule is about a request, by its path with or without /api/assisted-install.
func (m Match) Call(method, urlPath, client string) bool {
	if m.Method != "" && !strings.EqualFold(m.Method, method) {
		return false
	}
	if m.Client != "" && m.Client != client {
		return false
	}
	if m.Path == "" {
		return true
	}
	return matchPath(segments(m.Path), segments(urlPath))
}

func segments(p string) []string {
	return strings.Split(strings.Trim(strings.TrimPrefix(p, pathPrefix), "/"), "/")
}

func matchPath(glob, have []string) bool {
	for i, g := range glob {
		if g == "**" {
			for skip := i; skip <= len(have); skip++ {
				if matchPath(glob[i+1:], have[skip:]) {
					return true
				}
			}
			return false
		}
		if i >= len(have) {
			return false
		}
		if ok, err := path.Match(g, have[i]); err != nil || !ok {
			return false
		}
	}
	return len(glob) == len(have)
}

// Host is what a rule can know a machine by.
type Host struct {
	Name string
	// Role in either spelling (master, control-plane); empty while unknown.
	Role string
	// Index is the machine's place among all, RoleIndex among those of its role.
	Index, RoleIndex int
	MACs             []string
}

// Host reports whether a machine is one that the rule is about.
func (m Match) Host(h Host) bool {
	if m.Name != "" {
		if ok, err := path.Match(m.Name, h.Name); err != nil || !ok {
			return false
		}
	}
	if m.Role != "" && NormalRole(m.Role) != NormalRole(h.Role) {
		return false
	}
	if m.Index != nil {
		index := h.Index
		if m.Role != "" {
			index = h.RoleIndex
		}
		if *m.Index != index {
			return false
		}
	}
	if m.MAC == "" {
		return true
	}
	return slices.ContainsFunc(h.MACs, func(mac string) bool { return strings.EqualFold(mac, m.MAC) })
}

// NormalRole is the role in cluster.yaml's words: master and bootstrap are control-plane.
func NormalRole(role string) string {
	switch role {
	case "master", "bootstrap":
		return "control-plane"
	case "auto-assign":
		return ""
	}
	return role
}

// StartCondition says when a rule starts. Every field that is set must have come true; none set is from the beginning.
type StartCondition struct {
	// State is the status of the cluster (service rules) or of the host (host rules), in the service's words.
	State string
	// Stage is the install stage that a host has entered.
	Stage string
	// Answered is the type of an instruction (steps[].step_type) that the host has answered once.
	Answered string
	// After is the time since the simulator's half started, in its own time.
	After time.Duration
	// Call is the number of the matching call, from 1.
	Call int
}

// Moment is what is the case when a rule is looked at.
type Moment struct {
	State, Stage string
	Answered     []string
	Elapsed      time.Duration
	Call         int
}

// Reached reports whether the rule's time has come: State and Stage must be the present ones.
func (a StartCondition) Reached(now Moment) bool {
	return (a.State == "" || a.State == now.State) &&
		(a.Stage == "" || a.Stage == now.Stage) &&
		(a.Answered == "" || slices.Contains(now.Answered, a.Answered)) &&
		now.Elapsed >= a.After &&
		now.Call >= a.Call
}

//go:embed verbs.yaml
var verbs []byte

type vocabulary struct {
	Types map[string]struct {
		Is    string   `json:"is"`
		Words []string `json:"words"`
	} `json:"types"`
	Service fields `json:"service"`
	Hosts   fields `json:"hosts"`
	Cluster fields `json:"cluster"`
}

type fields struct {
	Match map[string]string            `json:"match"`
	At    map[string]string            `json:"at"`
	Verbs map[string]map[string]string `json:"verbs"`
}

var known = sync.OnceValue(func() vocabulary {
	words, err := readVocabulary()
	if err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	return words
})

func readVocabulary() (words vocabulary, err error) {
	return words, yaml.UnmarshalStrict(verbs, &words)
}
