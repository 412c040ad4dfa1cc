package bmc

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

type address struct {
	endpoint string // "https://10.0.0.1:8443"
	system   string // path of the system, "" where the address does not say
}

// parseAddress reads the forms in which BMC addresses are written: an IP
// address or a name, with or without a port; a URL; and metal3's, such as
// redfish-virtualmedia+https://10.0.0.1/redfish/v1/Systems/1 and
// idrac-virtualmedia://10.0.0.1/redfish/v1/Systems/System.Embedded.1. What does
// not say otherwise is HTTPS.
func parseAddress(text string) (address, error) {
	rest, scheme := text, "https"
	if kind, after, ok := strings.Cut(text, "://"); ok {
		rest = after
		if kind == "http" || strings.HasSuffix(kind, "+http") {
			scheme = "http"
		}
	}
	if ip, err := netip.ParseAddr(rest); err == nil && ip.Is6() {
		rest = "[" + rest + "]"
	}
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return address{}, fmt.Errorf("bmc.address is not the address of a BMC")
	}
	host := u.Host
	if _, port, err := net.SplitHostPort(host); err == nil && port == "" {
		host = strings.TrimSuffix(host, ":")
	}
	a := address{endpoint: scheme + "://" + host, system: strings.TrimRight(u.Path, "/")}
	if !strings.Contains(a.system, "/Systems/") {
		a.system = "" // the root of the service, or of its web pages
	}
	return a, nil
}

// Route is the local address from which the way to a BMC begins: where a BMC
// that is reached without an address translation in between can reach this
// machine. Nothing is sent but, where the address is a name, what resolves it.
func Route(ctx context.Context, bmc *spec.BMC) (netip.Addr, error) {
	at, err := parseAddress(bmc.Address)
	if err != nil {
		return netip.Addr{}, err
	}
	u, err := url.Parse(at.endpoint)
	if err != nil {
		return netip.Addr{}, err
	}
	port := cmp.Or(u.Port(), "443")
	var dialer net.Dialer
	way, err := dialer.DialContext(ctx, "udp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return netip.Addr{}, fmt.Errorf("find the route to the BMC at %s: %w", u.Hostname(), err)
	}
	defer way.Close()
	local, ok := way.LocalAddr().(*net.UDPAddr)
	if !ok {
		return netip.Addr{}, fmt.Errorf("find the route to the BMC at %s: its source address is %s", u.Hostname(), way.LocalAddr())
	}
	return local.AddrPort().Addr().Unmap().WithZone(""), nil
}
