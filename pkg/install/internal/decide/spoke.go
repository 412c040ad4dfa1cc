package decide

import (
	"github.com/oaictl/oaictl/pkg/install/internal/nodes"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// SpokeFault is why nothing can be done in the installed cluster, nil where it can be. op is what
// was to be done.
func SpokeFault(op string, desired *model.Desired, observed *model.Observed) error {
	fault := spokeFault(desired, observed)
	if fault == nil {
		return nil
	}
	fault.Op = op
	return fault
}

func spokeFault(desired *model.Desired, observed *model.Observed) *model.Fault {
	p := newPlanner(desired, observed, model.Memory{}, observed.At)
	switch {
	case observed.Cluster == nil || !observed.Cluster.State.Installed():
		p.registration.notInstalled()
	case observed.Spoke != nil:
		p.take(nodes.Reached(p.question.About()))
	}
	if len(p.plan.Blockers) > 0 {
		b := &p.plan.Blockers[0]
		code, _, _ := p.limits.patience(b.Cure)
		return p.limits.fault(code, b.Message, b.Remedy)
	}
	if len(p.plan.Waits) > 0 {
		return p.limits.fault(model.CodeFailure, p.observed.Spoke.Trouble, "check that the API server of the installed cluster can be reached from here")
	}
	return nil
}
