// Package teardown deletes the objects of a cluster from a hub, or releases them: in the order that their controllers
// need, and with a report of what holds them.
package teardown

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/hive"
	"github.com/oaictl/oaictl/internal/shared/statuses"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Deleter deletes or releases what belongs to a cluster.
type Deleter struct {
	kube.Writer
	Report func(text string) // is called with what a deletion waits for and what it leaves; may be nil
	Found  func()            // called for each object that was there to delete; nil: not called
	// ImageSetNames are what the ClusterImageSet that is made for a cluster is called, and
	// was called formerly.
	ImageSetNames func(namespace, cluster string) (name, former string)
}

func (w *Deleter) report(text string) {
	if w.Report != nil {
		w.Report(text)
	}
}

func (w *Deleter) found() {
	if w.Found != nil {
		w.Found()
	}
}

// remove deletes an object that is not waited for.
func (w *Deleter) remove(ctx context.Context, k kube.Kind, u *unstructured.Unstructured) error {
	err := w.Remove(ctx, k, u)
	if err == nil {
		w.found()
	}
	return err
}

// DeleteCluster deletes the objects of a cluster; its ClusterDeployment is nil where it
// is gone already. With returnToPool the cluster's machines go back to their pool.
func (w *Deleter) DeleteCluster(ctx context.Context, deployment *unstructured.Unstructured, clusterID string, returnToPool bool) error {
	if deployment != nil {
		w.Cluster = deployment.GetLabels()[hubapi.LabelCluster]
		if deployment.GetAnnotations()[hubapi.AnnotationProtectedDelete] == "true" {
			return &model.Fault{
				Code: model.CodeFailure, Op: "delete cluster", On: clusterID, Permanent: true,
				Err: errors.New("a user has protected it with the annotation " + hubapi.AnnotationProtectedDelete),
				Next: model.Advicef("kubectl annotate clusterdeployment -n %s %s %s-, to delete it nevertheless", w.Namespace.Name,
					deployment.GetName(), hubapi.AnnotationProtectedDelete),
			}
		}
		settle := w.preserve
		if returnToPool {
			settle = w.returnToPool
		}
		if err := settle(ctx, deployment); err != nil {
			return err
		}
	}
	made := w.installOf(deployment) // while it is there
	machines := w.OfCluster(kube.BareMetalHosts)
	if err := w.detach(ctx, deployment, machines); err != nil {
		return err
	}
	if err := w.deleteAll(ctx, kube.BareMetalHosts, machines); err != nil {
		return err
	}
	if deployment != nil {
		if err := w.deleteDeployment(ctx, deployment); err != nil {
			return err
		}
	}
	// An interrupted run may have left an AgentClusterInstall without its ClusterDeployment.
	if err := w.deleteAll(ctx, kube.AgentClusterInstalls, w.OfCluster(kube.AgentClusterInstalls)); err != nil {
		return err
	}
	for _, env := range w.OfCluster(kube.InfraEnvs) {
		if err := w.DeleteInfraEnv(ctx, env); err != nil {
			return err
		}
	}
	for _, k := range []kube.Kind{kube.AgentClassifications, kube.NMStateConfigs, kube.ConfigMaps} {
		if err := w.deleteAll(ctx, k, w.OfCluster(k)); err != nil {
			return err
		}
	}
	return w.leftovers(ctx, made)
}

// installOf is the cluster's AgentClusterInstall, also one without its ClusterDeployment;
// nil where there is none.
func (w *Deleter) installOf(deployment *unstructured.Unstructured) *unstructured.Unstructured {
	if deployment != nil {
		return w.Namespace.InstallOf(deployment)
	}
	for _, u := range w.OfCluster(kube.AgentClusterInstalls) {
		return u
	}
	return nil
}

func (w *Deleter) deleteAll(ctx context.Context, k kube.Kind, objects []*unstructured.Unstructured) error {
	for _, u := range objects {
		if u.GetDeletionTimestamp() == nil {
			if err := w.Delete(ctx, k, u); err != nil {
				return err
			}
		}
	}
	return w.gone(ctx, objects...)
}

// deleteDeployment deletes the ClusterDeployment. Its controller deletes the AgentClusterInstall, and the controller of
// that releases the Agents.
func (w *Deleter) deleteDeployment(ctx context.Context, deployment *unstructured.Unstructured) error {
	made := w.Namespace.InstallOf(deployment)
	if deployment.GetDeletionTimestamp() == nil {
		if err := w.Delete(ctx, kube.ClusterDeployments, deployment); err != nil {
			return err
		}
	}
	waited := []*unstructured.Unstructured{deployment}
	if made != nil {
		// If no controller handles the ClusterDeployment, the garbage collector deletes its dependent only if that has
		// an owner reference already.
		if made.GetDeletionTimestamp() == nil && len(made.GetOwnerReferences()) == 0 {
			if err := w.Delete(ctx, kube.AgentClusterInstalls, made); err != nil {
				return err
			}
		}
		waited = append(waited, made)
	}
	return w.gone(ctx, waited...)
}

