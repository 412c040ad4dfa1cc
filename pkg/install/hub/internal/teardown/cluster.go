package teardown

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/advice"
	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
)

// Deleter deletes or releases what belongs to a cluster.
type Deleter struct {
	kube.Writer
	// Tell is told what a deletion waits for and what it leaves; nil for nobody.
	Tell func(text string)
}

// note tells who wants to be told.
func (w *Deleter) note(text string) {
	if w.Tell != nil {
		w.Tell(text)
	}
}

// DeleteCluster deletes the objects of a cluster; its ClusterDeployment is nil where it
// is gone already. With returnToPool the cluster's machines go back to their pool.
func (w *Deleter) DeleteCluster(ctx context.Context, deployment *unstructured.Unstructured, clusterID string, returnToPool bool) error {
	if deployment != nil {
		w.Cluster = deployment.GetLabels()[hubapi.LabelCluster]
		if deployment.GetAnnotations()[hubapi.AnnotationProtectedDelete] == "true" {
			return &install.Fault{
				Code: install.CodeNotFound, Op: "delete cluster", On: clusterID, Permanent: true,
				Err:  errors.New("somebody has protected it by the annotation " + hubapi.AnnotationProtectedDelete),
				Next: advice.Sprintf("kubectl annotate clusterdeployment -n %s %s %s-, if it is to go nevertheless", w.Namespace.Name, deployment.GetName(), hubapi.AnnotationProtectedDelete),
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
	machines := w.Ours(kube.BareMetalHosts())
	if err := w.detach(ctx, deployment, machines); err != nil {
		return err
	}
	if err := w.deleteAll(ctx, kube.BareMetalHosts(), machines); err != nil {
		return err
	}
	if deployment != nil {
		if err := w.deleteDeployment(ctx, deployment); err != nil {
			return err
		}
	}
	// Of a run that was broken off there may be one without its ClusterDeployment.
	if err := w.deleteAll(ctx, kube.AgentClusterInstalls(), w.Ours(kube.AgentClusterInstalls())); err != nil {
		return err
	}
	for _, env := range w.Ours(kube.InfraEnvs()) {
		if err := w.DeleteInfraEnv(ctx, env); err != nil {
			return err
		}
	}
	for _, k := range []kube.Kind{kube.AgentClassifications(), kube.NMStateConfigs(), kube.ConfigMaps()} {
		if err := w.deleteAll(ctx, k, w.Ours(k)); err != nil {
			return err
		}
	}
	return w.leftovers(ctx)
}

// deleteAll deletes objects and waits until they are gone.
func (w *Deleter) deleteAll(ctx context.Context, k kube.Kind, objects []*unstructured.Unstructured) error {
	for _, u := range objects {
		if u.GetDeletionTimestamp() == nil {
			if err := w.Delete(ctx, k, u); err != nil {
				return err
			}
		}
	}
	return w.gone(ctx, k, objects...)
}

// deleteDeployment deletes the ClusterDeployment, whose controller deletes the
// AgentClusterInstall, whose controller lets go of the Agents.
func (w *Deleter) deleteDeployment(ctx context.Context, deployment *unstructured.Unstructured) error {
	made := w.Namespace.InstallOf(deployment)
	if deployment.GetDeletionTimestamp() == nil {
		if err := w.Delete(ctx, kube.ClusterDeployments(), deployment); err != nil {
			return err
		}
	}
	waited := []awaited{{kube.ClusterDeployments(), deployment}}
	if made != nil {
		// Where no controller looks after the ClusterDeployment, its dependent goes
		// by the garbage collector only if it has an owner reference yet.
		if made.GetDeletionTimestamp() == nil && len(made.GetOwnerReferences()) == 0 {
			if err := w.Delete(ctx, kube.AgentClusterInstalls(), made); err != nil {
				return err
			}
		}
		waited = append(waited, awaited{kube.AgentClusterInstalls(), made})
	}
	return w.allGone(ctx, waited)
}

// DeleteInfraEnv deletes an InfraEnv; its Agents go with it.
func (w *Deleter) DeleteInfraEnv(ctx context.Context, u *unstructured.Unstructured) error {
	if err := w.deleteAll(ctx, kube.InfraEnvs(), []*unstructured.Unstructured{u}); err != nil {
		return err
	}
	own := slices.DeleteFunc(w.Namespace.Store(kube.Agents()).All(), func(agent *unstructured.Unstructured) bool {
		return agent.GetLabels()[hubapi.LabelAgentInfraEnv] != u.GetName()
	})
	return w.gone(ctx, kube.Agents(), own...)
}
