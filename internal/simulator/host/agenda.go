package host

import (
	"container/heap"
	"context"
	"time"
)

// agenda is what a machine has still to do, each thing at its time. It lets one
// goroutine play the agent, its steps and the installer at once.
type agenda struct {
	entries entries
	order   int
}

type entry struct {
	at    time.Time
	order int
	do    func(context.Context)
}

// add puts a thing to do on the agenda. What is due at the same time is done in
// the order of adding.
func (a *agenda) add(at time.Time, do func(context.Context)) {
	a.order++
	heap.Push(&a.entries, entry{at: at, order: a.order, do: do})
}

// next takes the earliest entry off the agenda.
func (a *agenda) next() (entry, bool) {
	if len(a.entries) == 0 {
		return entry{}, false
	}
	return heap.Pop(&a.entries).(entry), true
}

func (a *agenda) clear() { a.entries = nil }

// entries is a heap by time, then by order.
type entries []entry

func (e entries) Len() int { return len(e) }

func (e entries) Less(i, j int) bool {
	if e[i].at.Equal(e[j].at) {
		return e[i].order < e[j].order
	}
	return e[i].at.Before(e[j].at)
}

func (e entries) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

func (e *entries) Push(x any) { *e = append(*e, x.(entry)) }

func (e *entries) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}
