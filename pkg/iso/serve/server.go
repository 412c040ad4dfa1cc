// Package serve is the media server: it hands every machine its own image over HTTP or HTTPS, and knows what each
// machine has fetched, and how far.
//
//	/i/ID.iso                     a host's ISO
//	/n/ID/kernel, initrd, rootfs  a host's netboot files
//	/n/ID/ipxe                    the iPXE script that boots them
//	/n/ID/generic.ins, generic.prm, initrd.addrsize   what s390x wants beside them
//	/rootfs/ID.img                a root filesystem that minimal ISOs share
//	/ipxe/ID?mac=MAC              the script of the host with that MAC; without one, a script that asks for it
//	/metrics                      counters for Prometheus
//
// An ID is an HMAC of the host's name: short, because some BMCs refuse long URLs,
// the same after a restart under the same key, and not to be guessed.
//
// Images are extents over a base file: a server of fifty hosts holds one base
// on disk and some kilobytes a host in memory.
package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
)

// Clock tells the time and waits for it to pass.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// Config says how a Server works. Network timeouts use the machine's own time, not Clock.
type Config struct {
	// Key makes the ids in URLs; at least 16 random bytes (LoadKey).
	Key []byte
	// URL is how machines reach the server, as in "http://192.0.2.1:8080". Without
	// it, Server.URL returns paths, and scripts use the host that a request named.
	URL string
	// Clock dates what Fetched returns and decides on Expire; nil means the machine's.
	Clock Clock
	// Expire is how long what was neither set nor asked for is kept; 0 means for
	// ever. What hosts share is kept for as long as there are hosts.
	Expire time.Duration
	// TLS is the certificate to serve HTTPS with; nil means HTTP.
	TLS *tls.Certificate
	// Access, if any, is called for every request when it is over, from many goroutines.
	Access func(Access)
	// HostMetrics adds how far each host has come to /metrics, by its name.
	HostMetrics bool

	// MaxConns and MaxConnsPerClient bound the connections, of all and of one
	// address; 0 means 4096 and 512 (BMCs may share an address behind a router).
	MaxConns, MaxConnsPerClient int
	// ChunkTimeout is how long a client may take for a mebibyte, however long for
	// all: a BMC reads when the machine wants something. 0 means ten minutes.
	ChunkTimeout time.Duration
	// HeaderTimeout is for a request, or a TLS handshake, to arrive; 0 means 15 seconds.
	HeaderTimeout time.Duration
	// IdleTimeout is for a connection to its next request; 0 means five minutes.
	IdleTimeout time.Duration
	// OpenTimeout is how long a request waits for content that is being made or downloaded, before the client has to
	// come back; 0 means 20 seconds.
	OpenTimeout time.Duration
	// Grace is how long transfers may go on once Serve's context is done; 0 means none.
	Grace time.Duration
}

// Server serves the media of many hosts. It is an http.Handler; Serve adds what
// a handler can't do by itself: limits on connections and a graceful end.
type Server struct {
	config Config
	clock  Clock
	namer  namer
	count  counters
	conns  *connections
	misses *misses

	mu      sync.RWMutex
	entries map[entryKey]*entry
	byID    map[[32]byte]*entry
	byMAC   map[string]*entry
}

