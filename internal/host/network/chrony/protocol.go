// Package chrony asks the time daemon chronyd for its sources, and adds servers to them, by the protocol of its socket for
// commands (version 6, candm.h of chrony 2.2 and later).
package chrony

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
)

const (
	version = 6

	packetRequest = 1
	packetReply   = 2

	commandSources   = 14 // how many sources there are
	commandSource    = 15 // one source
	commandAddSource = 64

	replyNothing = 1
	replySources = 2
	replySource  = 3

	requestHeader = 20
	replyHeader   = 28
	addressSize   = 20
	sourcesSize   = 4
	sourceSize    = addressSize + 12 + 4 + 12

	nameSize = 256
	// mostSources is how many sources are read.
	mostSources = 1024
)

// State is what chronyd thinks of a source.
type State uint16

// The states, in the order of the protocol.
const (
	Selected State = iota // the clock follows it
	Unusable              // it does not answer, or has too few samples
	Falseticker
	Jittery
	Combined    // the clock follows it, too
	NotCombined // it could be selected, and is not combined with the others
)

// Source is an NTP server or another source of time.
type Source struct {
	Address netip.Addr // invalid for a reference clock, and for a name without address
	State   State
	Server  bool // it is an NTP server
}

// request makes the packet of a command. A request is at least as long as its reply.
func request(command, attempt uint16, sequence uint32, data []byte, reply int) []byte {
	packet := []byte{version, packetRequest, 0, 0}
	packet = binary.BigEndian.AppendUint16(packet, command)
	packet = binary.BigEndian.AppendUint16(packet, attempt)
	packet = binary.BigEndian.AppendUint32(packet, sequence)
	packet = append(packet, make([]byte, requestHeader-len(packet))...)
	packet = append(packet, data...)
	return append(packet, make([]byte, max(0, replyHeader+reply-len(packet)))...)
}

// errOther is the error of a packet that answers another request, such as one that was given up.
var errOther = errors.New("the packet answers another request")

// parseReply has the data of a reply to a command.
func parseReply(packet []byte, command uint16, sequence uint32, kind uint16, size int) ([]byte, error) {
	if len(packet) < replyHeader || packet[1] != packetReply ||
		binary.BigEndian.Uint16(packet[4:]) != command || binary.BigEndian.Uint32(packet[16:]) != sequence {
		return nil, errOther
	}
	if packet[0] != version {
		return nil, fmt.Errorf("chronyd speaks version %d of its protocol, and not %d", packet[0], version)
	}
	if status := binary.BigEndian.Uint16(packet[8:]); status != 0 {
		return nil, fmt.Errorf("chronyd refuses: %w", refusal(status))
	}
	if got := binary.BigEndian.Uint16(packet[6:]); got != kind {
		return nil, fmt.Errorf("chronyd answers with a reply of type %d, and not %d", got, kind)
	}
	if len(packet) < replyHeader+size {
		return nil, fmt.Errorf("chronyd answers with %d bytes, and %d are the fewest", len(packet), replyHeader+size)
	}
	return packet[replyHeader : replyHeader+size], nil
}

// refusal is a status of chronyd that is not success.
type refusal uint16

const alreadyKnown = refusal(11)

func (r refusal) Error() string {
	text, known := refusals[r]
	if !known {
		return fmt.Sprintf("status %d", uint16(r))
	}
	return text
}

var refusals = map[refusal]string{
	1:            "it failed",
	2:            "it does not allow this command here",
	3:            "it does not know this command",
	4:            "there is no such source",
	6:            "it is not enabled",
	alreadyKnown: "the source is known already",
	12:           "it has too many sources",
	17:           "the family of the address is not supported",
	18:           "it speaks another version of the protocol",
	19:           "the length of the request is wrong",
	21:           "the name is not valid",
}

func parseSource(data []byte) Source {
	const (
		ipv4 = 1
		ipv6 = 2
	)
	source := Source{
		State: State(binary.BigEndian.Uint16(data[addressSize+4:])), Server: binary.BigEndian.Uint16(data[addressSize+6:]) == 0,
	}
	switch binary.BigEndian.Uint16(data[16:]) {
	case ipv4:
		source.Address = netip.AddrFrom4([4]byte(data[:4]))
	case ipv6:
		source.Address = netip.AddrFrom16([16]byte(data[:16]))
	}
	return source
}

// addServer is the data of a request for a server with a burst of requests at its start (iburst). All else is what chronyc
// sends without options.
func addServer(name string) ([]byte, error) {
	if len(name) >= nameSize {
		return nil, fmt.Errorf("the name of a server has at most %d bytes, and this one has %d", nameSize-1, len(name))
	}
	const (
		server       = 1
		online       = 0x1
		iburst       = 0x4
		unset        = math.MaxUint32 // -1
		maxUnreach   = 100000
		maxDelay     = 3
		maxDevRatio  = 10
		maxSources   = 4
		pollTarget   = 8
		ntpPort      = 123
		ntsPort      = 4460
		minPoll      = 6
		maxPoll      = 10
		presendLimit = 100
	)
	data := binary.BigEndian.AppendUint32(nil, server)
	data = append(data, name...)
	data = append(data, make([]byte, nameSize-len(name))...)
	for _, n := range []uint32{ntpPort, minPoll, maxPoll, presendLimit, 0, pollTarget, 0, maxSources, unset, unset, 0, ntsPort} {
		data = binary.BigEndian.AppendUint32(data, n)
	}
	for _, x := range []float64{maxDelay, 0, maxDevRatio, 0, 1, 0} { // delay, its ratio, its deviation, least delay, asymmetry, offset
		data = binary.BigEndian.AppendUint32(data, float(x))
	}
	for _, n := range []uint32{online | iburst, 0, 0, 0, maxUnreach} { // flags, filter, certificates, quantile, unreachable
		data = binary.BigEndian.AppendUint32(data, n)
	}
	return data, nil
}

// float is a number in chrony's form: 7 bits of exponent and 25 of coefficient. It is only for numbers that are not
// negative.
func float(x float64) uint32 {
	const coefficient = 25
	if x == 0 {
		return 0
	}
	fraction, exponent := math.Frexp(x)
	return uint32(exponent+1)<<coefficient | uint32(fraction*(1<<(coefficient-1)))
}
