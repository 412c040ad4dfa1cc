package boot

import (
	"context"
	"sync"
)

// lazy is something that takes its time to come here, and is brought once, when
// it is first wanted. What failed is tried again by the next who wants it.
type lazy[T any] struct {
	mu  sync.Mutex
	run *attempt[T] // the last attempt; nil before the first
}

// attempt is one attempt, which any number may wait for.
type attempt[T any] struct {
	done chan struct{}
	got  T // as err once done is closed
	err  error
}

// begin brings it, unless it is here, or on its way. Nobody who waits ends the
// attempt by going away.
func (b *lazy[T]) begin(bring func() (T, error)) *attempt[T] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.run != nil {
		select {
		case <-b.run.done:
			if b.run.err == nil {
				return b.run
			}
		default:
			return b.run
		}
	}
	run := &attempt[T]{done: make(chan struct{})}
	b.run = run
	go func() {
		defer close(run.done)
		run.got, run.err = bring()
	}()
	return run
}

// wait is what came, as long as ctx lasts.
func (r *attempt[T]) wait(ctx context.Context) (T, error) {
	select {
	case <-r.done:
		return r.got, r.err
	case <-ctx.Done():
		var nothing T
		return nothing, context.Cause(ctx)
	}
}

// here is what has come, if it has.
func (b *lazy[T]) here() (got T, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.run == nil {
		return got, false
	}
	select {
	case <-b.run.done:
		return b.run.got, b.run.err == nil
	default:
		return got, false
	}
}

// close gives it back. It waits for an attempt that is under way.
func (b *lazy[T]) close(give func(T) error) error {
	b.mu.Lock()
	run := b.run
	b.run = nil
	b.mu.Unlock()
	if run == nil {
		return nil
	}
	<-run.done
	if came := run.err == nil; came {
		return give(run.got)
	}
	return nil
}

// failed is why the last attempt failed, nil where it did not, or is not over.
func (b *lazy[T]) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.run == nil {
		return nil
	}
	select {
	case <-b.run.done:
		return b.run.err
	default:
		return nil
	}
}
