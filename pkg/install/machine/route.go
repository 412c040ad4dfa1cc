package machine

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

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
	port := u.Port()
	if port == "" {
		port = "443"
	}
	var dialer net.Dialer
	way, err := dialer.DialContext(ctx, "udp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return netip.Addr{}, fmt.Errorf("find the way to the BMC at %s: %w", u.Hostname(), err)
	}
	defer way.Close()
	local, ok := way.LocalAddr().(*net.UDPAddr)
	if !ok {
		return netip.Addr{}, fmt.Errorf("find the way to the BMC at %s: it begins at %s", u.Hostname(), way.LocalAddr())
	}
	return local.AddrPort().Addr().Unmap().WithZone(""), nil
}
