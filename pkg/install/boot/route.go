package boot

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// RouteError says that it is not clear at which address BMCs reach this machine.
type RouteError struct {
	// Ways say of hosts from which different addresses their BMCs are reached.
	Ways []string
	// Proxied says that BMCs are behind a proxy.
	Proxied bool
	// Err is why no way to a BMC was found.
	Err error
}

func (e *RouteError) Error() string {
	switch {
	case e.Proxied:
		return "how BMCs behind a proxy reach this machine is not to be seen from here"
	case len(e.Ways) == 0:
		return fmt.Sprintf("no way leads to any BMC from here (%v)", e.Err)
	}
	return "BMCs may reach this machine at different addresses; " + strings.Join(e.Ways, "; ")
}

func (e *RouteError) Unwrap() error { return e.Err }

// MediaURL is where BMCs find a server that listens at an address: there; or, where it
// listens at all addresses, where the way to all BMCs begins. route finds that, as
// machine.Route does. Its error is a *RouteError.
func MediaURL(ctx context.Context, listen netip.AddrPort, hosts []*spec.Host, proxied bool, route func(context.Context, *spec.BMC) (netip.Addr, error)) (string, error) {
	at := func(addr netip.Addr) string { return "http://" + netip.AddrPortFrom(addr, listen.Port()).String() }
	if addr := listen.Addr().Unmap(); addr.IsValid() && !addr.IsUnspecified() {
		return at(addr), nil
	}
	if proxied {
		return "", &RouteError{Proxied: true}
	}
	var unclear RouteError
	var only netip.Addr
	known := map[netip.Addr]bool{}
	for _, host := range hosts {
		addr, err := route(ctx, host.BMC)
		if err != nil {
			unclear.Err = err // the plane tells of this host
			continue
		}
		if !known[addr] {
			known[addr], only = true, addr
			unclear.Ways = append(unclear.Ways, fmt.Sprintf("%s is reached from %s", host.Name, addr))
		}
	}
	if len(unclear.Ways) == 1 {
		return at(only), nil
	}
	return "", &unclear
}
