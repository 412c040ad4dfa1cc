//go:build linux

package probe

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/host/network/packet"
)

// Pings say how echo requests are sent. Each address gets Count of them.
type Pings struct {
	Count    int
	Interval time.Duration // between two requests to an address
	Wait     time.Duration // for the last replies
	// NIC is the interface that they leave by. "" leaves that to the routes.
	NIC string
	// Size makes packets of so many bytes, with the header of IP, which may not be fragmented. Zero makes small packets.
	Size int
}

// Replies are what came back from an address.
type Replies struct {
	Sent, Received int
	Average        time.Duration // of the round trips; zero if there were none
}

// Loss is the share of requests without a reply, in percent.
func (r Replies) Loss() float64 {
	if r.Sent == 0 {
		return 0
	}
	const percent = 100
	return percent * float64(r.Sent-r.Received) / float64(r.Sent)
}

// dataSize is that of the program ping, in bytes.
const dataSize = 56

// pauseOfPings makes pings to many addresses no more than about 5000 a second.
const pauseOfPings = 3 * time.Millisecond

// Ping sends echo requests to all addresses at the same time.
func (p Prober) Ping(ctx context.Context, targets []netip.Addr, o Pings) (map[netip.Addr]Replies, error) {
	return byFamily(targets, func(group []netip.Addr, ipv6 bool) (map[netip.Addr]Replies, error) {
		return p.ping(ctx, group, ipv6, o)
	})
}

// course is what is known of the pings so far. It is written to while replies are received.
type course struct {
	mu    sync.Mutex
	id    uint16
	nonce []byte
	wait  map[key]time.Time // requests without a reply, and when they were sent
	trips map[netip.Addr][]time.Duration
	sent  int // to each address
}

type key struct {
	ip       netip.Addr
	sequence uint16
}

func (p Prober) ping(ctx context.Context, targets []netip.Addr, ipv6 bool, o Pings) (map[netip.Addr]Replies, error) {
	wire, err := p.Open.Echo(EchoOptions{IPv6: ipv6, NIC: o.NIC, Whole: o.Size > 0})
	if err != nil {
		return nil, fmt.Errorf("open a socket for pings: %w", err)
	}
	defer wire.Close()
	mark := nonce()
	c := &course{id: binary.BigEndian.Uint16(mark), nonce: mark, wait: map[key]time.Time{}, trips: map[netip.Addr][]time.Duration{}}
	receiving, stop := context.WithCancel(ctx)
	var receiver sync.WaitGroup
	receiver.Go(func() {
		p.receive(receiving, wire, func(message []byte, from netip.Addr) {
			if echo, ok := packet.ParseEchoReply(message, ipv6); ok {
				c.take(echo, from, p.Clock.Now())
			}
		})
	})
	err = p.pings(ctx, wire, targets, ipv6, o, c)
	stop()
	receiver.Wait()
	replies := map[netip.Addr]Replies{}
	for _, ip := range targets {
		replies[ip] = c.replies(ip)
	}
	return replies, err
}

// take notes a reply. The kernel may choose the identifier, so that only the data says whose reply it is.
func (c *course) take(echo packet.Echo, from netip.Addr, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !bytes.HasPrefix(echo.Data, c.nonce) {
		return
	}
	request := key{from.WithZone("").Unmap(), echo.Sequence}
	sent, waits := c.wait[request]
	if !waits {
		return // a duplicate
	}
	delete(c.wait, request)
	c.trips[request.ip] = append(c.trips[request.ip], now.Sub(sent))
}

func (c *course) complete() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.wait) == 0
}

func (c *course) replies(ip netip.Addr) Replies {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := Replies{Sent: c.sent, Received: len(c.trips[ip])}
	var sum time.Duration
	for _, trip := range c.trips[ip] {
		sum += trip
	}
	if r.Received > 0 {
		r.Average = sum / time.Duration(r.Received)
	}
	return r
}

func (p Prober) pings(ctx context.Context, wire Wire, targets []netip.Addr, ipv6 bool, o Pings, c *course) error {
	pace := pacer{clock: p.Clock, pause: pauseOfPings}
	data := o.data(c.nonce, ipv6)
	for number := range o.Count {
		start := p.Clock.Now()
		if err := p.pingAll(ctx, wire, targets, packet.Echo{ID: c.id, Sequence: uint16(number + 1), Data: data}, ipv6, c, &pace); err != nil {
			return err
		}
		if number < o.Count-1 {
			if err := p.Clock.Sleep(ctx, o.Interval-p.Clock.Now().Sub(start)); err != nil {
				return err
			}
		}
	}
	return p.await(ctx, o.Wait, c.complete)
}

// pingAll sends one request to each address.
func (p Prober) pingAll(ctx context.Context, wire Wire, targets []netip.Addr, echo packet.Echo, ipv6 bool, c *course, pace *pacer) error {
	message := echo.Request(ipv6)
	c.mu.Lock()
	c.sent++
	c.mu.Unlock()
	for _, ip := range targets {
		c.mu.Lock()
		c.wait[key{ip, echo.Sequence}] = p.Clock.Now()
		c.mu.Unlock()
		if err := wire.Send(message, ip); err != nil {
			p.Log.Debug("cannot send a ping", "target", ip, "error", err)
			c.mu.Lock()
			delete(c.wait, key{ip, echo.Sequence})
			c.mu.Unlock()
		}
		if err := pace.next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// data is what an echo request carries: first what tells our replies from those of other programs.
func (o Pings) data(mark []byte, ipv6 bool) []byte {
	size := dataSize
	if o.Size > 0 {
		size = o.Size - packet.EchoHeadersIPv4
		if ipv6 {
			size = o.Size - packet.EchoHeadersIPv6
		}
	}
	data := make([]byte, max(size, len(mark)))
	copy(data, mark)
	return data
}
