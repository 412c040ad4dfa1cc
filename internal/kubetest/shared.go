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
type Shared struct {
	mu      sync.Mutex
	cluster *Cluster
	err     error
}

// Start is the hub. Where there is none, each test is skipped or fails with the
// same reason.
func (s *Shared) Start(t testing.TB) *Cluster {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster == nil && s.err == nil {
		s.cluster, s.err = start(t)
	}
	if s.err != nil {
		giveUp(t, s.err)
	}
	return s.cluster
}

// Run runs the tests of a package, stops the hub if one was started, and gives the
// code to exit with.
func (s *Shared) Run(m *testing.M) int {
	code := m.Run()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster != nil && s.cluster.stop() != nil && code == 0 {
		code = 1
	}
	return code
}
