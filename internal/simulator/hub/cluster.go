package hub

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/condition"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

type clusterMemory struct {
	id        string // of the service's cluster; "" until there is one
	raw       string // as the service last printed it
	rest      *assisted.Cluster
	manifests string    // those that were sent
	tried     time.Time // when the installation was last asked for
	stall     stall
}

func remembered[T any](all map[key]*T, k key) *T {
	if all[k] == nil {
		all[k] = new(T)
	}
	return all[k]
}

type pair struct {
	key     key
	cd, aci *apiobject.Object
	deploy  objects.DeploymentSpec
	install objects.InstallSpec
}

// pairOf is what belongs to a ClusterDeployment; nil where it is not ours, or has no AgentClusterInstall.
func (h *hub) pairOf(k key) (*pair, error) {
	cd := h.store.get(hubapi.KindClusterDeployment, k.space, k.id)
	if cd == nil {
		return nil, nil
	}
	deploy, err := objects.Spec[objects.DeploymentSpec](cd)
	if err != nil {
		return nil, err
	}
	ref := deploy.ClusterInstallRef
	if ref == nil || ref.Group != hubapi.GroupHiveExtension || ref.Kind != hubapi.KindAgentClusterInstall {
		return nil, nil
	}
	aci := h.store.get(hubapi.KindAgentClusterInstall, k.space, ref.Name)
	if aci == nil {
		return nil, nil
	}
	install, err := objects.Spec[objects.InstallSpec](aci)
	if err != nil {
		return nil, err
	}
	return &pair{key: k, cd: cd, aci: aci, deploy: deploy, install: install}, nil
}

func (h *hub) reconcileCluster(ctx context.Context, k key) error {
	cd := h.store.get(hubapi.KindClusterDeployment, k.space, k.id)
	if cd == nil {
		delete(h.clusters, k)
		return nil
	}
	if cd.GetDeletionTimestamp() != nil {
		return h.releaseDeployment(ctx, cd)
	}
	p, err := h.pairOf(k)
	if err != nil || p == nil || p.aci.GetDeletionTimestamp() != nil {
		return err
	}
	if err := h.claim(ctx, p); err != nil {
		return err
	}
	m := remembered(h.clusters, k)
	fault := h.syncCluster(ctx, m, p)
	if fault != nil && !assisted.IsInput(fault) {
		h.requeueAfter(k, retryAfter)
	}
	if m.rest != nil {
		if err := h.drive(ctx, m, p, fault); err != nil {
			return err
		}
	}
	if err := h.reportCluster(ctx, m, p, fault); err != nil {
		return err
	}
	if h.config.Hive {
		return h.record(ctx, p)
	}
	return nil
}

func (h *hub) claim(ctx context.Context, p *pair) error {
	if apiobject.AddFinalizer(p.aci, hubapi.FinalizerAgentClusterInstall) {
		if err := h.store.updatePrinted(ctx, p.aci); err != nil {
			return err
		}
	}
	added := apiobject.AddFinalizer(p.cd, hubapi.FinalizerClusterDeployment)
	if h.config.Hive {
		added = apiobject.AddFinalizer(p.cd, hubapi.FinalizerHive) || added
	}
	if added {
		if err := h.store.updatePrinted(ctx, p.cd); err != nil {
			return err
		}
	}
	return h.own(ctx, p)
}

// own makes the ClusterDeployment the owner of its AgentClusterInstall, and passes its consumer label on.
func (h *hub) own(ctx context.Context, p *pair) error {
	for _, owner := range p.aci.GetOwnerReferences() {
		if owner.UID == p.cd.GetUID() {
			return nil
		}
	}
	p.aci.SetOwnerReferences(append(p.aci.GetOwnerReferences(), ownerOf(p.cd, false)))
	return h.store.updatePrinted(ctx, p.aci)
}

