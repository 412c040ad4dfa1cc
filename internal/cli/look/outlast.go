package look

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/pkg/install"
)

// patience is how long a watch goes on while the service does not answer.
const patience = 5 * time.Minute

// silence lets a watch go on where a look fails.
type silence struct {
	silent time.Time // since when the service has not answered
}

// tolerate is nil for a failed look that a watch goes on after: at what is being deleted,
// however long that takes, and at a service that is silent, for a while. It tells of
// either once.
func (o *silence) tolerate(ctx context.Context, a *base.App, err error) error {
	var fault *install.Fault
	switch {
	case err == nil:
		o.silent = time.Time{}
		return nil
	case ctx.Err() != nil:
		return watchEnded(ctx, err)
	case !errors.As(err, &fault), fault.Permanent, fault.Code == install.CodeAuth:
		return err
	case errors.Is(err, install.ErrDeleting):
		if o.silent.IsZero() {
			a.Say("%v", err)
		}
		o.silent = a.Clock.Now()
	case o.silent.IsZero():
		o.silent = a.Clock.Now()
		a.Warn("the service does not answer: %v", err)
	case a.Clock.Now().Sub(o.silent) >= patience:
		return err
	}
	return nil
}

// subject is by what something is looked for, look after look: by its name until there
// is one, and then by its id. So another of the same name is neither taken for it,
// nor in its way. Once it is gone, the name counts again.
type subject struct {
	name, id string
	seen     bool
}

func (p *subject) text() string { return cmp.Or(p.id, p.name) }

// saw takes what a look came to. That there is none is an error only of the first.
func (p *subject) saw(id string, err error) (gone bool, _ error) {
	switch {
	case err == nil:
		p.id, p.seen = id, true
	case p.seen && install.CodeOf(err) == install.CodeNotFound:
		p.id = ""
		return true, nil
	}
	return false, err
}

// lookAgain is look for one whose looks repeat: nil, without an error, where what was
// seen before is gone.
func lookAgain(ctx context.Context, a *base.App, service *install.Client, t base.Target, p *subject) (*install.Found, error) {
	if t.File == "" {
		t.Name = p.text()
	}
	seen, err := a.ObserveCluster(ctx, service, t)
	if err != nil {
		_, err = p.saw("", err)
		return nil, err
	}
	_, err = p.saw(seen.Ref.ID, nil)
	return seen, err
}
