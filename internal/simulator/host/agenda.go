package host

import (
	"context"
	"slices"
	"time"
)

// agenda is what a machine has still to do, by time: one goroutine plays agent, steps and installer.
type agenda []entry

type entry struct {
	at time.Time
	do func(context.Context)
}

// add puts a thing to do on the agenda. What is due at the same time is done in the order of adding.
func (a *agenda) add(at time.Time, do func(context.Context)) {
	i := len(*a)
	for i > 0 && (*a)[i-1].at.After(at) {
		i--
	}
	*a = slices.Insert(*a, i, entry{at, do})
}

func (a *agenda) next() (entry, bool) {
	if len(*a) == 0 {
		return entry{}, false
	}
	first := (*a)[0]
	*a = (*a)[1:]
	return first, true
}
