package hub

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"time"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/condition"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// startPause is the least time between two starts: the service tries again where a preparation fails.
const startPause = 10 * time.Second

// drive starts a ready cluster, publishes its credentials, and opens an installed one for more hosts.
func (h *hub) drive(ctx context.Context, m *clusterMemory, p *pair, fault error) error {
	switch m.rest.Status {
	case "ready":
		if fault == nil {
			return h.start(ctx, m, p)
		}
	case "installing", "installing-pending-user-action", "finalizing":
		return h.publish(ctx, m, p, false)
	case "installed":
		if err := h.publish(ctx, m, p, true); err != nil {
			return err
		}
		if p.deploy.IsInstalled() || condition.Of(p.aci, "Completed").Reason == "InstallationCompleted" {
			return h.takeHosts(ctx, m, p)
		}
		h.queue.add(p.key) // as soon as the status says that it is installed
	}
	return nil
}

func (h *hub) view(m *clusterMemory, p *pair) *condition.ClusterView {
	v := &condition.ClusterView{
		State: m.rest.Status, Info: m.rest.StatusInfo, Checks: assisted.ChecksOf(m.rest.ValidationsInfo),
		Held: p.install.HoldInstallation, Want: p.install.Wanted(),
	}
	if v.State == "adding-hosts" {
		v.Info = "Cluster is installed"
	}
	if m.rest.Preparation != nil {
		v.Preparation, v.Trouble = m.rest.Preparation.Status, m.rest.Preparation.Reason
	}
	for _, host := range h.hosts {
		if host.ClusterID == m.id {
			h.count(v, host)
		}
	}
	if m.stall.stands(h.config.Trouble.UnsyncedAgents, v, p) {
		v.Unsynced = v.Want.Sum()
	}
	return v
}

// count adds a host. One without an Agent is registered, and not approved. Unsynced is only
// an Agent whose condition says so, and not one without that condition.
func (h *hub) count(v *condition.ClusterView, host *assisted.Host) {
	switch host.EffectiveRole() {
	case "master":
		v.Registered.Masters++
	case "arbiter":
		v.Registered.Arbiters++
	default:
		v.Registered.Workers++
	}
	agent := h.agentOf(host)
	if agent == nil {
		return
	}
	if apiobject.Truth(agent, "spec", "approved") {
		v.Approved++
	}
	if condition.Of(agent, "SpecSynced").Status == condition.False {
		v.Unsynced++
	}
}

// stall is the service's habit to take Agents for unsynced that are not, until
// it has a reason to look at the AgentClusterInstall again. It begins when nothing
// holds the cluster any more, so that taking a hold back does not end it.
type stall struct {
	began string // what the AgentClusterInstall said when it began
	over  bool
}

func (s *stall) stands(wanted bool, v *condition.ClusterView, p *pair) bool {
	if !wanted || s.over || v.Held || !v.Startable() {
		return false
	}
	now := fmt.Sprint(p.aci.GetAnnotations(), p.aci.GetLabels(), p.aci.Object["spec"])
	if s.began == "" {
		s.began = now
	}
	s.over = s.began != now
	return !s.over
}

// start installs a cluster once all its hosts are there and approved, unless holdInstallation is set.
func (h *hub) start(ctx context.Context, m *clusterMemory, p *pair) error {
	held := p.install.HoldInstallation || p.cd.GetAnnotations()[hubapi.AnnotationReconcilePause] == yesText
	if held || !h.view(m, p).Startable() {
		return nil
	}
	if since := h.clock.Now().Sub(m.tried); since < startPause {
		h.requeueAfter(p.key, startPause-since)
		return nil
	}
	if behind, err := h.behind(ctx, m); behind || err != nil {
		h.requeueAfter(p.key, time.Second)
		return err
	}
	m.tried = h.clock.Now()
	if err := h.backend.Do(ctx, "POST", "/v2/clusters/"+m.id+"/actions/install", nil, nil); err != nil {
		h.logf("%s cannot be started: %v", p.key, err)
		h.requeueAfter(p.key, startPause)
		return h.readCluster(ctx, m)
	}
	h.logf("%s is started", p.key)
	return h.readCluster(ctx, m)
}

