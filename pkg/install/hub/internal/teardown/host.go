package teardown

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
)

// DeleteHost deletes an Agent. Its node runs on, unless removeNode has the service take
// it out of its cluster.
func (w *Deleter) DeleteHost(ctx context.Context, name string, removeNode bool) error {
	u := w.Namespace.Store(kube.Agents()).Get(name)
	if u == nil {
		return kube.NotFound("host", name, "oaictl get hosts")
	}
	settle := w.keepNode
	if removeNode {
		settle = w.removeNode
	}
	if err := settle(ctx, u); err != nil {
		return err
	}
	if err := w.Delete(ctx, kube.Agents(), u); err != nil {
		return err
	}
	return w.gone(ctx, kube.Agents(), u)
}

// keepNode has the service leave the node of an Agent in its cluster. What the Agent
// says of its host may be late, so that it is written to each.
func (w *Deleter) keepNode(ctx context.Context, agent *unstructured.Unstructured) error {
	if skipsCleanup(agent) {
		return nil
	}
	return w.patch(ctx, kube.Agents(), agent, annotated(hubapi.AnnotationAgentSkipCleanup, "true"))
}

// removeNode takes back what keepNode says.
func (w *Deleter) removeNode(ctx context.Context, agent *unstructured.Unstructured) error {
	if !skipsCleanup(agent) {
		return nil
	}
	return w.patch(ctx, kube.Agents(), agent, annotated(hubapi.AnnotationAgentSkipCleanup, nil))
}

// skipsCleanup goes by the annotation alone, as the service does: its value is nothing.
func skipsCleanup(agent *unstructured.Unstructured) bool {
	_, skips := agent.GetAnnotations()[hubapi.AnnotationAgentSkipCleanup]
	return skips
}

func annotated(name string, value any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{name: value}}}
}