// DeleteInfraEnv deletes an InfraEnv and the networks that were made for it; its Agents are deleted with it.
func (w *Deleter) DeleteInfraEnv(ctx context.Context, u *unstructured.Unstructured) error {
	going := append([]*unstructured.Unstructured{u}, w.networksOf(u)...) // in this order, so that no image is made without them
	for _, each := range going {
		if each.GetDeletionTimestamp() == nil {
			if err := w.Delete(ctx, kube.Kind(each.GetKind()), each); err != nil {
				return err
			}
		}
	}
	if err := w.gone(ctx, going...); err != nil {
		return err
	}
	own := slices.DeleteFunc(w.Namespace.Store(kube.Agents).All(), func(agent *unstructured.Unstructured) bool {
		return agent.GetLabels()[hubapi.LabelAgentInfraEnv] != u.GetName()
	})
	return w.gone(ctx, own...)
}

// networksOf are the NMStateConfigs that oaictl has made for an InfraEnv of its own.
func (w *Deleter) networksOf(env *unstructured.Unstructured) []*unstructured.Unstructured {
	cluster := kube.Label(env, hubapi.LabelCluster)
	return slices.DeleteFunc(w.Namespace.Store(kube.NMStateConfigs).All(), func(u *unstructured.Unstructured) bool {
		return cluster == "" || kube.Label(u, hubapi.LabelCluster) != cluster || kube.Label(u, hubapi.LabelInfraEnv) != env.GetName()
	})
}

// DeleteHost deletes an Agent, and waits for it to be gone. With removeNode the service takes its
// node out, too.
func (w *Deleter) DeleteHost(ctx context.Context, name string, removeNode bool) error {
	u := w.Namespace.Store(kube.Agents).Get(name)
	if u == nil {
		return kube.NotFound("host", name, "{get hosts}")
	}
	if err := w.letGo(ctx, u, removeNode); err != nil {
		return err
	}
	return w.gone(ctx, u)
}

// ForgetHost deletes an Agent whose node is no part of the cluster any more, and does not wait for
// it to be gone. One that is gone already is a success.
func (w *Deleter) ForgetHost(ctx context.Context, name string) error {
	u := w.Namespace.Store(kube.Agents).Get(name)
	if u == nil {
		return nil
	}
	return w.letGo(ctx, u, false)
}

func (w *Deleter) letGo(ctx context.Context, u *unstructured.Unstructured, removeNode bool) error {
	// The service checks only that the annotation is there, not its value. What the Agent says of its host may be late,
	// so the annotation is written to each Agent.
	_, skips := u.GetAnnotations()[hubapi.AnnotationAgentSkipCleanup]
	if skips == removeNode {
		annotations := map[string]any{hubapi.AnnotationAgentSkipCleanup: "true"}
		if removeNode {
			annotations[hubapi.AnnotationAgentSkipCleanup] = nil
		}
		if err := w.patch(ctx, kube.Agents, u, map[string]any{"metadata": map[string]any{"annotations": annotations}}); err != nil {
			return err
		}
	}
	return w.Delete(ctx, kube.Agents, u)
}

// preserve has the service only forget the machines of a cluster whose installation
// has begun to write disks: it boots nodes into the discovery image to give them back to
// their pool. Before that they go back: nothing of them is lost. Where it is not known how
// far the cluster is, it stays as it is.
func (w *Deleter) preserve(ctx context.Context, deployment *unstructured.Unstructured) error {
	state, installed, err := w.state(ctx, deployment)
	switch {
	case err != nil:
		return err
	case installed:
		return w.setPreserve(ctx, deployment, true)
	}
	switch state {
	case model.ClusterInstalling, model.ClusterNeedsUser, model.ClusterFinalizing, model.ClusterInstalled,
		model.ClusterAddingHosts, model.ClusterFailed, model.ClusterCancelled:
		return w.setPreserve(ctx, deployment, true)
	case model.ClusterDraft, model.ClusterDiscovering, model.ClusterBlocked, model.ClusterReady, model.ClusterPreparing:
		return w.setPreserve(ctx, deployment, false)
	}
	return nil
}

// returnToPool makes the service give machines back to their pool, even those that run as nodes. It is refused where
// that pool is deleted with the cluster.
func (w *Deleter) returnToPool(ctx context.Context, deployment *unstructured.Unstructured) error {
	if made := w.OfCluster(kube.InfraEnvs); len(made) > 0 {
		return &model.Fault{
			Code: model.CodeUsage, Op: "return the machines of cluster", On: kube.ID(deployment.GetNamespace(), deployment.GetName()),
			Permanent: true,
			Err: fmt.Errorf("the InfraEnv %s, which they booted, was made for the cluster and goes with it: there is no pool",
				made[0].GetName()),
			Next: "leave --return-to-pool out",
		}
	}
	return w.setPreserve(ctx, deployment, false)
}

