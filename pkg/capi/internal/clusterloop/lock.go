package clusterloop

import "context"

// lock is held by one at a time, and is waited for no longer than a context lasts.
type lock chan struct{}

func newLock() lock { return make(lock, 1) }

// Lock takes the lock.
func (l lock) Lock(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Unlock releases the lock.
func (l lock) Unlock() { <-l }
