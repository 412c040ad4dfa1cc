// Package ignitionurl reads the URLs of servers that machines fetch their Ignition from, and adds the brackets that an IPv6
// address lacks.
package ignitionurl

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
)

// Parse reads the URL of such a server. An IPv6 address without brackets, which is no URL, gets them: HyperShift has
// written those for a long time.
func Parse(text string) (*url.URL, error) {
	parsed, err := url.Parse(bracketed(text))
	if err != nil || parsed.Hostname() == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return nil, errors.New("is no URL of a server: write it as https://host:port/path, an IPv6 address in brackets")
	}
	return parsed, nil
}

// bracketed is a URL with brackets around the IPv6 address of its server.
func bracketed(text string) string {
	scheme, rest, both := strings.Cut(text, "://")
	if !both {
		return text
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	host, after := rest[:end], rest[end:]
	if isIPv6(host) { // what might be a short port is the end of the address
		return scheme + "://[" + host + "]" + after
	}
	if at := strings.LastIndex(host, ":"); at > 0 && isIPv6(host[:at]) {
		return scheme + "://[" + host[:at] + "]" + host[at:] + after
	}
	return text
}

// isIPv6 reports whether a text is an IPv6 address without brackets.
func isIPv6(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Is6()
}
