package serve

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"time"
)

// Fetch is how far a machine has come with what it fetches.
type Fetch struct {
	// Requests is how many were answered, HEAD and Not Modified included.
	Requests int
	// Active is how many are under way now.
	Active int
	// Bytes is how many different bytes were sent, of Size, which it need not
	// reach: a BMC reads an image in pieces, some twice and some never.
	Bytes, Size int64
	// First and Last are when the first request came, and bytes were last sent.
	First, Last time.Time
	// Idle is how long ago Last was; zero without a request.
	Idle time.Duration
}

// tally is what was fetched of one file, since it has the content that it has.
type tally struct {
	Fetch
	tag     string
	covered coverage
}

// begin records a request. Content that has changed begins anew.
func (t *tally) begin(c content, now time.Time) {
	if t.tag != c.etag {
		*t = tally{tag: c.etag, Fetch: Fetch{Active: t.Active}}
	}
	if t.Requests == 0 {
		t.First = now
	}
	t.Requests++
	t.Active++
	t.Size, t.Last = c.image.Size(), now
}

func (t *tally) sent(tag string, off, n int64, now time.Time) {
	if t.tag != tag { // replaced while it was being sent
		return
	}
	t.covered.add(off, n)
	t.Bytes, t.Last = t.covered.bytes, now
}

// Fetched is what a host has fetched of its ISO or, where it boots from the
// network, of all its netboot files together. It is kept after Withdraw.
func (s *Server) Fetched(host string) Fetch {
	f := s.fetched(host)
	if !f.Last.IsZero() {
		f.Idle = s.clock.Now().Sub(f.Last)
	}
	return f
}

