//go:build linux

package probe

import (
	"encoding/binary"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/host/network/packet"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// lan is a network in memory.
type lan struct {
	mu     sync.Mutex
	macs   map[netip.Addr][]string      // who answers for an address
	trips  map[netip.Addr]time.Duration // how long a ping to it takes
	lost   map[netip.Addr][]uint16      // the numbers of pings that it does not answer
	mtu    int                          // of the path; longer packets get no answer. 0 for no limit
	refuse error                        // what opening a socket ends with
	asked  map[netip.Addr]int
	noise  [][]byte // frames that come with each answer
}

func (l *lan) prober(t *testing.T) Prober {
	l.asked = map[netip.Addr]int{}
	return Prober{Open: l, Clock: clock.Real(), Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
}

type cable struct {
	inbox chan delivery
	reply func(data []byte, to netip.Addr) []delivery
	done  chan struct{}
}

type delivery struct {
	data []byte
	from netip.Addr
}

func (c *cable) Send(data []byte, to netip.Addr) error {
	for _, d := range c.reply(data, to) {
		c.inbox <- d
	}
	return nil
}

func (c *cable) Receive(buffer []byte) (int, netip.Addr, error) {
	select {
	case d := <-c.inbox:
		return copy(buffer, d.data), d.from, nil
	case <-time.After(100 * time.Millisecond):
		return 0, netip.Addr{}, os.ErrDeadlineExceeded
	}
}

func (c *cable) Close() error {
	close(c.done)
	return nil
}

func (l *lan) Frames(_ NIC, kind uint16) (Wire, error) {
	if l.refuse != nil {
		return nil, l.refuse
	}
	return &cable{inbox: make(chan delivery, 10000), done: make(chan struct{}), reply: func(frame []byte, to netip.Addr) []delivery {
		l.mu.Lock()
		l.asked[to]++
		l.mu.Unlock()
		var all []delivery
		for _, noise := range l.noise {
			all = append(all, delivery{data: noise})
		}
		for _, mac := range l.macs[to] {
			hardware, _ := net.ParseMAC(mac)
			all = append(all, delivery{data: answerTo(frame, kind, to, hardware)})
		}
		return all
	}}, nil
}

// answerTo makes the frame that answers a question.
func answerTo(question []byte, kind uint16, ip netip.Addr, mac net.HardwareAddr) []byte {
	asker := net.HardwareAddr(question[6:12])
	if kind == packet.TypeARP {
		arp := slices.Clone(question[14:])
		arp[7] = 2
		copy(arp[18:24], asker)
		copy(arp[24:28], question[28:32])
		copy(arp[8:14], mac)
		copy(arp[14:18], ip.AsSlice())
		return packet.Ethernet(asker, mac, kind, arp)
	}
	message := append([]byte{136, 0, 0, 0, 0x60, 0, 0, 0}, ip.AsSlice()...)
	message = append(append(message, 2, 1), mac...)
	source, destination := ip.AsSlice(), question[22:38]
	sum := packet.Checksum(source, destination, binary.BigEndian.AppendUint32(nil, uint32(len(message))), []byte{0, 0, 0, 58}, message)
	binary.BigEndian.PutUint16(message[2:], sum)
	datagram := []byte{0x60, 0, 0, 0, 0, byte(len(message)), 58, 255}
	datagram = append(append(append(datagram, source...), destination...), message...)
	return packet.Ethernet(asker, mac, kind, datagram)
}

func (l *lan) Echo(o EchoOptions) (Wire, error) {
	if l.refuse != nil {
		return nil, l.refuse
	}
	c := &cable{inbox: make(chan delivery, 10000), done: make(chan struct{})}
	c.reply = func(request []byte, to netip.Addr) []delivery {
		number := binary.BigEndian.Uint16(request[6:])
		trip, answers := l.trips[to]
		headers := packet.EchoHeadersIPv4
		if o.IPv6 {
			headers = packet.EchoHeadersIPv6
		}
		tooLong := l.mtu > 0 && len(request)-8+headers > l.mtu
		if !answers || slices.Contains(l.lost[to], number) || tooLong {
			return nil
		}
		reply := packet.Echo{ID: binary.BigEndian.Uint16(request[4:]), Sequence: number, Data: slices.Clone(request[8:])}.Request(o.IPv6)
		reply[0] = 129
		if !o.IPv6 {
			reply[0], reply[2], reply[3] = 0, 0, 0
			binary.BigEndian.PutUint16(reply[2:], packet.Checksum(reply))
		}
		stranger := packet.Echo{ID: 1, Sequence: number, Data: []byte("of another program")}.Request(o.IPv6)
		stranger[0] = reply[0]
		go func() {
			time.Sleep(trip)
			for _, d := range []delivery{{stranger, to}, {reply, to}, {reply, to}} { // one of another program, and a duplicate
				select {
				case c.inbox <- d:
				case <-c.done:
				}
			}
		}()
		return nil
	}
	return c, nil
}

func testNIC(t testing.TB) NIC {
	return NIC{
		Name: "eth0", Index: 2, MTU: 1500, MAC: must.Get(net.ParseMAC("52:54:00:00:00:11"))(t),
		Addresses: []netip.Prefix{
			netip.MustParsePrefix("192.168.127.11/24"), netip.MustParsePrefix("fe80::11/64"), netip.MustParsePrefix("fd00::11/64"),
		},
	}
}

func addresses(texts ...string) []netip.Addr {
	var all []netip.Addr
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}
