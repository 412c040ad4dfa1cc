package cli

import (
	"testing"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/shared/check"
)

// TestHostsAreInOrder of their names, in any order of the service, cluster by cluster.
func TestHostsAreInOrder(t *testing.T) {
	items := []output.Host{
		{ID: "5", Name: "a", ClusterID: "two"}, {ID: "3", Name: "cp-1", ClusterID: "one"}, {ID: "2", Name: "cp-0", ClusterID: "one"},
		{ID: "1", Name: "cp-0", ClusterID: "one"}, {ID: "4", Name: "worker-0", ClusterID: "one"},
	}
	app.ByName(items)
	var ids []string
	for _, item := range items {
		ids = append(ids, item.ID)
	}
	check.Slice(t, ids, []string{"1", "2", "3", "4", "5"})
}
