package dhcp

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/host/network/packet"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func vip(t testing.TB) net.HardwareAddr {
	t.Helper()
	return must.Get(net.ParseMAC("00:1a:4a:00:00:05"))(t)
}

// answerTo makes the answer of the server 192.168.127.1 to a message.
func answerTo(message []byte, kind byte, address string, options string) []byte {
	answer := append([]byte{}, message[:headerSize]...)
	answer[0] = bootReply
	copy(answer[16:20], netip.MustParseAddr(address).AsSlice())
	answer = append(append(answer, cookie()...), optionType, 1, kind)
	more, _ := hex.DecodeString(strings.ReplaceAll(options, " ", ""))
	return append(append(answer, more...), optionEnd)
}

const (
	serverOption = "3604 c0a87f01"
	usual        = serverOption + "3304 00000e10 0104 ffffff00 0304 c0a87f01 0608 c0a87f01 08080808 3a04 00000384 00 3b04 00000a8c"
)

// pool is a server in memory.
type pool struct {
	answers func(question []byte, kind byte) [][]byte
	err     error // of the wire
	inbox   [][]byte
	sent    []string
}

func (p *pool) Send(frame []byte, _ netip.Addr) error {
	if p.err != nil {
		return p.err
	}
	data, _, _ := packet.ParseUDP(frame, serverPort)
	asked := options(data[headerSize+4:])
	p.sent = append(p.sent, hex.EncodeToString(asked[optionType])+" "+hex.EncodeToString(asked[optionRequested])+" "+string(asked[optionHostname]))
	for _, answer := range p.answers(data, asked[optionType][0]) {
		p.inbox = append(p.inbox, packet.UDPBroadcast(make([]byte, macSize), serverPort, clientPort, answer))
	}
	return nil
}

func (p *pool) Receive(buffer []byte) (int, netip.Addr, error) {
	if len(p.inbox) == 0 {
		time.Sleep(100 * time.Millisecond)
		return 0, netip.Addr{}, os.ErrDeadlineExceeded
	}
	frame := p.inbox[0]
	p.inbox = p.inbox[1:]
	return copy(buffer, frame), netip.Addr{}, nil
}

func (p *pool) Close() error { return nil }

func (p *pool) client(t *testing.T) Client {
	return Client{Wire: p, Clock: clock.Real(), MAC: vip(t), Hostname: "00-1a-4a-00-00-05-api"}
}

func TestLease(t *testing.T) {
	lost := 1
	server := &pool{answers: func(question []byte, kind byte) [][]byte {
		if lost--; lost >= 0 {
			return nil
		}
		other := answerTo(question, offer, "192.168.127.99", usual)
		other[4]++ // of another client
		answer := byte(offer)
		if kind == requestType {
			answer = ack
		}
		return [][]byte{nil, other, answerTo(question, answer, "192.168.127.99", serverOption), answerTo(question, answer, "192.168.127.5", usual)}
	}}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now() // midnight of 2000-01-01, a Saturday
		lease := must.Get(server.client(t).Lease(t.Context(), netip.MustParseAddr("192.168.127.5")))(t)
		check.Slice(t, server.sent, []string{
			"01 c0a87f05 00-1a-4a-00-00-05-api", "01 c0a87f05 00-1a-4a-00-00-05-api", "03 c0a87f05 00-1a-4a-00-00-05-api",
		})
		check.Equal(t, time.Since(start), firstWait)
		check.Equal(t, lease.Text("api"), `lease {
  interface "api";
  fixed-address 192.168.127.5;
  option subnet-mask 255.255.255.0;
  option routers 192.168.127.1;
  option dhcp-lease-time 3600;
  option dhcp-message-type 5;
  option domain-name-servers 192.168.127.1,8.8.8.8;
  option dhcp-server-identifier 192.168.127.1;
  renew 6 2000/01/01 00:15:02;
  rebind 6 2000/01/01 00:45:02;
  expire 6 2000/01/01 01:00:02;
}`)
		check.Equal(t, AddressIn(lease.Text("api")).String(), "192.168.127.5")
	})
}

func TestLeaseOfLittle(t *testing.T) {
	r := reply{address: netip.MustParseAddr("192.168.127.5"), options: map[byte][]byte{
		optionLeaseTime: {0, 0, 0, 80}, optionServer: {192, 168, 127, 1}, optionMask: {255}, optionRouters: {1, 2, 3},
	}}
	now := time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC)
	check.Equal(t, leaseOf(r, now).Text("x"), `lease {
  interface "x";
  fixed-address 192.168.127.5;
  option dhcp-lease-time 80;
  option dhcp-message-type 5;
  option dhcp-server-identifier 192.168.127.1;
  renew 1 2026/11/30 23:59:40;
  rebind 2 2026/12/01 00:00:10;
  expire 2 2026/12/01 00:00:20;
}`)
}

