//go:build linux

package network

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/host/network/dhcp"
	"github.com/oaictl/oaictl/internal/host/network/packet"
	"github.com/oaictl/oaictl/internal/host/network/probe"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
)

// leases is a server of DHCP in memory: it gives 192.168.127.N, where N is the last byte of the MAC address.
type leases struct {
	inbox  [][]byte
	silent bool
}

func (l *leases) Send(frame []byte, _ netip.Addr) error {
	const header = 236
	question, _, _ := packet.ParseUDP(frame, 67)
	answer := append([]byte{}, question[:header]...)
	answer[0] = 2
	copy(answer[16:], []byte{192, 168, 127, answer[33]})
	options, _ := hex.DecodeString("63825363" + "3501" + map[byte]string{1: "02", 3: "05"}[question[header+6]] + "3604c0a87f01" + "330400000e10" + "ff")
	if !l.silent {
		l.inbox = append(l.inbox, packet.UDPBroadcast(make([]byte, 6), 67, 68, append(answer, options...)))
	}
	return nil
}

func (l *leases) Receive(buffer []byte) (int, netip.Addr, error) {
	if len(l.inbox) == 0 {
		time.Sleep(100 * time.Millisecond)
		return 0, netip.Addr{}, os.ErrDeadlineExceeded
	}
	frame := l.inbox[0]
	l.inbox = l.inbox[1:]
	return copy(buffer, frame), netip.Addr{}, nil
}

func (l *leases) Close() error { return nil }

const leaseQuestion = `{"interface":"eth0","api_vip_mac":"00:1a:4a:00:00:05","ingress_vip_mac":"00:1a:4a:00:00:06",` +
	`"api_vip_lease":"lease { fixed-address 192.168.127.5; }"}`

func TestDHCP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := DHCP{with(nic(t, "eth0", 1500, "192.168.127.2/24")), func(probe.NIC, net.HardwareAddr) (dhcp.Wire, error) { return &leases{}, nil },
			clock.Real(), testLog(t)}
		code, stdout, stderr := step.Execute(t.Context(), []string{leaseQuestion})
		check.Equal(t, fmt.Sprint(code, stderr), "0")
		lease := func(name string, last int) string {
			return fmt.Sprintf(`lease {\n  interface \"%s\";\n  fixed-address 192.168.127.%d;\n  option dhcp-lease-time 3600;\n  option dhcp-message-type 5;\n`+
				`  option dhcp-server-identifier 192.168.127.1;\n  renew 6 2000/01/01 00:30:00;\n  rebind 6 2000/01/01 00:52:30;\n`+
				`  expire 6 2000/01/01 01:00:00;\n}`, name, last)
		}
		check.Equal(t, stdout, `{"api_vip_address":"192.168.127.5","api_vip_lease":"`+lease("api", 5)+`","ingress_vip_address":"192.168.127.6","ingress_vip_lease":"`+
			lease("ingress", 6)+`"}`)
	})
}

func TestDHCPFails(t *testing.T) {
	eth0 := with(nic(t, "eth0", 1500, "192.168.127.2/24"))
	silent := func(probe.NIC, net.HardwareAddr) (dhcp.Wire, error) { return &leases{silent: true}, nil }
	for question, reason := range map[string]string{
		leaseQuestion:          "get a lease for the virtual IP api with the MAC address 00:1a:4a:00:00:05 on eth0: wait for a DHCP server to offer an address: context",
		`{"interface":"eth1"}`: `has no Ethernet interface "eth1"`,
		`{}`:                   "the name of the network interface: the service sent no value",
		`{"interface":"eth0"}`: "the MAC address of the virtual IP api: the service sent no value",
		`{"interface":"eth0","api_vip_mac":"--help"}`:            `"--help" is no MAC address`,
		`{"interface":"eth0","api_vip_mac":"01:00:00:00:00:00"}`: "is no MAC address of a machine",
		`[]`: "cannot read",
	} {
		synctest.Test(t, func(t *testing.T) {
			code, stdout, stderr := DHCP{eth0, silent, clock.Real(), testLog(t)}.Execute(t.Context(), []string{question})
			check.Equal(t, fmt.Sprint(code, stdout), "-1")
			check.Contains(t, stderr, reason)
		})
	}
	refused := func(probe.NIC, net.HardwareAddr) (dhcp.Wire, error) { return nil, errors.New("not permitted") }
	_, _, stderr := DHCP{eth0, refused, clock.Real(), testLog(t)}.Execute(t.Context(), []string{leaseQuestion})
	check.Contains(t, stderr, "open a socket for DHCP on eth0: not permitted")
	broken := func() ([]probe.NIC, error) { return nil, errors.New("no netlink") }
	_, _, stderr = DHCP{broken, refused, clock.Real(), testLog(t)}.Execute(t.Context(), []string{leaseQuestion})
	check.Contains(t, stderr, "no netlink")
}
