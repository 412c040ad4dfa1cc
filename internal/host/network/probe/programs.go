//go:build linux

package probe

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/oaictl/oaictl/internal/host/machine"
)

// Asker asks machines whether they answer. Prober and Programs do.
type Asker interface {
	// Neighbours has the MAC addresses that answered on the link of an interface, by address.
	Neighbours(ctx context.Context, nic NIC, targets []netip.Addr, s Scan) (map[netip.Addr][]string, error)
	// Ping has the replies of all addresses.
	Ping(ctx context.Context, targets []netip.Addr, o Pings) (map[netip.Addr]Replies, error)
}

// Fallback asks with the second of two where the first may not open its sockets.
type Fallback struct {
	First, Second Asker
	Log           *slog.Logger
}

// Neighbours implements Asker.
func (f Fallback) Neighbours(ctx context.Context, nic NIC, targets []netip.Addr, s Scan) (map[netip.Addr][]string, error) {
	found, err := f.First.Neighbours(ctx, nic, targets, s)
	if !errors.Is(err, os.ErrPermission) {
		return found, err
	}
	f.Log.Warn("raw sockets are refused; ask for neighbours with programs", "error", err)
	return f.Second.Neighbours(ctx, nic, targets, s)
}

// Ping implements Asker.
func (f Fallback) Ping(ctx context.Context, targets []netip.Addr, o Pings) (map[netip.Addr]Replies, error) {
	replies, err := f.First.Ping(ctx, targets, o)
	if !errors.Is(err, os.ErrPermission) {
		return replies, err
	}
	f.Log.Warn("raw sockets are refused; ping with a program", "error", err)
	return f.Second.Ping(ctx, targets, o)
}

// Programs asks with the programs arping, nmap and ping.
type Programs struct {
	Runner machine.Runner
	Log    *slog.Logger
}

const (
	// atOnce is how many programs run at the same time.
	atOnce = 16
	// perNmap is how many addresses one nmap asks for.
	perNmap = 256
	// nmapTime is how long one may take: some tens of milliseconds per address without an answer.
	nmapTime = 2 * time.Minute
	// arpingTime is the -w of arping, with some time to start it on a busy machine.
	arpingTime = 30 * time.Second
)

