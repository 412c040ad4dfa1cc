package serve

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// connections bounds how many there are. Where a new one is one too many, the
// one that has been idle for longest makes room; where none is idle, the new
// one is refused.
type connections struct {
	most, mostOfOne int

	mu       sync.Mutex
	open     map[net.Conn]*connection
	byClient map[netip.Addr]int
	order    uint64
	refused  int64
	dropped  int64
}

// connection is one that is open.
type connection struct {
	client netip.Addr
	idle   uint64 // its turn among the idle ones; 0 while it is busy
}

func newConnections(most, mostOfOne int) *connections {
	return &connections{
		most: most, mostOfOne: mostOfOne,
		open: map[net.Conn]*connection{}, byClient: map[netip.Addr]int{},
	}
}

// changed follows a connection's life: it is an http.Server's ConnState.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.admit(conn)
	case http.StateActive:
		if known := c.open[conn]; known != nil {
			known.idle = 0
		}
	case http.StateIdle:
		if known := c.open[conn]; known != nil {
			c.order++
			known.idle = c.order
		}
	case http.StateClosed, http.StateHijacked:
		c.forget(conn)
	}
}

// admit takes a new connection in, or closes it; c.mu is held.
func (c *connections) admit(conn net.Conn) {
	from, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
	client := from.Addr().Unmap()
	tooMany := c.byClient[client] >= c.mostOfOne && !c.makeRoom(func(other *connection) bool { return other.client == client }) ||
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

// forget takes a connection out of the count; c.mu is held.
func (c *connections) forget(conn net.Conn) {
	known := c.open[conn]
	if known == nil {
		return
	}
	delete(c.open, conn)
	if c.byClient[known.client]--; c.byClient[known.client] <= 0 {
		delete(c.byClient, known.client)
	}
}

// hangUp ends a connection at once: the farewell of TLS might wait for its peer.
func hangUp(conn net.Conn) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	conn.Close()
}

// connectionCounts is what /metrics shows of connections.
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
