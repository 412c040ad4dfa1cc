package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hubapi"
	"github.com/oaictl/oaictl/pkg/install/hubapi/hive"
)

// bear is how long the controllers of a hub may take to let go of objects that
// are deleted.
const bear = 10 * time.Minute

// DeleteCluster deletes a cluster's objects, in the order in which their
// controllers can let go of them, and waits for each to be gone: the machines,
// the cluster itself with its AgentClusterInstall and Agents, its images and
// networks, and what was made for it alone. An installed cluster runs on: its
// machines are taken from the bare metal operator before, which would switch them
// off with their BareMetalHosts. What carries another label or none is left. One
// that is gone already is a success.
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
	machines := w.ours(bareMetalHosts())
	if err := w.detach(ctx, deployment, machines); err != nil {
		return err
	}
	if err := w.deleteAll(ctx, bareMetalHosts(), machines); err != nil {
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

// detach takes the machines of an installed cluster from the bare metal operator as
// they are: it deletes a detached BareMetalHost without switching its machine off.
// The service does so by itself once a machine boots from its disk, unless it is told
// to leave it to the operator (bmac.agent-install.openshift.io/allow-provisioned-host-management).
func (w *writer) detach(ctx context.Context, deployment *unstructured.Unstructured, machines []*unstructured.Unstructured) error {
	if deployment == nil {
		return nil
	}
	cd, err := read[hive.ClusterDeployment](deployment)
	if err != nil || !installed(cd) {
		return err
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{hubapi.AnnotationBMHDetached: hubapi.FieldManager}}})
	if err != nil {
		return err
	}
	for _, u := range machines {
		if u.GetDeletionTimestamp() != nil || u.GetAnnotations()[hubapi.AnnotationBMHDetached] != "" {
			continue
		}
		short, cancel := brief(ctx)
		_, err := w.client(bareMetalHosts(), u.GetNamespace()).Patch(short, u.GetName(), types.MergePatchType, data, metav1.PatchOptions{FieldManager: hubapi.FieldManager})
		cancel()
		if err != nil && !apierrors.IsNotFound(err) {
			return w.fault(attempt{op: "detach " + hubapi.KindBareMetalHost, verb: "patch", kind: bareMetalHosts(), namespace: u.GetNamespace(), name: u.GetName()}, err)
		}
	}
	return nil
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
// the ClusterImageSet and, if it is plain that nothing of others is in it, the
// namespace. Whoever may not delete the latter two leaves them.
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
