package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/teardown"
	"github.com/oaictl/oaictl/pkg/install/internal/planeshared"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// DeleteCluster deletes a cluster's objects, in the order in which their controllers can remove their finalizers, and
// waits for each to be gone: the machines, the cluster itself with its AgentClusterInstall and Agents, its images and
// networks, and what was made for it alone. A cluster whose installation has begun to write disks is preserved; the
// machines of an installed one are taken from the bare metal operator before, which would switch them off with their
// BareMetalHosts. Objects with another label or none are left; a cluster whose ClusterDeployment has another label or
// none is refused (MayDelete). If the cluster is gone already, that is a success, and an interrupted deletion is
// continued.
//
// With ReturnToPool the cluster has served its time: the service boots the machines that
// came from a pool into the discovery image again, for other clusters. Nothing runs on
// there afterwards.
func (p *Plane) DeleteCluster(ctx context.Context, clusterID string, options install.DeleteOptions) error {
	d, name, err := p.deleter(ctx, p.api.Watch, clusterID, options)
	if err != nil {
		return err
	}
	deployment := d.Namespace.Store(kube.ClusterDeployments).Get(name)
	if deployment != nil {
		if err := p.MayDelete(refOf(d.Namespace, deployment)); err != nil {
			return err
		}
	}
	return d.DeleteCluster(ctx, deployment, clusterID, options.ReturnToPool)
}

// deleter deletes or releases what has an id, by what a watch knows of its namespace; name is the last part of the id.
func (p *Plane) deleter(
	ctx context.Context, watch func(context.Context, string) (*kube.Namespace, error), id string, options install.DeleteOptions,
) (d *teardown.Deleter, name string, err error) {
	namespace, name := kube.SplitID(id, p.api.NamespaceOf(id))
	at, err := watch(ctx, namespace)
	if err != nil {
		return nil, "", err
	}
	return &teardown.Deleter{
		Writer: kube.Writer{Client: p.api, Namespace: at, Cluster: name}, Report: options.Report, Found: options.Found,
		ImageSetNames: hubobjects.ImageSetNames,
	}, name, nil
}

// MayDelete refuses a cluster that oaictl did not make, or has released: what else belongs to it is not known then.
func (p *Plane) MayDelete(ref model.ClusterRef) error {
	if ref.Owned {
		return nil
	}
	namespace, name := kube.SplitID(ref.ID, "")
	return &model.Fault{
		Code: model.CodeNotFound, Op: "delete cluster", On: ref.ID, Permanent: true,
		Err: errors.New("oaictl did not make it, or has released it: its ClusterDeployment has no label " + hubapi.LabelCluster),
		Next: model.Advicef("if it is to go, kubectl delete clusterdeployment -n %s %s, and what else belongs to it; or take it over first: "+
			"{create cluster -f FILE --adopt %s}",
			namespace, name, ref.ID),
	}
}

// ClusterLeft finds what is left of a cluster of oaictl by its id (NAMESPACE/NAME) or
// name: a ClusterDeployment of that name, however far its deletion is, or else objects
// that carry the cluster's label. The Status says which. None and several are faults
// with CodeNotFound. DeleteCluster deletes what it finds.
func (p *Plane) ClusterLeft(ctx context.Context, text string) (model.ClusterRef, error) {
	ref, err := p.ClusterByNameOrID(ctx, text)
	var fault *model.Fault
	if err == nil || !errors.As(err, &fault) || fault.Status != 404 {
		return ref, err
	}
	namespace, name := kube.SplitID(text, p.api.Namespace)
	if len(validation.IsValidLabelValue(name)) > 0 {
		return ref, err
	}
	found := map[string][]string{} // kinds by namespace
	served, err := p.api.Connect(ctx)
	if err != nil {
		return model.ClusterRef{}, err
	}
	for _, k := range append(kube.Watched()[1:], kube.Secrets) {
		if !served[k] {
			continue
		}
		if err := p.labelled(ctx, k, namespace, name, found); err != nil {
			return model.ClusterRef{}, err
		}
	}
	var same []model.ClusterRef
	for at, kinds := range found {
		same = append(same, model.ClusterRef{ID: kube.ID(at, name), Name: name, Owned: true, Status: "left: " + strings.Join(kinds, ", ")})
	}
	slices.SortFunc(same, func(a, b model.ClusterRef) int { return strings.Compare(a.ID, b.ID) })
	return planeshared.Only("cluster", text, kube.NotFound("cluster", text, "{get clusters}"), same,
		func(c model.ClusterRef) string { return fmt.Sprintf("%s (%s)", c.ID, c.Status) })
}

