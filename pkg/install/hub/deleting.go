package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/vocab"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/plane"
)

// beingDeleted is the fault for an object that is on its way out.
func beingDeleted(u *unstructured.Unstructured) *install.Fault {
	what, next := "its "+u.GetKind(), "wait until it is gone, then run the same command again; a finalizer that stays is that of a controller that is down"
	switch u.GetKind() {
	case hubapi.KindNamespace:
		what = "it"
	case hubapi.KindClusterDeployment:
		next = fmt.Sprintf("oaictl delete cluster %s, which goes on with it, and tells what it waits for", id(u.GetNamespace(), u.GetName()))
	}
	return &install.Fault{
		Code: install.CodeFailure, Op: "observe cluster", On: id(u.GetNamespace(), u.GetName()),
		Err:  fmt.Errorf("%s %w since %s%s", what, install.ErrDeleting, u.GetDeletionTimestamp().UTC().Format("15:04:05"), heldInside(u)),
		Next: next,
	}
}

// heldInside says what holds an object that is being deleted: its finalizers, or
// what a namespace says of those of its content.
func heldInside(u *unstructured.Unstructured) string {
	if u.GetKind() != hubapi.KindNamespace {
		return heldBy(u, " (of %s)")
	}
	var texts []string
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		if fields["status"] != string(metav1.ConditionTrue) {
			continue
		}
		if message, _ := fields["message"].(string); message != "" {
			texts = append(texts, strings.TrimSuffix(message, "."))
		}
	}
	finalizers, _, _ := unstructured.NestedStringSlice(u.Object, "spec", "finalizers")
	for _, finalizer := range append(finalizers, u.GetFinalizers()...) {
		if finalizer != "kubernetes" { // that of the namespace controller, which goes by the content
			texts = append(texts, "the finalizer "+finalizer)
		}
	}
	if len(texts) == 0 {
		return "; its content is not gone yet"
	}
	return ": " + strings.Join(texts, "; ")
}

// listedDeleting is a cluster that is being deleted as lists show it.
func listedDeleting(ref install.ClusterRef, deployment *unstructured.Unstructured, hosts int) install.Cluster {
	ref.Hosts = hosts
	return install.Cluster{
		ClusterRef: ref, State: vocab.ClusterDeleting, StatusInfo: strings.TrimPrefix(heldBy(deployment, " (of %s)"), ", "),
		StatusSince: deployment.GetDeletionTimestamp().Time,
	}
}

// ClusterLeft finds what is left of a cluster of oaictl by its id (NAMESPACE/NAME) or
// name: a ClusterDeployment of that name, however far its deletion is, or else objects
// that carry the cluster's label. The Status says which. None and several are faults
// with CodeNotFound. DeleteCluster deletes what it finds.
func (p *Plane) ClusterLeft(ctx context.Context, text string) (install.ClusterRef, error) {
	ref, err := p.ClusterByNameOrID(ctx, text)
	var fault *install.Fault
	if err == nil || !errors.As(err, &fault) || fault.Status != 404 {
		return ref, err
	}
	namespace, name := parts(text, p.namespace)
	if len(validation.IsValidLabelValue(name)) > 0 {
		return ref, err
	}
	found := map[string][]string{} // kinds by namespace
	have, err := p.connect(ctx)
	if err != nil {
		return install.ClusterRef{}, err
	}
	for _, k := range append(watched()[1:], secrets()) {
		if k.Group != "" && !have.has(k) {
			continue
		}
		if err := p.labelled(ctx, k, namespace, name, found); err != nil {
			return install.ClusterRef{}, err
		}
	}
	var same []install.ClusterRef
	for at, kinds := range found {
		same = append(same, install.ClusterRef{ID: id(at, name), Name: name, Owned: true, Status: "left: " + strings.Join(kinds, ", ")})
	}
	slices.SortFunc(same, func(a, b install.ClusterRef) int { return strings.Compare(a.ID, b.ID) })
	return plane.Only("cluster", text, notFound("cluster", text, "oaictl get clusters"), same, func(c install.ClusterRef) string { return fmt.Sprintf("%s (%s)", c.ID, c.Status) })
}

// labelled notes the namespaces in which objects of a kind carry a cluster's label.
// Of what the user may not list nothing is found.
func (p *Plane) labelled(ctx context.Context, k kind, namespace, cluster string, found map[string][]string) error {
	ctx, cancel := brief(ctx)
	defer cancel()
	list, err := p.dynamic.Resource(k.GroupVersionResource).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: hubapi.LabelCluster + "=" + cluster})
	if err != nil {
		if fault := p.unlisted(k, namespace, err); !notAllowed(fault) {
			return fault
		}
		return nil
	}
	for i := range list.Items {
		at := list.Items[i].GetNamespace()
		if !slices.Contains(found[at], k.name) {
			found[at] = append(found[at], k.name)
		}
	}
	return nil
}
