package teardown

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
)

// leftovers deletes what was made for the cluster and is not watched: Secrets,
// the ClusterImageSet and, if it is plain that nothing of others is in it, the
// namespace. Whoever may not delete the latter two leaves them. What is left is
// noted.
func (w *Deleter) leftovers(ctx context.Context) error {
	secrets, err := w.secrets(ctx)
	if err != nil {
		return err
	}
	for i := range secrets {
		if err := w.Remove(ctx, kube.Secrets(), &secrets[i]); err != nil {
			return err
		}
	}
	if err := w.removeImageSet(ctx); err != nil {
		return err
	}
	if alike := w.unlabelled(); len(alike) > 0 {
		w.note(fmt.Sprintf("left, since oaictl did not make them (they have no label %s): %s", hubapi.LabelCluster, strings.Join(alike, ", ")))
	}
	return w.removeNamespace(ctx)
}

// secrets are the Secrets that carry the cluster's label, which are not watched.
func (w *Deleter) secrets(ctx context.Context) ([]unstructured.Unstructured, error) {
	ctx, cancel := kube.WithTimeout(ctx)
	defer cancel()
	selector := metav1.ListOptions{LabelSelector: hubapi.LabelCluster + "=" + w.Cluster}
	list, err := w.Resource(kube.Secrets(), w.Namespace.Name).List(ctx, selector)
	if err != nil {
		return nil, w.Fault(kube.Attempt{Op: "list Secrets in", Verb: "list", Kind: kube.Secrets(), Namespace: w.Namespace.Name}, err)
	}
	return list.Items, nil
}

// unlabelled are objects of others that belong to the cluster, or have its name.
func (w *Deleter) unlabelled() []string {
	own := kube.ID(w.Namespace.Name, w.Cluster)
	var names []string
	for _, k := range []kube.Kind{kube.AgentClusterInstalls(), kube.InfraEnvs(), kube.NMStateConfigs(), kube.AgentClassifications()} {
		for _, u := range w.Namespace.Store(k).All() {
			if u.GetLabels()[hubapi.LabelCluster] == "" && (u.GetName() == w.Cluster || kube.BoundTo(u) == own) {
				names = append(names, k.Name+" "+u.GetName())
			}
		}
	}
	return names
}

// removeImageSet deletes the ClusterImageSet that was made of the file's release.
func (w *Deleter) removeImageSet(ctx context.Context) error {
	name := w.Cluster + "-release"
	u, err := w.Get(ctx, kube.ClusterImageSets(), "", name)
	if err == nil && u != nil && u.GetLabels()[hubapi.LabelCluster] == w.Cluster && u.GetDeletionTimestamp() == nil {
		err = w.Remove(ctx, kube.ClusterImageSets(), u)
	}
	if kube.NotAllowed(err) {
		w.note(fmt.Sprintf("the ClusterImageSet %s stays if it is there: %v", name, err))
		return nil
	}
	return err
}

// removeNamespace deletes the namespace if oaictl made it, for this cluster or for one
// that has left it since, and nothing of others is in it.
func (w *Deleter) removeNamespace(ctx context.Context) error {
	stays := func(why string) {
		w.note(fmt.Sprintf("the namespace %s stays: %s", w.Namespace.Name, why))
	}
	u, err := w.Get(ctx, kube.Namespaces(), "", w.Namespace.Name)
	switch {
	case kube.NotAllowed(err):
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
	short, cancel := kube.WithTimeout(ctx)
	defer cancel()
	if why := w.namespaceContent(short); why != "" {
		stays(why)
		return nil
	}
	if err = w.Remove(ctx, kube.Namespaces(), u); kube.NotAllowed(err) {
		stays("these credentials may not delete it")
		return nil
	}
	return err
}
