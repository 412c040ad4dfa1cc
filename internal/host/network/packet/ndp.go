package packet

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
)

// Neighbour discovery of RFC 4861.
const (
	protocolICMPv6  = 58
	solicitation    = 135
	advertisement   = 136
	sourceLink      = 1 // the option with the link-layer address of the sender
	targetLink      = 2 // the option with that of the target
	optionUnit      = 8 // lengths of options count in it
	discoverySize   = 24
	discoveryTarget = 8
	onlyOnLink      = 255 // the hop limit that no router leaves as it is
)

// Solicitation is the frame that asks which machine of the link has an IPv6 address. from is an address of the sender.
func Solicitation(mac net.HardwareAddr, from, to netip.Addr) []byte {
	message := make([]byte, discoverySize, discoverySize+optionUnit)
	message[0] = solicitation
	target := to.As16()
	copy(message[discoveryTarget:], target[:])
	message = append(message, sourceLink, 1)
	message = append(message, mac...)
	group := solicitedNode(target)
	source := from.As16()
	binary.BigEndian.PutUint16(message[2:], checksumICMPv6(source[:], group[:], message))

	datagram := []byte{0x60, 0, 0, 0}
	datagram = binary.BigEndian.AppendUint16(datagram, uint16(len(message)))
	datagram = append(datagram, protocolICMPv6, onlyOnLink)
	datagram = append(datagram, source[:]...)
	datagram = append(datagram, group[:]...)
	return Ethernet(net.HardwareAddr{0x33, 0x33, group[12], group[13], group[14], group[15]}, mac, TypeIPv6, append(datagram, message...))
}

// solicitedNode is the group in which a machine hears questions for one of its addresses.
func solicitedNode(target [16]byte) [16]byte {
	group := [16]byte{0: 0xff, 1: 0x02, 11: 0x01, 12: 0xff}
	copy(group[13:], target[13:])
	return group
}

func checksumICMPv6(source, destination, message []byte) uint16 {
	length := binary.BigEndian.AppendUint32(nil, uint32(len(message)))
	return Checksum(source, destination, length, []byte{0, 0, 0, protocolICMPv6}, message)
}

// ParseAdvertisement reads a frame that answers a Solicitation. ok is false for all other frames.
func ParseAdvertisement(frame []byte) (answer Neighbour, ok bool) {
	datagram, sender, ok := payloadOf(frame, TypeIPv6)
	if !ok || len(datagram) < ipv6Size || datagram[0]>>4 != 6 || datagram[6] != protocolICMPv6 || datagram[7] != onlyOnLink {
		return Neighbour{}, false
	}
	length := int(binary.BigEndian.Uint16(datagram[4:]))
	message := datagram[ipv6Size:]
	if length < discoverySize || length > len(message) {
		return Neighbour{}, false
	}
	message = message[:length]
	if message[0] != advertisement || message[1] != 0 || checksumICMPv6(datagram[8:24], datagram[24:40], message) != 0 {
		return Neighbour{}, false
	}
	ip, _ := netip.AddrFromSlice(message[discoveryTarget:discoverySize])
	if mac, found := linkOption(message[discoverySize:], targetLink); found {
		sender = mac
	}
	return Neighbour{IP: ip, MAC: sender}, true
}

// linkOption finds a link-layer address among the options of a message.
func linkOption(options []byte, kind byte) (net.HardwareAddr, bool) {
	for len(options) >= optionUnit {
		size := int(options[1]) * optionUnit
		if size == 0 || size > len(options) {
			return nil, false
		}
		if options[0] == kind {
			return slices.Clone(options[2 : 2+macSize]), true
		}
		options = options[size:]
	}
	return nil, false
}
