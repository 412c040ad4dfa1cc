package scenario

import (
	"path"
	"slices"
	"strings"
	"time"
)

// pathPrefix is where the service's API lives; globs are written below it.
const pathPrefix = "/api/assisted-install"

// Match says whom a rule hits. Every field that is set must fit; none set fits all.
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

// Call tells whether a rule is about a request, by its path with or without /api/assisted-install.
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

// Host tells whether a machine is one that the rule is about.
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

// At says when a rule starts. Every field that is set must have come true; none set is from the beginning.
type At struct {
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

// Reached tells whether the rule's time has come: State and Stage must be the present ones.
func (a At) Reached(now Moment) bool {
	return (a.State == "" || a.State == now.State) &&
		(a.Stage == "" || a.Stage == now.Stage) &&
		(a.Answered == "" || slices.Contains(now.Answered, a.Answered)) &&
		now.Elapsed >= a.After &&
		now.Call >= a.Call
}