// behind reports whether the service does not know yet what some Agents of a cluster say. Real
// controllers pass that on within moments, which are minutes where the clock runs fast.
func (h *hub) behind(ctx context.Context, m *clusterMemory) (bool, error) {
	found := false
	for _, host := range h.hosts {
		seen := h.agentOf(host)
		if host.ClusterID != m.id || seen == nil {
			continue
		}
		agent, err := h.store.live(ctx, hubapi.KindAgent, seen.GetNamespace(), seen.GetName())
		if err != nil {
			return false, err
		}
		found = found || agent.GetGeneration() != h.passed[host.ID]
	}
	return found, nil
}

func (h *hub) takeHosts(ctx context.Context, m *clusterMemory, p *pair) error {
	if err := h.backend.Do(ctx, "POST", "/v2/clusters/"+m.id+"/actions/allow-add-hosts", nil, nil); err != nil {
		return err
	}
	h.logf("%s takes more hosts", p.key)
	return h.readCluster(ctx, m)
}

// publish puts what opens the cluster into Secrets, and its names into the
// AgentClusterInstall: while it is being installed the kubeconfig without the
// routers' certificate, at the end the complete one, and the password first.
func (h *hub) publish(ctx context.Context, m *clusterMemory, p *pair, done bool) error {
	config, password := p.key.id+"-admin-kubeconfig", p.key.id+"-admin-password"
	meta := map[string]any{"adminKubeconfigSecretRef": map[string]any{"name": config}, "clusterID": m.rest.OpenshiftID, "infraID": m.id}
	if done {
		if err := h.publishPassword(ctx, m, p, password); err != nil {
			return err
		}
		meta["adminPasswordSecretRef"] = map[string]any{"name": password}
	}
	if err := h.publishConfig(ctx, m, p, config, done); err != nil {
		return err
	}
	have, _, _ := unstructured.NestedMap(p.aci.Object, "spec", "clusterMetadata")
	if hasAll(meta, have) {
		return nil
	}
	merged := maps.Clone(have)
	if merged == nil {
		merged = map[string]any{}
	}
	maps.Copy(merged, meta)
	if err := unstructured.SetNestedMap(p.aci.Object, merged, "spec", "clusterMetadata"); err != nil {
		return err
	}
	return h.store.updatePrinted(ctx, p.aci)
}

func (h *hub) publishPassword(ctx context.Context, m *clusterMemory, p *pair, name string) error {
	if h.store.get(hubapi.KindSecret, p.key.space, name) != nil {
		return nil
	}
	var said struct{ Username, Password string }
	if err := h.backend.Do(ctx, "GET", "/v2/clusters/"+m.id+"/credentials", nil, &said); err != nil {
		return err
	}
	return h.store.create(
		ctx, secretOf(p, name, hubapi.SecretTypeKubeadmin, map[string]string{"username": said.Username, "password": said.Password}),
	)
}

func (h *hub) publishConfig(ctx context.Context, m *clusterMemory, p *pair, name string, done bool) error {
	secret := h.store.get(hubapi.KindSecret, p.key.space, name)
	if secret != nil && !done {
		return nil
	}
	file := "kubeconfig-noingress"
	if done {
		file = "kubeconfig"
	}
	data, err := h.backend.Raw(ctx, "GET", "/v2/clusters/"+m.id+"/downloads/credentials?file_name="+file, nil)
	if err != nil {
		return err
	}
	if secret == nil {
		return h.store.create(ctx, secretOf(p, name, "kubeconfig", map[string]string{"kubeconfig": string(data)}))
	}
	if err := h.stamp(ctx, secret); err != nil {
		return err
	}
	if apiobject.Text(secret, "data", "kubeconfig") == base64.StdEncoding.EncodeToString(data) {
		return nil
	}
	if err := unstructured.SetNestedField(secret.Object, base64.StdEncoding.EncodeToString(data), "data", "kubeconfig"); err != nil {
		return err
	}
	return h.store.update(ctx, secret)
}

