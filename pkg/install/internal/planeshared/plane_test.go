package planeshared_test

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/statuses"
	"github.com/oaictl/oaictl/pkg/install/internal/planeshared"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// What the service calls insufficient is three things.
func TestRefined(t *testing.T) {
	checks := []model.Validation{{ID: "x", Status: "failure"}}
	discovering, known := []model.Host{{State: model.HostDiscovering}}, []model.Host{{State: model.HostReady}}
	for _, test := range []struct {
		status string
		checks []model.Validation
		hosts  []model.Host
		want   model.ClusterState
	}{
		{"insufficient", nil, known, model.ClusterDraft},
		{"insufficient", checks, nil, model.ClusterDiscovering},
		{"insufficient", checks, discovering, model.ClusterDiscovering},
		{"insufficient", checks, known, model.ClusterBlocked},
		{"ready", nil, nil, model.ClusterReady},
		{"levitating", checks, known, model.ClusterUnknown},
	} {
		if got := planeshared.Refined(statuses.Cluster(test.status), test.checks, test.hosts); got != test.want {
			t.Errorf("%s, %v %v: got %s, want %s", test.status, test.checks, test.hosts, got, test.want)
		}
	}
}