// reconcileInstall reports on an AgentClusterInstall without a cluster, and lets go of a deleted one.
func (h *hub) reconcileInstall(ctx context.Context, k key) error {
	aci := h.store.get(hubapi.KindAgentClusterInstall, k.space, k.id)
	if aci == nil {
		return nil
	}
	spec, err := objects.Spec[objects.InstallSpec](aci)
	if err != nil {
		return err
	}
	owner := key{hubapi.KindClusterDeployment, k.space, spec.ClusterDeploymentRef.Name}
	if aci.GetDeletionTimestamp() != nil {
		return h.releaseInstall(ctx, owner, aci)
	}
	if h.store.get(hubapi.KindClusterDeployment, owner.space, owner.id) != nil {
		h.queue.add(owner)
		return nil
	}
	if apiobject.AddFinalizer(aci, hubapi.FinalizerAgentClusterInstall) {
		if err := h.store.updatePrinted(ctx, aci); err != nil {
			return err
		}
	}
	missing := assisted.InputFault("ClusterDeployment with name '%s' in namespace '%s' not found", owner.id, owner.space)
	return h.reportCluster(ctx, &clusterMemory{}, &pair{aci: aci}, missing)
}

// syncCluster makes the service's cluster say what the objects say. The error is what SpecSynced tells.
func (h *hub) syncCluster(ctx context.Context, m *clusterMemory, p *pair) error {
	if h.failing > 0 {
		h.failing--
		return errors.New("the database of the service does not answer")
	}
	if err := h.adopt(ctx, m, p); err != nil {
		return err
	}
	if m.id == "" && p.deploy.IsInstalled() {
		return h.importCluster(ctx, m, p)
	}
	if m.rest != nil && !slices.Contains([]string{"insufficient", "pending-for-input", "ready"}, m.rest.Status) {
		return nil // the spec is frozen
	}
	in, err := h.gather(ctx, p)
	if err != nil {
		return err
	}
	if m.id == "" {
		if err := h.createCluster(ctx, m, in); err != nil {
			return err
		}
		h.logf("made cluster %s for %s", m.id, p.key)
		h.wakeInfraEnvs(p.key)
	}
	if err := h.updateCluster(ctx, m, in); err != nil {
		return err
	}
	if err := h.updateByAnnotation(ctx, m, p.aci); err != nil {
		return err
	}
	return h.sendManifests(ctx, m, p)
}

func (h *hub) createCluster(ctx context.Context, m *clusterMemory, in *clusterInputs) error {
	var made assisted.Cluster
	if err := h.backend.Do(ctx, "POST", "/v2/clusters", in.create(), &made); err != nil {
		return err
	}
	m.id = made.ID
	return h.readCluster(ctx, m)
}

// adopt finds the cluster that a former run of the controllers had made.
func (h *hub) adopt(ctx context.Context, m *clusterMemory, p *pair) error {
	if m.id == "" {
		if m.id = queryOf(apiobject.Text(p.aci, "status", "debugInfo", "eventsURL"), "cluster_id"); m.id == "" {
			return nil
		}
	}
	if m.rest != nil {
		return nil
	}
	err := h.readCluster(ctx, m)
	if assisted.IsGone(err) {
		*m = clusterMemory{}
		return nil
	}
	return err
}

func (h *hub) readCluster(ctx context.Context, m *clusterMemory) error {
	data, err := h.backend.Raw(ctx, "GET", "/v2/clusters/"+m.id+"?exclude-hosts=true", nil)
	if err != nil {
		return err
	}
	var c assisted.Cluster
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	m.raw, m.rest = string(data), &c
	return nil
}

func (h *hub) updateCluster(ctx context.Context, m *clusterMemory, in *clusterInputs) error {
	var now map[string]any
	if err := json.Unmarshal([]byte(m.raw), &now); err != nil {
		return err
	}
	changed := in.update(now)
	if len(changed) == 0 {
		return nil
	}
	if err := h.backend.Do(ctx, "PATCH", "/v2/clusters/"+m.id, changed, nil); err != nil {
		return err
	}
	return h.readCluster(ctx, m)
}

// specSyncedText is SpecSynced of an AgentClusterInstall in order: no sentence, unlike an Agent's.
const specSyncedText = "SyncOK"

