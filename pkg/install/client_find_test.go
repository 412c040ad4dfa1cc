package install_test

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

func TestClientFindsHosts(t *testing.T) {
	client := install.New(rackOfTwo())
	for name, want := range map[string]string{"node-1": "h1", "H1": "h1", "52:54:00:00:00:0a": "h1", "h3": "h3"} {
		if host, err := client.FindHost(t.Context(), install.Target{}, name); err != nil || host.ID != want {
			t.Errorf("%s: %s, %v", name, host.ID, err)
		}
	}
	for name, says := range map[string]string{"twin": "there are several: h2, h3", "node": "there is none"} {
		if _, err := client.FindHost(t.Context(), install.Target{}, name); model.FaultOf(err).Code != model.CodeNotFound ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A host that has outlived its cluster is observed alone.
func TestClientLooksAroundAHost(t *testing.T) {
	client := install.New(rackOfTwo())
	for _, host := range []model.Host{{ID: "h1"}, {ID: "h3", ClusterID: "c9"}} {
		found, err := client.InspectHost(t.Context(), host, install.Target{})
		if err != nil || found.Observed.Cluster != nil || len(found.Observed.Hosts) != 1 || found.Ref.ID != host.ClusterID {
			t.Errorf("%s: %+v, %v", host.ID, found, err)
		}
	}
}
