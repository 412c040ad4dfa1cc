package hubobjects_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestLabelsOfObjects: labels stand beside the one by which objects are found again, and do not replace it.
func TestLabelsOfObjects(t *testing.T) {
	maker := hubobjects.Maker{Labels: map[string]string{"rack": "a", hubapi.LabelCluster: "other"}}
	maker.Cluster = &spec.Cluster{Metadata: spec.Metadata{Name: "lab"}}
	want := map[string]string{"rack": "a", hubapi.LabelCluster: "lab"}
	if diff := cmp.Diff(want, maker.Object(hubapi.KindInfraEnv, "lab").GetLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
