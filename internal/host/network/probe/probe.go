//go:build linux

// Package probe finds out which machines of a network answer: by ARP and neighbour discovery on a link, and by ICMP echo
// beyond it. It asks many addresses at once, at a pace that a network bears, and within limits of time.
package probe

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/oaictl/oaictl/internal/shared/clock"
)

// Wire sends and receives packets of one kind.
type Wire interface {
	// Send sends a packet. What has the address in itself, such as a frame, ignores to.
	Send(packet []byte, to netip.Addr) error
	// Receive waits a short time for a packet. The error is os.ErrDeadlineExceeded if none came. from is invalid for frames.
	Receive(buffer []byte) (n int, from netip.Addr, err error)
	Close() error
}

// Opener opens wires. Sockets opens those of the kernel.
type Opener interface {
	// Frames sends and receives Ethernet frames of one type on a network interface.
	Frames(nic NIC, kind uint16) (Wire, error)
	// Echo sends and receives ICMP messages.
	Echo(o EchoOptions) (Wire, error)
}

// EchoOptions say how ICMP messages are sent.
type EchoOptions struct {
	IPv6 bool
	// NIC is the network interface that they leave by. "" leaves that to the routes.
	NIC string
	// Whole forbids that they are fragmented.
	Whole bool
}

// Prober asks machines with packets of its own.
type Prober struct {
	Open  Opener
	Clock clock.Clock
	Log   *slog.Logger
}

// largestPacket is in bytes: no interface has a larger MTU.
const largestPacket = 1 << 16

// mostErrors is how many errors of a socket in a row end receiving.
const mostErrors = 100

// receive hands on what a wire receives, until ctx ends or the wire fails for good. The packets are valid only during take.
func (p Prober) receive(ctx context.Context, wire Wire, take func(packet []byte, from netip.Addr)) {
	buffer := make([]byte, largestPacket)
	failures := 0
	for ctx.Err() == nil {
		n, from, err := wire.Receive(buffer)
		switch {
		case err == nil:
			failures = 0
			take(buffer[:n], from)
		case errors.Is(err, os.ErrDeadlineExceeded):
			failures = 0
		default:
			if failures++; failures >= mostErrors {
				p.Log.Warn("cannot receive packets any more", "error", err)
				return
			}
		}
	}
}

// A burst of packets goes out at once. It is small beside the buffers of switches.
const burst = 16

// pacer keeps a sender below a rate.
type pacer struct {
	clock clock.Clock
	pause time.Duration // after each burst
	sent  int
}

func (p *pacer) next(ctx context.Context) error {
	if p.sent++; p.sent%burst != 0 {
		return ctx.Err()
	}
	return p.clock.Sleep(ctx, p.pause)
}

// nonce is what no other program sends.
func nonce() []byte {
	const size = 8
	random := make([]byte, size)
	_, _ = rand.Read(random) // it never fails
	return random
}

// poll is how often it is looked whether all answers are there.
const poll = 20 * time.Millisecond

// await waits until done or until the time is over.
func (p Prober) await(ctx context.Context, limit time.Duration, done func() bool) error {
	end := p.Clock.Now().Add(limit)
	for !done() && p.Clock.Now().Before(end) {
		if err := p.Clock.Sleep(ctx, poll); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// byFamily does something for the addresses of IPv4 and for those of IPv6 at the same time.
func byFamily[V any](targets []netip.Addr, do func(group []netip.Addr, ipv6 bool) (map[netip.Addr]V, error)) (map[netip.Addr]V, error) {
	all := map[netip.Addr]V{}
	var mu sync.Mutex
	var group errgroup.Group
	for _, ipv6 := range []bool{false, true} {
		family := slices.DeleteFunc(slices.Clone(targets), func(ip netip.Addr) bool { return ip.Is6() != ipv6 })
		if len(family) == 0 {
			continue
		}
		group.Go(func() error {
			some, err := do(family, ipv6)
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(all, some)
			return err
		})
	}
	return all, group.Wait()
}