// New returns a server of nothing yet.
func New(c Config) (*Server, error) {
	if len(c.Key) < minKey {
		return nil, fmt.Errorf("start the media server: the key of its URLs has %d bytes, and needs %d", len(c.Key), minKey)
	}
	if u, err := url.Parse(c.URL); c.URL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("start the media server: %q is not an http or https URL", c.URL)
	}
	c.URL = strings.TrimRight(c.URL, "/")
	c.MaxConns = cmp.Or(max(c.MaxConns, 0), 4096)
	c.MaxConnsPerClient = cmp.Or(max(c.MaxConnsPerClient, 0), 512)
	c.ChunkTimeout = cmp.Or(max(c.ChunkTimeout, 0), 10*time.Minute)
	c.HeaderTimeout = cmp.Or(max(c.HeaderTimeout, 0), 15*time.Second)
	c.IdleTimeout = cmp.Or(max(c.IdleTimeout, 0), 5*time.Minute)
	c.OpenTimeout = cmp.Or(max(c.OpenTimeout, 0), 20*time.Second)
	if c.Clock == nil {
		c.Clock = clock.Real()
	}
	return &Server{
		config: c, clock: c.Clock, namer: newNamer(c.Key), misses: newMisses(),
		conns: &connections{
			most: c.MaxConns, maxOfOne: c.MaxConnsPerClient,
			open: map[net.Conn]*connection{}, byClient: map[netip.Addr]int{},
		},
		entries: map[entryKey]*entry{}, byID: map[[32]byte]*entry{}, byMAC: map[string]*entry{},
	}, nil
}

// Set replaces what is served to a host, and remembers what was fetched of content
// that stays the same. It refuses files that contradict themselves or one another.
func (s *Server) Set(host string, files ...File) error {
	return s.set(entryKey{hostClass, host}, files)
}

// SetRootfs replaces a root filesystem that several hosts share, at RootfsURL.
func (s *Server) SetRootfs(name string, f File) error {
	f.Kind = Rootfs
	return s.set(entryKey{sharedClass, name}, []File{f})
}

