package decide

import (
	"github.com/oaictl/oaictl/pkg/install/internal/nodes"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// NodesToRemove are the names of the nodes that are to be removed.
func NodesToRemove(desired *model.Desired, observed *model.Observed) []string {
	p := newPlanner(desired, observed, model.Memory{}, observed.At)
	return nodes.ToRemove(p.question.About(p.roster.everybody(p.observed)...))
}
