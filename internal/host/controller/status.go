//go:build linux

package controller

import (
	"maps"
	"slices"
	"sync"
)

// status is what failed so far.
type status struct {
	mu    sync.Mutex
	all   bool // the installation as a whole
	names map[string]bool
}

func (s *status) fail() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = true
}

func (s *status) failOperator(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil {
		s.names = map[string]bool{}
	}
	s.names[name] = true
}

// failed reports whether anything failed.
func (s *status) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all || len(s.names) > 0
}

// whole reports whether the installation as a whole failed.
func (s *status) whole() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// operators are those that failed.
func (s *status) operators() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.names))
}
