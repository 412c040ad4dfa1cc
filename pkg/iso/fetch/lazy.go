package fetch

import (
	"context"
	"sync"
)

// Lazy is a source that is fetched when it is first wanted.
type Lazy struct {
	cache    *Cache
	ctx      context.Context // a download outlives the request that asked for it first
	src      Source
	progress Progress

	mu   sync.Mutex
	file *File
	run  *attempt // under way; nil if none is
}

// attempt is one download that any number of callers wait for.
type attempt struct {
	done chan struct{}
	file *File
	err  error
}

// Lazy promises a source. A download lasts as long as ctx, not as the call
// that asked for it; one that failed is tried again by the next call.
func (c *Cache) Lazy(ctx context.Context, src Source, progress Progress) *Lazy {
	return &Lazy{cache: c, ctx: ctx, src: src, progress: progress}
}

// Get waits for the content, as long as ctx allows. The file stays with l, and
// is given back by l.Close.
func (l *Lazy) Get(ctx context.Context) (*File, error) {
	l.mu.Lock()
	if l.file != nil {
		defer l.mu.Unlock()
		return l.file, nil
	}
	if l.run == nil {
		l.run = &attempt{done: make(chan struct{})}
		go l.fetch(l.run)
	}
	run := l.run
	l.mu.Unlock()

	select {
	case <-run.done:
		return run.file, run.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// fetch carries out one attempt.
func (l *Lazy) fetch(run *attempt) {
	run.file, run.err = l.cache.Get(l.ctx, l.src, l.progress)
	l.mu.Lock()
	l.file, l.run = run.file, nil
	l.mu.Unlock()
	close(run.done)
}

// Close gives the content back. It waits for a download under way, which ends
// with the context that l was made with.
func (l *Lazy) Close() error {
	l.mu.Lock()
	run := l.run
	l.mu.Unlock()
	if run != nil {
		<-run.done
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