// Neighbours implements Asker.
func (p Programs) Neighbours(ctx context.Context, nic NIC, targets []netip.Addr, s Scan) (map[netip.Addr][]string, error) {
	all := newAnswers(targets)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	var rest []netip.Addr
	for _, ip := range targets {
		if !s.All || ip.Is6() {
			rest = append(rest, ip)
			continue
		}
		group.Go(func() error { return p.arping(ctx, nic, ip, all) })
	}
	for _, ipv6 := range []bool{false, true} {
		family := slices.DeleteFunc(slices.Clone(rest), func(ip netip.Addr) bool { return ip.Is6() != ipv6 })
		for some := range slices.Chunk(family, perNmap) {
			group.Go(func() error { return p.nmap(ctx, nic, some, ipv6, all) })
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return all.found, nil
}

// arping asks for one IPv4 address. Its exit code is 1 where replies are missing.
func (p Programs) arping(ctx context.Context, nic NIC, ip netip.Addr, all *answers) error {
	command := machine.Command{
		Name: "arping", Args: []string{"-c", "10", "-w", "5", "-I", nic.Name, ip.String()}, Timeout: arpingTime,
	}
	result, err := p.Runner.Run(ctx, command)
	var failed *machine.Failed
	if err != nil && (!errors.As(err, &failed) || failed.Result.Code != 1) {
		return fmt.Errorf("ask for %s by %s: %w", ip, nic.Name, err)
	}
	for _, mac := range parseArping(string(result.Stdout)) {
		all.add(ip, mac)
	}
	return nil
}

var arpingReply = regexp.MustCompile(`(?m)^Unicast reply from \S+ \[([0-9A-Fa-f:]{17})\] `)

// parseArping has the MAC addresses in the output of the arping of iputils.
func parseArping(output string) []string {
	var macs []string
	for _, reply := range arpingReply.FindAllStringSubmatch(output, -1) {
		macs = append(macs, reply[1])
	}
	return macs
}

func (p Programs) nmap(ctx context.Context, nic NIC, targets []netip.Addr, ipv6 bool, all *answers) error {
	args := []string{"-sn", "-PR", "-n", "-oX", "-", "-e", nic.Name}
	if ipv6 {
		args = []string{"-6", "-sn", "-n", "-oX", "-", "-e", nic.Name}
	}
	for _, ip := range targets {
		args = append(args, ip.String())
	}
	result, err := p.Runner.Run(ctx, machine.Command{Name: "nmap", Args: args, Timeout: nmapTime})
	if err != nil {
		return fmt.Errorf("ask for %d addresses by %s: %w", len(targets), nic.Name, err)
	}
	hosts, err := parseNmap(result.Stdout)
	if err != nil {
		return fmt.Errorf("ask for %d addresses by %s: %w", len(targets), nic.Name, err)
	}
	for ip, mac := range hosts {
		all.add(ip, mac)
	}
	return nil
}

// parseNmap has the MAC addresses of the hosts that are up, by IP address.
func parseNmap(output []byte) (map[netip.Addr]string, error) {
	var run struct {
		Hosts []struct {
			Status struct {
				State string `xml:"state,attr"`
			} `xml:"status"`
			Addresses []struct {
				Addr string `xml:"addr,attr"`
				Kind string `xml:"addrtype,attr"`
			} `xml:"address"`
		} `xml:"host"`
	}
	if err := xml.Unmarshal(output, &run); err != nil {
		return nil, fmt.Errorf("read the output of nmap: %w", err)
	}
	hosts := map[netip.Addr]string{}
	for _, host := range run.Hosts {
		var ip netip.Addr
		mac := ""
		for _, a := range host.Addresses {
			if a.Kind == "mac" {
				mac = a.Addr
			} else if parsed, err := netip.ParseAddr(a.Addr); err == nil {
				ip = parsed
			}
		}
		if host.Status.State == "up" && ip.IsValid() {
			hosts[ip] = mac
		}
	}
	return hosts, nil
}

// Ping implements Asker.
func (p Programs) Ping(ctx context.Context, targets []netip.Addr, o Pings) (map[netip.Addr]Replies, error) {
	var mu sync.Mutex
	replies := map[netip.Addr]Replies{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, ip := range targets {
		group.Go(func() error {
			one, err := p.ping(ctx, ip, o)
			mu.Lock()
			defer mu.Unlock()
			replies[ip] = one
			return err
		})
	}
	return replies, group.Wait()
}

func (p Programs) ping(ctx context.Context, ip netip.Addr, o Pings) (Replies, error) {
	args := []string{"-n", "-q", "-c", strconv.Itoa(o.Count), "-W", strconv.Itoa(int(o.Wait.Seconds()))}
	if o.NIC != "" {
		args = append(args, "-I", o.NIC)
	}
	if o.Size > 0 {
		args = append(args, "-M", "do", "-s", strconv.Itoa(len(o.data(nil, ip.Is6()))))
	}
	const slack = 30 * time.Second
	limit := time.Duration(o.Count)*max(o.Interval, time.Second) + o.Wait + slack
	result, err := p.Runner.Run(ctx, machine.Command{Name: "ping", Args: append(args, ip.String()), Timeout: limit})
	var failed *machine.Failed
	if err != nil && (!errors.As(err, &failed) || failed.Err != nil) {
		return Replies{}, fmt.Errorf("ping %s: %w", ip, err)
	}
	replies, ok := parsePing(string(result.Stdout))
	if !ok {
		p.Log.Debug("ping printed no result", "target", ip, "error", err)
		return Replies{Sent: o.Count}, nil
	}
	return replies, nil
}

var (
	pingCounts  = regexp.MustCompile(`(\d+) packets transmitted, (\d+) received`)
	pingAverage = regexp.MustCompile(`rtt min/avg/max/mdev = [\d.]+/([\d.]+)/`)
)

// parsePing reads the last lines of the program ping.
func parsePing(output string) (Replies, bool) {
	counts := pingCounts.FindStringSubmatch(output)
	if counts == nil {
		return Replies{}, false
	}
	var r Replies
	var err, wrong error
	r.Sent, err = strconv.Atoi(counts[1])
	r.Received, wrong = strconv.Atoi(counts[2])
	if err != nil || wrong != nil || r.Received > r.Sent {
		return Replies{}, false
	}
	if average := pingAverage.FindStringSubmatch(output); average != nil && r.Received > 0 {
		if r.Average, err = time.ParseDuration(average[1] + "ms"); err != nil {
			return Replies{}, false
		}
	}
	return r, true
}
