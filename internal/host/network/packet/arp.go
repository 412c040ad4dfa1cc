package packet

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
)

// An ARP packet of RFC 826 for IPv4 over Ethernet.
const (
	arpSize      = 28
	arpEthernet  = 1
	arpRequest   = 1
	arpReply     = 2
	arpSenderMAC = 8
	arpSenderIP  = 14
)

// ARPRequest is the frame that asks all machines which of them has an IPv4 address. A zero from makes it a probe of
// RFC 5227, which changes no table of neighbours.
func ARPRequest(mac net.HardwareAddr, from, to netip.Addr) []byte {
	sender := [4]byte{}
	if from.Is4() {
		sender = from.As4()
	}
	target := to.As4()
	request := binary.BigEndian.AppendUint16(nil, arpEthernet)
	request = binary.BigEndian.AppendUint16(request, TypeIPv4)
	request = append(request, macSize, byte(len(target)))
	request = binary.BigEndian.AppendUint16(request, arpRequest)
	request = append(request, mac...)
	request = append(request, sender[:]...)
	request = append(request, make([]byte, macSize)...)
	request = append(request, target[:]...)
	return Ethernet(Broadcast(), mac, TypeARP, request)
}

// ParseARPReply reads a frame that answers an ARPRequest. ok is false for all other frames.
func ParseARPReply(frame []byte) (answer Neighbour, ok bool) {
	arp, _, ok := payloadOf(frame, TypeARP)
	if !ok || len(arp) < arpSize || binary.BigEndian.Uint16(arp) != arpEthernet || binary.BigEndian.Uint16(arp[2:]) != TypeIPv4 ||
		arp[4] != macSize || arp[5] != net.IPv4len || binary.BigEndian.Uint16(arp[6:]) != arpReply {
		return Neighbour{}, false
	}
	ip, _ := netip.AddrFromSlice(arp[arpSenderIP : arpSenderIP+net.IPv4len])
	return Neighbour{IP: ip, MAC: slices.Clone(arp[arpSenderMAC : arpSenderMAC+macSize])}, true
}
