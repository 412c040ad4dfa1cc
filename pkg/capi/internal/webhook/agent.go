package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/ignitionurl"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// +kubebuilder:webhook:verbs=create;update,path=/validate-capi-provider-agent-install-openshift-io-v1beta2-agentcluster,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=capi-provider.agent-install.openshift.io,resources=agentclusters,versions=v1beta2,name=validation.agentcluster.capi-provider.agent-install.openshift.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-capi-provider-agent-install-openshift-io-v1beta2-agentclustertemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=capi-provider.agent-install.openshift.io,resources=agentclustertemplates,versions=v1beta2,name=validation.agentclustertemplate.capi-provider.agent-install.openshift.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-capi-provider-agent-install-openshift-io-v1beta2-agentmachine,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=capi-provider.agent-install.openshift.io,resources=agentmachines,versions=v1beta2,name=validation.agentmachine.capi-provider.agent-install.openshift.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-capi-provider-agent-install-openshift-io-v1beta2-agentmachinetemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=capi-provider.agent-install.openshift.io,resources=agentmachinetemplates,versions=v1beta2,name=validation.agentmachinetemplate.capi-provider.agent-install.openshift.io,sideEffects=None,admissionReviewVersions=v1

func agentKind(kind string) schema.GroupKind {
	return schema.GroupKind{Group: agentv1.Group, Kind: kind}
}

func agentClusters() validator[*agentv1.AgentCluster] {
	return validator[*agentv1.AgentCluster]{
		kind:    agentKind(agentv1.ClusterKind),
		content: func(c *agentv1.AgentCluster) any { return c.Spec },
		check: func(_ context.Context, c *agentv1.AgentCluster) (admission.Warnings, field.ErrorList) {
			return nil, checkAgentCluster(&c.Spec, field.NewPath("spec"))
		},
		change: func(before, after *agentv1.AgentCluster) field.ErrorList {
			at := field.NewPath("spec", "controlPlaneEndpoint")
			if !before.Spec.ControlPlaneEndpoint.IsZero() && before.Spec.ControlPlaneEndpoint != after.Spec.ControlPlaneEndpoint {
				return field.ErrorList{immutable(at, "the Cluster and its kubeconfig already use this endpoint: set it back to %s, or "+
					"create another cluster",
					before.Spec.ControlPlaneEndpoint.String())}
			}
			return nil
		},
	}
}

func agentClusterTemplates() validator[*agentv1.AgentClusterTemplate] {
	template := func(t *agentv1.AgentClusterTemplate) any { return t.Spec.Template }
	return validator[*agentv1.AgentClusterTemplate]{
		kind: agentKind(agentv1.ClusterTemplateKind), content: template, template: template,
		check: func(_ context.Context, t *agentv1.AgentClusterTemplate) (admission.Warnings, field.ErrorList) {
			at, of := field.NewPath("spec", "template"), &t.Spec.Template
			wrong := checkAgentCluster(&of.Spec, at.Child("spec"))
			if !of.Spec.ControlPlaneEndpoint.IsZero() {
				wrong = append(wrong, field.Forbidden(at.Child("spec", "controlPlaneEndpoint"),
					"every cluster of the template would have the same endpoint: omit it"))
			}
			return nil, append(wrong, of.ObjectMeta.Validate(at.Child("metadata"))...)
		},
	}
}

func checkAgentCluster(s *agentv1.AgentClusterSpec, at *field.Path) field.ErrorList {
	var wrong field.ErrorList
	api := at.Child("controlPlaneEndpoint")
	switch e := s.ControlPlaneEndpoint; {
	case e.IsZero():
	case e.Host == "":
		wrong = append(wrong, field.Required(api.Child("host"), "write the host name or address of the API, or omit the whole endpoint"))
	case e.Port == 0:
		wrong = append(wrong, field.Required(api.Child("port"), "write the port of the API, usually 6443, or omit the whole endpoint"))
	case strings.ContainsAny(e.Host, "/[] "):
		wrong = append(wrong, invalid(api.Child("host"),
			fmt.Sprintf("%q is neither a host name nor an address: write it without scheme, path and brackets", e.Host)))
	}
	if i := s.IgnitionEndpoint; i != nil && i.URL != "" {
		if _, err := ignitionurl.Parse(i.URL); err != nil {
			wrong = append(wrong, invalid(at.Child("ignitionEndpoint", "url"), err.Error()))
		}
	}
	for i := range s.FailureDomains {
		domain, where := &s.FailureDomains[i], at.Child("failureDomains").Index(i)
		wrong = append(wrong, checkSelector(&domain.AgentLabelSelector, where.Child("agentLabelSelector"))...)
		if len(domain.AgentLabelSelector.MatchLabels)+len(domain.AgentLabelSelector.MatchExpressions) == 0 {
			wrong = append(wrong, field.Required(where.Child("agentLabelSelector"),
				"an empty selector selects no Agent: write the labels that the Agents of the failure domain have"))
		}
	}
	return wrong
}