func (s *Server) set(key entryKey, files []File) error {
	opened := make(map[Kind]*file, len(files))
	for _, f := range files {
		if err := f.check(); err != nil {
			return fmt.Errorf("serve the media of %s: %w", key.name, err)
		}
		if opened[f.Kind] != nil {
			return fmt.Errorf("serve the media of %s: the %s is given twice", key.name, f.Kind)
		}
		opened[f.Kind] = newFile(f)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[key]
	if e == nil {
		e = &entry{key: key, id: s.namer.id(key.class, key.name), tallies: map[Kind]*tally{}}
		s.entries[key] = e
	}
	e.files = opened
	e.renew(opened, s.clock.Now())
	s.byID[s.namer.sealed(e.id)] = e
	return nil
}

// SetMACs replaces the MAC addresses by which /ipxe knows a host that was set.
// It refuses what is not a MAC address, and one that another host has.
func (s *Server) SetMACs(host string, macs ...string) error {
	var normal []string
	for _, mac := range macs {
		n, err := normalMAC(mac)
		if err != nil {
			return fmt.Errorf("serve %s by MAC: %w", host, err)
		}
		normal = append(normal, n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[entryKey{hostClass, host}]
	if e == nil {
		return fmt.Errorf("serve %s by MAC: nothing is served to it", host)
	}
	for _, mac := range normal {
		if other := s.byMAC[mac]; other != nil && other != e {
			return fmt.Errorf("serve %s by MAC: %s is that of %s", host, mac, other.key.name)
		}
	}
	for _, mac := range e.macs {
		delete(s.byMAC, mac)
	}
	e.macs = normal
	for _, mac := range normal {
		s.byMAC[mac] = e
	}
	return nil
}

// Prepare makes what a host's files promise, so that the first request need not
// wait for it: a BMC that does would refuse the media.
func (s *Server) Prepare(ctx context.Context, host string) error {
	var files map[Kind]*file
	s.mu.RLock()
	if e := s.entries[entryKey{hostClass, host}]; e != nil {
		files = e.files
	}
	s.mu.RUnlock()
	for kind, f := range files {
		if f.Open == nil {
			continue
		}
		if _, err := f.open(ctx); err != nil {
			return fmt.Errorf("make the %s of %s: %w", kind, host, err)
		}
	}
	return nil
}

// Withdraw ends what is served to a host, except transfers under way. What was fetched stays known.
func (s *Server) Withdraw(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[entryKey{hostClass, host}]; e != nil {
		s.withdraw(e)
	}
}

// withdraw takes an entry out of the tables; s.mu is held.
func (s *Server) withdraw(e *entry) {
	e.files = nil
	delete(s.byID, s.namer.sealed(e.id))
	for _, mac := range e.macs {
		delete(s.byMAC, mac)
	}
	e.macs = nil
}

// expire withdraws what was not used for longer than Config.Expire. A host that
// has its media may come for what it shares with others much later.
func (s *Server) expire() {
	if s.config.Expire <= 0 {
		return
	}
	since := s.clock.Now().Add(-s.config.Expire)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.withdrawUnused(hostClass, since)
	if s.countHosts() == 0 {
		s.withdrawUnused(sharedClass, since)
	}
}

// withdrawUnused withdraws what was not used since a moment; s.mu is held.
func (s *Server) withdrawUnused(of class, since time.Time) {
	for _, e := range s.byID {
		if e.key.class == of && e.expired(since) {
			s.withdraw(e)
		}
	}
}

func (s *Server) expireAll(ctx context.Context) {
	for s.config.Expire > 0 && s.clock.Sleep(ctx, s.config.Expire/4) == nil {
		s.expire()
	}
}

// URL is where a host finds a file, set or not: key and name alone make it.
func (s *Server) URL(host string, kind Kind) string {
	return s.config.URL + path(kind, s.namer.id(hostClass, host))
}

// BootURL is where iPXE finds what to boot, if it has no other URL: a script that asks for the one of the machine's MAC
// address. It is as secret as the others.
func (s *Server) BootURL() string { return s.config.URL + s.bootPath() }

// RootfsURL is where a shared root filesystem is found.
func (s *Server) RootfsURL(name string) string {
	return s.config.URL + rootfsPath(s.namer.id(sharedClass, name))
}

// CutOffError says that hosts still read when the server ended.
type CutOffError struct{ Readers []Reader }

func (e *CutOffError) Error() string {
	var names []string
	for _, r := range e.Readers {
		names = append(names, fmt.Sprintf("%s (%d of %d bytes)", r.Host, r.Bytes, r.Size))
	}
	return "the media server stopped while hosts were still reading: " + strings.Join(names, ", ")
}

// Serve answers requests of a listener until ctx is done, and then lets transfers
// under way go on for Config.Grace: a *CutOffError names the hosts that it cut off.
// It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := s.httpServer(ctx)
	if s.config.TLS != nil {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{*s.config.TLS}, MinVersion: tls.VersionTLS12})
	}
	expiring, stopExpiring := context.WithCancel(ctx)
	defer stopExpiring()
	go s.expireAll(expiring)

	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		server.Close()
		return fmt.Errorf("serve media on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	return s.end(ctx, server)
}

// httpServer is set up for clients that take hours, and for malicious ones.
func (s *Server) httpServer(ctx context.Context) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // deadlines are those of a connection: one request has it for itself
	return &http.Server{
		Handler:           s,
		Protocols:         protocols,
		ReadHeaderTimeout: s.config.HeaderTimeout,
		IdleTimeout:       s.config.IdleTimeout,
		MaxHeaderBytes:    16 << 10,
		ConnState:         s.conns.changed,
		// Requests are not ended by ctx: they have their grace.
		BaseContext:                  func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ErrorLog:                     log.New(io.Discard, "", 0), // it would print what any client on the network sends
		DisableGeneralOptionsHandler: true,
	}
}

// end stops listening, and waits for transfers as long as they may take.
func (s *Server) end(ctx context.Context, server *http.Server) error {
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.Grace)
	defer cancel()
	err := server.Shutdown(grace)
	if err == nil {
		return nil
	}
	readers := s.Readers(0)
	server.Close()
	if len(readers) > 0 {
		return &CutOffError{readers}
	}
	if errors.Is(err, context.DeadlineExceeded) { // only connections that no host read from
		return nil
	}
	return fmt.Errorf("end the media server: %w", err)
}
