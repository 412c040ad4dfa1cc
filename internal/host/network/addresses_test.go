//go:build linux

package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/network/probe"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func scanner(t *testing.T, lan probe.Asker, nics ...probe.NIC) *FreeAddresses {
	return &FreeAddresses{Taken: Taken{lan, with(nics...), testLog(t)}}
}

func TestFreeAddresses(t *testing.T) {
	lan := &site{
		macs:    map[string][]string{"192.168.127.1": {"x"}, "192.168.127.3": {"x"}},
		replies: map[string]probe.Replies{"10.0.0.1": {Received: 1}, "10.20.0.3": {Received: 1}},
	}
	local := nic(t, "eth0", 1500, "192.168.127.2/24")
	infiniband := nic(t, "ib0", 1500, "10.20.0.1/24")
	infiniband.MAC = make([]byte, 20)
	for question, want := range map[string]string{
		`["192.168.127.0/29"]`: `[{"free_addresses":["192.168.127.0","192.168.127.4","192.168.127.5","192.168.127.6","192.168.127.7"],"network":"192.168.127.0/29"}]`,
		`["10.0.0.0/31","192.168.127.4/32"]`: `[{"free_addresses":["10.0.0.0"],"network":"10.0.0.0/31"},` +
			`{"free_addresses":["192.168.127.4"],"network":"192.168.127.4/32"}]`,
		`["192.168.127.1/32"]`: `[{"free_addresses":null,"network":"192.168.127.1/32"}]`,
		`["10.20.0.0/30"]`:     `[{"free_addresses":["10.20.0.0","10.20.0.2"],"network":"10.20.0.0/30"}]`,
		`[]`:                   `[]`,
	} {
		code, stdout, stderr := scanner(t, lan, local, infiniband).Execute(t.Context(), []string{question})
		check.Equal(t, code, 0, question)
		check.Equal(t, stdout, want, question)
		check.Equal(t, stderr, "", question)
	}
}

func TestFreeAddressesOfLargeNetworks(t *testing.T) {
	lan := &site{macs: map[string][]string{}}
	for i := range 1000 {
		lan.macs[netip.AddrFrom4([4]byte{10, 0, byte(i / 256), byte(i)}).String()] = []string{"x"}
	}
	for network, want := range map[string]int{"10.0.0.0/8": 8*1024 - 1000 + 1024, "10.0.0.0/20": 4096 - 1000, "255.255.252.0/22": 1024, "0.0.0.0/0": 8 * 1024} {
		lan.asked = nil
		code, stdout, _ := scanner(t, lan, nic(t, "eth0", 1500, "10.200.0.1/8")).Execute(t.Context(), []string{`["` + network + `"]`})
		check.Equal(t, code, 0, network)
		var answer models.FreeNetworksAddresses
		must.Do(t, json.Unmarshal([]byte(stdout), &answer))
		check.Equal(t, len(answer[0].FreeAddresses), want, network)
		if len(lan.asked) > 9*1024 {
			t.Errorf("%s: asked for %d addresses", network, len(lan.asked))
		}
	}
}

func TestFreeAddressesRefuses(t *testing.T) {
	for question, reason := range map[string]string{
		`["192.168.127.1/24"]`: "is not the network 192.168.127.0/24",
		`["fd00::/64"]`:        "is no network of IPv4",
		`["--help"]`:           "is no network",
		`["10.0.0.0/33"]`:      "is no network",
		`{}`:                   "cannot read the argument",
		`[` + strings.Repeat(`"10.0.0.0/32",`, 70) + `"10.0.0.0/32"]`: "71 networks",
	} {
		code, stdout, stderr := scanner(t, &site{}).Execute(t.Context(), []string{question})
		check.Equal(t, fmt.Sprint(code, stdout), "255", question)
		check.Contains(t, stderr, reason, question)
	}
	code, _, stderr := scanner(t, &site{err: errors.New("no sockets")}, nic(t, "eth0", 1500, "10.0.0.1/24")).Execute(t.Context(), []string{`["10.0.0.0/24"]`})
	check.Equal(t, code, 255)
	check.Contains(t, stderr, "find the free addresses of 10.0.0.0/24: ask for neighbours by eth0: no sockets")
	broken := &FreeAddresses{Taken: Taken{&site{}, func() ([]probe.NIC, error) { return nil, errors.New("no netlink") }, testLog(t)}}
	code, _, stderr = broken.Execute(t.Context(), []string{`["10.0.0.0/24"]`})
	check.Equal(t, code, 255)
	check.Contains(t, stderr, "no netlink")
}

