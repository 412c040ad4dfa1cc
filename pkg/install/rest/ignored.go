package rest

import (
	"context"
	"net/http"

	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/plane"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/objects"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/transport"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const ignoredPath = "/v2/clusters/{cluster_id}/ignored-validations"

// askIgnored says whether the look that begins wants to know which may fail.
func (w *watch) askIgnored(asks bool) {
	if asks && !w.asksIgnored {
		w.need(func(n *needs) { raise(&n.ignored, overdue) })
	}
	w.asksIgnored = asks
}

// readIgnored reads which validations may fail, where somebody asks for it: the
// cluster does not show it. Who may not read it may not set it either.
func (p *Plane) readIgnored(ctx context.Context, w *watch) error {
	if !w.asksIgnored {
		return nil
	}
	var wire objects.Ignored
	if err := p.conn.Do(ctx, transport.Request{
		Op: "read ignored validations of", On: w.id, Method: http.MethodGet, Path: ignoredPath, In: map[string]string{"cluster_id": w.id},
	}, &wire); err != nil {
		return err
	}
	w.ignored = setting.ValueOf(wire.Validations())
	return nil
}

// ignoreValidations replaces both lists.
func (p *Plane) ignoreValidations(ctx context.Context, _ *install.Desired, action install.Action) error {
	var ignored spec.IgnoreValidations
	if err := action.Settings[setting.Ignored].Decode(&ignored); err != nil {
		return plane.Refusal(action, err)
	}
	return p.conn.Do(ctx, transport.Request{
		Op: "set ignored validations of", On: action.Name, Method: http.MethodPut, Path: ignoredPath,
		In: map[string]string{"cluster_id": action.Target}, Body: objects.IgnoredOf(ignored),
	}, nil)
}
