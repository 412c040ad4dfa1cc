// Package mcslog reads logs of a machine-config-server.
package mcslog

import (
	"bytes"
	"net/netip"
	"strings"
)

// mark follows the address of an Ignition in a line, such as
// `I0701 16:57:08.449808 1 api.go:102] Pool master requested by address:"192.0.2.12:32780" User-Agent:"Ignition/2.9.0"`.
const mark = `User-Agent:"Ignition`

// Address is the address of the machine whose Ignition asked for its config, as a line says. It is invalid if the line says
// something else.
func Address(line string) netip.Addr {
	before, _, found := strings.Cut(line, mark)
	if !found {
		return netip.Addr{}
	}
	before = strings.TrimRight(before, `" `)
	if at := strings.LastIndexAny(before, `" `); at >= 0 {
		before = before[at+1:]
	}
	address, err := netip.ParseAddrPort(before)
	if err != nil {
		return netip.Addr{}
	}
	return address.Addr().WithZone("").Unmap()
}

// Addresses adds the addresses in the whole lines of a log to seen, and returns how many bytes these lines have.
func Addresses(log []byte, seen map[netip.Addr]bool) (read int) {
	for {
		end := bytes.IndexByte(log[read:], '\n')
		if end < 0 {
			return read
		}
		if address := Address(string(log[read : read+end])); address.IsValid() {
			seen[address] = true
		}
		read += end + 1
	}
}
