package pool

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/oaictl/oaictl/internal/shared/explain"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// OfAgent is an Agent that was read as a host, with what only a pool asks of it. An error says that the object cannot be read.
func OfAgent(agent *unstructured.Unstructured, host *model.Host) (Host, error) {
	var said struct {
		Spec struct {
			Approved bool `json:"approved"`
		} `json:"spec"`
		Status struct {
			Conditions []hubapi.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(agent.Object, &said); err != nil {
		return Host{}, fmt.Errorf("read Agent %s: %w", agent.GetName(), err)
	}
	h, labels, conditions := ofHost(host), agent.GetLabels(), said.Status.Conditions
	h.Namespace, h.Name, h.InfraEnv, h.Labels = agent.GetNamespace(), agent.GetName(), labels[hubapi.LabelAgentInfraEnv], labels
	h.Owner, h.Reserved = OwnerOf(labels, agent.GetAnnotations())
	h.Approved, h.Connected = said.Spec.Approved, hubapi.IsTrue(conditions, hubapi.ConditionConnected)
	h.Validated = hubapi.IsTrue(conditions, hubapi.ConditionValidated) &&
		!slices.ContainsFunc(host.Validations, func(v model.Validation) bool { return v.ID == explain.SpecSynced && v.Status == "failure" })
	h.Conditions = mirrored(conditions)
	return h, nil
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

// mirrored are the conditions of an Agent that are shown of its machine.
func mirrored(conditions []hubapi.Condition) []metav1.Condition {
	var out []metav1.Condition
	for _, kind := range []string{hubapi.ConditionSpecSynced, hubapi.ConditionValidated, hubapi.ConditionRequirementsMet,
		hubapi.ConditionInstalled} {
		if c := hubapi.FindCondition(conditions, kind); c != nil {
			out = append(out, metav1.Condition{Type: kind, Status: c.Status, Reason: cmp.Or(c.Reason, "Unknown"), Message: redact.Text(c.Message)})
		}
	}
	return out
}

// Same reports whether two states of a host are the same for choosing and showing it.
func Same(a, b *Host) bool {
	return a.NamespacedName == b.NamespacedName && a.InfraEnv == b.InfraEnv && maps.Equal(a.Labels, b.Labels) && a.Deleting == b.Deleting &&
		a.Approved == b.Approved && a.Validated == b.Validated && a.Connected == b.Connected && a.Cluster == b.Cluster &&
		a.Reserved == b.Reserved && a.Owner == b.Owner && a.Status == b.Status && a.Installed == b.Installed && a.Role == b.Role &&
		a.Hostname == b.Hostname && a.Known == b.Known && a.Arch == b.Arch && a.CPUs == b.CPUs && a.MemoryBytes == b.MemoryBytes &&
		a.DiskBytes == b.DiskBytes &&
		slices.Equal(a.Addresses, b.Addresses) && a.Returns == b.Returns &&
		slices.EqualFunc(a.Conditions, b.Conditions, func(c, d metav1.Condition) bool {
			return c.Type == d.Type && c.Status == d.Status && c.Reason == d.Reason &&
				(c.Message == d.Message || c.Reason == hubapi.ReasonInstallationInProgress)
		})
}
