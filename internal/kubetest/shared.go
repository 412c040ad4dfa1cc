package kubetest

import (
	"sync"
	"testing"
)

// Shared is one hub for all tests of a package, started by the first that asks.
// Its zero value is ready:
//
//	var hub kubetest.Shared
//
//	func TestMain(m *testing.M) { os.Exit(hub.Run(m)) }
//
//	func TestSomething(t *testing.T) { c := hub.Start(t) … }
type Shared struct{ shared[*Cluster] }

// Start is the hub. Without one each test is skipped, or fails, with the same reason.
func (s *Shared) Start(t testing.TB) *Cluster {
	t.Helper()
	return s.start(t, start)
}

// SharedManagement is one management cluster for all tests of a package, as Shared is one hub:
//
//	var management = kubetest.SharedManagement{Config: kubetest.ManagementConfig{…}}
type SharedManagement struct {
	Config ManagementConfig

	shared[*Management]
}

// Start is the management cluster. Without one each test is skipped, or fails, with the same reason.
func (s *SharedManagement) Start(t testing.TB) *Management {
	t.Helper()
	return s.start(t, func(t testing.TB) (*Management, error) { return startManagement(t, s.Config) })
}

// shared is what the first test that asks starts, and what runs until all tests are done.
type shared[T interface{ Close() error }] struct {
	mu      sync.Mutex
	made    T
	started bool
	err     error
}

func (s *shared[T]) start(t testing.TB, start func(testing.TB) (T, error)) T {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		s.started = true
		s.made, s.err = start(t)
	}
	if s.err != nil {
		giveUp(t, s.err)
	}
	return s.made
}

// Run runs the tests of a package, stops what they share, and returns the code to exit with. Another shared resource
// may run the tests itself (Runner).
func (s *shared[T]) Run(m interface{ Run() int }) int {
	code := m.Run()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started && s.err == nil && s.made.Close() != nil && code == 0 {
		code = 1
	}
	return code
}

// Runner runs the tests of a package, for one that shares more than one thing:
//
//	first.Run(kubetest.Runner(func() int { return second.Run(m) }))
type Runner func() int

// Run runs them.
func (r Runner) Run() int { return r() }
