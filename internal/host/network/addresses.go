//go:build linux

package network

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/network/probe"
)

// Taken finds out which addresses a machine has.
type Taken struct {
	Asker probe.Asker
	// NICs are the interfaces of this machine.
	NICs func() ([]probe.NIC, error)
	Log  *slog.Logger
}

// among has those of the addresses that this machine or one that answers has. Addresses in an Ethernet of this machine
// are asked for on the link, and others are pinged. thorough does both for all, and asks on all links for IPv6.
func (t Taken) among(ctx context.Context, addresses []netip.Addr, thorough bool) (map[netip.Addr]bool, error) {
	nics, err := t.NICs()
	if err != nil {
		return nil, fmt.Errorf("find the network interfaces of this machine: %w", err)
	}
	var mu sync.Mutex
	taken := map[netip.Addr]bool{}
	var errs []error
	note := func(ips []netip.Addr, err error) {
		mu.Lock()
		defer mu.Unlock()
		for _, ip := range ips {
			taken[ip] = true
		}
		errs = append(errs, err)
	}
	var all sync.WaitGroup
	distant := slices.Clone(addresses)
	for _, nic := range nics {
		note(slices.DeleteFunc(slices.Clone(addresses), func(ip netip.Addr) bool { return !nic.Own(ip) }), nil)
		if !nic.Ethernet() {
			continue
		}
		here := slices.DeleteFunc(slices.Clone(addresses), func(ip netip.Addr) bool {
			return !nic.OnLink(ip) && (!thorough || !ip.Is6() || !nic.Has(true))
		})
		if !thorough {
			distant = slices.DeleteFunc(distant, nic.OnLink)
		}
		all.Go(func() { note(t.onLink(ctx, nic, here)) })
	}
	all.Go(func() { note(t.beyond(ctx, distant)) })
	all.Wait()
	return taken, errors.Join(errs...)
}

func (t Taken) onLink(ctx context.Context, nic probe.NIC, ips []netip.Addr) ([]netip.Addr, error) {
	if len(ips) == 0 {
		return nil, nil
	}
	found, err := t.Asker.Neighbours(ctx, nic, ips, probe.Scan{Rounds: 2, Wait: time.Second})
	if err != nil {
		return nil, fmt.Errorf("ask for neighbours by %s: %w", nic.Name, err)
	}
	return slices.DeleteFunc(slices.Clone(ips), func(ip netip.Addr) bool { return len(found[ip]) == 0 }), nil
}

func (t Taken) beyond(ctx context.Context, ips []netip.Addr) ([]netip.Addr, error) {
	if len(ips) == 0 {
		return nil, nil
	}
	replies, err := t.Asker.Ping(ctx, ips, probe.Pings{Count: 2, Interval: time.Second, Wait: time.Second})
	if err != nil {
		return nil, fmt.Errorf("ping addresses: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(ips), func(ip netip.Addr) bool { return replies[ip].Received == 0 }), nil
}

// FreeAddresses finds addresses of IPv4 networks that no machine has.
type FreeAddresses struct {
	Taken
	running sync.Mutex
}

const (
	// enough free addresses of a network end its scan.
	enough = 8000
	// part is how many addresses are asked for at once: a network with a prefix of 22 bits.
	part = 1024
	// mostNetworks is how many networks are scanned.
	mostNetworks = 64
	// scanTime is the longest that a scan takes, of all networks together.
	scanTime = 10 * time.Minute
)

// Execute implements Executor. While another one runs, it answers nothing.
func (f *FreeAddresses) Execute(ctx context.Context, args []string) (exitCode int, stdout, stderr string) {
	if !f.running.TryLock() {
		f.Log.Info("free-network-addresses still runs")
		return done, "", ""
	}
	defer f.running.Unlock()
	var request models.FreeAddressesRequest
	if err := decode(f.Log, "free-network-addresses", args, &request); err != nil {
		return refuse(failedProgram, err)
	}
	if len(request) > mostNetworks {
		return refuse(failedProgram,
			fmt.Errorf("free-network-addresses: the service sent %d networks, and %d are the most", len(request), mostNetworks))
	}
	ctx, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	found := models.FreeNetworksAddresses{}
	for _, text := range request {
		free, err := f.of(ctx, text)
		if err != nil {
			return refuse(failedProgram, err)
		}
		found = append(found, free)
	}
	return answer(found)
}

// of finds the free addresses of a network, the first one of it and the broadcast address included.
func (f *FreeAddresses) of(ctx context.Context, text string) (*models.FreeNetworkAddresses, error) {
	network, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is no network: %w", text, err)
	case !network.Addr().Is4():
		return nil, fmt.Errorf("%s is no network of IPv4", network)
	case network.Masked().String() != text:
		return nil, fmt.Errorf("%q is not the network %s", text, network.Masked())
	}
	found := &models.FreeNetworkAddresses{Network: text}
	for next := network.Addr(); next.IsValid() && network.Contains(next) && len(found.FreeAddresses) < enough; {
		var some []netip.Addr
		for ; next.IsValid() && network.Contains(next) && len(some) < part; next = next.Next() {
			some = append(some, next)
		}
		taken, err := f.among(ctx, some, false)
		if err != nil {
			return nil, fmt.Errorf("find the free addresses of %s: %w", text, err)
		}
		for _, ip := range some {
			if !taken[ip] {
				found.FreeAddresses = append(found.FreeAddresses, strfmt.IPv4(ip.String()))
			}
		}
	}
	return found, nil
}

// VIPs verifies that no machine has the virtual IP addresses of the cluster.
type VIPs struct{ Taken }

// mostVIPs is how many are verified. A cluster has at most four.
const mostVIPs = 64

// Execute implements Executor.
func (v VIPs) Execute(ctx context.Context, args []string) (exitCode int, stdout, stderr string) {
	var request models.VerifyVipsRequest
	if err := decode(v.Log, "verify-vips", args, &request); err != nil {
		return refuse(failed, err)
	}
	if len(request) > mostVIPs {
		return refuse(failed, fmt.Errorf("verify-vips: the service sent %d addresses, and %d are the most", len(request), mostVIPs))
	}
	ips := make([]netip.Addr, len(request))
	for i, vip := range request {
		if vip == nil {
			return refuse(failed, fmt.Errorf("verify-vips: address %d: %w", i+1, errMissing))
		}
		ip, err := netip.ParseAddr(string(vip.Vip))
		if err != nil || ip.Zone() != "" {
			return refuse(failed, fmt.Errorf("verify-vips: %q is no IP address", vip.Vip))
		}
		ips[i] = ip.Unmap()
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	taken, err := v.among(ctx, ips, true)
	if err != nil {
		return refuse(failed, fmt.Errorf("verify-vips: %w", err))
	}
	var verified models.VerifyVipsResponse
	for i, vip := range request {
		result := models.VipVerificationSucceeded
		if taken[ips[i]] {
			result = models.VipVerificationFailed
		}
		verified = append(verified, &models.VerifiedVip{Vip: vip.Vip, VipType: vip.VipType, Verification: &result})
	}
	return answer(verified)
}
