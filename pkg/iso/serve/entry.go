package serve

import (
	"sync"
	"time"
)

// class tells names of hosts from names of what hosts share.
type class string

const (
	hostClass   class = "host"
	sharedClass class = "shared"
	bootClass   class = "boot" // of no entry: the path at which scripts are asked for
)

// entryKey names an entry.
type entryKey struct {
	class class
	name  string
}

// entry is all that is served under one id. Its place in the server's tables is
// the server's; files and macs are replaced as a whole, under the server's lock.
type entry struct {
	key   entryKey
	id    string
	files map[Kind]*file
	macs  []string

	mu      sync.Mutex
	tallies map[Kind]*tally
	used    time.Time // when it was last set, or asked for something
	active  int       // requests under way
}

// begin notes a request for a file.
func (e *entry) begin(kind Kind, c content, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.active++
	e.used = now
	e.tally(kind).begin(c, now)
}

// sent notes bytes on their way.
func (e *entry) sent(kind Kind, tag string, off, n int64, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.used = now
	e.tally(kind).sent(tag, off, n, now)
}

// end notes that a request is over.
func (e *entry) end(kind Kind, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.active--
	e.used = now
	e.tally(kind).Active--
}

// tally returns the tally of a kind; e.mu is held.
func (e *entry) tally(kind Kind) *tally {
	t := e.tallies[kind]
	if t == nil {
		t = &tally{}
		e.tallies[kind] = t
	}
	return t
}

// renew drops the tallies of content that is no longer served, and counts as
// a use.
func (e *entry) renew(files map[Kind]*file, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.used = now
	for kind, t := range e.tallies {
		if f := files[kind]; f == nil && t.Active == 0 {
			delete(e.tallies, kind)
		}
	}
	for kind, f := range files {
		t := e.tally(kind)
		if tag := f.tag(); tag != "" && tag != t.tag {
			*t = tally{tag: tag, Fetch: Fetch{Active: t.Active, Size: f.ready.image.Size()}}
		}
	}
}

// expired says whether nothing has used an entry since a moment.
func (e *entry) expired(since time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.active == 0 && e.used.Before(since)
}
