package packet

import (
	"encoding/hex"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	return must.Get(hex.DecodeString(strings.Join(strings.Fields(text), "")))(t)
}

func TestARPRequest(t *testing.T) {
	ours := must.Get(net.ParseMAC("52:54:00:00:00:11"))(t)
	for name, row := range map[string]struct{ from, frame string }{
		"question": {"192.168.127.11", "ffffffffffff 525400000011 0806 0001 0800 06 04 0001 525400000011 c0a87f0b 000000000000 c0a87f0c"},
		"probe":    {"", "ffffffffffff 525400000011 0806 0001 0800 06 04 0001 525400000011 00000000 000000000000 c0a87f0c"},
	} {
		var from netip.Addr
		if row.from != "" {
			from = netip.MustParseAddr(row.from)
		}
		check.Equal(t, hex.EncodeToString(ARPRequest(ours, from, netip.MustParseAddr("192.168.127.12"))),
			hex.EncodeToString(unhex(t, row.frame)), name)
	}
}

const arpAnswer = "525400000011 525400000012 0806 0001 0800 06 04 0002 525400000012 c0a87f0c 525400000011 c0a87f0b"

func TestParseARPReply(t *testing.T) {
	for name, row := range map[string]struct {
		frame string
		want  string
	}{
		"answer":          {arpAnswer, "192.168.127.12 52:54:00:00:00:12"},
		"answer, padded":  {arpAnswer + strings.Repeat("00", 18), "192.168.127.12 52:54:00:00:00:12"},
		"request":         {strings.Replace(arpAnswer, "04 0002", "04 0001", 1), ""},
		"cut":             {arpAnswer[:len(arpAnswer)-2], ""},
		"other hardware":  {strings.Replace(arpAnswer, "0806 0001", "0806 0020", 1), ""},
		"other addresses": {strings.Replace(arpAnswer, "06 04", "06 10", 1), ""},
		"other type":      {strings.Replace(arpAnswer, "0806", "0800", 1), ""},
		"no frame":        {"5254", ""},
	} {
		answer, ok := ParseARPReply(unhex(t, row.frame))
		check.Equal(t, ok, row.want != "", name)
		if ok {
			check.Equal(t, answer.IP.String()+" "+answer.MAC.String(), row.want, name)
		}
	}
}

// The solicitation that Linux sends for this address from these addresses.
const question = "3333ff000012 525400000011 86dd 60000000 0020 3a ff fd000000000000000000000000000011 ff0200000000000000000001ff000012" +
	"8700 SUM0 00000000 fd000000000000000000000000000012 0101 525400000011"

func TestSolicitation(t *testing.T) {
	ours := must.Get(net.ParseMAC("52:54:00:00:00:11"))(t)
	frame := Solicitation(ours, netip.MustParseAddr("fd00::11"), netip.MustParseAddr("fd00::12"))
	datagram := frame[ethernetSize:]
	check.Equal(t, checksumICMPv6(datagram[8:24], datagram[24:40], datagram[ipv6Size:]), 0, "the checksum of the whole")
	sum := hex.EncodeToString(datagram[ipv6Size+2 : ipv6Size+4])
	check.Equal(t, hex.EncodeToString(frame), hex.EncodeToString(unhex(t, strings.Replace(question, "SUM0", sum, 1))))
	_, answered := ParseAdvertisement(frame)
	check.Equal(t, answered, false, "a question is no answer")
}

// advert makes an advertisement with a right checksum.
func advert(t testing.TB, limit byte, message string) []byte {
	t.Helper()
	body := unhex(t, message)
	datagram := unhex(t, "60000000 0000 3a 00 fd000000000000000000000000000012 fd000000000000000000000000000011")
	datagram[5], datagram[7] = byte(len(body)), limit
	if len(body) > 3 {
		sum := checksumICMPv6(datagram[8:24], datagram[24:40], body)
		body[2], body[3] = byte(sum>>8), byte(sum)
	}
	from := net.HardwareAddr{0x52, 0x54, 0, 0, 0, 0x12}
	return Ethernet(net.HardwareAddr{0x52, 0x54, 0, 0, 0, 0x11}, from, TypeIPv6, append(datagram, body...))
}

func TestParseAdvertisement(t *testing.T) {
	const bare = "8800 0000 60000000 fd000000000000000000000000000012"
	wrong := advert(t, 255, bare)
	wrong[len(wrong)-1] ^= 1
	for name, row := range map[string]struct {
		frame []byte
		want  string
	}{
		"with the address":     {advert(t, 255, bare+"0201 525400000099"), "fd00::12 52:54:00:00:00:99"},
		"another option first": {advert(t, 255, bare+"0e01 000000000000 0201 525400000099"), "fd00::12 52:54:00:00:00:99"},
		"without the address":  {advert(t, 255, bare), "fd00::12 52:54:00:00:00:12"},
		"an option of size 0":  {advert(t, 255, bare+"0200 525400000099"), "fd00::12 52:54:00:00:00:12"},
		"an option too long":   {advert(t, 255, bare+"0204 525400000099"), "fd00::12 52:54:00:00:00:12"},
		"through a router":     {advert(t, 254, bare), ""},
		"a solicitation":       {advert(t, 255, "8700 0000 00000000 fd000000000000000000000000000012"), ""},
		"cut":                  {advert(t, 255, "8800 0000 60000000 fd00"), ""},
		"wrong checksum":       {wrong, ""},
		"empty":                {nil, ""},
	} {
		answer, ok := ParseAdvertisement(row.frame)
		check.Equal(t, ok, row.want != "", name)
		if ok {
			check.Equal(t, answer.IP.String()+" "+answer.MAC.String(), row.want, name)
		}
	}
}

