package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openshift/assisted-service/models"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/condition"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

func path(h *assisted.Host) string { return "/v2/infra-envs/" + h.InfraEnvID + "/hosts/" + h.ID }

func (h *hub) agentOf(host *assisted.Host) *apiobject.Object {
	k, _ := h.infraEnvBehind(host.InfraEnvID)
	return h.store.get(hubapi.KindAgent, k.space, host.ID)
}

func (h *hub) infraEnvBehind(id string) (key, bool) {
	for k, m := range h.infraEnvs {
		if m.id == id {
			return k, true
		}
	}
	return key{}, false
}

// reconcileAgent brings a host of the service and its Agent together: the Agent
// is made when the host registers, what its spec says is sent, and what the
// service says of the host becomes its status.
func (h *hub) reconcileAgent(ctx context.Context, k key) error {
	agent, host := h.store.get(hubapi.KindAgent, k.space, k.id), h.hosts[k.id]
	h.spread(k)
	switch {
	case agent == nil && host == nil:
		return nil
	case agent == nil:
		return h.createAgent(ctx, host)
	case agent.GetDeletionTimestamp() != nil:
		return h.releaseAgent(ctx, agent)
	case host == nil:
		if !h.hostsKnown(agent) {
			h.requeueAfter(k, retryAfter)
			return nil
		}
		h.logf("%s has no host any more", k)
		return h.store.delete(ctx, hubapi.KindAgent, k.space, k.id)
	}
	if apiobject.AddFinalizer(agent, hubapi.FinalizerAgent) {
		if err := h.store.update(ctx, agent); err != nil {
			return err
		}
	}
	if err := h.inherit(ctx, agent); err != nil {
		return err
	}
	spec, err := objects.Spec[agentinstall.AgentSpec](agent)
	if err != nil {
		return err
	}
	fault := h.syncAgent(ctx, host, agent, &spec)
	if fault != nil && assisted.IsInput(fault) && changeable(host.Status) {
		// What was asked of a host that has begun to install meanwhile comes too late, and is no fault of the spec.
		if err := h.readHost(ctx, host); err != nil {
			return err
		}
		if now := h.hosts[k.id]; now != nil && !changeable(now.Status) {
			fault = nil
		}
	}
	switch {
	case fault == nil:
		h.passed[host.ID] = agent.GetGeneration()
	case !assisted.IsInput(fault):
		h.requeueAfter(k, retryAfter)
	}
	if host = h.hosts[k.id]; host == nil {
		return nil
	}
	if err := h.annotate(ctx, agent, host); err != nil {
		return err
	}
	if err := h.reportAgent(ctx, agent, host, &spec, fault); err != nil {
		return err
	}
	if err := h.labelAgent(ctx, k, host, &spec); err != nil {
		return err
	}
	return h.installAdded(ctx, host, &spec)
}

// hostsKnown reports whether the hosts of an Agent's InfraEnv are known: one not among them is gone.
func (h *hub) hostsKnown(agent *apiobject.Object) bool {
	name := agent.GetLabels()[hubapi.LabelAgentInfraEnv]
	m := h.infraEnvs[key{hubapi.KindInfraEnv, agent.GetNamespace(), name}]
	return m != nil && m.id != "" && m.hosts != ""
}

func (h *hub) createAgent(ctx context.Context, host *assisted.Host) error {
	at, found := h.infraEnvBehind(host.InfraEnvID)
	if !found {
		return nil
	}
	env := h.store.get(hubapi.KindInfraEnv, at.space, at.id)
	if env == nil || env.GetDeletionTimestamp() != nil {
		return nil
	}
	envSpec, err := objects.Spec[agentinstall.InfraEnvSpec](env)
	if err != nil {
		return err
	}
	spec := map[string]any{"approved": envSpec.AgentApproval != nil && envSpec.AgentApproval.AutoApprove, "role": ""}
	if ref := envSpec.ClusterRef; ref != nil {
		spec["clusterDeploymentName"] = map[string]any{"name": ref.Name, "namespace": ref.Namespace}
	}
	agent := &apiobject.Object{Object: map[string]any{"apiVersion": hubapi.GroupAgentInstall + "/" + hubapi.VersionAgentInstall,
		"kind": hubapi.KindAgent, "spec": spec}}
	agent.SetName(host.ID)
	agent.SetNamespace(at.space)
	agent.SetLabels(labels.Merge(envSpec.AgentLabels, labels.Set{hubapi.LabelAgentInfraEnv: at.id}))
	agent.SetOwnerReferences([]metav1.OwnerReference{ownerOf(env, false)})
	err = h.store.create(ctx, agent)
	if err == nil {
		h.logf("host %s has an Agent", host.ID)
		h.queue.add(key{hubapi.KindAgent, at.space, host.ID})
	}
	return err
}

