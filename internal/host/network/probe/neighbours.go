//go:build linux

package probe

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/host/network/packet"
)

// Scan says how machines of a link are asked for their addresses.
type Scan struct {
	// Rounds is how often each address is asked for, at most.
	Rounds int
	// Wait is how long answers may take after each round.
	Wait time.Duration
	// All goes on to ask for an address that has an answer: another machine may have it, too.
	All bool
}

// pauseOfScan makes a scan send no more than about 1000 packets a second.
const pauseOfScan = 16 * time.Millisecond

const macSize = 6

// protocol is how machines of a link are asked for an address: ARP or neighbour discovery.
type protocol struct {
	kind    uint16 // of Ethernet frames
	request func(mac net.HardwareAddr, from, to netip.Addr) []byte
	parse   func(frame []byte) (packet.Neighbour, bool)
}

// Neighbours asks by an interface which machines have these addresses: by ARP, or by neighbour discovery for IPv6. An
// address has all MAC addresses that answered, in lower case and sorted; one without an answer is not in the map.
func (p Prober) Neighbours(ctx context.Context, nic NIC, targets []netip.Addr, s Scan) (map[netip.Addr][]string, error) {
	if !nic.Ethernet() {
		return nil, fmt.Errorf("ask for neighbours by %s: it is no Ethernet, since its address is %q", nic.Name, nic.MAC)
	}
	return byFamily(targets, func(group []netip.Addr, ipv6 bool) (map[netip.Addr][]string, error) {
		if ipv6 {
			return p.ask(ctx, nic, protocol{packet.TypeIPv6, packet.Solicitation, packet.ParseAdvertisement}, group, s)
		}
		return p.ask(ctx, nic, protocol{packet.TypeARP, packet.ARPRequest, packet.ParseARPReply}, group, s)
	})
}

// answers collects who answered. It is written to while packets are received.
type answers struct {
	mu    sync.Mutex
	asked map[netip.Addr]bool // whether an answer came
	found map[netip.Addr][]string
}

func newAnswers(targets []netip.Addr) *answers {
	all := &answers{asked: map[netip.Addr]bool{}, found: map[netip.Addr][]string{}}
	for _, ip := range targets {
		all.asked[ip] = false
	}
	return all
}

// add notes who answered, if the address was asked for.
func (a *answers) add(ip netip.Addr, mac string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	mac = strings.ToLower(mac)
	if _, wanted := a.asked[ip]; !wanted || mac == "" || slices.Contains(a.found[ip], mac) {
		return
	}
	a.asked[ip] = true
	a.found[ip] = append(a.found[ip], mac)
	slices.Sort(a.found[ip])
}

func (a *answers) answered(ip netip.Addr) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked[ip]
}

func (a *answers) complete() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.found) == len(a.asked)
}

func (p Prober) ask(ctx context.Context, nic NIC, by protocol, targets []netip.Addr, s Scan) (map[netip.Addr][]string, error) {
	wire, err := p.Open.Frames(nic, by.kind)
	if err != nil {
		return nil, fmt.Errorf("open a socket for frames on %s: %w", nic.Name, err)
	}
	defer wire.Close()
	all := newAnswers(targets)
	receiving, stop := context.WithCancel(ctx)
	var receiver sync.WaitGroup
	receiver.Go(func() {
		p.receive(receiving, wire, func(frame []byte, _ netip.Addr) {
			if answer, ok := by.parse(frame); ok {
				all.add(answer.IP, answer.MAC.String())
			}
		})
	})
	err = p.rounds(ctx, wire, nic, by, targets, s, all)
	stop()
	receiver.Wait()
	return all.found, err
}

func (p Prober) rounds(ctx context.Context, wire Wire, nic NIC, by protocol, targets []netip.Addr, s Scan, all *answers) error {
	pace := pacer{clock: p.Clock, pause: pauseOfScan}
	for range s.Rounds {
		for _, ip := range targets {
			if !s.All && all.answered(ip) {
				continue
			}
			from, ok := nic.source(ip)
			if !ok {
				continue
			}
			if err := wire.Send(by.request(nic.MAC, from, ip), ip); err != nil {
				p.Log.Debug("cannot send a frame", "interface", nic.Name, "target", ip, "error", err)
			}
			if err := pace.next(ctx); err != nil {
				return err
			}
		}
		if err := p.await(ctx, s.Wait, func() bool { return !s.All && all.complete() }); err != nil {
			return err
		}
		if !s.All && all.complete() {
			return nil
		}
	}
	return nil
}