// state is how far the service has a cluster, "" without an AgentClusterInstall, and whether its ClusterDeployment says
// that it is installed: as the hub has them this moment, since what is watched may be late. A cluster without any
// status of the service is a draft, unless it has metadata, which an installation writes: the status of an object that
// was restored or moved comes late.
func (w *Deleter) state(ctx context.Context, deployment *unstructured.Unstructured) (state model.ClusterState, installed bool, err error) {
	cd, err := kube.Read[hive.ClusterDeployment](deployment)
	if err != nil {
		return "", false, err
	}
	made := w.Namespace.InstallOf(deployment)
	if made == nil {
		return "", kube.Installed(cd), nil
	}
	now, err := w.reread(ctx, kube.AgentClusterInstalls, made)
	if err != nil || now == nil {
		return "", err == nil && kube.Installed(cd), err
	}
	aci, err := kube.Read[hive.AgentClusterInstall](now)
	if err != nil {
		return "", false, err
	}
	state = statuses.Cluster(kube.DebugOf(aci).State)
	if kube.DebugOf(aci).State == "" && aci.Spec.ClusterMetadata == nil {
		state = model.ClusterDraft
	}
	return state, kube.Installed(cd), nil
}

// reread is an object as the hub has it this moment, nil if it is gone. It needs the permission to list, which every
// watch needs, too.
func (w *Deleter) reread(ctx context.Context, k kube.Kind, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	found, err := w.Select(ctx, k, u.GetNamespace(), metav1.ListOptions{FieldSelector: "metadata.name=" + u.GetName()})
	if err != nil {
		return nil, w.Fault(kube.Attempt{Op: "read " + string(k), Verb: "list", Kind: k, Namespace: u.GetNamespace(), Name: u.GetName()}, err)
	}
	for i := range found {
		if found[i].GetUID() == u.GetUID() {
			return &found[i], nil
		}
	}
	return nil, nil
}

// setPreserve writes preserveOnDelete where it differs, and makes sure that the hub has it.
func (w *Deleter) setPreserve(ctx context.Context, deployment *unstructured.Unstructured, wanted bool) error {
	preserves := func(u *unstructured.Unstructured) bool {
		is, _, _ := unstructured.NestedBool(u.Object, "spec", "preserveOnDelete")
		return is
	}
	if preserves(deployment) == wanted {
		return nil
	}
	if err := w.patch(ctx, kube.ClusterDeployments, deployment,
		map[string]any{"spec": map[string]any{"preserveOnDelete": wanted}}); err != nil {
		return err
	}
	now, err := w.reread(ctx, kube.ClusterDeployments, deployment)
	if err != nil || now == nil || preserves(now) == wanted {
		return err
	}
	return &model.Fault{
		Code: model.CodeFailure, Op: "delete cluster", On: kube.ID(deployment.GetNamespace(), deployment.GetName()),
		Err: errors.New("what becomes of its machines can't be settled: the hub took spec.preserveOnDelete and has another value"),
		Next: model.Advicef("kubectl get clusterdeployment -n %s %s -o yaml --show-managed-fields, for who else writes it; nothing was deleted",
			deployment.GetNamespace(), deployment.GetName()),
	}
}

// patch patches an object that is about to be deleted; if it is gone already, that is no error.
func (w *Deleter) patch(ctx context.Context, k kube.Kind, u *unstructured.Unstructured, fields map[string]any) error {
	_, err := w.MergePatch(ctx, "patch", hubapi.FieldManager, k, u, fields)
	if hasStatus(err, http.StatusNotFound) {
		return nil
	}
	return err
}

func hasStatus(err error, status int) bool {
	var fault *model.Fault
	return errors.As(err, &fault) && fault.Status == status
}

// detach removes the machines of an installed cluster from the control of the bare metal operator: the operator deletes
// a detached BareMetalHost without switching its machine off, and without the annotation that would delete Agent and
// node with it. The service detaches a BareMetalHost by itself once its machine boots from its disk, unless an
// annotation leaves it to the operator (bmac.agent-install.openshift.io/allow-provisioned-host-management).
func (w *Deleter) detach(ctx context.Context, deployment *unstructured.Unstructured, machines []*unstructured.Unstructured) error {
	if deployment == nil || len(machines) == 0 {
		return nil
	}
	// Without Hive only the service says that a cluster is installed.
	state, installed, err := w.state(ctx, deployment)
	if err != nil || !installed && state != model.ClusterInstalled && state != model.ClusterAddingHosts {
		return err
	}
	for _, u := range machines {
		notes := u.GetAnnotations()
		_, removes := notes[hubapi.AnnotationBMACRemoveOnDelete]
		detached := notes[hubapi.AnnotationBMHDetached] != ""
		if u.GetDeletionTimestamp() != nil || detached && !removes {
			continue
		}
		change := map[string]any{hubapi.AnnotationBMACRemoveOnDelete: nil}
		if !detached {
			change[hubapi.AnnotationBMHDetached] = hubapi.FieldManager
		}
		if err := w.patch(ctx, kube.BareMetalHosts, u, map[string]any{"metadata": map[string]any{"annotations": change}}); err != nil {
			return err
		}
	}
	return nil
}