func (h *hub) reportCluster(ctx context.Context, m *clusterMemory, p *pair, fault error) error {
	status := apiobject.Status(p.aci)
	all := condition.NoCluster()
	if m.rest == nil {
		status["debugInfo"] = map[string]any{"eventsURL": "", "logsURL": ""}
		if status["progress"] == nil {
			status["progress"] = map[string]any{"totalPercentage": int64(0)}
		}
	} else {
		view := h.view(m, p)
		all = view.Conditions()
		h.describeCluster(status, m, view)
	}
	h.setConditions(status, true, append([]condition.Condition{condition.SpecSynced(fault, specSyncedText)}, all...)...)
	return h.writeStatus(ctx, p.aci, status)
}

func (h *hub) describeCluster(status map[string]any, m *clusterMemory, view *condition.ClusterView) {
	c := m.rest
	debug := map[string]any{
		"eventsURL": h.openCluster(h.backend.Url+assisted.RestBase+"/v2/events?cluster_id="+c.ID, c.ID), "logsURL": "", "state": c.Status,
		"stateInfo": view.Info,
	}
	if h.hasLogs(c) {
		debug["logsURL"] = h.openCluster(h.backend.Url+assisted.RestBase+"/v2/clusters/"+c.ID+"/logs", c.ID)
	}
	status["debugInfo"] = debug
	total := int64(0)
	if c.Progress != nil {
		total = c.Progress.Total
	}
	status["progress"] = map[string]any{"totalPercentage": total}
	status["userManagedNetworking"] = c.UserManaged
	set(status, "connectivityMajorityGroups", c.ConnectivityGroups)
	if c.Platform != nil {
		set(status, "platformType", objects.PlatformWord(c.Platform.Type))
	}
	setAddresses(status, "apiVIP", c.APIVIPs)
	setAddresses(status, "ingressVIP", c.IngressVIPs)
	networks := []any{}
	for _, n := range c.MachineNetworks {
		networks = append(networks, map[string]any{"cidr": n.CIDR})
	}
	setList(status, "machineNetwork", networks)
	setChecks(status, c.ValidationsInfo)
}

func (h *hub) hasLogs(c *assisted.Cluster) bool {
	if c.ControllerLogsAt.Unix() > 0 {
		return true
	}
	for _, host := range h.hosts {
		if host.ClusterID == c.ID && hasLogs(host) {
			return true
		}
	}
	return false
}

func hasLogs(h *assisted.Host) bool { return h.LogsAt.Unix() > 0 }

func set(status map[string]any, name, text string) {
	delete(status, name)
	if text != "" {
		status[name] = text
	}
}

func setList(status map[string]any, name string, list []any) {
	delete(status, name)
	if len(list) > 0 {
		status[name] = list
	}
}

// setAddresses writes addresses as the list and, the first of them, by itself.
func setAddresses(status map[string]any, name string, list []assisted.Address) {
	delete(status, name)
	all := []any{}
	for _, a := range list {
		all = append(all, a.IP)
	}
	if len(all) > 0 {
		status[name] = all[0]
	}
	setList(status, name+"s", all)
}

func setChecks(status map[string]any, text string) {
	delete(status, "validationsInfo")
	var checks map[string]any
	if text == "" || json.Unmarshal([]byte(text), &checks) != nil || len(checks) == 0 {
		return
	}
	status["validationsInfo"] = checks
}

// setConditions puts conditions among those of a status; with heartbeat they have lastProbeTime, too.
func (h *hub) setConditions(status map[string]any, heartbeat bool, want ...condition.Condition) {
	have, _ := status["conditions"].([]any)
	status["conditions"] = condition.Set(have, want, h.present(), heartbeat)
}

func (h *hub) writeStatus(ctx context.Context, o *apiobject.Object, status map[string]any) error {
	old, _, _ := unstructured.NestedMap(o.Object, "status")
	if reflect.DeepEqual(plain(old), plain(status)) {
		return nil
	}
	o = o.DeepCopy()
	o.Object["status"] = runtime.DeepCopyJSONValue(status)
	return h.store.updateStatus(ctx, o)
}
