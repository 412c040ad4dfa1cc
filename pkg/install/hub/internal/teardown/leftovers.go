package teardown

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
)

// leftovers deletes what was made for the cluster and is not watched: Secrets, the ClusterImageSet and the namespace,
// if it certainly holds nothing of others. A user who may not delete the latter two leaves them. What is left is
// reported. made is the AgentClusterInstall that there was, or nil.
func (w *Deleter) leftovers(ctx context.Context, made *unstructured.Unstructured) error {
	secrets, err := w.secrets(ctx)
	if err != nil {
		return err
	}
	for i := range secrets {
		if err := w.remove(ctx, kube.Secrets, &secrets[i]); err != nil {
			return err
		}
	}
	for _, name := range w.imageSets(made) {
		if err := w.removeImageSet(ctx, name, made); err != nil {
			return err
		}
	}
	if alike := w.unlabelled(); len(alike) > 0 {
		w.report(fmt.Sprintf("left, since oaictl did not make them (they have no label %s): %s", hubapi.LabelCluster, strings.Join(alike, ", ")))
	}
	return w.removeNamespace(ctx)
}

func (w *Deleter) secrets(ctx context.Context) ([]unstructured.Unstructured, error) {
	found, err := w.Select(ctx, kube.Secrets, w.Namespace.Name, metav1.ListOptions{LabelSelector: hubapi.LabelCluster + "=" + w.Cluster})
	if err != nil {
		return nil, w.Fault(kube.Attempt{Op: "list Secrets in", Verb: "list", Kind: kube.Secrets, Namespace: w.Namespace.Name}, err)
	}
	return found, nil
}

func (w *Deleter) unlabelled() []string {
	own := kube.ID(w.Namespace.Name, w.Cluster)
	var names []string
	for _, k := range []kube.Kind{kube.AgentClusterInstalls, kube.InfraEnvs, kube.NMStateConfigs, kube.AgentClassifications} {
		for _, u := range w.Namespace.Store(k).All() {
			if u.GetLabels()[hubapi.LabelCluster] == "" && (u.GetName() == w.Cluster || kube.BoundTo(u) == own) {
				names = append(names, string(k)+" "+u.GetName())
			}
		}
	}
	return names
}

// imageSets are the possible names of the ClusterImageSet that was made for the cluster. The former name counts only
// for a cluster that refers to it, or if it is not known which one the cluster refers to.
func (w *Deleter) imageSets(made *unstructured.Unstructured) []string {
	name, former := w.ImageSetNames(w.Namespace.Name, w.Cluster)
	switch {
	case made == nil:
		return []string{name, former}
	case kube.ImageSetOf(made) == former:
		return []string{former}
	}
	return []string{name}
}

func (w *Deleter) removeImageSet(ctx context.Context, name string, made *unstructured.Unstructured) error {
	u, err := w.ownImageSet(ctx, name, made)
	if err == nil && u != nil {
		err = w.remove(ctx, kube.ClusterImageSets, u)
	}
	if kube.NotAllowed(err) {
		w.report(fmt.Sprintf("the ClusterImageSet %s stays if it is there: %v", name, err))
		return nil
	}
	return err
}

// ownImageSet is the ClusterImageSet of that name, nil where there is none, it was not made for the cluster, or another
// cluster refers to it, in any namespace: the label has only the cluster's name.
func (w *Deleter) ownImageSet(ctx context.Context, name string, made *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	u, err := w.Get(ctx, kube.ClusterImageSets, "", name)
	if err != nil || u == nil || u.GetLabels()[hubapi.LabelCluster] != w.Cluster || u.GetDeletionTimestamp() != nil {
		return nil, err
	}
	installs, err := w.Select(ctx, kube.AgentClusterInstalls, "", metav1.ListOptions{})
	if err != nil {
		return nil, w.Fault(kube.Attempt{Op: "find out who else refers to", Verb: "list", Kind: kube.AgentClusterInstalls, Name: name}, err)
	}
	for i := range installs {
		other := &installs[i]
		if kube.ImageSetOf(other) == name && (made == nil || other.GetUID() != made.GetUID()) {
			w.report(fmt.Sprintf("the ClusterImageSet %s stays: the AgentClusterInstall %s refers to it", name,
				kube.ID(other.GetNamespace(), other.GetName())))
			return nil, nil
		}
	}
	return u, nil
}

