package hub

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/hub/condition"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

// record does what Hive's operator does with an AgentClusterInstall: it copies
// its conditions and, in the end, its metadata into the ClusterDeployment, and
// records the cluster as installed. It then stops looking.
func (h *hub) record(ctx context.Context, p *pair) error {
	cd, aci := h.store.get(objects.KindCluster, p.key.space, p.key.id), h.store.get(objects.KindInstall, p.aci.GetNamespace(), p.aci.GetName())
	if cd == nil || aci == nil {
		return nil
	}
	if done, _, _ := unstructured.NestedBool(cd.Object, "spec", "installed"); done {
		return nil
	}
	if err := h.copyConditions(ctx, cd, aci); err != nil {
		return err
	}
	if statusOfCondition(aci, hubapi.ConditionCompleted) != condition.True || statusOfCondition(aci, hubapi.ConditionStopped) != condition.True {
		return nil
	}
	meta, _, _ := unstructured.NestedMap(aci.Object, "spec", "clusterMetadata")
	if meta["infraID"] == nil || meta["clusterID"] == nil || meta["adminKubeconfigSecretRef"] == nil || meta["adminPasswordSecretRef"] == nil {
		return nil
	}
	cd = h.store.get(objects.KindCluster, p.key.space, p.key.id)
	if cd == nil {
		return nil
	}
	spec, _, _ := unstructured.NestedMap(cd.Object, "spec")
	spec["clusterMetadata"], spec["installed"] = meta, true
	cd.Object["spec"] = spec
	if err := h.store.update(ctx, cd); err != nil {
		return err
	}
	h.logf("%s is recorded as installed", p.key)
	return nil
}

func statusOfCondition(o *objects.Object, kind string) string {
	status, _ := condition.Of(o, kind)["status"].(string)
	return status
}

func (h *hub) copyConditions(ctx context.Context, cd, aci *objects.Object) error {
	var all []condition.Condition
	for _, pair := range []struct{ from, to string }{
		{hubapi.ConditionFailed, hubapi.ConditionHiveInstallFailed}, {hubapi.ConditionCompleted, hubapi.ConditionHiveInstallCompleted},
		{hubapi.ConditionStopped, hubapi.ConditionHiveInstallStopped}, {hubapi.ConditionRequirementsMet, hubapi.ConditionHiveRequirementsMet},
		{hubapi.ConditionFailed, hubapi.ConditionHiveProvisionFailed},
	} {
		if c, found := copied(aci, pair.from); found {
			c.Type = pair.to
			all = append(all, c)
		}
	}
	all = append(all, provisioned(aci)...)
	status := statusOf(cd)
	have, _, _ := unstructured.NestedSlice(cd.Object, "status", "conditions")
	now := h.clock.Now()
	status["conditions"] = condition.Set(have, all, now, true)
	if statusOfCondition(aci, hubapi.ConditionRequirementsMet) == condition.True && status["installStartedTimestamp"] == nil {
		status["installStartedTimestamp"] = condition.Of(aci, hubapi.ConditionRequirementsMet)["lastTransitionTime"]
	}
	if statusOfCondition(aci, hubapi.ConditionCompleted) == condition.True && status["installedTimestamp"] == nil {
		status["installedTimestamp"] = now.UTC().Format(time.RFC3339)
	}
	return h.writeStatus(ctx, cd, status)
}

func copied(aci *objects.Object, kind string) (condition.Condition, bool) {
	c := condition.Of(aci, kind)
	if c == nil {
		return condition.Condition{}, false
	}
	text := func(name string) string { s, _ := c[name].(string); return s }
	return condition.Condition{Type: kind, Status: text("status"), Reason: text("reason"), Message: text("message")}, true
}

// provisioned are the conditions that Hive makes up itself.
func provisioned(aci *objects.Object) []condition.Condition {
	is := func(kind string) bool { return statusOfCondition(aci, kind) == condition.True }
	stopped, failed, completed := is(hubapi.ConditionStopped), is(hubapi.ConditionFailed), is(hubapi.ConditionCompleted)
	halt := condition.Condition{Type: hubapi.ConditionHiveProvisionStopped, Status: condition.False,
		Reason: "ProvisionNotStopped", Message: "Provision is not stopped"}
	state := condition.Condition{Type: hubapi.ConditionHiveProvisioned, Status: condition.False, Reason: "Provisioning", Message: "Provisioning in progress"}
	switch {
	case stopped && failed:
		halt.Status, halt.Reason, halt.Message = condition.True, "InstallAttemptsLimitReached", "Install attempts limit reached"
		state.Reason, state.Message = "ProvisionStopped", "Provisioning failed terminally (see ProvisionStopped condition)"
	case stopped && completed:
		state.Status, state.Reason, state.Message = condition.True, "Provisioned", "Cluster is provisioned"
	case stopped || completed:
		state.Status, state.Reason, state.Message = condition.Unknown, "Error", "Invalid ClusterInstall conditions. Please report this bug."
	}
	return []condition.Condition{halt, state}
}
