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

// deleter deletes or releases what belongs to a cluster.
type deleter struct {
	writer
	// tell is told what a deletion waits for and what it leaves; nil for nobody.
	tell func(text string)
}

// note tells who wants to be told.
func (w *deleter) note(text string) {
	if w.tell != nil {
		w.tell(text)
	}
}

// deleteCluster deletes the objects of a cluster; its ClusterDeployment is nil where it
// is gone already. With returnToPool the cluster's machines go back to their pool.
func (w *deleter) deleteCluster(ctx context.Context, deployment *unstructured.Unstructured, clusterID string, returnToPool bool) error {
	if deployment != nil {
		w.cluster = deployment.GetLabels()[hubapi.LabelCluster]
		if deployment.GetAnnotations()[hubapi.AnnotationProtectedDelete] == "true" {
			return &install.Fault{
				Code: install.CodeNotFound, Op: "delete cluster", On: clusterID, Permanent: true,
				Err:  errors.New("somebody has protected it by the annotation " + hubapi.AnnotationProtectedDelete),
				Next: fmt.Sprintf("kubectl annotate clusterdeployment -n %s %s %s-, if it is to go nevertheless", w.at.name, deployment.GetName(), hubapi.AnnotationProtectedDelete),
			}
		}
		settle := w.preserve
		if returnToPool {
			settle = w.giveBack
		}
		if err := settle(ctx, deployment); err != nil {
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

// deleteAll deletes objects and waits until they are gone.
func (w *deleter) deleteAll(ctx context.Context, k kind, objects []*unstructured.Unstructured) error {
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
func (w *deleter) deleteDeployment(ctx context.Context, deployment *unstructured.Unstructured) error {
	made := w.at.installOf(deployment)
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
func (w *deleter) deleteInfraEnv(ctx context.Context, u *unstructured.Unstructured) error {
	if err := w.deleteAll(ctx, infraEnvs(), []*unstructured.Unstructured{u}); err != nil {
		return err
	}
	own := slices.DeleteFunc(w.at.store(agents()).all(), func(agent *unstructured.Unstructured) bool {
		return agent.GetLabels()[hubapi.LabelAgentInfraEnv] != u.GetName()
	})
	return w.gone(ctx, agents(), own...)
}
