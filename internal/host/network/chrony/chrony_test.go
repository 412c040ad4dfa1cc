package chrony

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	return must.Get(hex.DecodeString(strings.Join(strings.Fields(text), "")))(t)
}

// TestAddServer compares with what chronyc 4.3 sends for "add server 10.9.9.2 iburst". The last number was reserved then;
// later versions take it for maxunreach.
func TestAddServer(t *testing.T) {
	const chronyc = "06010000 0040 0000 abb65ece 00000000 00000000 00000001 31302e392e392e32 NAME 0000007b 00000006 0000000a 00000064 00000000" +
		"00000008 00000000 00000004 ffffffff ffffffff 00000000 0000116c 06c00000 00000000 0aa00000 00000000 04800000 00000000" +
		"00000005 00000000 00000000 00000000 000186a0"
	want := unhex(t, strings.Replace(chronyc, "NAME", strings.Repeat("00", nameSize-8), 1))
	got := request(commandAddSource, 0, 0xabb65ece, must.Get(addServer("10.9.9.2"))(t), 0)
	check.Equal(t, hex.EncodeToString(got), hex.EncodeToString(want))
	_, err := addServer(strings.Repeat("a", nameSize))
	check.Says(t, err, "at most 255 bytes")
}

func TestRequestsAreAsLongAsTheirReplies(t *testing.T) {
	check.Equal(t, len(request(commandSources, 0, 1, nil, sourcesSize)), 32)
	check.Equal(t, len(request(commandSource, 0, 1, make([]byte, 4), sourceSize)), 76)
}

// daemon answers as chronyd does.
type daemon struct {
	sources []string // the data of each, in hex
	status  uint16   // of all replies
	added   chan string
	version byte
	drop    int // how many requests get no answer
	kind    uint16
	count   uint32 // of sources, if it is not that of sources
	cut     int    // bytes at the end of replies
}

func (d *daemon) reply(t testing.TB, question []byte) []byte {
	command := binary.BigEndian.Uint16(question[4:])
	var data []byte
	kind := uint16(replyNothing)
	switch command {
	case commandSources:
		kind, data = replySources, binary.BigEndian.AppendUint32(nil, max(d.count, uint32(len(d.sources))))
	case commandSource:
		kind, data = replySource, unhex(t, d.sources[binary.BigEndian.Uint32(question[requestHeader:])])
	case commandAddSource:
		name, _, _ := strings.Cut(string(question[requestHeader+4:]), "\x00")
		d.added <- name
	}
	packet := []byte{version + d.version, packetReply, 0, 0}
	packet = binary.BigEndian.AppendUint16(packet, command)
	packet = binary.BigEndian.AppendUint16(packet, kind+d.kind)
	packet = binary.BigEndian.AppendUint16(packet, d.status)
	packet = append(packet, make([]byte, 6)...)
	packet = append(packet, question[8:12]...)
	packet = append(packet, make([]byte, 8)...)
	packet = append(packet, data...)
	return packet[:len(packet)-d.cut]
}

func (d *daemon) client(t *testing.T) Client {
	socket := must.Get((&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = socket.Close() })
	d.added = make(chan string, 10)
	go func() {
		buffer := make([]byte, 1024)
		for {
			n, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			if d.drop--; d.drop >= 0 {
				continue
			}
			for _, packet := range [][]byte{[]byte("noise"), d.reply(t, buffer[:n])} {
				_, _ = socket.WriteTo(packet, from)
			}
		}
	}()
	return Client{Dials: []func(context.Context) (net.Conn, error){dialer(socket.LocalAddr().String())}, Clock: clock.Real()}
}

func dialer(address string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "udp", address) }
}

// Replies of chronyd 4.3: an IPv4 server that it follows, one that has no address yet, an IPv6 server, and a reference clock.
func recorded() []string {
	rest := "00000000 00000000 00000000 00000000"
	return []string{
		"0a090901 000000000000000000000000 0001 0000 0006 0003 0000 0000 0000 0003" + rest,
		"00000001 000000000000000000000000 0003 0000 0006 0000 0001 0000 0000 0000" + rest,
		"fd000000000000000000000000000001 0002 0000 0006 0003 0004 0000 0000 0003" + rest,
		"50505300 000000000000000000000000 0000 0000 0004 0000 0000 0002 0000 0000" + rest,
	}
}

func TestSources(t *testing.T) {
	want := []Source{
		{netip.MustParseAddr("10.9.9.1"), Selected, true}, {netip.Addr{}, Unusable, true}, {netip.MustParseAddr("fd00::1"), Combined, true},
		{netip.Addr{}, Selected, false},
	}
	check.Slice(t, must.Get((&daemon{sources: recorded()}).client(t).Sources(t.Context()))(t), want)
	t.Run("after a lost packet", func(t *testing.T) {
		check.Slice(t, must.Get((&daemon{sources: recorded(), drop: 1}).client(t).Sources(t.Context()))(t), want)
	})
}

func TestSourcesFail(t *testing.T) {
	for reason, d := range map[string]*daemon{
		"speaks version 7 of its protocol":      {sources: recorded(), version: 1},
		"does not allow this command":           {status: 2},
		"status 99":                             {status: 99},
		"a reply of type 4, and not 2":          {kind: 2},
		"has 4294967295 sources":                {count: 0xffffffff},
		"answers with 31 bytes, and 32 are the": {cut: 1},
	} {
		_, err := d.client(t).Sources(t.Context())
		check.Says(t, err, reason, reason)
	}
}

func TestAdd(t *testing.T) {
	d := &daemon{}
	must.Do(t, d.client(t).Add(t.Context(), "ntp.example.com"))
	check.Equal(t, <-d.added, "ntp.example.com")
	must.Do(t, (&daemon{status: uint16(alreadyKnown)}).client(t).Add(t.Context(), "ntp.example.com"))
	check.Says(t, (&daemon{status: 12}).client(t).Add(t.Context(), "ntp.example.com"), "too many sources")
	check.Says(t, d.client(t).Add(t.Context(), strings.Repeat("a", 300)), "at most 255 bytes")
}

func TestSecondWay(t *testing.T) {
	client := (&daemon{sources: recorded()}).client(t)
	refused := func(context.Context) (net.Conn, error) { return nil, errors.New("no socket") }
	client.Dials = append([]func(context.Context) (net.Conn, error){refused}, client.Dials...)
	check.Equal(t, len(must.Get(client.Sources(t.Context()))(t)), 4)
	client.Dials = client.Dials[:1]
	_, err := client.Sources(t.Context())
	check.Equal(t, fmt.Sprint(err), "ask chronyd: no socket")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = (&daemon{}).client(t).Sources(ctx)
	check.Says(t, err, "canceled")
}

func FuzzReply(f *testing.F) {
	d := &daemon{sources: recorded()}
	question := request(commandSource, 0, 7, make([]byte, 4), sourceSize)
	f.Add(d.reply(f, question))
	f.Fuzz(func(t *testing.T, packet []byte) {
		data, err := parseReply(packet, commandSource, 7, replySource, sourceSize)
		if err == nil {
			parseSource(data)
		}
	})
}
