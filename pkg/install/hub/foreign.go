package hub

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/render"
)

// foreign refuses before anything is written where an object of somebody else
// stands in the way, be it of the cluster or of what is made after it. What is
// watched is known. What is not is asked for here instead of before it is written; the
// Secrets of machines, one for each, are left to their turn.
func (a *actor) foreign(ctx context.Context, made *render.Objects) error {
	for _, want := range made.All() {
		k, known := kube.KindOf(want.GetKind())
		if !known || k.ClusterWide() || want.GetNamespace() != a.Namespace.Name {
			continue
		}
		if live := a.Namespace.Store(k).Get(want.GetName()); live != nil {
			if a.borrowed(want, live) {
				continue
			}
			if err := a.CheckOwner(k, live); err != nil {
				return err
			}
		}
	}
	a.Asked = map[string]*unstructured.Unstructured{}
	for _, want := range made.Cluster {
		k, _ := kube.KindOf(want.GetKind())
		if _, watched := a.Namespace.Stores[k.Name]; watched && k.Selector == "" {
			continue
		}
		live, err := a.Get(ctx, k, want.GetNamespace(), want.GetName())
		if err != nil {
			return err
		}
		if live != nil {
			if err := a.CheckOwner(k, live); err != nil {
				return err
			}
		}
		if live == nil || a.Namespace.Store(k).Get(want.GetName()) == nil {
			a.Asked[k.Name+" "+kube.ID(want.GetNamespace(), want.GetName())] = live
		}
	}
	return nil
}

// borrowed says whether an object of others is used as it is: an InfraEnv that is
// bound to the cluster, and a BareMetalHost that boots the same machine.
func (a *actor) borrowed(want, live *unstructured.Unstructured) bool {
	switch live.GetKind() {
	case hubapi.KindInfraEnv:
		return kube.BoundTo(live) == kube.ID(a.Namespace.Name, a.Cluster)
	case hubapi.KindBareMetalHost:
		mac, _, _ := unstructured.NestedString(live.Object, "spec", "bootMACAddress")
		wanted, _, _ := unstructured.NestedString(want.Object, "spec", "bootMACAddress")
		return mac != "" && strings.EqualFold(mac, wanted)
	}
	return false
}
