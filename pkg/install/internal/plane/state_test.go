package plane_test

import (
	"testing"

	"github.com/oaictl/oaictl/internal/vocab"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/plane"
)

// What the service calls insufficient is three things.
func TestRefined(t *testing.T) {
	checks := []install.Validation{{ID: "x", Status: "failure"}}
	discovering, known := []install.Host{{State: vocab.HostDiscovering}}, []install.Host{{State: vocab.HostReady}}
	for _, test := range []struct {
		status string
		checks []install.Validation
		hosts  []install.Host
		want   install.ClusterState
	}{
		{"insufficient", nil, known, vocab.ClusterDraft},
		{"insufficient", checks, nil, vocab.ClusterDiscovering},
		{"insufficient", checks, discovering, vocab.ClusterDiscovering},
		{"insufficient", checks, known, vocab.ClusterBlocked},
		{"ready", nil, nil, vocab.ClusterReady},
		{"levitating", checks, known, vocab.ClusterUnknown},
	} {
		if got := plane.Refined(vocab.ClusterStateOf(test.status), test.checks, test.hosts); got != test.want {
			t.Errorf("%s, %v %v: got %s, want %s", test.status, test.checks, test.hosts, got, test.want)
		}
	}
}
