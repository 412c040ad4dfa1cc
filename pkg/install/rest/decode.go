package rest

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/redact"
	"github.com/oaictl/oaictl/internal/vocab"
	"github.com/oaictl/oaictl/pkg/install"
)

// clusterRef is what names a cluster.
func clusterRef(c *clusterWire, run string) install.ClusterRef {
	owned, mark, _ := readTags(c.Tags, run)
	return install.ClusterRef{
		ID: value(c.ID).String(), Name: c.Name, BaseDomain: c.BaseDNSDomain, Status: value(c.Status),
		Created: c.CreatedAt.UTC(), Owned: owned, Run: mark,
		Hosts: int(max(c.TotalHostCount, c.EnabledHostCount)),
	}
}

// cluster makes ours of the service's record of a cluster. What the record does
// not hold (manifests, failed preparations) is left empty.
func (t *tables) clusterOf(c *clusterWire, run string) *install.Cluster {
	status := value(c.Status)
	out := &install.Cluster{
		ClusterRef:  clusterRef(c, run),
		State:       vocab.ClusterStateOf(status),
		StatusInfo:  redact.Text(value(c.StatusInfo)),
		StatusSince: moment(c.StatusUpdatedAt),
		Settings:    t.cluster.settings(c),
		Keeping:     t.cluster.keeping(c),
		Validations: readValidations(c.ValidationsInfo),
		Preparation: install.Preparation{
			Status: c.LastInstallationPreparation.Status, Reason: redact.Text(c.LastInstallationPreparation.Reason),
		},
		InstallStarted:   moment(c.InstallStartedAt),
		InstallCompleted: moment(c.InstallCompletedAt),
		Version:          c.OpenshiftVersion,
		LogsAvailable:    c.LogsInfo != "",
	}
	imported := value(c.Imported)
	out.NoIngress = handsOutNoIngress(status) && !imported
	out.Kubeconfig = (status == "installed" || status == "adding-hosts") && !imported
	if p := c.Progress; p != nil {
		out.Progress = install.ClusterProgress{
			Percent: int(p.TotalPercentage), FinalizingStage: string(p.FinalizingStage),
			FinalizingSince: moment(p.FinalizingStageStartedAt), FinalizingTimedOut: p.FinalizingStageTimedOut,
		}
	}
	for _, o := range c.MonitoredOperators {
		if o != nil {
			out.Operators = append(out.Operators, install.Operator{
				Name: o.Name, Status: string(o.Status), Info: redact.Text(o.StatusInfo), Version: o.Version, Builtin: o.OperatorType == models.OperatorTypeBuiltin,
			})
		}
	}
	return out
}

// hostOf makes ours of the service's record of a host.
func (t *tables) hostOf(h *hostWire) install.Host {
	id := value(h.ID).String()
	status := value(h.Status)
	out := install.Host{
		ID: id, InfraEnvID: h.InfraEnvID.String(), ClusterID: value(h.ClusterID).String(),
		Day2:   value(h.Kind) == "AddToExistingClusterHost",
		State:  vocab.HostStateOf(status),
		Status: status, StatusInfo: redact.Text(value(h.StatusInfo)), Since: moment(h.StatusUpdatedAt),
		Role: vocab.RoleOf(string(h.Role)), Suggested: vocab.RoleOf(string(h.SuggestedRole)), Bootstrap: h.Bootstrap,
		CheckedIn: moment(h.CheckedInAt), Registered: moment(h.RegisteredAt),
		Settings:    t.host.settings(h),
		Validations: readValidations(h.ValidationsInfo),
		Formatted:   splitList(h.DisksToBeFormatted),
		Disk:        h.InstallationDiskID,
	}
	if h.Inventory != "" {
		out.Inventory = readInventory(h.Inventory, id)
	}
	out.Hostname = cmp.Or(hostname(h), out.Inventory.Hostname)
	if p := h.Progress; p != nil {
		out.Progress = install.HostProgress{
			Stage: string(p.CurrentStage), Info: p.ProgressInfo, Percent: int(p.InstallationPercentage),
			Since: moment(p.StageStartedAt), Updated: moment(p.StageUpdatedAt), TimedOut: p.StageTimedOut,
		}
	}
	for _, stage := range h.ProgressStages {
		out.Progress.Stages = append(out.Progress.Stages, string(stage))
	}
	return out
}

// infraEnvOf makes ours of the service's record of an InfraEnv. The image has
// its URL from the moment that the InfraEnv is registered.
func (t *tables) infraEnvOf(e *infraEnvWire) install.InfraEnv {
	out := install.InfraEnv{
		ID: value(e.ID).String(), Name: value(e.Name), ClusterID: e.ClusterID.String(),
		Settings: t.infraEnv.settings(e),
		Image: install.Image{
			State: vocab.ImagePending, URL: e.DownloadURL, Type: string(value(e.Type)), Expires: moment(e.ExpiresAt),
		},
	}
	if e.CreatedAt != nil {
		out.Created = e.CreatedAt.UTC()
	}
	if e.UpdatedAt != nil {
		out.Image.Created = e.UpdatedAt.UTC() // or before; see dateImages
	}
	if e.DownloadURL != "" {
		out.Image.State = vocab.ImageReady
	}
	return out
}

// readValidations reads validations_info: a JSON object in a text, of lists by
// category. Before the first evaluation it is empty.
func readValidations(text string) []install.Validation {
	if text == "" {
		return nil
	}
	var byCategory map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &byCategory) != nil {
		return nil
	}
	var out []install.Validation
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
			out = append(out, install.Validation{ID: check.ID, Category: category, Status: check.Status, Message: redact.Text(check.Message)})
		}
	}
	slices.SortStableFunc(out, func(a, b install.Validation) int {
		return cmp.Or(strings.Compare(a.Category, b.Category), strings.Compare(a.ID, b.ID))
	})
	return out
}
