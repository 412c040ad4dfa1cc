package simulator

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/oaictl/oaictl/internal/simulator/host"
)

// mostEndings is how many machines are told of one by one.
const mostEndings = 20

// stages tells somebody who looks on how far the machines have come.
type stages struct {
	tell func(format string, args ...any) // nil drops what is told

	mu                      sync.Mutex
	all, registered, silent int // of the silent ones nothing will come any more
	ended                   int
	known                   map[string]bool
}

func newStages(tell func(format string, args ...any), machines []host.Machine) *stages {
	if tell == nil {
		tell = func(string, ...any) {}
	}
	return &stages{tell: tell, all: len(machines), known: map[string]bool{}}
}

func (s *stages) found(list []infraEnv, machines []host.Machine) {
	var names []infraEnv
	booting := 0
	for i := range machines {
		if machines[i].Chassis != nil {
			continue
		}
		booting++
		at := slices.IndexFunc(list, func(env infraEnv) bool { return env.ID == machines[i].InfraEnvID })
		if at >= 0 && !slices.Contains(names, list[at]) {
			names = append(names, list[at])
		}
	}
	if told := len(machines) - booting; told > 0 {
		s.tell("%s when a BMC says so", machinesDo(told, "boots", "boot"))
	}
	switch {
	case len(machines) == 0:
		s.tell("No machine boots: the cluster has all of them")
	case booting > 0:
		s.tell("Found the InfraEnv %s: %s its image", strings.ReplaceAll(named(names), ", ", " and "), machinesDo(booting, "boots", "boot"))
	}
}

func (s *stages) register(machine string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[machine] = true
	s.registered++
	s.tellRegistered()
}

// tellRegistered tells of them once all have come that will; mu is held.
func (s *stages) tellRegistered() {
	switch {
	case s.registered == 0 || s.registered+s.silent != s.all:
	case s.silent == 0:
		s.tell("%s registered", machinesDo(s.all, "is", "are"))
	default:
		s.tell("%s registered, of %d", machinesDo(s.registered, "is", "are"), s.all)
	}
}

func (s *stages) end(machine, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended++; s.ended <= mostEndings {
		s.tell("%s %s", machine, why)
	}
	if !s.known[machine] {
		s.silent++
		s.tellRegistered()
	}
}

func (s *stages) over() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if more := s.ended - mostEndings; more > 0 {
		s.tell("%s, too", machinesDo(more, "has come to its end", "have come to their end"))
	}
}

// machinesDo is what so many of them do, in the words for one and for more.
func machinesDo(n int, one, more string) string {
	if n == 1 {
		return "1 machine " + one
	}
	return fmt.Sprintf("%d machines %s", n, more)
}
