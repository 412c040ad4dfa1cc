//go:build linux

package probe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func TestNeighbours(t *testing.T) {
	two, six, none := netip.MustParseAddr("192.168.127.12"), netip.MustParseAddr("fd00::12"), netip.MustParseAddr("192.168.127.13")
	network := &lan{
		macs:  map[netip.Addr][]string{two: {"52:54:00:00:00:99", "52:54:00:00:00:12"}, six: {"52:54:00:00:00:12"}},
		noise: [][]byte{nil, []byte("noise"), answerTo(make([]byte, 64), 0x0806, none, []byte{1, 2, 3, 4, 5, 6})[:20]},
	}
	for name, row := range map[string]struct {
		scan   Scan
		asked  int // how often for the address with answers
		longer time.Duration
	}{
		"all answers":  {Scan{Rounds: 3, Wait: time.Second, All: true}, 3, 3 * time.Second},
		"first answer": {Scan{Rounds: 2, Wait: time.Second}, 1, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				prober := network.prober(t)
				start := time.Now()
				found := must.Get(prober.Neighbours(t.Context(), testNIC(t), []netip.Addr{two, six, none}, row.scan))(t)
				check.Same(t, map[netip.Addr][]string{two: {"52:54:00:00:00:12", "52:54:00:00:00:99"}, six: {"52:54:00:00:00:12"}}, found)
				check.Equal(t, network.asked[two], row.asked)
				if took := time.Since(start); took < row.longer || took > 8*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

func TestNeighboursOfNoEthernet(t *testing.T) {
	nic := testNIC(t)
	nic.MAC = make([]byte, 20)
	_, err := (&lan{}).prober(t).Neighbours(t.Context(), nic, addresses("192.168.127.12"), Scan{})
	check.Says(t, err, "it is no Ethernet")
}

func TestScansArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var targets []netip.Addr
		for i := range 1024 {
			targets = append(targets, netip.AddrFrom4([4]byte{192, 168, byte(120 + i/256), byte(i)}))
		}
		start := time.Now()
		found := must.Get((&lan{}).prober(t).Neighbours(t.Context(), testNIC(t), targets, Scan{Rounds: 1}))(t)
		check.Equal(t, len(found), 0)
		if took := time.Since(start); took < time.Second || took > 2*time.Second {
			t.Errorf("1024 frames took %v", took)
		}
	})
}

func TestPing(t *testing.T) {
	near, far, lossy, dead := netip.MustParseAddr("192.168.127.12"), netip.MustParseAddr("fd00::12"), netip.MustParseAddr("10.0.0.1"),
		netip.MustParseAddr("10.0.0.2")
	network := &lan{
		trips: map[netip.Addr]time.Duration{near: time.Millisecond, far: 30 * time.Millisecond, lossy: 2 * time.Second},
		lost:  map[netip.Addr][]uint16{lossy: {2, 10}},
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		o := Pings{Count: 10, Interval: time.Second, Wait: 3 * time.Second}
		replies := must.Get(network.prober(t).Ping(t.Context(), []netip.Addr{near, far, lossy, dead}, o))(t)
		check.Same(t, map[netip.Addr]Replies{
			near:  {Sent: 10, Received: 10, Average: time.Millisecond},
			far:   {Sent: 10, Received: 10, Average: 30 * time.Millisecond},
			lossy: {Sent: 10, Received: 8, Average: 2 * time.Second},
			dead:  {Sent: 10},
		}, replies)
		check.Equal(t, fmt.Sprint(replies[near].Loss(), replies[lossy].Loss(), replies[dead].Loss(), Replies{}.Loss()), "0 20 100 0")
		if took := time.Since(start); took > 22*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestPingsOfTheMTU(t *testing.T) {
	ips := addresses("192.168.127.12", "fd00::12")
	network := &lan{trips: map[netip.Addr]time.Duration{ips[0]: 1, ips[1]: 1}, mtu: 9000}
	for size, answered := range map[int]int{1: 3, 9000: 3, 9001: 0} {
		synctest.Test(t, func(t *testing.T) {
			replies := must.Get(network.prober(t).Ping(t.Context(), ips, Pings{Count: 3, Interval: time.Second, Wait: time.Second, Size: size}))(t)
			check.Equal(t, replies[ips[0]].Received, answered, size)
			check.Equal(t, replies[ips[1]].Received, answered, size)
		})
	}
}

func TestProbesEndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		prober := (&lan{}).prober(t)
		_, err := prober.Ping(ctx, addresses("10.0.0.1"), Pings{Count: 10, Interval: time.Second, Wait: time.Hour})
		check.Says(t, err, "deadline")
		_, err = prober.Neighbours(ctx, testNIC(t), addresses("10.0.0.1"), Scan{Rounds: 1, Wait: time.Hour})
		check.Says(t, err, "deadline")
	})
}

