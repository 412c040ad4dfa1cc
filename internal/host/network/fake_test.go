//go:build linux

package network

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/oaictl/oaictl/internal/host/network/probe"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func testLog(t testing.TB) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

// site is a network with what answers in it. Addresses are texts.
type site struct {
	macs    map[string][]string      // who answers on the link
	replies map[string]probe.Replies // what answers to pings
	narrow  map[string]bool          // what long packets do not reach
	err     error                    // of all questions

	mu     sync.Mutex
	asked  []string
	pinged []string
}

func (s *site) Neighbours(_ context.Context, nic probe.NIC, targets []netip.Addr, _ probe.Scan) (map[netip.Addr][]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[netip.Addr][]string{}
	for _, ip := range targets {
		s.asked = append(s.asked, nic.Name+" "+ip.String())
		if macs := s.macs[ip.String()]; len(macs) > 0 {
			found[ip] = macs
		}
	}
	return found, s.err
}

func (s *site) Ping(_ context.Context, targets []netip.Addr, o probe.Pings) (map[netip.Addr]probe.Replies, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[netip.Addr]probe.Replies{}
	for _, ip := range targets {
		s.pinged = append(s.pinged, o.NIC+" "+ip.String())
		r := s.replies[ip.String()]
		if o.Size > 0 && s.narrow[ip.String()] {
			r = probe.Replies{Sent: o.Count}
		}
		found[ip] = r
	}
	return found, s.err
}

func nic(t testing.TB, name string, mtu int, addresses ...string) probe.NIC {
	one := probe.NIC{Name: name, Index: 2, MTU: mtu, MAC: must.Get(net.ParseMAC("52:54:00:00:00:11"))(t)}
	for _, a := range addresses {
		one.Addresses = append(one.Addresses, netip.MustParsePrefix(a))
	}
	return one
}

func with(nics ...probe.NIC) func() ([]probe.NIC, error) {
	return func() ([]probe.NIC, error) { return nics, nil }
}
