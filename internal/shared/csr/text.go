package csr

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// How much of what comes from outside a message shows.
const (
	shownBytes = 80
	shownItems = 8
)

// quoted is a word from outside, bounded and in ASCII, so that neither control characters
// nor letters that look like others get through.
func quoted(word string) string {
	if len(word) > shownBytes {
		return strconv.QuoteToASCII(word[:shownBytes]) + "…"
	}
	for i := range len(word) {
		if b := word[i]; b < ' ' || b > '~' || b == '"' || b == '\\' {
			return strconv.QuoteToASCII(word)
		}
	}
	return `"` + word + `"` // as nearly all are, of thousands
}

func quotedAll(words []string) string { return list(words, quoted) }

func addresses(all []netip.Addr) string { return list(all, netip.Addr.String) }

// list shows the first of several things.
func list[T any](all []T, show func(T) string) string {
	var shown []string
	for _, one := range all[:min(len(all), shownItems)] {
		shown = append(shown, show(one))
	}
	if more := len(all) - shownItems; more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return cmp.Or(strings.Join(shown, ", "), "none")
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return "an unknown time"
	}
	return at.UTC().Format(time.RFC3339)
}

// nodeName reports whether a name may be that of a Node: a subdomain by RFC 1123, which has no
// capitals.
func nodeName(name string) bool {
	if len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	return true
}

// plain is an address of a host as those of requests are compared with it: IPv4 as such, also
// where it is written as IPv6, and without a zone.
func plain(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }
