package plane_test

import (
	"testing"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/plane"
)

// What the service calls insufficient is three things.
func TestRefined(t *testing.T) {
	checks := []install.Validation{{ID: "x", Status: "failure"}}
	discovering, known := []install.Host{{State: model.HostDiscovering}}, []install.Host{{State: model.HostReady}}
	for _, test := range []struct {
		status string
		checks []install.Validation
		hosts  []install.Host
		want   install.ClusterState
	}{
		{"insufficient", nil, known, model.ClusterDraft},
		{"insufficient", checks, nil, model.ClusterDiscovering},
		{"insufficient", checks, discovering, model.ClusterDiscovering},
		{"insufficient", checks, known, model.ClusterBlocked},
		{"ready", nil, nil, model.ClusterReady},
		{"levitating", checks, known, model.ClusterUnknown},
	} {
		if got := plane.Refined(model.ClusterStateOf(test.status), test.checks, test.hosts); got != test.want {
			t.Errorf("%s, %v %v: got %s, want %s", test.status, test.checks, test.hosts, got, test.want)
		}
	}
}
