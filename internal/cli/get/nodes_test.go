package get

import (
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func TestOrderOfNodes(t *testing.T) {
	rows := []install.NodeView{
		{Name: "a-stranger", Stranger: true},
		{Name: "worker-1", Node: &model.Node{Roles: []string{"worker"}}},
		{Name: "cp-1", Node: &model.Node{Roles: []string{"control-plane", "master"}}},
		{Name: "arbiter", Host: &model.Host{Role: spec.Arbiter}},
		{Name: "worker-0", Host: &model.Host{Role: spec.Worker}},
		{Name: "cp-0", Node: &model.Node{Roles: []string{"master"}}, Host: &model.Host{Role: spec.Worker}},
	}
	slices.SortStableFunc(rows, byRole)
	check.Equal(t, strings.Join(output.Each(rows, func(v install.NodeView) string { return v.Name }), " "), "arbiter cp-0 cp-1 worker-0 worker-1 a-stranger")
}
