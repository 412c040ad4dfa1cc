package pool

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/internal/statuses"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// OfAgent is an Agent as a host of the pool.
func OfAgent(a *agentinstall.Agent) Host {
	status, inventory := &a.Status, &a.Status.Inventory
	h := Host{
		NamespacedName: types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, InfraEnv: a.Labels[hubapi.LabelAgentInfraEnv], Labels: a.Labels,
		Deleting: !a.DeletionTimestamp.IsZero(), Approved: a.Spec.Approved,
		Validated: isTrue(status.Conditions, hubapi.ConditionValidated), Connected: isTrue(status.Conditions, hubapi.ConditionConnected),
		State: statuses.Host(status.DebugInfo.State), Status: status.DebugInfo.State, Info: status.DebugInfo.StateInfo,
		Role: statuses.Role(a.Spec.Role), Hostname: cmp.Or(a.Spec.Hostname, inventory.Hostname),
		Conditions: mirrored(status.Conditions), Returns: model.ReturnByService,
	}
	h.Owner, h.Reserved = OwnerOf(a.Labels, a.Annotations)
	if ref := a.Spec.ClusterDeploymentName; ref != nil && ref.Name != "" {
		h.Cluster = cmp.Or(ref.Namespace, a.Namespace) + "/" + ref.Name
	}
	if a.Labels[hubapi.LabelAgentBMH] != "" {
		h.Returns = model.ReturnByHub
	}
	progress := model.Host{State: h.State, Progress: model.HostProgress{Stage: status.Progress.CurrentStage, Stages: status.Progress.ProgressStages}}
	h.Installed = isInstalled(&progress) && h.Cluster != ""
	h.hardware(inventory)
	return h
}

// isInstalled reports whether a host boots from its disk.
func isInstalled(h *model.Host) bool {
	return h.State == model.HostInstalled || h.State == model.HostAdded || h.State == model.HostInstalling && h.HasRebooted()
}

// hardware is what the host says of itself.
func (h *Host) hardware(i *agentinstall.HostInventory) {
	h.Known = i.Hostname != "" || len(i.Interfaces) > 0 || len(i.Disks) > 0
	h.Arch, h.CPUs, h.MemoryBytes = setting.Word[spec.Arch](i.CPU.Architecture), int(i.CPU.Count), i.Memory.PhysicalBytes
	for _, d := range i.Disks {
		if d.InstallationEligibility != nil && d.InstallationEligibility.Eligible {
			h.DiskBytes = max(h.DiskBytes, d.SizeBytes)
		}
	}
	for _, nic := range i.Interfaces {
		if nic.HasCarrier {
			h.Addresses = append(h.Addresses, addresses(slices.Concat(nic.IPV4Addresses, nic.IPV6Addresses))...)
		}
	}
	h.Addresses = unique(h.Addresses)
}

// addresses are those by which others reach a host, without their prefix lengths.
func addresses(texts []string) []string {
	var all []string
	for _, text := range texts {
		text, _, _ = strings.Cut(text, "/")
		address, err := netip.ParseAddr(text)
		if err != nil || address.IsLoopback() || address.IsLinkLocalUnicast() || address.IsUnspecified() || address.IsMulticast() {
			continue
		}
		all = append(all, address.Unmap().WithZone("").String())
	}
	return all
}

func unique(list []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(text string) bool {
		was := seen[text]
		seen[text] = true
		return was
	})
}

func isTrue(conditions []hubapi.Condition, kind string) bool {
	c := hubapi.FindCondition(conditions, kind)
	return c != nil && c.Status == metav1.ConditionTrue
}

// mirrored are the conditions of an Agent that are shown of its machine.
func mirrored(conditions []hubapi.Condition) []metav1.Condition {
	var out []metav1.Condition
	for _, kind := range []string{hubapi.ConditionSpecSynced, hubapi.ConditionValidated, hubapi.ConditionRequirementsMet, hubapi.ConditionInstalled} {
		if c := hubapi.FindCondition(conditions, kind); c != nil {
			out = append(out, metav1.Condition{Type: kind, Status: c.Status, Reason: cmp.Or(c.Reason, "Unknown"), Message: c.Message})
		}
	}
	return out
}

// Same reports whether two states of a host are the same for who chooses or shows it.
func Same(a, b *Host) bool {
	return a.NamespacedName == b.NamespacedName && a.InfraEnv == b.InfraEnv && maps.Equal(a.Labels, b.Labels) && a.Deleting == b.Deleting &&
		a.Approved == b.Approved && a.Validated == b.Validated && a.Connected == b.Connected && a.Cluster == b.Cluster &&
		a.Reserved == b.Reserved && a.Owner == b.Owner && a.Status == b.Status && a.Installed == b.Installed && a.Role == b.Role &&
		a.Hostname == b.Hostname && a.Known == b.Known && a.Arch == b.Arch && a.CPUs == b.CPUs && a.MemoryBytes == b.MemoryBytes && a.DiskBytes == b.DiskBytes &&
		slices.Equal(a.Addresses, b.Addresses) && a.Returns == b.Returns &&
		slices.EqualFunc(a.Conditions, b.Conditions, func(c, d metav1.Condition) bool {
			return c.Type == d.Type && c.Status == d.Status && c.Reason == d.Reason && (c.Message == d.Message || c.Reason == hubapi.ReasonInstallationInProgress)
		})
}
