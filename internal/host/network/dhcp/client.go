package dhcp

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/oaictl/oaictl/internal/host/network/packet"
	"github.com/oaictl/oaictl/internal/shared/clock"
)

// Wire sends and receives Ethernet frames.
type Wire interface {
	Send(frame []byte, to netip.Addr) error
	// Receive waits a short time for a frame. The error is os.ErrDeadlineExceeded if none came.
	Receive(buffer []byte) (n int, from netip.Addr, err error)
	Close() error
}

// Client asks the servers of one link.
type Client struct {
	Wire  Wire
	Clock clock.Clock
	// MAC is the address that gets the lease, and Hostname the name that servers may note for it.
	MAC      net.HardwareAddr
	Hostname string
}

const (
	firstWait    = 2 * time.Second
	longestWait  = 8 * time.Second
	largestFrame = 1 << 16
	// mostErrors is how many errors of the wire in a row end a lease.
	mostErrors = 100
)

// Lease gets a lease, of the wanted address if it is valid and free. It asks until ctx ends.
func (c Client) Lease(ctx context.Context, wanted netip.Addr) (Lease, error) {
	var random [4]byte
	_, _ = rand.Read(random[:]) // it never fails
	id := binary.BigEndian.Uint32(random[:])
	start := c.Clock.Now()
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		ask := question{
			kind: discover, id: id, mac: c.MAC, hostname: c.Hostname, wanted: wanted,
			seconds: uint16(min(c.Clock.Now().Sub(start), time.Hour) / time.Second),
		}
		offered, err := c.exchange(ctx, ask, wait, offer)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		if err != nil {
			return Lease{}, fmt.Errorf("wait for a DHCP server to offer an address: %w", err)
		}
		ask.kind, ask.wanted, ask.server = requestType, offered.address, offered.server()
		given, err := c.exchange(ctx, ask, wait, ack)
		switch {
		case errors.Is(err, errRefused), errors.Is(err, os.ErrDeadlineExceeded):
			wanted = netip.Addr{} // begin again
		case err != nil:
			return Lease{}, fmt.Errorf("wait for the DHCP server %s to give %s: %w", ask.server, ask.wanted, err)
		default:
			return leaseOf(given, c.Clock.Now()), nil
		}
	}
}

var errRefused = errors.New("the server does not give the address that it has offered")

// exchange sends a message and waits some time for its answer. The error is os.ErrDeadlineExceeded if there is none.
func (c Client) exchange(ctx context.Context, ask question, wait time.Duration, kind byte) (reply, error) {
	if err := c.Wire.Send(packet.UDPBroadcast(c.MAC, clientPort, serverPort, ask.encode()), netip.Addr{}); err != nil {
		return reply{}, fmt.Errorf("send a message to DHCP servers: %w", err)
	}
	buffer := make([]byte, largestFrame)
	failures := 0
	for end := c.Clock.Now().Add(wait); c.Clock.Now().Before(end); {
		if err := ctx.Err(); err != nil {
			return reply{}, err
		}
		n, _, err := c.Wire.Receive(buffer)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		if err != nil {
			if failures++; failures >= mostErrors {
				return reply{}, fmt.Errorf("receive an answer of DHCP servers: %w", err)
			}
			continue
		}
		failures = 0
		answer, ok := c.answer(buffer[:n], ask)
		switch {
		case !ok:
		case answer.kind == nak && kind == ack:
			return reply{}, errRefused
		case answer.kind == kind && complete(answer):
			return answer, nil
		}
	}
	return reply{}, os.ErrDeadlineExceeded
}

func (c Client) answer(frame []byte, ask question) (reply, bool) {
	data, _, ok := packet.ParseUDP(frame, clientPort)
	if !ok {
		return reply{}, false
	}
	answer, err := parse(data, ask.id, c.MAC)
	return answer, err == nil
}

// complete reports whether an answer has what a lease needs.
func complete(r reply) bool {
	return r.address.IsGlobalUnicast() && r.server().IsValid() && r.duration(optionLeaseTime) > 0
}