func (s *Server) fetched(host string) Fetch {
	s.mu.RLock()
	e := s.entries[entryKey{hostClass, host}]
	s.mu.RUnlock()
	if e == nil {
		return Fetch{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	iso, net := e.sum(ISO), e.sum(Kernel, Initrd, Rootfs, AddrSize, Ins, Prm)
	switch {
	case net.Requests == 0 && iso != (Fetch{}):
		return iso
	case iso.Requests == 0:
		return net
	}
	return iso.plus(net)
}

// sum is what was fetched of files of some kinds, with the sizes of those that were not asked for yet; e.mu is held.
func (e *entry) sum(kinds ...Kind) Fetch {
	var all Fetch
	for _, kind := range kinds {
		if t := e.tallies[kind]; t != nil {
			all = all.plus(t.Fetch)
		}
	}
	return all
}

func (f Fetch) plus(g Fetch) Fetch {
	f.Requests, f.Active = f.Requests+g.Requests, f.Active+g.Active
	f.Bytes, f.Size = f.Bytes+g.Bytes, f.Size+g.Size
	if f.First.IsZero() || !g.First.IsZero() && g.First.Before(f.First) {
		f.First = g.First
	}
	if g.Last.After(f.Last) {
		f.Last = g.Last
	}
	return f
}

// Reader is a host that still reads.
type Reader struct {
	Host string
	Fetch
}

// Readers are the hosts, by name, that have a request under way, or were sent
// something less than within ago: a BMC reads piece by piece, with pauses.
func (s *Server) Readers(within time.Duration) []Reader {
	since := s.clock.Now().Add(-within)
	var readers []Reader
	for _, host := range s.hosts() {
		if f := s.Fetched(host); f.Active > 0 || f.Last.After(since) {
			readers = append(readers, Reader{host, f})
		}
	}
	return readers
}

// hosts are the names of all hosts that were ever set, sorted.
func (s *Server) hosts() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var names []string
	for key := range s.entries {
		if key.class == hostClass {
			names = append(names, key.name)
		}
	}
	slices.SortFunc(names, strings.Compare)
	return names
}

// maxSpans bounds the memory of one coverage to 128 KiB. Reading 64 KiB pieces
// of a 1 GiB image in random order needs some four thousand.
const maxSpans = 8192

// span is a stretch of a file, [from, to).
type span struct{ from, to int64 }

// coverage is which bytes of a file were sent at least once. Where it would
// need too many spans it forgets gaps, and never counts the bytes in them: it
// may say less than was sent, never more.
type coverage struct {
	spans []span // sorted, apart from each other
	bytes int64  // sent, without forgotten gaps
}

func (c *coverage) add(off, n int64) {
	if n <= 0 {
		return
	}
	s := span{off, off + n}
	// spans[first:last] touch the new one.
	first := sort.Search(len(c.spans), func(i int) bool { return c.spans[i].to >= s.from })
	last := first
	fresh := n
	for ; last < len(c.spans) && c.spans[last].from <= s.to; last++ {
		old := c.spans[last]
		fresh -= max(0, min(old.to, off+n)-max(old.from, off))
		s.from, s.to = min(s.from, old.from), max(s.to, old.to)
	}
	c.bytes += fresh
	c.spans = slices.Replace(c.spans, first, last, s)
	if len(c.spans) > maxSpans {
		c.forgetGaps()
	}
}

// forgetGaps halves the number of spans by joining each with its neighbour.
func (c *coverage) forgetGaps() {
	kept := c.spans[:0]
	for i := 0; i < len(c.spans); i += 2 {
		joined := c.spans[i]
		if i+1 < len(c.spans) {
			joined.to = c.spans[i+1].to
		}
		kept = append(kept, joined)
	}
	c.spans = kept
}

type counters struct {
	byStatus [600]atomic.Int64
	failed   atomic.Int64
	sent     atomic.Int64
	active   atomic.Int64
}

func (c *counters) request(a Access) {
	if a.Status > 0 && a.Status < len(c.byStatus) {
		c.byStatus[a.Status].Add(1)
	}
	if a.Err != nil {
		c.failed.Add(1)
	}
}

// writeMetrics writes all counters in the text format of Prometheus, version 0.0.4.
func (s *Server) writeMetrics(w http.ResponseWriter) {
	var out strings.Builder
	header(&out, "oaictl_media_requests_total", "counter", "Requests that are over, by status.")
	for status := range s.count.byStatus {
		if n := s.count.byStatus[status].Load(); n > 0 {
			fmt.Fprintf(&out, "oaictl_media_requests_total{code=\"%d\"} %d\n", status, n)
		}
	}
	single := func(name, kind, help string, value int64) {
		header(&out, name, kind, help)
		fmt.Fprintf(&out, "%s %d\n", name, value)
	}
	conns := s.conns.counts()
	single("oaictl_media_failed_requests_total", "counter", "Requests that ended early or could not be served.", s.count.failed.Load())
	single("oaictl_media_sent_bytes_total", "counter", "Bytes of images sent.", s.count.sent.Load())
	single("oaictl_media_requests_in_flight", "gauge", "Requests under way.", s.count.active.Load())
	single("oaictl_media_connections", "gauge", "Connections that are open.", int64(conns.open))
	single("oaictl_media_connections_idle", "gauge", "Connections that wait for their next request.", int64(conns.idle))
	single("oaictl_media_connections_refused_total", "counter", "Connections refused because there were too many.", conns.refused)
	single("oaictl_media_connections_dropped_total", "counter", "Idle connections ended to make room.", conns.dropped)
	single("oaictl_media_hosts", "gauge", "Hosts that something is served to.", int64(s.served()))
	if s.config.HostMetrics {
		s.writeHostMetrics(&out)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = io.WriteString(w, out.String()) // a client that has left needs no metrics
}

func (s *Server) writeHostMetrics(out io.Writer) {
	series := []struct {
		name, kind, help string
		value            func(Fetch) int64
	}{
		{"oaictl_media_host_requests", "gauge", "Requests of a host for its present media.", func(f Fetch) int64 { return int64(f.Requests) }},
		{"oaictl_media_host_fetched_bytes", "gauge", "Different bytes of its present media that were sent to a host.",
			func(f Fetch) int64 { return f.Bytes }},
		{"oaictl_media_host_size_bytes", "gauge", "Size of a host's present media.", func(f Fetch) int64 { return f.Size }},
		{"oaictl_media_host_last_sent_timestamp_seconds", "gauge", "When something was last sent to a host.", func(f Fetch) int64 {
			if f.Last.IsZero() {
				return 0
			}
			return f.Last.Unix()
		}},
	}
	hosts := s.hosts()
	escaper := strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	for _, of := range series {
		header(out, of.name, of.kind, of.help)
		for _, host := range hosts {
			fmt.Fprintf(out, "%s{host=\"%s\"} %d\n", of.name, escaper.Replace(host), of.value(s.Fetched(host)))
		}
	}
}

func header(out io.Writer, name, kind, help string) {
	fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (s *Server) served() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.countHosts()
}

// countHosts counts the hosts that something is served to; s.mu is held.
func (s *Server) countHosts() int {
	n := 0
	for _, e := range s.byID {
		if e.key.class == hostClass {
			n++
		}
	}
	return n
}
