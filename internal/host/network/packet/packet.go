// Package packet makes and reads the packets that the checks of the network send: ARP, neighbour discovery of IPv6 and
// ICMP echo. It opens no socket.
package packet

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
)

// The types of Ethernet frames.
const (
	TypeIPv4 = 0x0800
	TypeARP  = 0x0806
	TypeIPv6 = 0x86dd
)

const (
	macSize      = 6
	ethernetSize = 14
	ipv4Size     = 20 // without options
	ipv6Size     = 40
)

// Broadcast is the address of all machines of an Ethernet.
func Broadcast() net.HardwareAddr { return net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff} }

// Ethernet makes a frame.
func Ethernet(to, from net.HardwareAddr, kind uint16, payload []byte) []byte {
	frame := make([]byte, 0, ethernetSize+len(payload))
	frame = append(frame, to...)
	frame = append(frame, from...)
	frame = binary.BigEndian.AppendUint16(frame, kind)
	return append(frame, payload...)
}

// payloadOf is what a frame of one type carries, and the address that sent it.
func payloadOf(frame []byte, kind uint16) (payload []byte, from net.HardwareAddr, ok bool) {
	if len(frame) < ethernetSize || binary.BigEndian.Uint16(frame[2*macSize:]) != kind {
		return nil, nil, false
	}
	return frame[ethernetSize:], slices.Clone(frame[macSize : 2*macSize]), true
}

// Neighbour is a machine that answered on the link.
type Neighbour struct {
	IP  netip.Addr
	MAC net.HardwareAddr
}

// Checksum is the Internet checksum of RFC 1071.
func Checksum(parts ...[]byte) uint16 {
	var sum uint32
	for _, part := range parts {
		for len(part) > 1 {
			sum += uint32(binary.BigEndian.Uint16(part))
			part = part[2:]
		}
		if len(part) == 1 {
			sum += uint32(part[0]) << 8
		}
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}
