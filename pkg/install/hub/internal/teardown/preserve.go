package teardown

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/advice"
	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/hive"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
)

// preserve has the service only forget the machines of a cluster whose installation
// has begun to write disks. Otherwise it gives those that came from a pool back to it,
// and boots the nodes of a cluster that runs into the discovery image for that. Before
// that they go back: nothing of them is lost.
func (w *Deleter) preserve(ctx context.Context, deployment *unstructured.Unstructured) error {
	begun, err := w.installStarted(ctx, deployment)
	if err != nil || !begun {
		return err
	}
	return w.setPreserve(ctx, deployment, true)
}

// returnToPool has the service give machines back to their pool whatever runs on them. It
// is refused where that pool goes with the cluster.
func (w *Deleter) returnToPool(ctx context.Context, deployment *unstructured.Unstructured) error {
	if made := w.Ours(kube.InfraEnvs()); len(made) > 0 {
		return &install.Fault{
			Code: install.CodeUsage, Op: "return the machines of cluster", On: kube.ID(deployment.GetNamespace(), deployment.GetName()), Permanent: true,
			Err:  fmt.Errorf("the InfraEnv %s, which they booted, was made for the cluster and goes with it: there is no pool", made[0].GetName()),
			Next: "leave --return-to-pool out",
		}
	}
	return w.setPreserve(ctx, deployment, false)
}

// installStarted says whether the installation of a cluster has begun to write disks, or
// had before it was imported.
func (w *Deleter) installStarted(ctx context.Context, deployment *unstructured.Unstructured) (bool, error) {
	state, installed, err := w.state(ctx, deployment)
	switch state {
	case model.ClusterInstalling, model.ClusterNeedsUser, model.ClusterFinalizing, model.ClusterInstalled,
		model.ClusterAddingHosts, model.ClusterFailed, model.ClusterCancelled:
		return true, nil
	}
	return installed, err
}

// state is how far the service has a cluster, "" without an AgentClusterInstall, and
// whether its ClusterDeployment says that it is installed: as the hub has them this
// moment, since what is watched may be late.
func (w *Deleter) state(ctx context.Context, deployment *unstructured.Unstructured) (state install.ClusterState, installed bool, err error) {
	cd, err := kube.Read[hive.ClusterDeployment](deployment)
	if err != nil {
		return "", false, err
	}
	made := w.Namespace.InstallOf(deployment)
	if made == nil {
		return "", kube.Installed(cd), nil
	}
	now, err := w.reread(ctx, kube.AgentClusterInstalls(), made)
	if err != nil || now == nil {
		return "", err == nil && kube.Installed(cd), err
	}
	aci, err := kube.Read[hive.AgentClusterInstall](now)
	if err != nil {
		return "", false, err
	}
	return model.ClusterStateOf(kube.DebugOf(aci).State), kube.Installed(cd), nil
}

// reread is an object as the hub has it this moment, nil if it is gone. It takes the right
// to list, which whoever watches has.
func (w *Deleter) reread(ctx context.Context, k kube.Kind, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ctx, cancel := kube.WithTimeout(ctx)
	defer cancel()
	list, err := w.Resource(k, u.GetNamespace()).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + u.GetName()})
	if err != nil {
		return nil, w.Fault(kube.Attempt{Op: "read " + k.Name, Verb: "list", Kind: k, Namespace: u.GetNamespace(), Name: u.GetName()}, err)
	}
	for i := range list.Items {
		if list.Items[i].GetUID() == u.GetUID() {
			return &list.Items[i], nil
		}
	}
	return nil, nil
}

// setPreserve writes preserveOnDelete of a ClusterDeployment, where it differs, and
// makes sure that the hub has it.
func (w *Deleter) setPreserve(ctx context.Context, deployment *unstructured.Unstructured, wanted bool) error {
	preserves := func(u *unstructured.Unstructured) bool {
		is, _, _ := unstructured.NestedBool(u.Object, "spec", "preserveOnDelete")
		return is
	}
	if preserves(deployment) == wanted {
		return nil
	}
	if err := w.patch(ctx, kube.ClusterDeployments(), deployment, map[string]any{"spec": map[string]any{"preserveOnDelete": wanted}}); err != nil {
		return err
	}
	now, err := w.reread(ctx, kube.ClusterDeployments(), deployment)
	if err != nil || now == nil || preserves(now) == wanted {
		return err
	}
	return &install.Fault{
		Code: install.CodeFailure, Op: "delete cluster", On: kube.ID(deployment.GetNamespace(), deployment.GetName()),
		Err:  errors.New("what becomes of its machines can't be settled: the hub took spec.preserveOnDelete and has another value"),
		Next: advice.Sprintf("kubectl get clusterdeployment -n %s %s -o yaml --show-managed-fields, for who else writes it; nothing was deleted", deployment.GetNamespace(), deployment.GetName()),
	}
}

// patch patches an object that is about to be deleted; one that is gone is none.
func (w *Deleter) patch(ctx context.Context, k kube.Kind, u *unstructured.Unstructured, fields map[string]any) error {
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	ctx, cancel := kube.WithTimeout(ctx)
	defer cancel()
	_, err = w.Resource(k, u.GetNamespace()).Patch(ctx, u.GetName(), types.MergePatchType, data, metav1.PatchOptions{FieldManager: hubapi.FieldManager})
	if err != nil && !apierrors.IsNotFound(err) {
		return w.Fault(kube.Attempt{Op: "patch " + k.Name, Verb: "patch", Kind: k, Namespace: u.GetNamespace(), Name: u.GetName()}, err)
	}
	return nil
}

// detach takes the machines of an installed cluster from the bare metal operator as
// they are: it deletes a detached BareMetalHost without switching its machine off, and
// without the annotation that would have Agent and node go with it.
// The service does so by itself once a machine boots from its disk, unless it is told
// to leave it to the operator (bmac.agent-install.openshift.io/allow-provisioned-host-management).
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
		if err := w.patch(ctx, kube.BareMetalHosts(), u, map[string]any{"metadata": map[string]any{"annotations": change}}); err != nil {
			return err
		}
	}
	return nil
}