// brokenWire fails for good.
type brokenWire struct{ received int }

func (b *brokenWire) Send([]byte, netip.Addr) error { return errors.New("no route") }
func (b *brokenWire) Receive([]byte) (int, netip.Addr, error) {
	b.received++
	return 0, netip.Addr{}, errors.New("the network is down")
}
func (b *brokenWire) Close() error { return nil }

type brokenNetwork struct{ wire *brokenWire }

func (b brokenNetwork) Frames(NIC, uint16) (Wire, error) { return b.wire, nil }
func (b brokenNetwork) Echo(EchoOptions) (Wire, error)   { return b.wire, nil }

func TestNetworkIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		prober := (&lan{}).prober(t)
		wire := &brokenWire{}
		prober.Open = brokenNetwork{wire}
		ip := netip.MustParseAddr("10.0.0.1")
		replies := must.Get(prober.Ping(t.Context(), []netip.Addr{ip}, Pings{Count: 2, Interval: time.Second, Wait: time.Second}))(t)
		check.Same(t, map[netip.Addr]Replies{ip: {Sent: 2}}, replies)
		check.Equal(t, wire.received, mostErrors)
		found := must.Get(prober.Neighbours(t.Context(), testNIC(t), []netip.Addr{ip}, Scan{Rounds: 1, Wait: time.Second}))(t)
		check.Equal(t, len(found), 0)
	})
}

func TestNICSource(t *testing.T) {
	nic := testNIC(t)
	for to, want := range map[string]string{
		"192.168.127.12": "192.168.127.11", "10.0.0.1": "192.168.127.11", "fd00::1": "fd00::11", "fe80::1": "fe80::11", "2001:db8::1": "fd00::11",
	} {
		from, ok := nic.source(netip.MustParseAddr(to))
		check.Equal(t, from.String(), want, to)
		check.Equal(t, ok, true, to)
	}
	nic.Addresses = nic.Addresses[:1]
	_, ok := nic.source(netip.MustParseAddr("fd00::1"))
	check.Equal(t, ok, false)
	check.Equal(t, nic.Has(false), true)
	check.Equal(t, nic.Has(true), false)
	check.Equal(t, nic.Own(netip.MustParseAddr("192.168.127.11")), true)
	check.Equal(t, nic.Own(netip.MustParseAddr("192.168.127.12")), false)
	check.Equal(t, nic.OnLink(netip.MustParseAddr("192.168.127.12")), true)
	check.Equal(t, nic.OnLink(netip.MustParseAddr("192.168.128.12")), false)
}

func TestCarries(t *testing.T) {
	root := t.TempDir()
	for name, at := range map[string]string{
		"eth0": "pci0000:00/net/eth0", "bond0": "virtual/net/bond0", "eth0.5": "virtual/net/eth0.5", "br0": "virtual/net/br0", "lo": "virtual/net/lo",
	} {
		must.Do(t, os.MkdirAll(root+"/sys/devices/"+at, 0o755))
		must.Do(t, os.MkdirAll(root+"/sys/class/net", 0o755))
		must.Do(t, os.Symlink("../../devices/"+at, root+"/sys/class/net/"+name))
	}
	write := func(name, text string) {
		must.Do(t, os.WriteFile(root+"/sys/class/net/"+name+"/uevent", []byte(text), 0o600))
	}
	write("bond0", "DEVTYPE=bond\nINTERFACE=bond0\n")
	write("eth0.5", "DEVTYPE=vlan\nINTERFACE=eth0.5\n")
	write("br0", "DEVTYPE=bridge\nINTERFACE=br0\n")
	for name, want := range map[string]bool{"eth0": true, "bond0": true, "eth0.5": true, "br0": false, "lo": false, "hidden": true} {
		check.Equal(t, carries(hostfile.Files{Root: root}, name), want, name)
	}
}

