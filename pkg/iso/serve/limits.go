package serve

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// connections bounds how many there are. Where a new one is one too many, the one
// that has been idle for longest is closed, or else the new one.
type connections struct {
	most, maxOfOne int

	mu       sync.Mutex
	open     map[net.Conn]*connection
	byClient map[netip.Addr]int
	order    uint64
	refused  int64
	dropped  int64
}

type connection struct {
	client netip.Addr
	idle   uint64 // its turn among the idle ones; 0 while it is busy
}

// changed follows a connection's life: it is an http.Server's ConnState.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.open[conn]
	switch {
	case state == http.StateNew:
		c.admit(conn)
	case known == nil:
	case state == http.StateActive:
		known.idle = 0
	case state == http.StateIdle:
		c.order++
		known.idle = c.order
	default: // closed, or hijacked
		c.forget(conn)
	}
}

// admit takes a new connection in, or closes it; c.mu is held.
func (c *connections) admit(conn net.Conn) {
	from, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
	client := from.Addr().Unmap()
	tooMany := c.byClient[client] >= c.maxOfOne && !c.makeRoom(func(other *connection) bool { return other.client == client }) ||
		len(c.open) >= c.most && !c.makeRoom(func(*connection) bool { return true })
	if tooMany {
		c.refused++
		hangUp(conn)
		return
	}
	c.open[conn] = &connection{client: client}
	c.byClient[client]++
}

// makeRoom closes the longest idle of those that may be closed; c.mu is held.
func (c *connections) makeRoom(may func(*connection) bool) bool {
	var oldest net.Conn
	for conn, known := range c.open {
		if known.idle > 0 && may(known) && (oldest == nil || known.idle < c.open[oldest].idle) {
			oldest = conn
		}
	}
	if oldest == nil {
		return false
	}
	c.dropped++
	c.forget(oldest)
	hangUp(oldest)
	return true
}

// forget takes a known connection out of the count; c.mu is held.
func (c *connections) forget(conn net.Conn) {
	client := c.open[conn].client
	delete(c.open, conn)
	if c.byClient[client]--; c.byClient[client] <= 0 {
		delete(c.byClient, client)
	}
}

// hangUp ends a connection at once: the farewell of TLS might wait for its peer.
func hangUp(conn net.Conn) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	conn.Close()
}

type connectionCounts struct {
	open, idle       int
	refused, dropped int64 // since the beginning
}

func (c *connections) counts() connectionCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := connectionCounts{open: len(c.open), refused: c.refused, dropped: c.dropped}
	for _, known := range c.open {
		if known.idle > 0 {
			counts.idle++
		}
	}
	return counts
}

// How many unknown MAC addresses a client may ask for, in how long, and how many clients are counted separately.
const (
	missesAllowed = 30
	missesWithin  = time.Minute
	missesClients = 1024
)

// misses counts failed tries by client, in bounded memory.
type misses struct {
	mu       sync.Mutex
	byClient map[netip.Prefix]miss
	swept    time.Time // when old ones were last removed
}

type miss struct {
	count int
	since time.Time
}

func newMisses() *misses { return &misses{byClient: map[netip.Prefix]miss{}} }

func (m *misses) tooMany(client netip.Addr, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.byClient[m.bucket(client)]
	return of.count >= missesAllowed && now.Sub(of.since) < missesWithin
}

func (m *misses) add(client netip.Addr, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.byClient) >= missesClients && now.Sub(m.swept) >= missesWithin {
		m.swept = now
		for bucket, of := range m.byClient {
			if now.Sub(of.since) >= missesWithin {
				delete(m.byClient, bucket)
			}
		}
	}
	bucket := m.bucket(client)
	of := m.byClient[bucket]
	if now.Sub(of.since) >= missesWithin {
		of = miss{since: now}
	}
	of.count++
	m.byClient[bucket] = of
}

// bucket is the prefix that a client is counted with: an IPv4 client by itself, an IPv6 client with all of its /64, and
// new ones where there are too many as the zero prefix; m.mu is held.
func (m *misses) bucket(client netip.Addr) netip.Prefix {
	bits := 64
	if client = client.Unmap(); client.Is4() {
		bits = 32
	}
	prefix, err := client.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	if _, known := m.byClient[prefix]; !known && len(m.byClient) >= missesClients {
		return netip.Prefix{}
	}
	return prefix
}
