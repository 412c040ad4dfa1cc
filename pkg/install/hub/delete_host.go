package hub

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
)

// DeleteHost deletes an Agent. A machine whose agent still runs registers again. The
// node of a machine that is part of a cluster runs on: the service would take it out,
// and is told not to. With RemoveNode it does so, if the cluster is not being deleted.
func (p *Plane) DeleteHost(ctx context.Context, infraEnvID, hostID string, options install.DeleteOptions) error {
	settle := (*writer).keepNode
	if options.RemoveNode {
		settle = (*writer).letNodeGo
	}
	namespace, _ := parts(infraEnvID, p.namespaceOf(infraEnvID))
	at, err := p.place(ctx, namespace)
	if err != nil {
		return err
	}
	u := at.store(agents()).get(hostID)
	if u == nil {
		return notFound("host", hostID, "oaictl get hosts")
	}
	w := &writer{Plane: p, at: at, tell: options.Tell}
	if err := settle(w, ctx, u); err != nil {
		return err
	}
	if err := w.sendDelete(ctx, agents(), u); err != nil {
		return err
	}
	return w.gone(ctx, agents(), u)
}

// keepNode has the service leave the node of an Agent in its cluster. What the Agent
// says of its host may be late, so that it is written to each.
func (w *writer) keepNode(ctx context.Context, agent *unstructured.Unstructured) error {
	if skipsCleanup(agent) {
		return nil
	}
	return w.mark(ctx, agents(), agent, annotated(hubapi.AnnotationAgentSkipCleanup, "true"))
}

// letNodeGo takes back what keepNode says.
func (w *writer) letNodeGo(ctx context.Context, agent *unstructured.Unstructured) error {
	if !skipsCleanup(agent) {
		return nil
	}
	return w.mark(ctx, agents(), agent, annotated(hubapi.AnnotationAgentSkipCleanup, nil))
}

// skipsCleanup goes by the annotation alone, as the service does: its value is nothing.
func skipsCleanup(agent *unstructured.Unstructured) bool {
	_, skips := agent.GetAnnotations()[hubapi.AnnotationAgentSkipCleanup]
	return skips
}

func annotated(name string, value any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{name: value}}}
}
