package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hubapi"
)

// bear is how long the controllers of a hub may take to let go of objects that
// are deleted.
const bear = 10 * time.Minute

// DeleteCluster deletes a cluster's objects, in the order in which their
// controllers can let go of them, and waits for each to be gone: the machines,
// the cluster itself with its AgentClusterInstall and Agents, its images and
// networks, and what was made for it alone. An installed cluster runs on. What
// carries another label or none is left. One that is gone already is a success.
func (p *Plane) DeleteCluster(ctx context.Context, clusterID string) error {
	namespace, name := parts(clusterID, p.namespaceOf(clusterID))
	at, err := p.place(ctx, namespace)
	if err != nil {
		return err
	}
	w := &writer{Plane: p, at: at, cluster: name}
	deployment := at.shelf(clusterDeployments()).get(name)
	if deployment != nil {
		w.cluster = firstOf(deployment.GetLabels()[hubapi.LabelCluster], name)
		if deployment.GetAnnotations()[hubapi.AnnotationProtectedDelete] == "true" {
			return &install.Fault{
				Code: install.CodeNotFound, Op: "delete cluster", On: clusterID, Permanent: true,
				Err:  errors.New("somebody has protected it by the annotation " + hubapi.AnnotationProtectedDelete),
				Next: fmt.Sprintf("kubectl annotate clusterdeployment -n %s %s %s-, if it is to go nevertheless", namespace, name, hubapi.AnnotationProtectedDelete),
			}
		}
	}
	if err := w.deleteAll(ctx, bareMetalHosts(), w.ours(bareMetalHosts())); err != nil {
		return err
	}
	if deployment != nil {
		if err := w.deleteDeployment(ctx, deployment); err != nil {
			return err
		}
	}
	// Of a run that was broken off there may be one without its ClusterDeployment.
	if err := w.deleteAll(ctx, agentInstalls(), w.ours(agentInstalls())); err != nil {
		return err
	}
	for _, env := range w.ours(infraEnvs()) {
		if err := w.deleteInfraEnv(ctx, env); err != nil {
			return err
		}
	}
	for _, k := range []kind{agentClassifications(), nmStateConfigs(), configMaps()} {
		if err := w.deleteAll(ctx, k, w.ours(k)); err != nil {
			return err
		}
	}
	return w.leftovers(ctx)
}

// ours are the objects of a kind that carry the cluster's label.
func (w *writer) ours(k kind) []*unstructured.Unstructured {
	return slices.DeleteFunc(w.at.shelf(k).all(), func(u *unstructured.Unstructured) bool { return u.GetLabels()[hubapi.LabelCluster] != w.cluster })
}

// deleteAll deletes objects and waits until they are gone.
func (w *writer) deleteAll(ctx context.Context, k kind, objects []*unstructured.Unstructured) error {
	for _, u := range objects {
		if u.GetDeletionTimestamp() == nil {
			if err := w.sendDelete(ctx, k, u); err != nil {
				return err
			}
		}
	}
	return w.gone(ctx, k, objects...)
}

// deleteDeployment deletes the ClusterDeployment, whose controller deletes the
// AgentClusterInstall, whose controller lets go of the Agents.
func (w *writer) deleteDeployment(ctx context.Context, deployment *unstructured.Unstructured) error {
	made := installOf(w.at, deployment)
	if deployment.GetDeletionTimestamp() == nil {
		if err := w.sendDelete(ctx, clusterDeployments(), deployment); err != nil {
			return err
		}
	}
	if made != nil {
		// Where no controller looks after the ClusterDeployment, its dependent goes
		// by the garbage collector only if it has an owner reference yet.
		if made.GetDeletionTimestamp() == nil && len(made.GetOwnerReferences()) == 0 {
			if err := w.sendDelete(ctx, agentInstalls(), made); err != nil {
				return err
			}
		}
		if err := w.gone(ctx, agentInstalls(), made); err != nil {
			return err
		}
	}
	return w.gone(ctx, clusterDeployments(), deployment)
}

// deleteInfraEnv deletes an InfraEnv; its Agents go with it.
func (w *writer) deleteInfraEnv(ctx context.Context, u *unstructured.Unstructured) error {
	if err := w.deleteAll(ctx, infraEnvs(), []*unstructured.Unstructured{u}); err != nil {
		return err
	}
	own := slices.DeleteFunc(w.at.shelf(agents()).all(), func(agent *unstructured.Unstructured) bool {
		return agent.GetLabels()[hubapi.LabelAgentInfraEnv] != u.GetName()
	})
	return w.gone(ctx, agents(), own...)
}