func TestEcho(t *testing.T) {
	echo := Echo{ID: 0x1234, Sequence: 7, Data: []byte("odd")}
	request := echo.Request(false)
	check.Equal(t, hex.EncodeToString(request), "08001260123400076f6464", "IPv4")
	check.Equal(t, hex.EncodeToString(echo.Request(true)), "80000000123400076f6464", "IPv6: the kernel sums")
	check.Equal(t, Checksum(request), 0)

	request[0], request[2], request[3] = echoReply, 0, 0
	sum := Checksum(request)
	request[2], request[3] = byte(sum>>8), byte(sum)
	reply, ok := ParseEchoReply(request, false)
	check.Equal(t, ok, true)
	check.Same(t, echo, reply)
	reply, ok = ParseEchoReply(unhex(t, "8100 beef 1234 0007 6f6464"), true)
	check.Equal(t, ok, true)
	check.Same(t, echo, reply)
	for name, message := range map[string]string{"request": "0800e5c7 1234 0007", "cut": "000000", "wrong checksum": "00000001 1234 0007"} {
		_, ok := ParseEchoReply(unhex(t, message), false)
		check.Equal(t, ok, false, name)
	}
}

func TestPayloadIPv4(t *testing.T) {
	header := "45000000 00000000 40010000 7f000001 7f000001"
	for name, row := range map[string]struct {
		datagram, want string
		ok             bool
	}{
		"plain":           {header + "0102", "0102", true},
		"with an option":  {"46" + header[2:] + "01000000 0102", "0102", true},
		"nothing in it":   {header, "", true},
		"header too long": {"4f" + header[2:], "", false},
		"header too short": {
			"44" + header[2:], "", false,
		},
		"IPv6": {"65" + header[2:], "", false},
		"cut":  {"4500", "", false},
	} {
		payload, ok := PayloadIPv4(unhex(t, row.datagram))
		check.Equal(t, ok, row.ok, name)
		check.Equal(t, hex.EncodeToString(payload), row.want, name)
	}
}

func TestUDP(t *testing.T) {
	ours := must.Get(net.ParseMAC("52:54:00:00:00:11"))(t)
	frame := UDPBroadcast(ours, 68, 67, []byte("odd"))
	check.Equal(t, hex.EncodeToString(frame[:ethernetSize]), "ffffffffffff5254000000110800")
	ip := frame[ethernetSize:]
	check.Equal(t, Checksum(ip[:ipv4Size]), 0)
	check.Equal(t, checksumUDP(ip[12:16], ip[16:20], ip[ipv4Size:]), 0xffff, "the sum of a right datagram is zero")
	data, from, ok := ParseUDP(append(frame, 0, 0), 67)
	check.Equal(t, ok, true)
	check.Equal(t, string(data), "odd")
	check.Equal(t, from.String(), "0.0.0.0:68")
	for name, change := range map[string]func([]byte){
		"another port": func(f []byte) { f[ethernetSize+ipv4Size+3]++ }, "fragment": func(f []byte) { f[ethernetSize+7] = 1 },
		"TCP": func(f []byte) { f[ethernetSize+9] = 6 }, "too long": func(f []byte) { f[ethernetSize+ipv4Size+5] += 9 },
		"too short": func(f []byte) { f[ethernetSize+ipv4Size+5] = 7 }, "IPv6": func(f []byte) { f[12] = 0x86 },
	} {
		wrong := UDPBroadcast(ours, 68, 67, []byte("odd"))
		change(wrong)
		_, _, ok := ParseUDP(wrong, 67)
		check.Equal(t, ok, false, name)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(unhex(f, arpAnswer))
	f.Add(UDPBroadcast(make([]byte, macSize), 67, 68, []byte("data")))
	f.Add(advert(f, 255, "8800 0000 60000000 fd000000000000000000000000000012 0201 525400000099"))
	f.Add(unhex(f, "45000000 00000000 40010000 7f000001 7f000001 0000 e5c7 1234 0007"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, read := range []func([]byte) (Neighbour, bool){ParseARPReply, ParseAdvertisement} {
			if answer, ok := read(data); ok && (!answer.IP.IsValid() || len(answer.MAC) != macSize) {
				t.Errorf("read %v from %x", answer, data)
			}
		}
		if payload, ok := PayloadIPv4(data); ok {
			ParseEchoReply(payload, false)
		}
		ParseEchoReply(data, true)
		ParseUDP(data, 68)
	})
}