func TestNICs(t *testing.T) {
	// sysfs of an empty folder shows no interface, so that all but lo count as physical.
	found := must.Get(NICs(hostfile.Files{Root: t.TempDir()}, (&lan{}).prober(t).Log))(t)
	for _, nic := range found {
		if nic.Name == "lo" || !nic.Has(true) && !nic.Has(false) {
			t.Errorf("found %+v", nic)
		}
	}
}

const pingOutput = `PING 192.168.127.12 (192.168.127.12) 56(84) bytes of data.

--- 192.168.127.12 ping statistics ---
10 packets transmitted, 9 received, 10% packet loss, time 9200ms
rtt min/avg/max/mdev = 0.050/0.085/0.150/0.030 ms
`

func TestParsePing(t *testing.T) {
	for output, want := range map[string]Replies{
		pingOutput: {Sent: 10, Received: 9, Average: 85 * time.Microsecond},
		"10 packets transmitted, 0 received, +10 errors, 100% packet loss, time 9200ms\n":                           {Sent: 10},
		"3 packets transmitted, 3 received, +1 errors, 0% packet loss, time 1ms\nrtt min/avg/max/mdev = 1/2/3/0 ms": {Sent: 3, Received: 3, Average: 2 * time.Millisecond},
	} {
		got, ok := parsePing(output)
		check.Equal(t, ok, true)
		check.Same(t, want, got)
	}
	for _, output := range []string{"", "ping: bad", "1 packets transmitted, 2 received", "99999999999999999999 packets transmitted, 2 received"} {
		_, ok := parsePing(output)
		check.Equal(t, ok, false, output)
	}
}

const arpingOutput = `ARPING 192.168.127.12 from 192.168.127.11 eth0
Unicast reply from 192.168.127.12 [52:54:00:00:00:12]  0.713ms
Unicast reply from 192.168.127.12 [52:54:00:00:00:AA]  0.813ms
Sent 10 probes (1 broadcast(s))
Received 11 response(s)
`

const nmapOutput = `<?xml version="1.0"?><!DOCTYPE nmaprun>
<nmaprun scanner="nmap"><host><status state="up" reason="arp-response"/><address addr="192.168.127.12" addrtype="ipv4"/>
<address addr="52:54:00:00:00:AB" addrtype="mac" vendor="QEMU"/></host>
<host><status state="down"/><address addr="192.168.127.13" addrtype="ipv4"/></host>
<host><status state="up"/><address addr="nonsense" addrtype="ipv4"/></host>
<host><status state="up" reason="localhost-response"/><address addr="192.168.127.11" addrtype="ipv4"/></host></nmaprun>`

func TestPrograms(t *testing.T) {
	recorder := &machine.Recorder{Reply: func(c machine.Command) (machine.Result, error) {
		switch {
		case c.Name == "arping":
			return machine.Result{Stdout: []byte(arpingOutput), Code: 1}, nil
		case c.Name == "nmap" && c.Args[0] == "-6":
			return machine.Result{Stdout: []byte(strings.ReplaceAll(nmapOutput, "192.168.127.12", "fd00::12"))}, nil
		case c.Name == "nmap":
			return machine.Result{Stdout: []byte(nmapOutput)}, nil
		case strings.Contains(c.String(), "10.0.0.9"):
			return machine.Result{Code: 2}, nil
		}
		return machine.Result{Stdout: []byte(pingOutput), Code: 1}, nil
	}}
	refused := &lan{refuse: unix.EPERM}
	prober := refused.prober(t)
	asker := Fallback{First: prober, Second: Programs{recorder, prober.Log}, Log: prober.Log}
	ips := addresses("192.168.127.12", "fd00::12", "192.168.127.13")

	found := must.Get(asker.Neighbours(t.Context(), testNIC(t), ips[:2], Scan{All: true}))(t)
	check.Same(t, map[netip.Addr][]string{ips[0]: {"52:54:00:00:00:12", "52:54:00:00:00:aa"}, ips[1]: {"52:54:00:00:00:ab"}}, found)
	found = must.Get(asker.Neighbours(t.Context(), testNIC(t), ips, Scan{}))(t)
	check.Same(t, map[netip.Addr][]string{ips[0]: {"52:54:00:00:00:ab"}, ips[1]: {"52:54:00:00:00:ab"}}, found)

	replies := must.Get(asker.Ping(t.Context(), addresses("192.168.127.12", "10.0.0.9"), Pings{Count: 10, Wait: 3 * time.Second, NIC: "eth0", Size: 9000}))(t)
	check.Same(t, map[netip.Addr]Replies{
		ips[0]: {Sent: 10, Received: 9, Average: 85 * time.Microsecond}, netip.MustParseAddr("10.0.0.9"): {Sent: 10},
	}, replies)
	commands := strings.Join(recorder.Commands(), "\n")
	for _, want := range []string{
		"arping -c 10 -w 5 -I eth0 192.168.127.12", "nmap -6 -sn -n -oX - -e eth0 fd00::12",
		"nmap -sn -PR -n -oX - -e eth0 192.168.127.12 192.168.127.13", "ping -n -q -c 10 -W 3 -I eth0 -M do -s 8972 192.168.127.12",
	} {
		check.Contains(t, commands, want)
	}
}

