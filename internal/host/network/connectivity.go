//go:build linux

package network

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/network/probe"
	"github.com/oaictl/oaictl/internal/shared/escape"
)

// Connectivity checks which addresses of the other machines are reached: on the link of each network interface, by ping,
// and with packets as long as the MTU of an interface.
type Connectivity struct {
	Asker probe.Asker
	// NICs are the interfaces of this machine.
	NICs func() ([]probe.NIC, error)
	Log  *slog.Logger
}

const (
	// usualMTU needs no check with long packets.
	usualMTU = 1500
	// mostTargets is how many addresses of other machines are checked.
	mostTargets = 1 << 14
	// connectivityTime is the longest that a check of so many takes.
	connectivityTime = 10 * time.Minute
)

// The pings and questions of the service's own agent: ten pings with three seconds for the last, three for the MTU.
func usualPings() probe.Pings {
	return probe.Pings{Count: 10, Interval: time.Second, Wait: 3 * time.Second}
}

func mtuPings(nic probe.NIC, size int) probe.Pings {
	return probe.Pings{Count: 3, Interval: time.Second, Wait: 2 * time.Second, NIC: nic.Name, Size: size}
}

func askAll() probe.Scan { return probe.Scan{Rounds: 3, Wait: time.Second, All: true} }

// target is an address of another machine.
type target struct {
	text string // as the service wrote it
	ip   netip.Addr
}

// remote is another machine.
type remote struct {
	report  *models.ConnectivityRemoteHost
	targets []target
	macs    []string // of all its interfaces, in lower case
}