// gone waits until objects are no more; others that take their names, as an
// Agent does whose machine registers again, are none of them. Those that stay
// are named, with what holds them, unless the hub itself is not heard of.
func (w *writer) gone(ctx context.Context, k kind, objects ...*unstructured.Unstructured) error {
	began := w.clock.Now()
	for {
		var left []*unstructured.Unstructured
		for _, u := range objects {
			if now := w.at.shelf(k).get(u.GetName()); now != nil && now.GetUID() == u.GetUID() {
				left = append(left, now)
			}
		}
		if len(left) == 0 {
			return nil
		}
		over := w.clock.Now().Sub(began) >= bear
		var deaf *install.Fault
		switch err := w.failing(w.at); {
		case errors.As(err, &deaf) && (over || deaf.Permanent):
			return deaf
		case over:
			return stuck(left)
		}
		if err := w.clock.Sleep(ctx, time.Second/4); err != nil {
			return err
		}
	}
}

// stuck explains what holds objects that do not go.
func stuck(left []*unstructured.Unstructured) *install.Fault {
	var texts []string
	for _, u := range left {
		text := u.GetKind() + " " + u.GetName()
		for _, finalizer := range u.GetFinalizers() {
			text += fmt.Sprintf(", held by the finalizer %s: %s", finalizer, holder(finalizer))
		}
		if len(u.GetFinalizers()) == 0 {
			text += ", held by nothing: the garbage collector of the hub is behind"
		}
		texts = append(texts, text)
	}
	return &install.Fault{
		Code: install.CodeTimeout, Op: "delete", On: left[0].GetNamespace() + "/" + left[0].GetName(),
		Err:  fmt.Errorf("still there after %s: %s", bear, strings.Join(texts, "; ")),
		Next: "bring that controller up again, and run the same command again",
	}
}

// holder is whose a finalizer is, and so what is down where it stays.
func holder(finalizer string) string {
	switch {
	case finalizer == hubapi.FinalizerBMAC:
		return "the bare-metal-agent controller of the assisted-service, or the bare metal operator that it waits for, is down"
	case strings.HasPrefix(finalizer, hubapi.GroupHive+"/"):
		return "Hive's operator is down"
	case strings.Contains(finalizer, hubapi.GroupAgentInstall):
		return "the assisted-service is down"
	case strings.Contains(finalizer, hubapi.GroupMetal3):
		return "the bare metal operator is down"
	}
	return "whoever set it is down"
}

// leftovers deletes what was made for the cluster and is not watched: Secrets,
// the ClusterImageSet and, if nothing of others is in it, the namespace. Whoever
// may not delete the latter two leaves them.
func (w *writer) leftovers(ctx context.Context) error {
	selector := metav1.ListOptions{LabelSelector: hubapi.LabelCluster + "=" + w.cluster}
	short, cancel := brief(ctx)
	defer cancel()
	list, err := w.client(secrets(), w.at.namespace).List(short, selector)
	if err != nil {
		return w.fault(attempt{op: "list Secrets in", verb: "list", kind: secrets(), namespace: w.at.namespace}, err)
	}
	for i := range list.Items {
		if err := w.remove(ctx, secrets(), &list.Items[i]); err != nil {
			return err
		}
	}
	if err := w.removeIfOurs(ctx, clusterImageSets(), w.cluster+"-release"); err != nil {
		return err
	}
	if w.shared(short) {
		return nil
	}
	return w.removeIfOurs(ctx, namespaces(), w.at.namespace)
}

// removeIfOurs deletes an object of the hub as a whole that carries the
// cluster's label; whoever may not do so leaves it.
func (w *writer) removeIfOurs(ctx context.Context, k kind, name string) error {
	u, err := w.live(ctx, k, "", name)
	if err == nil && u != nil && u.GetLabels()[hubapi.LabelCluster] == w.cluster && u.GetDeletionTimestamp() == nil {
		err = w.remove(ctx, k, u)
	}
	var fault *install.Fault
	if errors.As(err, &fault) && fault.Status == 403 {
		return nil
	}
	return err
}

// shared says whether a namespace holds something that is not the cluster's, or
// may: then it stays.
func (w *writer) shared(ctx context.Context) bool {
	for _, s := range w.at.shelves {
		if len(s.all()) > 0 {
			return true
		}
	}
	for _, k := range []kind{secrets(), configMaps()} {
		list, err := w.client(k, w.at.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return true
		}
		for i := range list.Items {
			if u := &list.Items[i]; !ofEveryNamespace(u) && u.GetLabels()[hubapi.LabelCluster] != w.cluster {
				return true
			}
		}
	}
	return false
}

// ofEveryNamespace says whether an object is one that Kubernetes or OpenShift
// put into each namespace, or that the service made for the cluster.
func ofEveryNamespace(u *unstructured.Unstructured) bool {
	kind, _, _ := unstructured.NestedString(u.Object, "type")
	switch {
	case u.GetName() == "kube-root-ca.crt", u.GetName() == "openshift-service-ca.crt":
		return true
	case kind == "kubernetes.io/service-account-token", kind == "kubernetes.io/dockercfg":
		return true
	}
	return u.GetLabels()[hubapi.LabelHiveClusterDeployment] != ""
}
