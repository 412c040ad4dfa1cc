package packet

import (
	"encoding/binary"
	"net"
	"net/netip"
)

const (
	protocolUDP = 17
	udpSize     = 8
	timeToLive  = 64
)

// UDPBroadcast is the frame of a datagram to all machines of a link, from a machine without an address.
func UDPBroadcast(mac net.HardwareAddr, from, to uint16, data []byte) []byte {
	source, destination := []byte{0, 0, 0, 0}, []byte{255, 255, 255, 255}
	udp := binary.BigEndian.AppendUint16(nil, from)
	udp = binary.BigEndian.AppendUint16(udp, to)
	udp = binary.BigEndian.AppendUint16(udp, uint16(udpSize+len(data)))
	udp = append(udp, 0, 0)
	udp = append(udp, data...)
	binary.BigEndian.PutUint16(udp[6:], checksumUDP(source, destination, udp))

	ip := []byte{0x45, 0}
	ip = binary.BigEndian.AppendUint16(ip, uint16(ipv4Size+len(udp)))
	ip = append(ip, 0, 0, 0, 0, timeToLive, protocolUDP, 0, 0)
	ip = append(ip, source...)
	ip = append(ip, destination...)
	binary.BigEndian.PutUint16(ip[10:], Checksum(ip))
	return Ethernet(Broadcast(), mac, TypeIPv4, append(ip, udp...))
}

func checksumUDP(source, destination, udp []byte) uint16 {
	sum := Checksum(source, destination, []byte{0, protocolUDP, byte(len(udp) >> 8), byte(len(udp))}, udp)
	if sum == 0 {
		return 0xffff // zero says that there is no checksum
	}
	return sum
}

// ParseUDP reads a frame with a datagram to a port. ok is false for all other frames, and for fragments.
func ParseUDP(frame []byte, to uint16) (data []byte, from netip.AddrPort, ok bool) {
	ip, _, ok := payloadOf(frame, TypeIPv4)
	if !ok {
		return nil, from, false
	}
	udp, ok := PayloadIPv4(ip)
	const fragment = 0x3fff // more of them, or not the first
	if !ok || ip[9] != protocolUDP || binary.BigEndian.Uint16(ip[6:])&fragment != 0 || len(udp) < udpSize {
		return nil, from, false
	}
	length := int(binary.BigEndian.Uint16(udp[4:]))
	if binary.BigEndian.Uint16(udp[2:]) != to || length < udpSize || length > len(udp) {
		return nil, from, false
	}
	source, _ := netip.AddrFromSlice(ip[12:16])
	return udp[udpSize:length], netip.AddrPortFrom(source, binary.BigEndian.Uint16(udp)), true
}
