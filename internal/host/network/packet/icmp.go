package packet

import (
	"encoding/binary"
	"slices"
)

const (
	echoSize      = 8
	echoRequest   = 8
	echoReply     = 0
	echoRequestV6 = 128
	echoReplyV6   = 129
)

// The sizes of the headers before the data of an echo request: IP and ICMP.
const (
	EchoHeadersIPv4 = ipv4Size + echoSize
	EchoHeadersIPv6 = ipv6Size + echoSize
)

// Echo is an ICMP echo request or its reply.
type Echo struct {
	ID, Sequence uint16
	Data         []byte
}

// Request is the message of an echo request. The kernel sets the checksum of ICMPv6.
func (e Echo) Request(ipv6 bool) []byte {
	message := make([]byte, echoSize, echoSize+len(e.Data))
	message[0] = echoRequest
	if ipv6 {
		message[0] = echoRequestV6
	}
	binary.BigEndian.PutUint16(message[4:], e.ID)
	binary.BigEndian.PutUint16(message[6:], e.Sequence)
	message = append(message, e.Data...)
	if !ipv6 {
		binary.BigEndian.PutUint16(message[2:], Checksum(message))
	}
	return message
}

// ParseEchoReply reads the message of an echo reply. ok is false for all other messages.
func ParseEchoReply(message []byte, ipv6 bool) (reply Echo, ok bool) {
	kind := byte(echoReply)
	if ipv6 {
		kind = echoReplyV6
	}
	if len(message) < echoSize || message[0] != kind || message[1] != 0 || !ipv6 && Checksum(message) != 0 {
		return Echo{}, false
	}
	return Echo{
		ID: binary.BigEndian.Uint16(message[4:]), Sequence: binary.BigEndian.Uint16(message[6:]), Data: slices.Clone(message[echoSize:]),
	}, true
}

// PayloadIPv4 is what an IPv4 datagram carries, as raw sockets give it.
func PayloadIPv4(datagram []byte) ([]byte, bool) {
	if len(datagram) < ipv4Size || datagram[0]>>4 != 4 {
		return nil, false
	}
	header := int(datagram[0]&0x0f) * 4
	if header < ipv4Size || header > len(datagram) {
		return nil, false
	}
	return datagram[header:], true
}
