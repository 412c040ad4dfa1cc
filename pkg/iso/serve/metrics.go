package serve

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
)

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

// writeMetrics writes all counters in the text format of Prometheus, version
// 0.0.4.
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
	_, _ = io.WriteString(w, out.String()) // who left needs no metrics
}

func (s *Server) writeHostMetrics(out io.Writer) {
	series := []struct {
		name, kind, help string
		value            func(Fetch) int64
	}{
		{"oaictl_media_host_requests", "gauge", "Requests of a host for its present media.", func(f Fetch) int64 { return int64(f.Requests) }},
		{"oaictl_media_host_fetched_bytes", "gauge", "Different bytes of its present media that were sent to a host.", func(f Fetch) int64 { return f.Bytes }},
		{"oaictl_media_host_size_bytes", "gauge", "Size of a host's present media.", func(f Fetch) int64 { return f.Size }},
		{"oaictl_media_host_last_sent_timestamp_seconds", "gauge", "When something was last sent to a host.", func(f Fetch) int64 {
			if f.Last.IsZero() {
				return 0
			}
			return f.Last.Unix()
		}},
	}
	hosts := s.hosts()
	for _, of := range series {
		header(out, of.name, of.kind, of.help)
		for _, host := range hosts {
			fmt.Fprintf(out, "%s{host=\"%s\"} %d\n", of.name, escapeLabel(host), of.value(s.Fetched(host)))
		}
	}
}

func header(out io.Writer, name, kind, help string) {
	fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// escapeLabel writes a label's value as the format wants it.
func escapeLabel(value string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(value)
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
