//go:build linux

package installer

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestHostOf: the name of a host goes before the address of another.
func TestHostOf(t *testing.T) {
	address := netip.MustParseAddr("192.0.2.1")
	hosts := []clusterHost{{name: "m-1", addresses: []netip.Addr{address}}, {name: "m-2"}}
	node := func(name, ip string) (n kube.Node) {
		must.Do(t, json.Unmarshal([]byte(`{"metadata":{"name":"`+name+`"},"status":{"addresses":[{"type":"InternalIP","address":"`+ip+`"}]}}`), &n))
		return n
	}
	check.Equal(t, hostOf(hosts, node("m-2", "192.0.2.1")), 1)
	check.Equal(t, hostOf(hosts, node("M-1", "192.0.2.9")), 0)
	check.Equal(t, hostOf(hosts, node("other", "192.0.2.1")), 0)
	check.Equal(t, hostOf(hosts, node("other", "192.0.2.9")), -1)
}
