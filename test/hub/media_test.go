//go:build e2e

package hub

import (
	"net/url"
	"testing"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/test/fixture"
)

// machines are the options for a file whose machines boot through their BMCs,
// none for others.
func (x *site) machines(t testing.TB, plane install.Backend) []install.Config {
	t.Helper()
	proxy := x.service.BMCProxy()
	if proxy == "" {
		return nil
	}
	through, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	return []install.Config{fixture.WithMachines(t, plane, x.cluster, through, x.time)}
}