func checkSelector(s *metav1.LabelSelector, at *field.Path) field.ErrorList {
	return metavalidation.ValidateLabelSelector(s, metavalidation.LabelSelectorValidationOptions{}, at)
}

func agentMachines() validator[*agentv1.AgentMachine] {
	return validator[*agentv1.AgentMachine]{
		kind:    agentKind(agentv1.MachineKind),
		content: func(m *agentv1.AgentMachine) any { return m.Spec },
		check: func(_ context.Context, m *agentv1.AgentMachine) (admission.Warnings, field.ErrorList) {
			return nil, checkAgentMachine(&m.Spec, field.NewPath("spec"))
		},
		change: changedAgentMachine,
	}
}

// changedAgentMachine says that a machine that has a host keeps it, unless it gives it up.
func changedAgentMachine(before, after *agentv1.AgentMachine) field.ErrorList {
	at := field.NewPath("spec")
	var wrong field.ErrorList
	if was := before.Spec.ProviderID; was != "" && was != after.Spec.ProviderID && !givesUp(before, after) {
		wrong = append(wrong, immutable(at.Child("providerID"), "the node already has it: set it back to %s, or delete the Machine "+
			"to get another host",
			was))
	}
	if before.Status.AgentRef != nil || before.Spec.ProviderID != "" {
		wrong = append(wrong, changes(&before.Spec, &after.Spec, at, []string{"providerID"},
			"the machine has a host that was chosen with the old value: set the old value again, or delete the Machine to get another host")...)
	}
	return wrong
}

// givesUp reports whether a machine is left without a host and without its reservation, which its controller does before
// it is handed over where the host cannot be had any more. It looks for another one then.
func givesUp(before, after *agentv1.AgentMachine) bool {
	_, reserved := after.Annotations[machines.AnnotationReservedHost]
	return after.Spec.ProviderID == "" && !reserved && !ptr.Deref(before.Status.Initialization.Provisioned, false)
}

func agentMachineTemplates() validator[*agentv1.AgentMachineTemplate] {
	template := func(t *agentv1.AgentMachineTemplate) any { return t.Spec.Template }
	return validator[*agentv1.AgentMachineTemplate]{
		kind: agentKind(agentv1.MachineTemplateKind), content: template, template: template,
		check: func(_ context.Context, t *agentv1.AgentMachineTemplate) (admission.Warnings, field.ErrorList) {
			at, of := field.NewPath("spec", "template"), &t.Spec.Template
			wrong := checkAgentMachine(&of.Spec, at.Child("spec"))
			if of.Spec.ProviderID != "" {
				wrong = append(wrong, field.Forbidden(at.Child("spec", "providerID"),
					"every machine gets its own value from its host: omit it"))
			}
			return nil, append(wrong, of.ObjectMeta.Validate(at.Child("metadata"))...)
		},
	}
}

func checkAgentMachine(s *agentv1.AgentMachineSpec, at *field.Path) field.ErrorList {
	var wrong field.ErrorList
	if s.AgentLabelSelector != nil {
		wrong = append(wrong, checkSelector(s.AgentLabelSelector, at.Child("agentLabelSelector"))...)
	}
	if a := s.CPUArchitecture; a != "" {
		words, spellings := spec.Words(spec.Arch(""))
		words = slices.DeleteFunc(words, func(word string) bool { return word == string(spec.Multi) })
		if _, other := spellings[a]; !other && !slices.Contains(words, a) {
			text := "it is one of " + strings.Join(words, ", ")
			if best := nearest(a, words); best != "" {
				text = fmt.Sprintf("did you mean %q?", best)
			}
			wrong = append(wrong, invalid(at.Child("cpuArchitecture"), fmt.Sprintf("%q is no architecture: %s", a, text)))
		}
	}
	for name, size := range map[string]*resource.Quantity{"minMemory": s.MinMemory, "minDisk": s.MinDisk} {
		if size != nil && size.Sign() <= 0 {
			wrong = append(wrong, invalid(at.Child(name), "must be greater than zero: write a size such as 64Gi, or omit it"))
		}
	}
	for i, constraint := range s.SpreadConstraints {
		if problems := validation.IsQualifiedName(constraint.TopologyKey); len(problems) > 0 {
			wrong = append(wrong, invalid(at.Child("spreadConstraints").Index(i).Child("topologyKey"),
				fmt.Sprintf("%q cannot be the key of a label: write one such as topology.kubernetes.io/rack", constraint.TopologyKey)))
		}
	}
	if id := s.ProviderID; id != "" && strings.TrimPrefix(id, agentv1.ProviderIDPrefix) == id {
		wrong = append(wrong, invalid(at.Child("providerID"),
			fmt.Sprintf("%q is not a host of a pool: the controller writes it as %sNAME; omit it", id, agentv1.ProviderIDPrefix)))
	}
	return wrong
}
