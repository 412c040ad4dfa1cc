package hub

import (
	"context"
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/condition"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

// specSyncedText is SpecSynced of an AgentClusterInstall in order: no sentence, unlike an Agent's.
const specSyncedText = "SyncOK"

func (h *hub) reportCluster(ctx context.Context, m *clusterMemory, p *pair, fault error) error {
	status := statusOf(p.aci)
	conditions, _, _ := unstructured.NestedSlice(p.aci.Object, "status", "conditions")
	now := h.clock.Now()
	conditions = condition.Set(conditions, []condition.Condition{condition.SpecSynced(fault, specSyncedText)}, now, true)
	if m.rest == nil {
		conditions = condition.Set(conditions, condition.NoCluster(), now, true)
		status["debugInfo"] = map[string]any{"eventsURL": "", "logsURL": ""}
		status["progress"] = orMap(status["progress"], map[string]any{"totalPercentage": int64(0)})
	} else {
		view := h.view(m, p)
		conditions = condition.Set(conditions, view.Conditions(), now, true)
		h.describeCluster(status, m, view)
	}
	status["conditions"] = conditions
	return h.writeStatus(ctx, p.aci, status)
}

// reportMissing writes the status of an AgentClusterInstall that has no ClusterDeployment.
func (h *hub) reportMissing(ctx context.Context, aci *objects.Object, fault error) error {
	status := statusOf(aci)
	conditions, _, _ := unstructured.NestedSlice(aci.Object, "status", "conditions")
	now := h.clock.Now()
	conditions = condition.Set(conditions, []condition.Condition{condition.SpecSynced(fault, specSyncedText)}, now, true)
	status["conditions"] = condition.Set(conditions, condition.NoCluster(), now, true)
	status["debugInfo"] = map[string]any{"eventsURL": "", "logsURL": ""}
	status["progress"] = orMap(status["progress"], map[string]any{"totalPercentage": int64(0)})
	return h.writeStatus(ctx, aci, status)
}

func orMap(have any, other map[string]any) any {
	if have == nil {
		return other
	}
	return have
}

func (h *hub) describeCluster(status map[string]any, m *clusterMemory, view *condition.ClusterView) {
	c := m.rest
	debug := map[string]any{
		"eventsURL": h.openCluster(h.backend.Url+assisted.RestBase+"/v2/events?cluster_id="+c.ID, c.ID), "logsURL": "", "state": c.Status, "stateInfo": view.Info,
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

func statusOf(o *objects.Object) map[string]any {
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	if status == nil {
		status = map[string]any{}
	}
	return status
}

func (h *hub) writeStatus(ctx context.Context, o *objects.Object, status map[string]any) error {
	old, _, _ := unstructured.NestedMap(o.Object, "status")
	if reflect.DeepEqual(plain(old), plain(status)) {
		return nil
	}
	o = o.DeepCopy()
	o.Object["status"] = runtime.DeepCopyJSONValue(status)
	return h.store.updateStatus(ctx, o)
}