// Execute implements Executor.
func (c Connectivity) Execute(ctx context.Context, args []string) (exitCode int, stdout, stderr string) {
	var params models.ConnectivityCheckParams
	if err := decode(c.Log, "connectivity-check", args, &params); err != nil {
		return refuse(failed, err)
	}
	nics, err := c.NICs()
	if err != nil {
		return refuse(failed, fmt.Errorf("find the network interfaces of this machine: %w", err))
	}
	remotes, err := c.remotes(params)
	if err != nil {
		return refuse(failed, err)
	}
	ctx, cancel := context.WithTimeout(ctx, connectivityTime)
	defer cancel()
	var all []netip.Addr
	for _, r := range remotes {
		for _, t := range r.targets {
			all = append(all, t.ip)
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	found := c.ask(ctx, nics, slices.Compact(all))
	report := models.ConnectivityReport{}
	for _, r := range remotes {
		r.fill(found)
		report.RemoteHosts = append(report.RemoteHosts, r.report)
	}
	slices.SortStableFunc(report.RemoteHosts, func(a, b *models.ConnectivityRemoteHost) int { return cmp.Compare(a.HostID, b.HostID) })
	return answer(report)
}

// remotes reads what the service sent. An address or interface that is none is left out.
func (c Connectivity) remotes(params models.ConnectivityCheckParams) ([]remote, error) {
	var all []remote
	count := 0
	for _, host := range params {
		if host == nil {
			continue
		}
		r := remote{report: &models.ConnectivityRemoteHost{HostID: host.HostID}}
		for _, nic := range host.Nics {
			if nic == nil {
				continue
			}
			r.macs = append(r.macs, strings.ToLower(nic.Mac.String()))
			for _, cidr := range nic.IPAddresses {
				text, _, _ := strings.Cut(cidr, "/")
				ip, err := netip.ParseAddr(text)
				if err != nil || ip.Zone() != "" {
					c.Log.Warn("the service sent an address that is none", "host", escape.Word(host.HostID.String()), "address", escape.Word(cidr))
					continue
				}
				r.targets = append(r.targets, target{text, ip.Unmap()})
			}
		}
		all = append(all, r)
		if count += len(r.targets); count > mostTargets {
			return nil, fmt.Errorf("connectivity-check: the service sent more than %d addresses", mostTargets)
		}
	}
	return all, nil
}

// reached is what answered.
type reached struct {
	links   []link
	replies map[netip.Addr]probe.Replies
}

// link is what answered on an interface.
type link struct {
	nic        probe.NIC
	neighbours map[netip.Addr][]string
	// whole says of addresses that answer whether long packets reach them, too. Addresses that were not checked are absent.
	whole map[netip.Addr]bool
}

// ask asks all addresses by all ways at the same time.
func (c Connectivity) ask(ctx context.Context, nics []probe.NIC, targets []netip.Addr) *reached {
	found := &reached{links: make([]link, len(nics))}
	var all sync.WaitGroup
	all.Go(func() {
		replies, err := c.Asker.Ping(ctx, targets, usualPings())
		if err != nil {
			c.Log.Warn("cannot ping the other machines", "error", err)
		}
		found.replies = replies
	})
	for i, nic := range nics {
		found.links[i].nic = nic
		all.Go(func() { found.links[i].neighbours = c.neighbours(ctx, nic, targets) })
		all.Go(func() { found.links[i].whole = c.whole(ctx, nic, targets) })
	}
	all.Wait()
	return found
}

// neighbours asks by one interface: for IPv4 addresses of its own networks, and for all of IPv6, where the prefix of an
// address need not be that of its network.
func (c Connectivity) neighbours(ctx context.Context, nic probe.NIC, targets []netip.Addr) map[netip.Addr][]string {
	here := slices.DeleteFunc(slices.Clone(targets), func(ip netip.Addr) bool {
		return !nic.Has(ip.Is6()) || ip.Is4() && !nic.OnLink(ip)
	})
	found, err := c.Asker.Neighbours(ctx, nic, here, askAll())
	if err != nil {
		c.Log.Warn("cannot ask for neighbours", "interface", nic.Name, "error", err)
	}
	return found
}

// whole checks by one interface which addresses get packets as long as its MTU. An address that no packet reaches is not
// checked.
func (c Connectivity) whole(ctx context.Context, nic probe.NIC, targets []netip.Addr) map[netip.Addr]bool {
	if nic.MTU == usualMTU {
		return nil
	}
	here := slices.DeleteFunc(slices.Clone(targets), func(ip netip.Addr) bool {
		return !slices.ContainsFunc(nic.Addresses, func(a netip.Prefix) bool { return a.Addr().Is6() == ip.Is6() })
	})
	short, err := c.Asker.Ping(ctx, here, mtuPings(nic, 0))
	if err != nil {
		c.Log.Warn("cannot ping by an interface", "interface", nic.Name, "error", err)
		return nil
	}
	here = slices.DeleteFunc(here, func(ip netip.Addr) bool { return short[ip].Received == 0 })
	long, err := c.Asker.Ping(ctx, here, mtuPings(nic, nic.MTU))
	if err != nil {
		c.Log.Warn("cannot ping with packets of the MTU", "interface", nic.Name, "mtu", nic.MTU, "error", err)
		return nil
	}
	whole := map[netip.Addr]bool{}
	for _, ip := range here {
		whole[ip] = long[ip].Received > 0
	}
	return whole
}

// fill writes what answered of one machine into its report.
func (r *remote) fill(found *reached) {
	for _, t := range r.targets {
		r.report.L3Connectivity = append(r.report.L3Connectivity, replyOf(t, found.replies[t.ip]))
		for _, l := range found.links {
			r.report.L2Connectivity = append(r.report.L2Connectivity, r.onLink(t, l)...)
			if whole, checked := l.whole[t.ip]; checked {
				r.report.MtuReport = append(r.report.MtuReport,
					&models.MtuReport{RemoteIPAddress: t.text, OutgoingNic: l.nic.Name, MtuSuccessful: whole})
			}
		}
	}
	slices.SortStableFunc(r.report.L2Connectivity, func(a, b *models.L2Connectivity) int {
		return cmp.Compare(a.RemoteIPAddress+a.RemoteMac, b.RemoteIPAddress+b.RemoteMac)
	})
	slices.SortStableFunc(r.report.L3Connectivity, func(a, b *models.L3Connectivity) int {
		return cmp.Compare(a.RemoteIPAddress, b.RemoteIPAddress)
	})
	slices.SortStableFunc(r.report.MtuReport, func(a, b *models.MtuReport) int { return cmp.Compare(a.RemoteIPAddress, b.RemoteIPAddress) })
}

// onLink has an entry for each machine that answered for an IPv4 address, so that the service sees conflicts, and one for
// an IPv6 address.
func (r *remote) onLink(t target, l link) []*models.L2Connectivity {
	var all []*models.L2Connectivity
	for _, mac := range l.neighbours[t.ip] {
		entry := &models.L2Connectivity{
			OutgoingNic: l.nic.Name, RemoteIPAddress: t.text, RemoteMac: mac, Successful: slices.Contains(r.macs, mac),
		}
		if t.ip.Is6() {
			return []*models.L2Connectivity{entry}
		}
		entry.OutgoingIPAddress = ownAddress(l.nic, t.ip)
		all = append(all, entry)
	}
	return all
}

// ownAddress is the address of an interface in the network of another address.
func ownAddress(nic probe.NIC, ip netip.Addr) string {
	for _, a := range nic.Addresses {
		if a.Contains(ip) {
			return a.Addr().String()
		}
	}
	return ""
}

// replyOf is the result of pings as the program ping prints it: with three digits of a millisecond.
func replyOf(t target, r probe.Replies) *models.L3Connectivity {
	entry := &models.L3Connectivity{RemoteIPAddress: t.text}
	if r.Received == 0 {
		return entry
	}
	const thousand = 1000
	entry.Successful = true
	entry.AverageRTTMs = math.Round(float64(r.Average)/float64(time.Microsecond)) / thousand
	entry.PacketLossPercentage = r.Loss()
	return entry
}
