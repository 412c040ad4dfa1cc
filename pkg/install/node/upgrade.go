package node

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/upgrade"
)

// Upgrade reads how the cluster that was observed last stands, and says what follows from what it is to run. With ask it
// asks the cluster for that.
func (p *Plane) Upgrade(ctx context.Context, want *upgrade.Want, ask bool) (*upgrade.State, upgrade.Decision, error) {
	p.mu.Lock()
	at := p.at
	p.mu.Unlock()
	fail := func(err error) (*upgrade.State, upgrade.Decision, error) {
		f := &model.Fault{Code: model.CodeFailure, Op: "upgrade", On: "the installed cluster", Err: err}
		own, known := errors.AsType[*model.Fault](err)
		switch {
		case known:
			f.Code, f.Permanent, f.Next = own.Code, own.Permanent, own.Next
		case at != nil && !at.isDenied(f):
			f.Permanent = apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
		}
		if told := redact.Text(err.Error()); told != err.Error() {
			f.Err = errors.New(told)
		}
		return nil, upgrade.Decision{}, f
	}
	if at == nil {
		return fail(errors.New("it cannot be reached"))
	}
	ctx, cancel := context.WithTimeout(withoutLogging(ctx), callTimeout)
	defer cancel()
	for again := mostConflicts; ; again-- {
		state, err := upgrade.Read(ctx, at.Dynamic, at.there(), want)
		if err != nil {
			return fail(err)
		}
		decision := state.Decide(want)
		if ask {
			err = decision.Write(ctx, at.Dynamic)
		}
		switch {
		case err == nil:
			return state, decision, nil
		case !apierrors.IsConflict(err) || again == 0:
			return fail(err)
		}
	}
}

// mostConflicts is how often at most the cluster is read again, since it has changed between a look and a write.
const mostConflicts = 3
