//go:build linux

package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// dnsServer answers questions for addresses, of names as they stand in questions, without a dot at the end.
func dnsServer(t *testing.T, records map[string][]string) *net.Resolver {
	t.Helper()
	socket := must.Get((&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = socket.Close() })
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = socket.WriteTo(dnsReply(buffer[:n], records), from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", socket.LocalAddr().String())
	}}
}

// dnsReply makes the answer to one question. A name without records does not exist.
func dnsReply(question []byte, records map[string][]string) []byte {
	var labels []string
	end := 12
	for question[end] != 0 {
		size := int(question[end])
		labels = append(labels, string(question[end+1:end+1+size]))
		end += 1 + size
	}
	kind := question[end+2]
	reply := append([]byte{}, question[:end+5]...)
	reply[2], reply[3] = 0x81, 0x80
	copy(reply[6:12], make([]byte, 6))
	addresses, found := records[strings.ToLower(strings.Join(labels, "."))]
	if !found {
		reply[3] |= 3
	}
	for _, text := range addresses {
		ip := net.ParseIP(text)
		data, of := []byte(ip.To4()), byte(1)
		if data == nil {
			data, of = ip.To16(), 28
		}
		if of != kind {
			continue
		}
		reply[7]++
		reply = append(reply, 0xc0, 12, 0, of, 0, 1, 0, 0, 0, 60, 0, byte(len(data)))
		reply = append(reply, data...)
	}
	return reply
}

func TestDomains(t *testing.T) {
	resolver := dnsServer(t, map[string][]string{
		"api.rack.example.com": {"192.168.127.5", "fd00::5"}, "validatenowildcarddns.rack.example.com": {"192.168.127.6"},
	})
	code, stdout, stderr := Domains{resolver, testLog(t)}.Execute(t.Context(), []string{`{"domains":[{"domain_name":"api.rack.example.com"},` +
		`{"domain_name":"validateNoWildcardDNS.rack.example.com."},{"domain_name":"absent.example.com"},{"domain_name":"--help me"},{"domain_name":""}]}`})
	check.Equal(t, code, 0)
	check.Equal(t, stdout, `{"resolutions":[{"cnames":["api.rack.example.com."],"domain_name":"api.rack.example.com","ipv4_addresses":["192.168.127.5"],"ipv6_addresses":["fd00::5"]},`+
		`{"cnames":["validateNoWildcardDNS.rack.example.com."],"domain_name":"validateNoWildcardDNS.rack.example.com.","ipv4_addresses":["192.168.127.6"],"ipv6_addresses":[]},`+
		`{"cnames":null,"domain_name":"absent.example.com","ipv4_addresses":[],"ipv6_addresses":[]},`+
		`{"cnames":null,"domain_name":"--help me","ipv4_addresses":[],"ipv6_addresses":[]},`+
		`{"cnames":null,"domain_name":"","ipv4_addresses":[],"ipv6_addresses":[]}]}`)
	check.Equal(t, stderr, "")
}

// names is a resolver with answers in memory. A name that it does not know gets no answer.
type names struct {
	hosts, addresses map[string][]string
}

func (n names) LookupHost(ctx context.Context, host string) ([]string, error) {
	return n.look(ctx, n.hosts, host)
}
func (n names) LookupAddr(ctx context.Context, address string) ([]string, error) {
	return n.look(ctx, n.addresses, address)
}

func (n names) look(ctx context.Context, in map[string][]string, what string) ([]string, error) {
	if found, known := in[what]; known {
		return found, nil
	}
	<-ctx.Done()
	return nil, &net.DNSError{Err: "timeout", Name: what, IsTimeout: true}
}

func (n names) LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error) {
	found, err := n.LookupHost(ctx, host)
	var all []net.IPAddr
	for _, ip := range found {
		all = append(all, net.IPAddr{IP: net.ParseIP(ip)})
	}
	return all, err
}

func (n names) LookupCNAME(ctx context.Context, host string) (string, error) {
	_, err := n.LookupHost(ctx, host)
	return host + ".", err
}

// TestDomainsWithoutServers has the question of a cluster, to which no server answers: it took the service's own agent a
// minute.
func TestDomainsWithoutServers(t *testing.T) {
	const recorded = `{"domains":[{"domain_name":"api.rack.example.com"},{"domain_name":"api-int.rack.example.com"},` +
		`{"domain_name":"validateNoWildcardDNS.rack.example.com."},{"domain_name":"quay.io"}]}`
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		code, stdout, stderr := Domains{names{hosts: map[string][]string{"quay.io": {"10.0.0.1"}}}, testLog(t)}.Execute(t.Context(), []string{recorded})
		check.Equal(t, fmt.Sprint(code, stderr), "0")
		check.Equal(t, stdout, `{"resolutions":[{"cnames":null,"domain_name":"api.rack.example.com","ipv4_addresses":[],"ipv6_addresses":[]},`+
			`{"cnames":null,"domain_name":"api-int.rack.example.com","ipv4_addresses":[],"ipv6_addresses":[]},`+
			`{"cnames":null,"domain_name":"validateNoWildcardDNS.rack.example.com.","ipv4_addresses":[],"ipv6_addresses":[]},`+
			`{"cnames":["quay.io."],"domain_name":"quay.io","ipv4_addresses":["10.0.0.1"],"ipv6_addresses":[]}]}`)
		check.Equal(t, time.Since(start), lookupTime)
	})
}

func TestDomainsRefuses(t *testing.T) {
	for question, reason := range map[string]string{
		`{"domains":[{}]}`: "name 1: the service sent no value", `{"domains":[null]}`: "name 1", `[]`: "cannot read",
		`{"domains":[{}` + strings.Repeat(`,{}`, mostNames) + `]}`: "513 names",
	} {
		code, stdout, stderr := Domains{names{}, testLog(t)}.Execute(t.Context(), []string{question})
		check.Equal(t, fmt.Sprint(code, stdout), "-1", reason)
		check.Contains(t, stderr, reason)
	}
	_, stdout, _ := Domains{names{}, testLog(t)}.Execute(t.Context(), []string{`{"domains":[]}`})
	check.Equal(t, stdout, `{"resolutions":[]}`)
}

func TestIsName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "a.b.": true, "_tcp.example.com": true, "xn--a.example": true, "": false, ".": false, "-a": false, "a..b": false, "a b": false,
		"a\n": false, "a/b": false, strings.Repeat("a", 64): false, strings.Repeat("a.", 127): true, strings.Repeat("a.", 128): false,
	} {
		check.Equal(t, isName(name), want, name)
	}
	check.Equal(t, notFound(errors.New("x")), false)
	check.Equal(t, notFound(&net.DNSError{IsNotFound: true}), true)
}
