package boot

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// seen is a service that shows one observation, or none.
type seen struct {
	Service
	observed *model.Observed
	fails    error
}

func (s *seen) Observe(context.Context, model.Query, *model.Observed) (*model.Observed, error) {
	return s.observed, s.fails
}

// TestMediaKey forgets the key of a cluster that is gone, and of no other: the URLs of a
// cluster must not be those of another that had its name.
func TestMediaKey(t *testing.T) {
	there := &model.Cluster{ClusterRef: model.ClusterRef{ID: "c1", Name: "lab"}}
	for name, c := range map[string]struct {
		service *seen
		old     bool // the key of before is kept
	}{
		"gone":            {&seen{observed: &model.Observed{}}, false},
		"there":           {&seen{observed: &model.Observed{Cluster: there}}, true},
		"not to be seen":  {&seen{observed: &model.Observed{Stale: "connection refused"}}, true},
		"somebody else's": {&seen{observed: &model.Observed{Others: []model.ClusterRef{there.ClusterRef}}}, true},
		"no answer":       {&seen{fails: errors.New("connection refused")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "media.key")
			desired := &model.Desired{Spec: &spec.Cluster{Metadata: spec.Metadata{Name: "lab"}}}
			there := &seen{observed: &model.Observed{Cluster: &model.Cluster{}}}
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