func TestLeaseBeginsAgain(t *testing.T) {
	refusals := 1
	server := &pool{answers: func(question []byte, kind byte) [][]byte {
		switch {
		case kind == discover:
			return [][]byte{answerTo(question, offer, "192.168.127.6", usual)}
		case refusals > 0:
			refusals--
			return [][]byte{answerTo(question, nak, "0.0.0.0", serverOption)}
		}
		return [][]byte{answerTo(question, ack, "192.168.127.6", usual)}
	}}
	synctest.Test(t, func(t *testing.T) {
		lease := must.Get(server.client(t).Lease(t.Context(), netip.MustParseAddr("10.0.0.1")))(t)
		check.Equal(t, lease.Address.String(), "192.168.127.6")
		check.Equal(t, strings.Join(server.sent, ","), strings.ReplaceAll("01 0a000001 N,03 c0a87f06 N,01  N,03 c0a87f06 N", "N", "00-1a-4a-00-00-05-api"))
	})
}

func TestLeaseEnds(t *testing.T) {
	for reason, server := range map[string]*pool{
		"wait for a DHCP server to offer an address: context deadline exceeded": {answers: func([]byte, byte) [][]byte { return nil }},
		"wait for a DHCP server to offer an address: send a message":            {err: errors.New("no link")},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 28*time.Second)
			defer cancel()
			_, err := server.client(t).Lease(ctx, netip.Addr{})
			check.Says(t, err, reason)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 28*time.Second)
		defer cancel()
		server := &pool{answers: func(question []byte, kind byte) [][]byte {
			if kind == requestType {
				cancel()
				return nil
			}
			return [][]byte{answerTo(question, offer, "192.168.127.6", usual)}
		}}
		_, err := server.client(t).Lease(ctx, netip.Addr{})
		check.Says(t, err, "wait for the DHCP server 192.168.127.1 to give 192.168.127.6: context canceled")
	})
}

// deaf is a wire that only sends.
type deaf struct{ pool }

func (d *deaf) Receive([]byte) (int, netip.Addr, error) {
	return 0, netip.Addr{}, errors.New("the link is down")
}

func TestLeaseWithoutLink(t *testing.T) {
	client := (&pool{}).client(t)
	client.Wire = &deaf{pool{answers: func([]byte, byte) [][]byte { return nil }}}
	_, err := client.Lease(t.Context(), netip.Addr{})
	check.Says(t, err, "the link is down")
}

func TestParse(t *testing.T) {
	message := question{kind: discover, id: 7, mac: vip(t), hostname: "x"}.encode()
	check.Equal(t, len(message), smallest)
	check.Equal(t, binary.BigEndian.Uint16(message[10:]), broadcastFlag)
	good := answerTo(message, offer, "192.168.127.5", usual)
	must.Get(parse(good, 7, vip(t)))(t)
	for name, change := range map[string]func([]byte) []byte{
		"a question": func([]byte) []byte { return message }, "cut": func(m []byte) []byte { return m[:headerSize] },
		"another client":     func(m []byte) []byte { m[28]++; return m },
		"another identifier": func(m []byte) []byte { m[4]++; return m }, "no cookie": func(m []byte) []byte { m[headerSize]++; return m },
	} {
		_, err := parse(change(append([]byte{}, good...)), 7, vip(t))
		check.Equal(t, err, errOther, name)
	}
	check.Equal(t, len(options([]byte{1, 4, 1, 2})), 0, "cut")
	check.Equal(t, len(options([]byte{1})), 0, "cut")
	check.Equal(t, AddressIn("").IsValid(), false)
	check.Equal(t, AddressIn("fixed-address 1.2.3.400;").IsValid(), false)
	check.Equal(t, AddressIn("lease {\n  fixed-address 1.2.3.4;\n}\nlease { fixed-address  1.2.3.5 ; }").String(), "1.2.3.5")
}

func FuzzParse(f *testing.F) {
	message := question{kind: discover, id: 7, mac: vip(f), hostname: "x"}.encode()
	f.Add(answerTo(message, ack, "192.168.127.5", usual), "fixed-address 1.2.3.4;")
	f.Fuzz(func(t *testing.T, message []byte, leases string) {
		if r, err := parse(message, 7, vip(t)); err == nil && complete(r) {
			text := leaseOf(r, time.Unix(0, 0)).Text("api")
			check.Equal(t, AddressIn(text), r.address)
		}
		if ip := AddressIn(leases); ip.IsValid() && !ip.Is4() {
			t.Errorf("read %v", ip)
		}
	})
}