// slow is a network that answers only when it may.
type slow struct {
	site
	asked, may chan struct{}
}

func (s *slow) Ping(ctx context.Context, targets []netip.Addr, o probe.Pings) (map[netip.Addr]probe.Replies, error) {
	s.asked <- struct{}{}
	<-s.may
	return s.site.Ping(ctx, targets, o)
}

func TestFreeAddressesRunOnce(t *testing.T) {
	lan := &slow{asked: make(chan struct{}), may: make(chan struct{})}
	scan := scanner(t, lan)
	first := make(chan string)
	question := []string{`["10.0.0.0/32"]`}
	go func() {
		_, stdout, _ := scan.Execute(t.Context(), question)
		first <- stdout
	}()
	<-lan.asked
	code, stdout, stderr := scan.Execute(t.Context(), question)
	check.Equal(t, fmt.Sprint(code, stdout, stderr), "0")
	close(lan.may)
	check.Equal(t, <-first, `[{"free_addresses":["10.0.0.0"],"network":"10.0.0.0/32"}]`)
}

func TestVIPs(t *testing.T) {
	lan := &site{
		macs:    map[string][]string{"192.168.127.6": {"x"}, "fd00::6": {"x"}},
		replies: map[string]probe.Replies{"10.0.0.1": {Received: 1}},
	}
	vips := VIPs{Taken{lan, with(nic(t, "eth0", 1500, "192.168.127.2/24", "fd00::2/128")), testLog(t)}}
	for question, want := range map[string]string{
		// as the service's own agent answered
		`[{"vip":"192.168.127.5","vip_type":"api"},{"vip":"192.168.127.6","vip_type":"ingress"}]`: `[{"verification":"succeeded","vip":"192.168.127.5",` +
			`"vip_type":"api"},{"verification":"failed","vip":"192.168.127.6","vip_type":"ingress"}]`,
		`[{"vip":"192.168.127.2"},{"vip":"10.0.0.1"},{"vip":"10.0.0.2"},{"vip":"fd00::6"},{"vip":"fd00::7"}]`: `[{"verification":"failed","vip":"192.168.127.2"},` +
			`{"verification":"failed","vip":"10.0.0.1"},{"verification":"succeeded","vip":"10.0.0.2"},{"verification":"failed","vip":"fd00::6"},` +
			`{"verification":"succeeded","vip":"fd00::7"}]`,
		`[]`: `null`,
	} {
		code, stdout, stderr := vips.Execute(t.Context(), []string{question})
		check.Equal(t, code, 0, question)
		check.Equal(t, stdout, want, question)
		check.Equal(t, stderr, "", question)
	}
	for question, reason := range map[string]string{
		`[{"vip":"--help"}]`: "is no IP address", `[{"vip":"fe80::1%eth0"}]`: "is no IP address", `[null]`: "sent no value",
		`[{}` + strings.Repeat(`,{}`, 64) + `]`: "65 addresses", `{`: "cannot read",
	} {
		code, stdout, stderr := vips.Execute(t.Context(), []string{question})
		check.Equal(t, fmt.Sprint(code, stdout), "-1", question)
		check.Contains(t, stderr, reason, question)
	}
	vips.Asker = &site{err: errors.New("no sockets")}
	code, _, stderr := vips.Execute(t.Context(), []string{`[{"vip":"192.168.127.5"}]`})
	check.Equal(t, code, -1)
	check.Contains(t, stderr, "no sockets")
}