func TestProgramsAreAbsent(t *testing.T) {
	prober := (&lan{}).prober(t)
	programs := Programs{&machine.Recorder{Absent: []string{"arping", "nmap", "ping"}}, prober.Log}
	for _, all := range []bool{true, false} {
		_, err := programs.Neighbours(t.Context(), testNIC(t), addresses("192.168.127.12"), Scan{All: all})
		check.Says(t, err, "executable file not found")
	}
	_, err := programs.Ping(t.Context(), addresses("192.168.127.12"), Pings{Count: 1})
	check.Says(t, err, "executable file not found")
	garbled := Programs{&machine.Recorder{Reply: func(machine.Command) (machine.Result, error) {
		return machine.Result{Stdout: []byte("<nmaprun>")}, nil
	}}, prober.Log}
	_, err = garbled.Neighbours(t.Context(), testNIC(t), addresses("fd00::1"), Scan{})
	check.Says(t, err, "read the output of nmap")
}

func TestOtherErrorsHaveNoFallback(t *testing.T) {
	prober := (&lan{refuse: unix.ENODEV}).prober(t)
	asker := Fallback{First: prober, Second: nil, Log: prober.Log}
	_, err := asker.Neighbours(t.Context(), testNIC(t), addresses("192.168.127.12"), Scan{})
	check.Equal(t, errors.Is(err, unix.ENODEV), true)
	_, err = asker.Ping(t.Context(), addresses("192.168.127.12"), Pings{Count: 1})
	check.Equal(t, errors.Is(err, unix.ENODEV), true)
}

func FuzzOutputs(f *testing.F) {
	for _, output := range []string{pingOutput, arpingOutput, nmapOutput} {
		f.Add(output)
	}
	f.Fuzz(func(t *testing.T, output string) {
		if r, ok := parsePing(output); ok && (r.Received > r.Sent || r.Average < 0) {
			t.Errorf("read %+v", r)
		}
		for _, mac := range parseArping(output) {
			check.Equal(t, len(mac), 17)
		}
		_, _ = parseNmap([]byte(output))
	})
}

// TestSockets pings this machine itself.
func TestSockets(t *testing.T) {
	prober := (&lan{}).prober(t)
	prober.Open = Sockets{}
	ip := netip.MustParseAddr("127.0.0.1")
	for name, o := range map[string]Pings{
		"by the routes": {Count: 2, Interval: time.Millisecond, Wait: 2 * time.Second},
		"by lo, whole":  {Count: 1, Wait: 2 * time.Second, NIC: "lo", Size: 1500},
	} {
		replies, err := prober.Ping(t.Context(), []netip.Addr{ip}, o)
		if errors.Is(err, os.ErrPermission) {
			t.Skip("this machine refuses sockets for pings: ", err)
		}
		must.Do(t, err, name)
		check.Equal(t, replies[ip].Received, o.Count, name)
	}
	wire, err := Sockets{}.Frames(NIC{Name: "lo", Index: 1}, 0x0806)
	if errors.Is(err, os.ErrPermission) {
		t.Skip("this machine refuses sockets for frames: ", err)
	}
	must.Do(t, err)
	defer wire.Close()
	_, _, err = wire.Receive(make([]byte, 100))
	check.Equal(t, errors.Is(err, os.ErrDeadlineExceeded), true)
}
