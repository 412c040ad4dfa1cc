package hub

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

// inherit gives an Agent the node labels that its InfraEnv passes on, and takes
// away those that it passed on before. Which they are is remembered in an
// annotation, so that the Agent's own stay.
func (h *hub) inherit(ctx context.Context, agent *objects.Object) error {
	env := h.store.get(objects.KindInfraEnv, agent.GetNamespace(), agent.GetLabels()[hubapi.LabelAgentInfraEnv])
	if env == nil {
		return nil
	}
	given := map[string]string{}
	for _, name := range words(env.GetAnnotations()[hubapi.AnnotationPropagateNodeLabels]) {
		if text, there := env.GetLabels()[name]; there {
			given[name] = text
		}
	}
	labels, _, _ := unstructured.NestedStringMap(agent.Object, "spec", "nodeLabels")
	before, notes := maps.Clone(labels), agent.GetAnnotations()
	for _, name := range words(notes[hubapi.AnnotationInheritedNodeLabels]) {
		delete(labels, name)
	}
	for name, text := range given {
		labels, _ = objects.SetMark(labels, name, text)
	}
	noted := false
	if _, was := notes[hubapi.AnnotationInheritedNodeLabels]; was || len(given) > 0 {
		notes, noted = objects.SetMark(notes, hubapi.AnnotationInheritedNodeLabels, strings.Join(slices.Sorted(maps.Keys(given)), ","))
	}
	if !noted && maps.Equal(labels, before) {
		return nil
	}
	agent.SetAnnotations(notes)
	unstructured.RemoveNestedField(agent.Object, "spec", "nodeLabels")
	if len(labels) > 0 {
		if err := unstructured.SetNestedStringMap(agent.Object, labels, "spec", "nodeLabels"); err != nil {
			return err
		}
	}
	return h.store.update(ctx, agent)
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}