// removeNamespace deletes the namespace if oaictl made it, for this cluster or for one
// that has left it since, and nothing of others is in it.
func (w *Deleter) removeNamespace(ctx context.Context) error {
	stays := func(why string) {
		w.report(fmt.Sprintf("the namespace %s stays: %s", w.Namespace.Name, why))
	}
	u, err := w.Get(ctx, kube.Namespaces, "", w.Namespace.Name)
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
	if err = w.remove(ctx, kube.Namespaces, u); kube.NotAllowed(err) {
		stays("these credentials may not delete it")
		return nil
	}
	return err
}

// namespaceContent says what a namespace holds that is not the cluster's, or why it may hold something, "" if it holds
// nothing else: all objects in a namespace are deleted with it, of every kind. If a kind may not be listed, it counts
// as something that the namespace may hold.
func (w *Deleter) namespaceContent(ctx context.Context) string {
	for _, s := range kube.Sorted(w.Namespace.Stores) {
		if all := s.All(); len(all) > 0 {
			return "it holds " + string(s.Kind) + " " + all[0].GetName()
		}
	}
	kinds, err := w.deletable(ctx)
	if err != nil {
		return "the hub does not say what there may be in it: " + kube.Shorten(redact.Text(err.Error()))
	}
	for _, k := range kinds {
		if why := w.othersOf(ctx, k); why != "" {
			return why
		}
	}
	return ""
}

// othersOf is shared for one kind.
func (w *Deleter) othersOf(ctx context.Context, k schema.GroupVersionResource) string {
	for page := ""; ; {
		list, err := w.Dynamic.Resource(k).Namespace(w.Namespace.Name).List(ctx, metav1.ListOptions{Limit: 100, Continue: page})
		switch {
		case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
			return ""
		case apierrors.IsForbidden(err):
			return "these credentials may not see whether others have " + k.GroupResource().String() + " in it"
		case err != nil:
			return "the hub does not say whether others have " + k.GroupResource().String() + " in it: " + kube.Shorten(redact.Text(err.Error()))
		}
		for i := range list.Items {
			if u := &list.Items[i]; !ofEveryNamespace(u) && u.GetLabels()[hubapi.LabelCluster] != w.Cluster {
				return "others have something in it: " + u.GetKind() + " " + u.GetName()
			}
		}
		if page = list.GetContinue(); page == "" {
			return ""
		}
	}
}

// deletable are the kinds that can be in a namespace and be deleted there, except events, which belong to the objects
// that they are about.
func (w *Deleter) deletable(ctx context.Context) ([]schema.GroupVersionResource, error) {
	read := func(path string, into any) error {
		data, err := w.Raw.Get().AbsPath(path).Do(ctx).Raw()
		if err != nil {
			return err
		}
		return json.Unmarshal(data, into)
	}
	var groups metav1.APIGroupList
	if err := read("/apis", &groups); err != nil {
		return nil, err
	}
	paths := []string{"/api/v1"}
	for _, group := range groups.Groups {
		paths = append(paths, "/apis/"+group.PreferredVersion.GroupVersion)
	}
	var found []schema.GroupVersionResource
	for _, path := range paths {
		var list metav1.APIResourceList
		if err := read(path, &list); err != nil {
			return nil, err
		}
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if r.Namespaced && r.Kind != "Event" && !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "list") &&
				slices.Contains(r.Verbs, "delete") {
				found = append(found, version.WithResource(r.Name))
			}
		}
	}
	return found, nil
}

// ofEveryNamespace reports whether an object is one that Kubernetes, OpenShift or its operators put into each
// namespace, or that the service made for the cluster.
func ofEveryNamespace(u *unstructured.Unstructured) bool {
	kind, _, _ := unstructured.NestedString(u.Object, "type")
	name, labels := u.GetName(), u.GetLabels()
	switch {
	case u.GetKind() == "ServiceAccount" && (name == "default" || name == "builder" || name == "deployer"):
		return true
	case u.GetKind() == "RoleBinding" && (name == "system:deployers" || name == "system:image-builders" || name == "system:image-pullers"):
		return true
	case u.GetKind() == "ClusterServiceVersion" && labels["olm.copiedFrom"] != "": // a copy of an operator that is for all namespaces
		return true
	case name == "kube-root-ca.crt", name == "openshift-service-ca.crt":
		return true
	case kind == "kubernetes.io/service-account-token", kind == "kubernetes.io/dockercfg":
		return true
	}
	return labels[hubapi.LabelHiveClusterDeployment] != ""
}