// labelled records the namespaces in which objects of a kind carry a cluster's label. If the user may not list them,
// none is found.
func (p *Plane) labelled(ctx context.Context, k kube.Kind, namespace, cluster string, found map[string][]string) error {
	objects, err := p.api.Select(ctx, k, namespace, metav1.ListOptions{LabelSelector: hubapi.LabelCluster + "=" + cluster})
	if err != nil {
		if fault := p.api.ListFault(k, namespace, err); !kube.NotAllowed(fault) {
			return fault
		}
		return nil
	}
	for i := range objects {
		at := objects[i].GetNamespace()
		if !slices.Contains(found[at], string(k)) {
			found[at] = append(found[at], string(k))
		}
	}
	return nil
}

// DeleteHost deletes an Agent. A machine whose agent still runs registers again. The node of a machine that is part of
// a cluster keeps running: the service would remove it, and an annotation prevents that. With RemoveNode the service
// removes it, if the cluster is not being deleted.
func (p *Plane) DeleteHost(ctx context.Context, infraEnvID, hostID string, options install.DeleteOptions) error {
	d, _, err := p.deleter(ctx, p.api.WatchHosts, infraEnvID, options)
	if err != nil {
		return err
	}
	return d.DeleteHost(ctx, hostID, options.RemoveNode)
}

// removeHost deletes the Agent of a host after its node was removed from the cluster: an annotation makes the service
// not look for the node, so that it finds nothing else to do.
func (a *actor) removeHost(ctx context.Context) error {
	d, _, err := a.plane.deleter(ctx, a.WatchHosts, a.action.InfraEnv, install.DeleteOptions{})
	if err != nil {
		return err
	}
	return d.ForgetHost(ctx, a.action.Target)
}

// DeleteInfraEnv deletes an InfraEnv and the networks that are its own. Its Agents are deleted with it; so it is
// refused while hosts that take part in a cluster belong to it.
func (p *Plane) DeleteInfraEnv(ctx context.Context, infraEnvID string, options install.DeleteOptions) error {
	d, name, err := p.deleter(ctx, p.api.WatchHosts, infraEnvID, options)
	if err != nil {
		return err
	}
	u := d.Namespace.Store(kube.InfraEnvs).Get(name)
	if u == nil {
		return kube.NotFound("InfraEnv", infraEnvID, "{get infraenvs}")
	}
	for _, agent := range d.Namespace.Store(kube.Agents).All() {
		if agent.GetLabels()[hubapi.LabelAgentInfraEnv] == name {
			return &model.Fault{
				Code: model.CodeFailure, Op: "delete InfraEnv", On: infraEnvID, Permanent: true,
				Err:  fmt.Errorf("its hosts would go with it, and there are some: %s", agent.GetName()),
				Next: model.Command("delete host", agent.GetName()),
			}
		}
	}
	return d.DeleteInfraEnv(ctx, u)
}

// ReleaseCluster releases a cluster and deletes nothing: its objects lose oaictl's label and its ownership of their
// fields, so that another tool or a user can manage them.
func (p *Plane) ReleaseCluster(ctx context.Context, clusterID string) error {
	d, name, err := p.deleter(ctx, p.api.Watch, clusterID, install.DeleteOptions{})
	if err != nil {
		return err
	}
	deployment := d.Namespace.Store(kube.ClusterDeployments).Get(name)
	if deployment == nil {
		return kube.NotFound("cluster", clusterID, "{get clusters}")
	}
	return d.Release(ctx, deployment)
}
