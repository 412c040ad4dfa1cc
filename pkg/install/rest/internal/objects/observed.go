package objects

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/internal/shared/statuses"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/planeshared"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// RefOf is what names a cluster.
func RefOf(c *Cluster, run string) model.ClusterRef {
	owned, mark, _ := readTags(c.Tags, run)
	return model.ClusterRef{
		ID: value(c.ID).String(), Name: c.Name, BaseDomain: c.BaseDNSDomain, Status: value(c.Status),
		Created: c.CreatedAt.UTC(), Owned: owned, Run: mark,
		Hosts: int(max(c.TotalHostCount, c.EnabledHostCount)),
	}
}

// ClusterOf makes ours of the service's record of a cluster. What the record does
// not hold (manifests, failed preparations) is left empty.
func (t *Tables) ClusterOf(c *Cluster, run string) *model.Cluster {
	status := value(c.Status)
	out := &model.Cluster{
		ClusterRef:  RefOf(c, run),
		State:       statuses.Cluster(status),
		StatusInfo:  redact.Text(value(c.StatusInfo)),
		StatusSince: Time(c.StatusUpdatedAt),
		Settings:    t.Cluster.Settings(c),
		Keeping:     t.Cluster.Keeping(c),
		Validations: readValidations(c.ValidationsInfo),
		Preparation: model.Preparation{
			Status: c.LastInstallationPreparation.Status, Reason: redact.Text(c.LastInstallationPreparation.Reason),
		},
		InstallStarted:   Time(c.InstallStartedAt),
		InstallCompleted: Time(c.InstallCompletedAt),
		Version:          c.OpenshiftVersion,
		OpenShiftID:      c.OpenshiftClusterID.String(),
		LogsAvailable:    c.LogsInfo != "",
	}
	imported := value(c.Imported)
	out.NoIngress = handsOutNoIngress(status) && !imported
	out.Kubeconfig = (status == "installed" || status == "adding-hosts") && !imported
	if p := c.Progress; p != nil {
		out.Progress = model.ClusterProgress{
			Percent: int(p.TotalPercentage), FinalizingStage: string(p.FinalizingStage),
			FinalizingSince: Time(p.FinalizingStageStartedAt), FinalizingTimedOut: p.FinalizingStageTimedOut,
		}
	}
	for _, o := range c.MonitoredOperators {
		if o != nil {
			out.Operators = append(out.Operators, model.Operator{
				Name: o.Name, Status: string(o.Status), Info: redact.Text(o.StatusInfo), Version: o.Version,
				Builtin: o.OperatorType == models.OperatorTypeBuiltin,
			})
		}
	}
	return out
}

// handsOutNoIngress reports whether the first kubeconfig and the password exist in a status: from the moment that the
// install runs. They may be there in a failed or cancelled install too, but need not.
func handsOutNoIngress(status string) bool {
	switch status {
	case "installing", "installing-pending-user-action", "finalizing", "installed", "adding-hosts":
		return true
	}
	return false
}

// HostOf makes ours of the service's record of a host.
func (t *Tables) HostOf(h *Host) model.Host {
	id := value(h.ID).String()
	status := value(h.Status)
	out := model.Host{
		ID: id, InfraEnvID: h.InfraEnvID.String(), ClusterID: value(h.ClusterID).String(),
		Day2:   value(h.Kind) == "AddToExistingClusterHost",
		State:  statuses.Host(status),
		Status: status, StatusInfo: redact.Text(value(h.StatusInfo)), Since: Time(h.StatusUpdatedAt),
		Role: statuses.Role(string(h.Role)), Suggested: statuses.Role(string(h.SuggestedRole)), Bootstrap: h.Bootstrap,
		CheckedIn: Time(h.CheckedInAt), Registered: Time(h.RegisteredAt),
		Settings:    t.Host.Settings(h),
		Validations: readValidations(h.ValidationsInfo),
		Formatted:   splitList(h.DisksToBeFormatted),
		Disk:        h.InstallationDiskID,
	}
	if h.Inventory != "" {
		out.Inventory = readInventory(h.Inventory, id)
	}
	out.Hostname = cmp.Or(hostname(h), out.Inventory.Hostname)
	if p := h.Progress; p != nil {
		out.Progress = model.HostProgress{
			Stage: string(p.CurrentStage), Info: p.ProgressInfo, Percent: int(p.InstallationPercentage),
			Since: Time(p.StageStartedAt), Updated: Time(p.StageUpdatedAt), TimedOut: p.StageTimedOut,
		}
	}
	if stage := out.Progress.Stage; stage == "Rebooting" || stage == "Done" && out.Day2 { // to which an added host goes at once
		out.Rebooted = out.Progress.Since
	}
	for _, stage := range h.ProgressStages {
		out.Progress.Stages = append(out.Progress.Stages, string(stage))
	}
	return out
}

