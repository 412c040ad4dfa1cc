// Package workloadclient makes the clients of installed clusters: [Connect] makes all of them, for every caller. Where the kubeconfig
// is in a Secret, the users of its namespace may write it. They must not have the manager call what is within its own machine
// or network segment, nor show what another server answers: [Connector] guards these kubeconfigs, and checks the addresses of
// other servers that these users name.
package workloadclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/shared/kubeconfig"
)

// Connector makes the connections to installed clusters. The zero Connector allows no address of those that are refused.
type Connector struct {
	// Allow are addresses that are called although they are loopback, link-local or metadata addresses.
	Allow []netip.Prefix
}

// Check refuses a kubeconfig by which no cluster is called: one that is too large, reaches nothing, has programs or files of this machine
// used, does not verify the server, or names a proxy.
func Check(data []byte) error {
	_, err := read(data)
	return err
}

// largest is how many bytes a kubeconfig has at most: certificates take a few thousand of them.
const largest = 64 << 10

func read(data []byte) (*rest.Config, error) {
	if len(data) > largest {
		return nil, fmt.Errorf("it has %d bytes, and may have %d: leave out what does not belong to this cluster", len(data), largest)
	}
	config, err := kubeconfig.Connection(data)
	if err != nil {
		return nil, err
	}
	switch server, err := url.Parse(config.Host); {
	case config.Insecure:
		return nil, errors.New("it has insecure-skip-tls-verify: give the certificate-authority-data of the server in its place")
	case config.Proxy != nil:
		return nil, errors.New("it has a proxy-url: leave it out, and set HTTPS_PROXY of the manager where a proxy is needed")
	case err != nil || server.Scheme != "https":
		return nil, errors.New("its server is not reached by https")
	}
	return config, nil
}

// Config is the way to the cluster of a kubeconfig.
func (c Connector) Config(data []byte) (*rest.Config, error) {
	config, err := read(data)
	if err != nil {
		return nil, err
	}
	config.Dial = c.Dial
	// The bounds of answers are those of JSON.
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	// Without a function for the proxy, client-go keeps the transport for ever.
	config.Proxy = c.Proxy
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &quiet{next} })
	return config, nil
}

const (
	dialTimeout = 30 * time.Second
	keepAlive   = 30 * time.Second
)

// Dial makes a connection, to an address that may be called.
func (c Connector) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive, ControlContext: c.control}
	return dialer.DialContext(ctx, network, address)
}

// control checks the address that is about to be dialled, after name resolution.
func (c Connector) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("the address %q cannot be read", address)
	}
	return c.check(at.Addr())
}

// oddAddress is an IPv4 address in one of the other forms that proxies understand: 127.1, 2130706433, 0x7f000001. No name
// ends with a number.
var oddAddress = regexp.MustCompile(`(^|\.)(0x[0-9a-f]*|[0-9]+)$`)

// Proxy is the one of the manager's own environment. What a proxy would dial is checked as far as it is an address.
func (c Connector) Proxy(r *http.Request) (*url.URL, error) {
	via, err := http.ProxyFromEnvironment(r)
	if via == nil || err != nil {
		return via, err
	}
	if err := c.checkHost(r.URL.Hostname()); err != nil {
		return nil, err
	}
	return via, nil
}

// checkHost refuses the host of a URL where it is an address that is not called.
func (c Connector) checkHost(host string) error {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return c.check(netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	if address, err := netip.ParseAddr(host); err == nil {
		return c.check(address)
	}
	if oddAddress.MatchString(host) {
		return fmt.Errorf("%s is an address in a form that is not checked: write it with four numbers", host)
	}
	return nil
}

// check refuses an address that is no cluster's, and no registry's.
func (c Connector) check(address netip.Addr) error {
	address = plain(address)
	if slices.ContainsFunc(c.Allow, func(p netip.Prefix) bool { return p.Contains(address) }) {
		return nil
	}
	special := address.IsLoopback() || address.IsUnspecified() || address.IsMulticast() || address.IsLinkLocalUnicast() ||
		slices.ContainsFunc(reserved(), func(p netip.Prefix) bool { return p.Contains(address) })
	if special {
		return fmt.Errorf("%s is a loopback, link-local or metadata address, which is not called: who runs the providers allows it with "+
			"--allow-endpoint %s", address, netip.PrefixFrom(address, address.BitLen()))
	}
	return nil
}

// plain is an IPv4 address that is written as an IPv6 one, without its zone; any other address as it is.
func plain(address netip.Addr) netip.Addr {
	address = address.Unmap().WithZone("")
	if netip.MustParsePrefix("64:ff9b::/96").Contains(address) {
		bytes := address.As16()
		return netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return address
}

// reserved are addresses that belong to this machine, or to the metadata services of clouds.
func reserved() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("255.255.255.255/32"),
		netip.MustParsePrefix("64:ff9b:1::/48"),     // IPv4 addresses, in a form that each network chooses (RFC 8215)
		netip.MustParsePrefix("100.100.100.200/32"), // Alibaba
		netip.MustParsePrefix("168.63.129.16/32"),   // Azure
		netip.MustParsePrefix("192.0.0.192/32"),     // Oracle
		netip.MustParsePrefix("fd00:ec2::/32"),      // AWS
		netip.MustParsePrefix("fd20:ce::254/128"),   // Google
		netip.MustParsePrefix("fd00:42::42/128"),    // Scaleway
	}
}
