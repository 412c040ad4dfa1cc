package teardown

import (
	"context"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
)

// DeleteHost deletes an Agent. Its node runs on, unless removeNode has the service take
// it out of its cluster.
func (w *Deleter) DeleteHost(ctx context.Context, name string, removeNode bool) error {
	u := w.Namespace.Store(kube.Agents()).Get(name)
	if u == nil {
		return kube.NotFound("host", name, "{get hosts}")
	}
	// The service goes by the annotation alone, whatever its value. What the Agent says
	// of its host may be late, so that it is written to each.
	_, skips := u.GetAnnotations()[hubapi.AnnotationAgentSkipCleanup]
	if skips == removeNode {
		annotations := map[string]any{hubapi.AnnotationAgentSkipCleanup: "true"}
		if removeNode {
			annotations[hubapi.AnnotationAgentSkipCleanup] = nil
		}
		if err := w.patch(ctx, kube.Agents(), u, map[string]any{"metadata": map[string]any{"annotations": annotations}}); err != nil {
			return err
		}
	}
	if err := w.Delete(ctx, kube.Agents(), u); err != nil {
		return err
	}
	return w.gone(ctx, kube.Agents(), u)
}
