package pool

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// OfHost is a host of a service without objects as one of the pool, with the labels that a hub would give it. On such a
// service hosts are not approved, and there is no place to record that one is reserved.
func OfHost(host *model.Host) Host {
	h := ofHost(host)
	h.Namespace, h.Name, h.InfraEnv, h.Labels = host.InfraEnvID, host.ID, host.InfraEnvID, inventoryLabels(&host.Inventory)
	h.Approved, h.Connected = true, !strings.HasPrefix(host.Status, "disconnected")
	h.Validated = !slices.Contains([]string{"insufficient-unbound", "disabled-unbound"}, host.Status)
	h.Conditions = conditionsOf(&h, host.Validations)
	return h
}

// ofHost is what a pool asks of a host that hubs and services say alike.
func ofHost(host *model.Host) Host {
	h := Host{
		Deleting: host.Deleting, Cluster: host.ClusterID, State: host.State, Status: host.Status, Info: host.StatusInfo,
		Role: host.Role, Hostname: host.Hostname, Known: host.Inventory.Known,
		Arch: spec.Arch(host.Inventory.Arch), CPUs: host.Inventory.CPUs, MemoryBytes: host.Inventory.MemoryBytes, Returns: host.Returns,
		Installed: host.ClusterID != "" &&
			(host.State == model.HostInstalled || host.State == model.HostAdded || host.State == model.HostInstalling && host.HasRebooted()),
	}
	for i := range host.Inventory.Disks {
		if d := &host.Inventory.Disks[i]; d.Eligible {
			h.DiskBytes = max(h.DiskBytes, d.SizeBytes)
		}
	}
	for i := range host.Inventory.Interfaces {
		if nic := &host.Inventory.Interfaces[i]; nic.Up {
			h.Addresses = append(h.Addresses, addresses(nic.Addresses)...)
		}
	}
	h.Addresses = unique(h.Addresses)
	return h
}

// labelValue is what a label may have as its value.
var labelValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`) })

// inventoryLabels are those that a hub puts on Agents, as far as the inventory is known.
func inventoryLabels(i *model.Inventory) map[string]string {
	if !i.Known {
		return nil
	}
	solid := slices.ContainsFunc(i.Disks, func(d model.Disk) bool { return d.Type == "SSD" })
	labels := map[string]string{
		hubapi.InventoryCPUArchitecture: i.Arch, hubapi.InventoryHasNonRotationalDisk: strconv.FormatBool(solid),
		hubapi.InventoryHostManufacturer: i.Manufacturer, hubapi.InventoryHostProductName: i.Product,
	}
	for key, value := range labels {
		if value = strings.ReplaceAll(value, " ", ""); value == "" || !labelValue().MatchString(value) {
			delete(labels, key)
			continue
		}
		labels[key] = strings.ReplaceAll(labels[key], " ", "")
	}
	return labels
}

// conditionsOf says of a host what an Agent's conditions would.
func conditionsOf(h *Host, checks []model.Validation) []metav1.Condition {
	is := func(kind string, status bool, reason, message string) metav1.Condition {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
		if status {
			c.Status = metav1.ConditionTrue
		}
		return c
	}
	all := []metav1.Condition{is(hubapi.ConditionSpecSynced, true, "SyncOK", "")}
	switch h.State {
	case model.HostBinding, model.HostReleasing:
		reason := map[model.HostState]string{model.HostBinding: "Binding", model.HostReleasing: "Unbinding"}[h.State]
		for _, kind := range []string{hubapi.ConditionValidated, hubapi.ConditionRequirementsMet, hubapi.ConditionInstalled} {
			all = append(all, is(kind, false, reason, h.Info))
		}
		return all
	}
	validated := is(hubapi.ConditionValidated, true, "ValidationsPassing", "")
	ready := is(hubapi.ConditionRequirementsMet, true, "AgentIsReady", "")
	installed := is(hubapi.ConditionInstalled, false, "InstallationNotStarted", "")
	switch h.State {
	case model.HostBlocked:
		validated = is(hubapi.ConditionValidated, false, "ValidationsFailing", cmp.Or(failing(checks), h.Info))
		ready = is(hubapi.ConditionRequirementsMet, false, "AgentNotReady", h.Info)
	case model.HostDiscovering, model.HostDisconnected, model.HostUnbound, model.HostResetting:
		ready = is(hubapi.ConditionRequirementsMet, false, "AgentNotReady", h.Info)
	case model.HostPreparing, model.HostInstalling, model.HostNeedsUser:
		ready = is(hubapi.ConditionRequirementsMet, true, "AgentAlreadyInstalling", "")
		installed = is(hubapi.ConditionInstalled, false, hubapi.ReasonInstallationInProgress, h.Info)
	case model.HostInstalled, model.HostAdded:
		ready = is(hubapi.ConditionRequirementsMet, true, "AgentInstallationStopped", "")
		installed = is(hubapi.ConditionInstalled, true, hubapi.ReasonInstallationCompleted, "")
	case model.HostFailed, model.HostCancelled:
		installed = is(hubapi.ConditionInstalled, false, hubapi.ReasonInstallationFailed, h.Info)
	}
	return append(all, validated, ready, installed)
}

// failing are the checks that fail, in the service's words.
func failing(checks []model.Validation) string {
	var texts []string
	for i := range checks {
		if c := &checks[i]; c.Status == "failure" || c.Status == "error" {
			texts = append(texts, c.Message)
		}
	}
	return strings.Join(texts, "; ")
}
