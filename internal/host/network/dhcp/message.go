// Package dhcp gets the lease of an IPv4 address for a MAC address that no network interface has, such as that of a virtual
// IP address of a cluster (RFC 2131). It changes nothing on the machine.
package dhcp

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"time"
)

const (
	serverPort = 67
	clientPort = 68

	bootRequest = 1
	bootReply   = 2
	ethernet    = 1
	macSize     = 6
	headerSize  = 236
	// smallest is the size that some servers want a message to have.
	smallest = 300

	broadcastFlag = 0x8000
)

// The types of messages.
const (
	discover    = 1
	offer       = 2
	requestType = 3
	ack         = 5
	nak         = 6
)

// The options.
const (
	optionPad         = 0
	optionMask        = 1
	optionRouters     = 3
	optionNameServers = 6
	optionHostname    = 12
	optionRequested   = 50
	optionLeaseTime   = 51
	optionType        = 53
	optionServer      = 54
	optionParameters  = 55
	optionRenewal     = 58
	optionRebinding   = 59
	optionEnd         = 255
)

func cookie() []byte { return []byte{99, 130, 83, 99} }

// question is a message to servers.
type question struct {
	kind     byte
	id       uint32
	mac      net.HardwareAddr
	hostname string
	// wanted is the address that the server should give, and server the one whose offer is taken. They may be invalid.
	wanted, server netip.Addr
	seconds        uint16 // since the first message
}

func (q question) encode() []byte {
	message := []byte{bootRequest, ethernet, macSize, 0}
	message = binary.BigEndian.AppendUint32(message, q.id)
	message = binary.BigEndian.AppendUint16(message, q.seconds)
	message = binary.BigEndian.AppendUint16(message, broadcastFlag) // the address is not ours yet
	message = append(message, make([]byte, 16)...)
	message = append(message, q.mac...)
	message = append(message, make([]byte, headerSize-len(message))...)
	message = append(message, cookie()...)
	message = append(message, optionType, 1, q.kind)
	if q.wanted.Is4() {
		message = append(append(message, optionRequested, net.IPv4len), q.wanted.AsSlice()...)
	}
	if q.server.Is4() {
		message = append(append(message, optionServer, net.IPv4len), q.server.AsSlice()...)
	}
	message = append(append(message, optionHostname, byte(len(q.hostname))), q.hostname...)
	message = append(message, optionParameters, 3, optionMask, optionRouters, optionNameServers)
	message = append(message, optionEnd)
	return append(message, make([]byte, max(0, smallest-len(message)))...)
}

// reply is a message of a server.
type reply struct {
	kind    byte
	address netip.Addr
	options map[byte][]byte
}

// errOther is the error of a message that is not for us.
var errOther = errors.New("the message is no answer to ours")

// parse reads an answer to messages with an identifier, for a MAC address.
func parse(message []byte, id uint32, mac net.HardwareAddr) (reply, error) {
	if len(message) < headerSize+len(cookie()) || message[0] != bootReply || message[1] != ethernet || message[2] != macSize ||
		binary.BigEndian.Uint32(message[4:]) != id || !slices.Equal(message[28:28+macSize], mac) ||
		!slices.Equal(message[headerSize:headerSize+len(cookie())], cookie()) {
		return reply{}, errOther
	}
	r := reply{address: netip.AddrFrom4([4]byte(message[16:20])), options: options(message[headerSize+len(cookie()):])}
	if kind := r.options[optionType]; len(kind) == 1 {
		r.kind = kind[0]
	}
	return r, nil
}

// options reads options up to the end, or to one that is cut. The first of two with the same number counts.
func options(data []byte) map[byte][]byte {
	all := map[byte][]byte{}
	for len(data) > 0 && data[0] != optionEnd {
		if data[0] == optionPad {
			data = data[1:]
			continue
		}
		const header = 2
		if len(data) < header || len(data) < header+int(data[1]) {
			break
		}
		if _, seen := all[data[0]]; !seen {
			all[data[0]] = data[header : header+int(data[1])]
		}
		data = data[header+int(data[1]):]
	}
	return all
}

// addresses are those in an option.
func (r reply) addresses(option byte) []netip.Addr {
	var all []netip.Addr
	for part := range slices.Chunk(r.options[option], net.IPv4len) {
		if ip, ok := netip.AddrFromSlice(part); ok && ip.Is4() {
			all = append(all, ip)
		}
	}
	return all
}

// server is the address of the server, invalid if it is missing.
func (r reply) server() netip.Addr {
	if all := r.addresses(optionServer); len(all) == 1 {
		return all[0]
	}
	return netip.Addr{}
}

// duration is the time in an option, zero if it is missing.
func (r reply) duration(option byte) time.Duration {
	const size = 4
	if data := r.options[option]; len(data) == size {
		return time.Duration(binary.BigEndian.Uint32(data)) * time.Second
	}
	return 0
}
