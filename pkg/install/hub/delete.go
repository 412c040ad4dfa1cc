package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
)

// DeleteCluster deletes a cluster's objects, in the order in which their
// controllers can let go of them, and waits for each to be gone: the machines,
// the cluster itself with its AgentClusterInstall and Agents, its images and
// networks, and what was made for it alone. A cluster whose installation has begun to
// write disks is preserved (see preserve); the machines of an installed one are taken
// from the bare metal operator before, which would switch them off with their
// BareMetalHosts. What carries another label or none is left; a
// cluster whose ClusterDeployment does so is refused (MayDelete). One that is gone
// already is a success, and a deletion that was broken off is gone on with.
//
// With ReturnToPool the cluster has served its time: the service boots the machines that
// came from a pool into the discovery image again, for other clusters. Nothing runs on
// there afterwards.
func (p *Plane) DeleteCluster(ctx context.Context, clusterID string, options install.DeleteOptions) error {
	settle := (*writer).preserve
	if options.ReturnToPool {
		settle = (*writer).giveBack
	}
	namespace, name := parts(clusterID, p.namespaceOf(clusterID))
	at, err := p.place(ctx, namespace)
	if err != nil {
		return err
	}
	w := &writer{Plane: p, at: at, cluster: name, tell: options.Tell}
	deployment := at.store(clusterDeployments()).get(name)
	if deployment != nil {
		if err := p.MayDelete(refOf(at, deployment)); err != nil {
			return err
		}
		w.cluster = deployment.GetLabels()[hubapi.LabelCluster]
		if deployment.GetAnnotations()[hubapi.AnnotationProtectedDelete] == "true" {
			return &install.Fault{
				Code: install.CodeNotFound, Op: "delete cluster", On: clusterID, Permanent: true,
				Err:  errors.New("somebody has protected it by the annotation " + hubapi.AnnotationProtectedDelete),
				Next: fmt.Sprintf("kubectl annotate clusterdeployment -n %s %s %s-, if it is to go nevertheless", namespace, name, hubapi.AnnotationProtectedDelete),
			}
		}
		if err := settle(w, ctx, deployment); err != nil {
			return err
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

// MayDelete refuses a cluster that oaictl did not make, or has let go of: what else
// belongs to it is not known then.
func (p *Plane) MayDelete(ref install.ClusterRef) error {
	if ref.Owned {
		return nil
	}
	namespace, name := parts(ref.ID, "")
	return &install.Fault{
		Code: install.CodeNotFound, Op: "delete cluster", On: ref.ID, Permanent: true,
		Err: errors.New("oaictl did not make it, or has let go of it: its ClusterDeployment has no label " + hubapi.LabelCluster),
		Next: fmt.Sprintf("if it is to go, kubectl delete clusterdeployment -n %s %s, and what else belongs to it; or take it over first: oaictl create cluster -f FILE --adopt %s",
			namespace, name, ref.ID),
	}
}

// ours are the objects of a kind that carry the cluster's label.
func (w *writer) ours(k kind) []*unstructured.Unstructured {
	return slices.DeleteFunc(w.at.store(k).all(), func(u *unstructured.Unstructured) bool { return u.GetLabels()[hubapi.LabelCluster] != w.cluster })
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
	waited := []awaited{{clusterDeployments(), deployment}}
	if made != nil {
		// Where no controller looks after the ClusterDeployment, its dependent goes
		// by the garbage collector only if it has an owner reference yet.
		if made.GetDeletionTimestamp() == nil && len(made.GetOwnerReferences()) == 0 {
			if err := w.sendDelete(ctx, agentInstalls(), made); err != nil {
				return err
			}
		}
		waited = append(waited, awaited{agentInstalls(), made})
	}
	return w.allGone(ctx, waited)
}

// deleteInfraEnv deletes an InfraEnv; its Agents go with it.
func (w *writer) deleteInfraEnv(ctx context.Context, u *unstructured.Unstructured) error {
	if err := w.deleteAll(ctx, infraEnvs(), []*unstructured.Unstructured{u}); err != nil {
		return err
	}
	own := slices.DeleteFunc(w.at.store(agents()).all(), func(agent *unstructured.Unstructured) bool {
		return agent.GetLabels()[hubapi.LabelAgentInfraEnv] != u.GetName()
	})
	return w.gone(ctx, agents(), own...)
}
