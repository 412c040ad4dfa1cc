package hub

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/condition"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

// waitForOthers is when a deletion that waits for another object looks again.
const waitForOthers = 10 * time.Second

// releaseDeployment deletes a deleted ClusterDeployment's AgentClusterInstall, and lets go once that is gone.
func (h *hub) releaseDeployment(ctx context.Context, cd *apiobject.Object) error {
	k := keyOf(hubapi.KindClusterDeployment, cd)
	deploy, err := objects.Spec[objects.DeploymentSpec](cd)
	if err != nil {
		return err
	}
	if ref := deploy.ClusterInstallRef; ref != nil {
		if aci := h.store.get(hubapi.KindAgentClusterInstall, k.space, ref.Name); aci != nil {
			h.requeueAfter(k, waitForOthers)
			if aci.GetDeletionTimestamp() != nil {
				return nil
			}
			return h.store.delete(ctx, hubapi.KindAgentClusterInstall, k.space, ref.Name)
		}
	}
	dropped := apiobject.DropFinalizer(cd, hubapi.FinalizerClusterDeployment)
	if h.config.Hive {
		dropped = apiobject.DropFinalizer(cd, hubapi.FinalizerHive) || dropped
	}
	if !dropped {
		return nil
	}
	delete(h.clusters, k)
	return h.store.update(ctx, cd)
}

// releaseInstall undoes an AgentClusterInstall that is being deleted: a running
// installation is cancelled, Agents are deleted or go back to their pool, and
// the service's cluster is deleted.
func (h *hub) releaseInstall(ctx context.Context, owner key, aci *apiobject.Object) error {
	if !apiobject.HasFinalizer(aci, hubapi.FinalizerAgentClusterInstall) {
		return nil
	}
	m := remembered(h.clusters, owner)
	if err := h.adopt(ctx, m, &pair{key: owner, aci: aci}); err != nil {
		return err
	}
	if m.id != "" {
		if err := h.dissolve(ctx, m, owner, aci); err != nil {
			return err
		}
	}
	if aci = h.store.get(hubapi.KindAgentClusterInstall, aci.GetNamespace(), aci.GetName()); aci == nil {
		return nil
	}
	apiobject.DropFinalizer(aci, hubapi.FinalizerAgentClusterInstall)
	err := h.store.update(ctx, aci)
	delete(h.clusters, owner)
	h.queue.add(owner)
	h.wakeInfraEnvs(owner)
	return err
}

func (h *hub) dissolve(ctx context.Context, m *clusterMemory, owner key, aci *apiobject.Object) error {
	switch m.rest.Status {
	case "preparing-for-installation", "installing", "installing-pending-user-action", "finalizing", "error":
		if err := h.backend.Do(ctx, "POST", "/v2/clusters/"+m.id+"/actions/cancel", nil, nil); err != nil {
			return err
		}
		if err := h.readCluster(ctx, m); err != nil {
			return err
		}
		if p, err := h.pairOf(owner); err == nil && p != nil {
			if err := h.reportCluster(ctx, m, p, nil); err != nil {
				return err
			}
		}
	}
	if err := h.releaseAgents(ctx, owner); err != nil {
		return err
	}
	err := h.backend.Do(ctx, "DELETE", "/v2/clusters/"+m.id, nil, nil)
	if err != nil && !assisted.IsGone(err) {
		return err
	}
	h.logf("deleted cluster %s of %s", m.id, owner)
	return nil
}