// annotate keeps a copy of the host's state in the Agent, from which the service could make the host anew.
func (h *hub) annotate(ctx context.Context, agent *apiobject.Object, host *assisted.Host) error {
	return h.store.change(ctx, agent, func() {
		agent.SetAnnotations(labels.Merge(agent.GetAnnotations(), labels.Set{
			hubapi.AnnotationAgentState: host.Status, hubapi.AnnotationAgentRole: host.Role, hubapi.AnnotationAgentStage: host.Stage(),
			hubapi.AnnotationAgentInventory: host.Inventory, hubapi.AnnotationAgentValidations: host.ValidationsInfo,
		}))
	})
}

func (h *hub) reportAgent(
	ctx context.Context, agent *apiobject.Object, host *assisted.Host, spec *agentinstall.AgentSpec, fault error,
) error {
	status := apiobject.Status(agent)
	view := condition.AgentView{
		State: host.Status, Info: host.StatusInfo, Checks: assisted.ChecksOf(host.ValidationsInfo), Approved: spec.Approved,
	}
	synced := condition.SpecSynced(fault, "The Spec has been successfully applied")
	h.setConditions(status, false, append([]condition.Condition{synced}, view.Conditions()...)...)
	status["role"], status["kind"] = host.EffectiveRole(), agentKind(host)
	delete(status, "bootstrap")
	if host.Bootstrap {
		status["bootstrap"] = true
	}
	set(status, "installation_disk_id", host.DiskID)
	delete(status, "deprovision_info")
	if info := h.left[host.ID]; info != nil && host.ClusterID == "" {
		status["deprovision_info"] = info
	}
	debug := map[string]any{
		"eventsURL": h.openInfraEnv(h.backend.Url+assisted.RestBase+"/v2/events?host_id="+host.ID, host.InfraEnvID), "state": host.Status,
		"stateInfo": host.StatusInfo,
	}
	if hasLogs(host) && host.ClusterID != "" {
		debug["logsURL"] = h.openCluster(
			h.backend.Url+assisted.RestBase+"/v2/clusters/"+host.ClusterID+"/logs?host_id="+host.ID+"&logs_type=host", host.ClusterID,
		)
	}
	status["debugInfo"] = debug
	h.setProgress(status, host)
	setChecks(status, host.ValidationsInfo)
	setSources(status, host.NtpSources)
	if err := setInventory(status, host.Inventory); err != nil {
		return err
	}
	return h.writeStatus(ctx, agent, status)
}

func agentKind(host *assisted.Host) string {
	if host.Kind == agentinstall.AgentKindAdded {
		return agentinstall.AgentKindAdded
	}
	return agentinstall.AgentKindHost
}

func (h *hub) setProgress(status map[string]any, host *assisted.Host) {
	delete(status, "progress")
	p := host.Progress
	if p == nil || p.Stage == "" {
		return
	}
	progress := map[string]any{"currentStage": p.Stage, "installationPercentage": p.Percent}
	set(progress, "progressInfo", p.Info)
	setList(progress, "progressStages", host.ProgressStages)
	for name, at := range map[string]time.Time{"stageStartTime": p.StartedAt, "stageUpdateTime": p.UpdatedAt} {
		set(progress, name, rfc3339(h.date(host.ID+"/"+name, at)))
	}
	status["progress"] = progress
}

// dated is a time of the simulation, and when it was by the clock of those who read it.
type dated struct{ simulated, read time.Time }

func (h *hub) present() time.Time {
	if h.config.Reader == nil {
		return h.clock.Now()
	}
	return h.config.Reader.Now()
}

// date is a time of the simulation by the clock of those who read it. What was dated once keeps its date.
func (h *hub) date(of string, at time.Time) time.Time {
	if h.config.Reader == nil || at.Unix() <= 0 {
		return at
	}
	if !h.dates[of].simulated.Equal(at) {
		ago := h.clock.Wall(h.clock.Now().Sub(at))
		h.dates[of] = dated{at, h.present().Add(-ago)}
	}
	return h.dates[of].read
}

func setSources(status map[string]any, text string) {
	var sources []models.NtpSource
	_ = json.Unmarshal([]byte(text), &sources) // the service's own text, or none
	list := []any{}
	for _, s := range sources {
		list = append(list, map[string]any{"sourceName": s.SourceName, "sourceState": string(s.SourceState)})
	}
	setList(status, "ntpSources", list)
}

func readInventory(text string) (*models.Inventory, error) {
	if text == "" {
		return nil, nil
	}
	inv := &models.Inventory{}
	err := json.Unmarshal([]byte(text), inv)
	inv.Boot, inv.CPU = cmp.Or(inv.Boot, &models.Boot{}), cmp.Or(inv.CPU, &models.CPU{})
	inv.Memory, inv.SystemVendor = cmp.Or(inv.Memory, &models.Memory{}), cmp.Or(inv.SystemVendor, &models.SystemVendor{})
	return inv, err
}

