package hub

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/hubapi"
)

// leftovers deletes what was made for the cluster and is not watched: Secrets,
// the ClusterImageSet and, if it is plain that nothing of others is in it, the
// namespace. Whoever may not delete the latter two leaves them. What is left is
// noted.
func (w *deleter) leftovers(ctx context.Context) error {
	selector := metav1.ListOptions{LabelSelector: hubapi.LabelCluster + "=" + w.cluster}
	short, cancel := brief(ctx)
	defer cancel()
	list, err := w.client(secrets(), w.at.name).List(short, selector)
	if err != nil {
		return w.fault(attempt{op: "list Secrets in", verb: "list", kind: secrets(), namespace: w.at.name}, err)
	}
	for i := range list.Items {
		if err := w.remove(ctx, secrets(), &list.Items[i]); err != nil {
			return err
		}
	}
	if err := w.removeImageSet(ctx); err != nil {
		return err
	}
	if alike := w.alike(); len(alike) > 0 {
		w.note(fmt.Sprintf("left, since oaictl did not make them (they have no label %s): %s", hubapi.LabelCluster, strings.Join(alike, ", ")))
	}
	return w.removeNamespace(ctx)
}

// alike are objects of others that belong to the cluster, or have its name.
func (w *deleter) alike() []string {
	own := id(w.at.name, w.cluster)
	var names []string
	for _, k := range []kind{agentInstalls(), infraEnvs(), nmStateConfigs(), agentClassifications()} {
		for _, u := range w.at.store(k).all() {
			if u.GetLabels()[hubapi.LabelCluster] == "" && (u.GetName() == w.cluster || boundTo(u) == own) {
				names = append(names, k.name+" "+u.GetName())
			}
		}
	}
	return names
}

// removeImageSet deletes the ClusterImageSet that was made of the file's release.
func (w *deleter) removeImageSet(ctx context.Context) error {
	name := w.cluster + "-release"
	u, err := w.live(ctx, clusterImageSets(), "", name)
	if err == nil && u != nil && u.GetLabels()[hubapi.LabelCluster] == w.cluster && u.GetDeletionTimestamp() == nil {
		err = w.remove(ctx, clusterImageSets(), u)
	}
	if notAllowed(err) {
		w.note(fmt.Sprintf("the ClusterImageSet %s stays if it is there: %v", name, err))
		return nil
	}
	return err
}

// removeNamespace deletes the namespace if oaictl made it, for this cluster or for one
// that has left it since, and nothing of others is in it.
func (w *deleter) removeNamespace(ctx context.Context) error {
	stays := func(why string) {
		w.note(fmt.Sprintf("the namespace %s stays: %s", w.at.name, why))
	}
	u, err := w.live(ctx, namespaces(), "", w.at.name)
	switch {
	case notAllowed(err):
		stays("these credentials may not look at it")
		return nil
	case err != nil:
		return err
	case u == nil || u.GetDeletionTimestamp() != nil:
		return nil
	}
	if u.GetLabels()[hubapi.LabelCluster] == "" {
		stays("oaictl did not make it")
		return nil
	}
	short, cancel := brief(ctx)
	defer cancel()
	if why := w.shared(short); why != "" {
		stays(why)
		return nil
	}
	if err = w.remove(ctx, namespaces(), u); notAllowed(err) {
		stays("these credentials may not delete it")
		return nil
	}
	return err
}
