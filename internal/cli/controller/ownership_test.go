package controller

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/capi"
)

// TestPools reads which InfraEnvs are opened to which namespaces: by their ids, and with a service alone.
func TestPools(t *testing.T) {
	const id, other = "11111111-2222-3333-4444-555555555555", "66666666-2222-3333-4444-555555555555"
	for says, test := range map[string]struct {
		backend string
		pools   []string
	}{
		`--pool "rack" is not NAMESPACE=INFRAENV`:        {"rest", []string{"rack"}},
		`--pool "a=rack" is not NAMESPACE=INFRAENV`:      {"rest", []string{"a=" + id, "a=rack"}},
		`--pool "=` + id + `" is not NAMESPACE=INFRAENV`: {"rest", []string{"=" + id}},
		`--pool needs --backend rest`:                    {"hub", []string{"a=" + id}},
	} {
		o := &options{shared: shared{Backend: test.backend}, Pools: test.pools}
		if err := o.pools(&capi.Options{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", test.pools, err)
		}
	}
	of := capi.Options{}
	o := &options{shared: shared{Backend: "rest"}, Pools: []string{"a=" + id, "b=" + id, "a=" + other}}
	if err := o.pools(&of); err != nil || len(of.Pools["a"]) != 2 || len(of.Pools["b"]) != 1 {
		t.Errorf("%v, %v", of.Pools, err)
	}
}

// TestAllowedEndpoints reads CIDRs.
func TestAllowedEndpoints(t *testing.T) {
	of := capi.Options{}
	o := &options{AllowEndpoints: []string{"127.0.0.1/8", "::1/128"}}
	if err := o.endpoints(&of); err != nil || len(of.AllowEndpoints) != 2 || of.AllowEndpoints[0] != netip.MustParsePrefix("127.0.0.0/8") {
		t.Errorf("%v, %v", of.AllowEndpoints, err)
	}
	o.AllowEndpoints = []string{"127.0.0.1"}
	if err := o.endpoints(&of); err == nil || !strings.Contains(err.Error(), "is no CIDR") {
		t.Errorf("it says %v", err)
	}
}
