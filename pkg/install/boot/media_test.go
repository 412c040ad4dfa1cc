package boot

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// seen is a service that shows one observation, or none.
type seen struct {
	Service
	observed *install.Observed
	fails    error
}

func (s *seen) Observe(context.Context, install.Query, *install.Observed) (*install.Observed, error) {
	return s.observed, s.fails
}

// TestMediaKey forgets the key of a cluster that is gone, and of no other: the URLs of a
// cluster must not be those of another that had its name.
func TestMediaKey(t *testing.T) {
	there := &install.Cluster{ClusterRef: install.ClusterRef{ID: "c1", Name: "lab"}}
	for name, c := range map[string]struct {
		service *seen
		old     bool // the key of before is kept
	}{
		"gone":            {&seen{observed: &install.Observed{}}, false},
		"there":           {&seen{observed: &install.Observed{Cluster: there}}, true},
		"not to be seen":  {&seen{observed: &install.Observed{Stale: "connection refused"}}, true},
		"somebody else's": {&seen{observed: &install.Observed{Others: []install.ClusterRef{there.ClusterRef}}}, true},
		"no answer":       {&seen{fails: errors.New("connection refused")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "media.key")
			desired := &install.Desired{Spec: &spec.Cluster{Metadata: spec.Metadata{Name: "lab"}}}
			there := &seen{observed: &install.Observed{Cluster: &install.Cluster{}}}
			before, made, err := mediaKey(t.Context(), there, desired, path)
			if err != nil || !made {
				t.Fatalf("a folder without a key: made %t, %v", made, err)
			}
			after, made, err := mediaKey(t.Context(), c.service, desired, path)
			if err != nil || bytes.Equal(before, after) != c.old || made == c.old {
				t.Errorf("the same key: %t, made: %t, %v", bytes.Equal(before, after), made, err)
			}
		})
	}
}