// InfraEnvOf makes ours of the service's record of an InfraEnv. The image has
// its URL from the moment that the InfraEnv is registered.
func (t *Tables) InfraEnvOf(e *InfraEnv) model.InfraEnv {
	out := model.InfraEnv{
		ID: value(e.ID).String(), Name: value(e.Name), ClusterID: e.ClusterID.String(),
		Settings: t.InfraEnv.Settings(e),
		Image: model.Image{
			State: model.ImagePending, URL: e.DownloadURL, Type: string(value(e.Type)), Expires: Time(e.ExpiresAt),
		},
	}
	if e.CreatedAt != nil {
		out.Created = e.CreatedAt.UTC()
	}
	if e.UpdatedAt != nil {
		out.Image.Created = e.UpdatedAt.UTC() // or before; see dateImages
	}
	if e.DownloadURL != "" {
		out.Image.State = model.ImageReady
	}
	return out
}

// EventOf makes ours of an entry of the service's event log.
func EventOf(e *models.Event) install.ServiceEvent {
	return install.ServiceEvent{
		Time: Time(value(e.EventTime)), Name: e.Name, Severity: value(e.Severity), Category: e.Category, Message: redact.Text(value(e.Message)),
		ClusterID: value(e.ClusterID).String(), HostID: value(e.HostID).String(), InfraEnvID: value(e.InfraEnvID).String(), Props: e.Props,
	}
}

// readValidations reads validations_info: a JSON object in a text, of lists by
// category. Before the first evaluation it is empty.
func readValidations(text string) []model.Validation {
	if text == "" {
		return nil
	}
	var byCategory map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &byCategory) != nil {
		return nil
	}
	var out []model.Validation
	for category, raw := range byCategory {
		var checks []struct {
			ID      string `json:"id"`
			Status  string `json:"status"`
			Message string `json:"message"`
		}
		if json.Unmarshal(raw, &checks) != nil {
			continue
		}
		for _, check := range checks {
			out = append(out, model.Validation{ID: check.ID, Category: category, Status: check.Status, Message: redact.Text(check.Message)})
		}
	}
	slices.SortStableFunc(out, func(a, b model.Validation) int {
		return cmp.Or(strings.Compare(a.Category, b.Category), strings.Compare(a.ID, b.ID))
	})
	return out
}

// readInventory reads the inventory that a host carries in a text. hostID is
// the machine's UUID: the agent takes it as the host's id. A field of another
// type than expected is left out; a text that is no JSON object is no inventory.
func readInventory(text, hostID string) model.Inventory {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return model.Inventory{}
	}
	var wire models.Inventory
	err := json.Unmarshal([]byte(text), &wire)
	var shape *json.UnmarshalTypeError
	if err != nil && (!errors.As(err, &shape) || shape.Field == "") {
		return model.Inventory{}
	}
	cpu, memory, vendor := value(wire.CPU), value(wire.Memory), value(wire.SystemVendor)
	return model.Inventory{
		Known: true, Hostname: wire.Hostname, UUID: hostID,
		Serial: vendor.SerialNumber, Manufacturer: vendor.Manufacturer, Product: vendor.ProductName,
		BMC: planeshared.BMCAddress(wire.BmcAddress, wire.BmcV6address), CPUs: int(cpu.Count),
		Arch: string(clustersettings.CanonicalWord[spec.Arch](cpu.Architecture)), MemoryBytes: memory.PhysicalBytes, TPM: wire.TpmVersion,
		Interfaces: collect(wire.Interfaces, func(nic *models.Interface) model.Interface {
			return model.Interface{
				Name: nic.Name, MAC: strings.ToLower(nic.MacAddress), Up: nic.HasCarrier,
				Addresses: append(append([]string{}, nic.IPV4Addresses...), nic.IPV6Addresses...),
			}
		}),
		Disks: collect(wire.Disks, func(d *models.Disk) model.Disk {
			return model.Disk{
				ID: d.ID, Path: d.Path, ByID: d.ByID, ByPath: d.ByPath, HCTL: d.Hctl, Name: d.Name, Model: d.Model, Vendor: d.Vendor,
				Serial: d.Serial, WWN: d.Wwn, Type: string(d.DriveType), SizeBytes: d.SizeBytes, Holders: clustersettings.Commas(d.Holders),
				Removable: d.Removable, Media: d.IsInstallationMedia,
				Eligible: d.InstallationEligibility.Eligible, Reasons: d.InstallationEligibility.NotEligibleReasons,
			}
		}),
	}
}
