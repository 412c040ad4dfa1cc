package clustersettings

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestFirstMAC tells networks without MAC addresses apart, too.
func TestFirstMAC(t *testing.T) {
	check.Equal(t, FirstMAC(model.StaticNetwork{YAML: "a: 1", MACs: []spec.NIC{{MAC: "52:54:00:00:00:01"}}}), "52:54:00:00:00:01")
	check.Equal(t, FirstMAC(model.StaticNetwork{YAML: "a: 1"}), "a: 1")
}