func printedInventory(inv *models.Inventory) agentinstall.HostInventory {
	out := agentinstall.HostInventory{Hostname: inv.Hostname, BMCAddress: inv.BmcAddress, BMCV6Address: inv.BmcV6address}
	out.CPU = agentinstall.HostCPU{
		Count: inv.CPU.Count, ClockMegahertz: int64(inv.CPU.Frequency), Flags: inv.CPU.Flags, ModelName: inv.CPU.ModelName,
		Architecture: inv.CPU.Architecture,
	}
	out.Memory = agentinstall.HostMemory{PhysicalBytes: inv.Memory.PhysicalBytes, UsableBytes: inv.Memory.UsableBytes}
	out.Boot = agentinstall.HostBoot{
		CurrentBootMode: inv.Boot.CurrentBootMode, PXEInterface: inv.Boot.PxeInterface, DeviceType: inv.Boot.DeviceType,
	}
	out.SystemVendor = agentinstall.HostSystemVendor(*inv.SystemVendor)
	for _, nic := range inv.Interfaces {
		out.Interfaces = append(out.Interfaces, agentinstall.HostInterface{
			Name: nic.Name, MACAddress: nic.MacAddress, HasCarrier: nic.HasCarrier, MTU: nic.Mtu, SpeedMbps: nic.SpeedMbps, Vendor: nic.Vendor,
			Product: nic.Product, BIOSDevName: nic.Biosdevname, ClientID: nic.ClientID,
			IPV4Addresses: some(nic.IPV4Addresses), IPV6Addresses: some(nic.IPV6Addresses), Flags: some(nic.Flags),
		})
	}
	for _, d := range inv.Disks {
		disk := agentinstall.HostDisk{
			ID: d.ID, Name: d.Name, Path: d.Path, ByPath: d.ByPath, ByID: d.ByID, DriveType: string(d.DriveType), Vendor: d.Vendor, Model: d.Model,
			Serial: d.Serial, WWN: d.Wwn, HCTL: d.Hctl, SizeBytes: d.SizeBytes, Bootable: d.Bootable, SMART: d.Smart,
			InstallationEligibility: &agentinstall.DiskEligibility{
				Eligible: d.InstallationEligibility.Eligible, NotEligibleReasons: some(d.InstallationEligibility.NotEligibleReasons),
			},
			IOPerf: &agentinstall.DiskPerformance{},
		}
		if d.IoPerf != nil {
			disk.IOPerf.SyncDurationMilliseconds = d.IoPerf.SyncDuration
		}
		out.Disks = append(out.Disks, disk)
	}
	for _, gpu := range inv.Gpus {
		out.GPUs = append(out.GPUs, agentinstall.HostGPU(*gpu))
	}
	return out
}

// some is a list that prints as an empty one rather than not at all.
func some(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func setInventory(status map[string]any, text string) error {
	inv, err := readInventory(text)
	if err != nil || inv == nil { // a host that was released has none, and the Agent keeps what it had
		return err
	}
	out := printedInventory(inv)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&out)
	if err != nil {
		return err
	}
	status["inventory"] = fields
	return nil
}

// labelAgent puts what is known of the machine into labels, by which Agents can be chosen.
func (h *hub) labelAgent(ctx context.Context, k key, host *assisted.Host, spec *agentinstall.AgentSpec) error {
	inv, err := readInventory(host.Inventory)
	if err != nil || inv == nil {
		return err
	}
	agent := h.store.get(hubapi.KindAgent, k.space, k.id)
	if agent == nil {
		return nil
	}
	want := inventoryLabels(inv)
	if ref := spec.ClusterDeploymentName; ref != nil {
		want[hubapi.LabelAgentClusterNamespace] = ref.Namespace
	}
	return h.store.change(ctx, agent, func() {
		agent.SetAnnotations(labels.Merge(agent.GetAnnotations(), labels.Set{hubapi.AnnotationInventoryVersion: "0.1"}))
		agent.SetLabels(labels.Merge(agent.GetLabels(), want))
	})
}

func inventoryLabels(inv *models.Inventory) map[string]string {
	solid := slices.ContainsFunc(inv.Disks, func(d *models.Disk) bool { return d.DriveType == models.DriveTypeSSD })
	virt := slices.Contains(inv.CPU.Flags, "vmx") || slices.Contains(inv.CPU.Flags, "svm")
	all := map[string]string{
		hubapi.InventoryHasNonRotationalDisk: strconv.FormatBool(solid),
		hubapi.InventoryCPUArchitecture:      inv.CPU.Architecture,
		hubapi.InventoryCPUVirtEnabled:       strconv.FormatBool(virt),
		hubapi.InventoryHostProductName:      labelText(inv.SystemVendor.ProductName),
		hubapi.InventoryHostIsVirtual:        strconv.FormatBool(inv.SystemVendor.Virtual),
	}
	if maker := labelText(inv.SystemVendor.Manufacturer); maker != "" {
		all[hubapi.InventoryHostManufacturer] = maker
	}
	return all
}

// labelText makes a text one that a label may have: blanks go, and what is still none is left out.
func labelText(text string) string {
	text = strings.ReplaceAll(text, " ", "")
	if len(text) > 63 || !regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`).MatchString(text) {
		return ""
	}
	return text
}

func rfc3339(at time.Time) string {
	if at.Unix() <= 0 {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
