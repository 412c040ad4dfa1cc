package hub

import (
	"sync"
	"time"
)

// queue holds the objects to be reconciled: each once, in the order in which
// they were first named, some of them not before their time.
type queue struct {
	mu    sync.Mutex
	order []key
	in    map[key]bool
	later map[key]time.Time
	wake  chan struct{}
}

func newQueue() *queue {
	return &queue{in: map[key]bool{}, later: map[key]time.Time{}, wake: make(chan struct{}, 1)}
}

func (q *queue) add(k key) {
	q.mu.Lock()
	if !q.in[k] {
		q.in[k] = true
		q.order = append(q.order, k)
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// after names an object that is to be reconciled at a time, at the latest.
func (q *queue) after(k key, at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if old, waits := q.later[k]; !waits || at.Before(old) {
		q.later[k] = at
	}
}

// take gives all objects whose turn it is, and forgets them.
func (q *queue) take(now time.Time) []key {
	q.mu.Lock()
	defer q.mu.Unlock()
	for k, at := range q.later {
		if now.Before(at) {
			continue
		}
		delete(q.later, k)
		if !q.in[k] {
			q.in[k] = true
			q.order = append(q.order, k)
		}
	}
	taken := q.order
	q.order = nil
	clear(q.in)
	return taken
}
