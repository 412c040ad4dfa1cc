package kubewatch

import "sync"

// Signal is given once.
type Signal struct {
	once  sync.Once
	given chan struct{}
}

// NewSignal returns a signal that is not given yet.
func NewSignal() *Signal { return &Signal{given: make(chan struct{})} }

// Give gives the signal.
func (s *Signal) Give() { s.once.Do(func() { close(s.given) }) }

// Given is closed once the signal is given.
func (s *Signal) Given() <-chan struct{} { return s.given }

// IsGiven reports whether the signal is given.
func (s *Signal) IsGiven() bool {
	select {
	case <-s.given:
		return true
	default:
		return false
	}
}
