package install

import (
	"context"
	"errors"

	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// PlanRemoval is Plan for nodes that are to be removed ([model.Options].Remove): it observes the service and the
// installed cluster, and writes nothing. If the cluster itself cannot be read, that is the error: without it nothing
// can be decided. What would be done in all is in the plan's Removals.
func (client *Client) PlanRemoval(ctx context.Context, desired *model.Desired) (model.Plan, *model.Observed, error) {
	plan, observed, err := client.Plan(ctx, desired)
	if err == nil && len(plan.Removals) == 0 {
		if err = decide.SpokeFault(decide.Op(desired), desired, observed); err == nil {
			err = &model.Fault{Code: model.CodeFailure, Op: "look at", On: desired.FullName(),
				Err: errors.New("the installed cluster itself could not be seen"), Next: "run the same command again"}
		}
	}
	return plan, observed, err
}