// releaseAgents lets go of the Agents of a cluster. Those of an InfraEnv that is bound to
// it are deleted; those that came from a pool only where the cluster is to be preserved.
// All others go back to their pool.
func (h *hub) releaseAgents(ctx context.Context, owner key) error {
	preserve := false
	if cd := h.store.get(hubapi.KindClusterDeployment, owner.space, owner.id); cd != nil {
		preserve = apiobject.Truth(cd, "spec", "preserveOnDelete")
	}
	for _, agent := range h.agentsOf(owner) {
		if h.goesWith(agent, owner, preserve) {
			if err := h.store.delete(ctx, hubapi.KindAgent, agent.GetNamespace(), agent.GetName()); err != nil {
				return err
			}
			continue
		}
		unstructured.RemoveNestedField(agent.Object, "spec", "clusterDeploymentName")
		if err := h.store.update(ctx, agent); err != nil {
			return err
		}
		// The service would unbind it in a moment, if the cluster is still there then.
		if host := h.hosts[agent.GetName()]; host != nil && host.ClusterID != "" {
			if err := h.unbind(ctx, host, agent, owner); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *hub) goesWith(agent *apiobject.Object, owner key, preserve bool) bool {
	env := h.store.get(hubapi.KindInfraEnv, agent.GetNamespace(), agent.GetLabels()[hubapi.LabelAgentInfraEnv])
	if env == nil {
		return false
	}
	of := clusterOf(env, "clusterRef")
	return of == owner || of == key{} && preserve
}

// unbind gives a host back to its pool. It reboots an installed node into the discovery image, unless a
// BareMetalHost does so or the credentials of the cluster are missing.
func (h *hub) unbind(ctx context.Context, host *assisted.Host, agent *apiobject.Object, owner key) error {
	h.left[host.ID] = h.farewell(host)
	path, reclaim := path(host)+"/actions/unbind", false
	if agent.GetLabels()[hubapi.LabelAgentBMH] == "" && h.store.get(hubapi.KindClusterDeployment, owner.space, owner.id) != nil &&
		h.kubeconfigOf(ctx, owner) == nil {
		path, reclaim = path+"?reclaim=true", true
	}
	if err := h.backend.Do(ctx, "POST", path, nil, nil); err != nil {
		return err
	}
	h.logf("host %s goes back to its pool", host.ID)
	if env := h.store.get(hubapi.KindInfraEnv, agent.GetNamespace(), agent.GetLabels()[hubapi.LabelAgentInfraEnv]); reclaim && env != nil &&
		h.config.Reclaim != nil {
		image, _, _ := unstructured.NestedString(env.Object, "status", "isoDownloadURL")
		h.config.Reclaim(host.ID, image)
	}
	return nil
}

// kubeconfigOf says why the service can't speak to a cluster that it installed, nil if it can.
func (h *hub) kubeconfigOf(ctx context.Context, owner key) error {
	_, err := h.field(ctx, hubapi.KindSecret, owner.space, owner.id+"-admin-kubeconfig", hubapi.KeyKubeconfig)
	return err
}

func (h *hub) agentsOf(owner key) []*apiobject.Object {
	var bound []*apiobject.Object
	for _, agent := range h.store.list(hubapi.KindAgent, "") {
		if boundTo(agent) == owner {
			bound = append(bound, agent)
		}
	}
	return bound
}

func boundTo(agent *apiobject.Object) key { return clusterOf(agent, "clusterDeploymentName") }

// clusterOf names the ClusterDeployment that a field of a spec refers to; an empty key for none.
func clusterOf(o *apiobject.Object, field string) key {
	name := apiobject.Text(o, "spec", field, "name")
	if name == "" {
		return key{}
	}
	return key{hubapi.KindClusterDeployment, apiobject.Text(o, "spec", field, "namespace"), name}
}

// releaseInfraEnv deletes the service's infra-env with its hosts, and lets go. Agents follow their owner.
func (h *hub) releaseInfraEnv(ctx context.Context, env *apiobject.Object) error {
	k := keyOf(hubapi.KindInfraEnv, env)
	if !apiobject.HasFinalizer(env, hubapi.FinalizerInfraEnv) {
		return nil
	}
	m := remembered(h.infraEnvs, k)
	if err := h.adoptInfraEnv(ctx, m, env); err != nil {
		return err
	}
	if m.id != "" {
		if err := h.dropInfraEnv(ctx, m.id); err != nil {
			return err
		}
		h.logf("deleted infra-env %s of %s", m.id, k)
	}
	delete(h.infraEnvs, k)
	apiobject.DropFinalizer(env, hubapi.FinalizerInfraEnv)
	return h.store.update(ctx, env)
}

// dropInfraEnv deletes an infra-env of the service, after its hosts, with which it is refused.
func (h *hub) dropInfraEnv(ctx context.Context, id string) error {
	var hosts []assisted.Host
	base := "/v2/infra-envs/" + id
	err := h.backend.Do(ctx, "GET", base+"/hosts", nil, &hosts)
	if assisted.IsGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range hosts {
		if err := h.dropHost(ctx, base+"/hosts/"+hosts[i].ID); err != nil {
			return err
		}
		delete(h.hosts, hosts[i].ID)
	}
	if err := h.backend.Do(ctx, "DELETE", base, nil, nil); err != nil && !assisted.IsGone(err) {
		return err
	}
	return nil
}

// dropHost deletes a host of the service. The service answers 500 for a missing host, so a refusal is checked.
func (h *hub) dropHost(ctx context.Context, path string) error {
	err := h.backend.Do(ctx, "DELETE", path, nil, nil)
	if err != nil && assisted.IsGone(h.backend.Do(ctx, "GET", path, nil, nil)) {
		return nil
	}
	return err
}

func (h *hub) releaseAgent(ctx context.Context, agent *apiobject.Object) error {
	if !apiobject.HasFinalizer(agent, hubapi.FinalizerAgent) {
		return nil
	}
	owner := boundTo(agent)
	removes := h.removesNode(agent, owner)
	if removes {
		if err := h.reachNode(ctx, agent, owner); err != nil {
			return err
		}
	}
	if host := h.hosts[agent.GetName()]; host != nil {
		if err := h.dropHost(ctx, path(host)); err != nil {
			return err
		}
		delete(h.hosts, agent.GetName())
	}
	if removes && !h.takenOut[agent.GetUID()] { // a conflict has all of it done again
		h.takenOut[agent.GetUID()] = true
		h.logf("the node of %s is taken out of %s", agent.GetName(), owner)
	}
	apiobject.DropFinalizer(agent, hubapi.FinalizerAgent)
	return h.store.update(ctx, agent)
}

// removesNode says whether a deleted Agent's node is taken out of its cluster: not where the
// Agent says so, or the cluster is deleted, too.
func (h *hub) removesNode(agent *apiobject.Object, owner key) bool {
	_, skips := agent.GetAnnotations()[hubapi.AnnotationAgentSkipCleanup]
	return !skips && owner.id != "" && apiobject.Text(agent, "status", "progress", "currentStage") == "Done" && h.lives(agent, owner)
}

// reachNode is an error, and a condition of the Agent, where its cluster cannot be reached.
func (h *hub) reachNode(ctx context.Context, agent *apiobject.Object, owner key) error {
	err := h.kubeconfigOf(ctx, owner)
	if err == nil {
		return nil
	}
	status := apiobject.Status(agent)
	h.setConditions(
		status, false,
		condition.Condition{Type: hubapi.ConditionCleanup, Status: condition.False, Reason: "CleanupFailed", Message: err.Error()},
	)
	h.requeueAfter(keyOf(hubapi.KindAgent, agent), retryAfter)
	return errors.Join(err, h.writeStatus(ctx, agent, status))
}

func (h *hub) lives(agent *apiobject.Object, owner key) bool {
	stays := func(o *apiobject.Object) bool { return o != nil && o.GetDeletionTimestamp() == nil }
	cd := h.store.get(hubapi.KindClusterDeployment, owner.space, owner.id)
	return stays(cd) &&
		stays(h.store.get(hubapi.KindAgentClusterInstall, owner.space, apiobject.Text(cd, "spec", "clusterInstallRef", "name"))) &&
		stays(h.store.get(hubapi.KindInfraEnv, agent.GetNamespace(), agent.GetLabels()[hubapi.LabelAgentInfraEnv]))
}
