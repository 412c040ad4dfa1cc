package install

import (
	"context"

	"github.com/oaictl/oaictl/pkg/install/internal/decide"
)

// PlanRemoval is Plan for nodes that are to be removed ([Options].Remove): it looks at the service and
// at the installed cluster, and writes nothing. Where the cluster itself cannot be seen, that is
// the error: nothing can be told before then. What would be done in all is in the plan's Removals.
func (client *Client) PlanRemoval(ctx context.Context, desired *Desired) (Plan, *Observed, error) {
	plan, observed, err := client.Plan(ctx, desired)
	if err == nil && len(plan.Removals) == 0 {
		err = decide.SpokeFault(desired, observed)
	}
	return plan, observed, err
}
