package hub

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/pkg/install/hubapi"
)

// waitForOthers is when a deletion that waits for another object looks again.
const waitForOthers = 10 * time.Second

// releaseDeployment deletes the AgentClusterInstall of a ClusterDeployment that
// is being deleted, and lets go of it once that is gone.
func (h *hub) releaseDeployment(ctx context.Context, cd *object) error {
	k := keyOf(kindCluster, cd)
	deploy, err := readSpec[deploymentSpec](cd)
	if err != nil {
		return err
	}
	if ref := deploy.ClusterInstallRef; ref != nil {
		if aci := h.store.get(kindInstall, k.space, ref.Name); aci != nil {
			h.later(k, waitForOthers)
			if aci.GetDeletionTimestamp() != nil {
				return nil
			}
			return h.store.delete(ctx, kindInstall, k.space, ref.Name)
		}
	}
	dropped := dropFinalizer(cd, hubapi.FinalizerClusterDeployment)
	if h.config.Hive {
		dropped = dropFinalizer(cd, hubapi.FinalizerHive) || dropped
	}
	if !dropped {
		return nil
	}
	delete(h.clusters, k)
	_, err = h.store.update(ctx, kindCluster, cd)
	return err
}

// releaseInstall undoes an AgentClusterInstall that is being deleted: a running
// installation is cancelled, Agents are deleted or go back to their pool, and
// the service's cluster is deleted.
func (h *hub) releaseInstall(ctx context.Context, owner key, aci *object) error {
	if !hasFinalizer(aci, hubapi.FinalizerAgentClusterInstall) {
		return nil
	}
	m := h.cluster(owner)
	if err := h.adopt(ctx, m, &pair{key: owner, aci: aci}); err != nil {
		return err
	}
	if m.id != "" {
		if err := h.dissolve(ctx, m, owner, aci); err != nil {
			return err
		}
	}
	if aci = h.store.get(kindInstall, aci.GetNamespace(), aci.GetName()); aci == nil {
		return nil
	}
	dropFinalizer(aci, hubapi.FinalizerAgentClusterInstall)
	_, err := h.store.update(ctx, kindInstall, aci)
	delete(h.clusters, owner)
	h.queue.add(owner)
	h.wakeInfraEnvs(owner)
	return err
}

func hasFinalizer(o *object, name string) bool { return !addFinalizer(o.DeepCopy(), name) }

// dissolve takes a cluster of the service apart.
func (h *hub) dissolve(ctx context.Context, m *clusterMemory, owner key, aci *object) error {
	switch m.rest.Status {
	case "preparing-for-installation", "installing", "installing-pending-user-action", "finalizing", "error":
		if err := h.backend.do(ctx, "POST", "/v2/clusters/"+m.id+"/actions/cancel", nil, nil); err != nil {
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
	err := h.backend.do(ctx, "DELETE", "/v2/clusters/"+m.id, nil, nil)
	if err != nil && !isGone(err) {
		return err
	}
	h.logf("deleted cluster %s of %s", m.id, owner)
	return nil
}

// releaseAgents deletes the Agents of a cluster that came with its own
// InfraEnvs, and gives the others back.
func (h *hub) releaseAgents(ctx context.Context, owner key) error {
	preserve := false
	if cd := h.store.get(kindCluster, owner.space, owner.id); cd != nil {
		preserve, _, _ = unstructured.NestedBool(cd.Object, "spec", "preserveOnDelete")
	}
	for _, agent := range h.agentsOf(owner) {
		env := h.store.get(kindInfraEnv, agent.GetNamespace(), agent.GetLabels()[hubapi.LabelAgentInfraEnv])
		own := env != nil && nested(env, "spec", "clusterRef", "name") == owner.id && nested(env, "spec", "clusterRef", "namespace") == owner.space
		if own || env == nil || preserve {
			if err := h.store.delete(ctx, kindAgent, agent.GetNamespace(), agent.GetName()); err != nil {
				return err
			}
			continue
		}
		unstructured.RemoveNestedField(agent.Object, "spec", "clusterDeploymentName")
		if _, err := h.store.update(ctx, kindAgent, agent); err != nil {
			return err
		}
	}
	return nil
}

// agentsOf are the Agents that are bound to a ClusterDeployment.
func (h *hub) agentsOf(owner key) []*object {
	var bound []*object
	for _, agent := range h.store.list(kindAgent, "") {
		if boundTo(agent) == owner {
			bound = append(bound, agent)
		}
	}
	return bound
}

// boundTo names the ClusterDeployment of an Agent; an empty key for none.
func boundTo(agent *object) key {
	name := nested(agent, "spec", "clusterDeploymentName", "name")
	if name == "" {
		return key{}
	}
	return key{kindCluster, nested(agent, "spec", "clusterDeploymentName", "namespace"), name}
}

// releaseInfraEnv deletes the service's infra-env, and its hosts, and lets go.
// The Agents follow by themselves, being owned by the InfraEnv.
func (h *hub) releaseInfraEnv(ctx context.Context, env *object) error {
	k := keyOf(kindInfraEnv, env)
	if !hasFinalizer(env, hubapi.FinalizerInfraEnv) {
		return nil
	}
	m := h.infraEnv(k)
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
	dropFinalizer(env, hubapi.FinalizerInfraEnv)
	_, err := h.store.update(ctx, kindInfraEnv, env)
	return err
}

// dropInfraEnv deletes an infra-env of the service. It is refused as long as
// there are hosts, so they go first.
func (h *hub) dropInfraEnv(ctx context.Context, id string) error {
	var hosts []restHost
	base := "/v2/infra-envs/" + id
	err := h.backend.do(ctx, "GET", base+"/hosts", nil, &hosts)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range hosts {
		if err := h.backend.do(ctx, "DELETE", base+"/hosts/"+hosts[i].ID, nil, nil); err != nil && !isGone(err) {
			return err
		}
		delete(h.hosts, hosts[i].ID)
	}
	if err := h.backend.do(ctx, "DELETE", base, nil, nil); err != nil && !isGone(err) {
		return err
	}
	return nil
}

// releaseAgent deletes the service's host and lets go of the Agent.
func (h *hub) releaseAgent(ctx context.Context, agent *object) error {
	if !hasFinalizer(agent, hubapi.FinalizerAgent) {
		return nil
	}
	if host := h.hosts[agent.GetName()]; host != nil {
		err := h.backend.do(ctx, "DELETE", host.path(), nil, nil)
		if err != nil && !isGone(err) {
			return err
		}
		delete(h.hosts, agent.GetName())
	}
	dropFinalizer(agent, hubapi.FinalizerAgent)
	_, err := h.store.update(ctx, kindAgent, agent)
	return err
}