func secretOf(p *pair, name, kind string, data map[string]string) *apiobject.Object {
	encoded := map[string]any{}
	for field, text := range data {
		encoded[field] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	secret := &apiobject.Object{Object: map[string]any{"apiVersion": "v1", "kind": hubapi.KindSecret, "type": "Opaque", "data": encoded}}
	secret.SetName(name)
	secret.SetNamespace(p.key.space)
	secret.SetLabels(map[string]string{hubapi.LabelHiveClusterDeployment: p.key.id, hubapi.LabelHiveSecretType: kind})
	owner := ownerOf(p.cd, true)
	secret.SetOwnerReferences(append(secret.GetOwnerReferences(), owner))
	return secret
}

// record does what Hive's operator does with an AgentClusterInstall: it copies
// its conditions and, in the end, its metadata into the ClusterDeployment, and
// records the cluster as installed. It then stops looking.
func (h *hub) record(ctx context.Context, p *pair) error {
	cd := h.store.get(hubapi.KindClusterDeployment, p.key.space, p.key.id)
	aci := h.store.get(hubapi.KindAgentClusterInstall, p.aci.GetNamespace(), p.aci.GetName())
	if cd == nil || aci == nil {
		return nil
	}
	if apiobject.Truth(cd, "spec", "installed") {
		return nil
	}
	if err := h.copyConditions(ctx, cd, aci); err != nil {
		return err
	}
	if !isTrue(aci, hubapi.ConditionCompleted) || !isTrue(aci, hubapi.ConditionStopped) {
		return nil
	}
	meta, _, _ := unstructured.NestedMap(aci.Object, "spec", "clusterMetadata")
	if meta["infraID"] == nil || meta["clusterID"] == nil || meta["adminKubeconfigSecretRef"] == nil || meta["adminPasswordSecretRef"] == nil {
		return nil
	}
	cd = h.store.get(hubapi.KindClusterDeployment, p.key.space, p.key.id)
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

func isTrue(o *apiobject.Object, kind string) bool {
	return condition.Of(o, kind).Status == condition.True
}

func (h *hub) copyConditions(ctx context.Context, cd, aci *apiobject.Object) error {
	var all []condition.Condition
	for _, pair := range []struct{ from, to string }{
		{hubapi.ConditionFailed, hubapi.ConditionHiveInstallFailed}, {hubapi.ConditionCompleted, hubapi.ConditionHiveInstallCompleted},
		{hubapi.ConditionStopped, hubapi.ConditionHiveInstallStopped}, {hubapi.ConditionRequirementsMet, hubapi.ConditionHiveRequirementsMet},
		{hubapi.ConditionFailed, hubapi.ConditionHiveProvisionFailed},
	} {
		if c := condition.Of(aci, pair.from); c.Type != "" {
			c.Type = pair.to
			all = append(all, c)
		}
	}
	all = append(all, provisioned(aci)...)
	status := apiobject.Status(cd)
	h.setConditions(status, true, all...)
	if isTrue(aci, hubapi.ConditionRequirementsMet) && status["installStartedTimestamp"] == nil {
		status["installStartedTimestamp"] = condition.Since(aci, hubapi.ConditionRequirementsMet)
	}
	if isTrue(aci, hubapi.ConditionCompleted) && status["installedTimestamp"] == nil {
		status["installedTimestamp"] = h.present().UTC().Format(time.RFC3339)
	}
	return h.writeStatus(ctx, cd, status)
}

// provisioned are the conditions that Hive makes up itself.
func provisioned(aci *apiobject.Object) []condition.Condition {
	stopped := isTrue(aci, hubapi.ConditionStopped)
	failed := isTrue(aci, hubapi.ConditionFailed)
	completed := isTrue(aci, hubapi.ConditionCompleted)
	halt := condition.Condition{Type: hubapi.ConditionHiveProvisionStopped, Status: condition.False,
		Reason: "ProvisionNotStopped", Message: "Provision is not stopped"}
	state := condition.Condition{
		Type: hubapi.ConditionHiveProvisioned, Status: condition.False, Reason: "Provisioning", Message: "Provisioning in progress",
	}
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
