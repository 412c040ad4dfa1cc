package convert

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	webhookconversion "sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1alpha1"
	"github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1alpha2"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
)

// Constructor makes the converter of a kind, for controller-runtime's webhooks.
type Constructor = func(*runtime.Scheme) (webhookconversion.Converter, error)

// Config converts OpenshiftAssistedConfigs.
func Config() Constructor {
	return webhookconversion.NewHubSpokeConverter(&bootstrapv1.OpenshiftAssistedConfig{}, configs()...)
}

func configs() []webhookconversion.SpokeConverter[*bootstrapv1.OpenshiftAssistedConfig] {
	hub := bootstrapv1.GroupVersion()
	return []webhookconversion.SpokeConverter[*bootstrapv1.OpenshiftAssistedConfig]{
		newConverter(hub, configFromV1Alpha2, configToV1Alpha2),
		newConverter(hub, configFromV1Alpha1, configToV1Alpha1),
	}
}

// ConfigTemplate converts OpenshiftAssistedConfigTemplates.
func ConfigTemplate() Constructor {
	return webhookconversion.NewHubSpokeConverter(&bootstrapv1.OpenshiftAssistedConfigTemplate{}, configTemplates()...)
}

func configTemplates() []webhookconversion.SpokeConverter[*bootstrapv1.OpenshiftAssistedConfigTemplate] {
	hub := bootstrapv1.GroupVersion()
	return []webhookconversion.SpokeConverter[*bootstrapv1.OpenshiftAssistedConfigTemplate]{
		newConverter(hub,
			func(spoke *v1alpha2.OpenshiftAssistedConfigTemplate, hub *bootstrapv1.OpenshiftAssistedConfigTemplate) error {
				return project(spoke.Spec, &hub.Spec)
			},
			func(hub *bootstrapv1.OpenshiftAssistedConfigTemplate, spoke *v1alpha2.OpenshiftAssistedConfigTemplate) error {
				return project(hub.Spec, &spoke.Spec)
			}),
		newConverter(hub,
			func(spoke *v1alpha1.OpenshiftAssistedConfigTemplate, hub *bootstrapv1.OpenshiftAssistedConfigTemplate) error {
				return project(spoke.Spec, &hub.Spec)
			},
			func(hub *bootstrapv1.OpenshiftAssistedConfigTemplate, spoke *v1alpha1.OpenshiftAssistedConfigTemplate) error {
				return project(hub.Spec, &spoke.Spec)
			}),
	}
}

func configFromV1Alpha2(spoke *v1alpha2.OpenshiftAssistedConfig, hub *bootstrapv1.OpenshiftAssistedConfig) error {
	hub.Status = bootstrapv1.OpenshiftAssistedConfigStatus{
		Conditions:         spoke.Status.Conditions,
		DataSecretName:     spoke.Status.DataSecretName,
		ObservedGeneration: spoke.Status.ObservedGeneration,
	}
	hub.Status.Initialization.DataSecretCreated = spoke.Status.Initialization.DataSecretCreated
	if old := spoke.Status.V1Beta1Conditions; !sameConditions(old, oldConditions(spoke.Status.Conditions)) {
		hub.Status.Deprecated = deprecatedConfig(bootstrapv1.OpenshiftAssistedConfigV1Beta1DeprecatedStatus{Conditions: old})
	}
	return project(spoke.Spec, &hub.Spec)
}

func configToV1Alpha2(hub *bootstrapv1.OpenshiftAssistedConfig, spoke *v1alpha2.OpenshiftAssistedConfig) error {
	spoke.Status = v1alpha2.OpenshiftAssistedConfigStatus{
		Conditions:         hub.Status.Conditions,
		DataSecretName:     hub.Status.DataSecretName,
		ObservedGeneration: hub.Status.ObservedGeneration,
		V1Beta1Conditions:  oldConfigStatus(hub).Conditions,
	}
	spoke.Status.Initialization.DataSecretCreated = hub.Status.Initialization.DataSecretCreated
	return project(hub.Spec, &spoke.Spec)
}

func configFromV1Alpha1(spoke *v1alpha1.OpenshiftAssistedConfig, hub *bootstrapv1.OpenshiftAssistedConfig) error {
	status := spoke.Status
	hub.Status = bootstrapv1.OpenshiftAssistedConfigStatus{
		DataSecretName:     valueOf(status.DataSecretName),
		ObservedGeneration: status.ObservedGeneration,
	}
	hub.Status.Initialization.DataSecretCreated = flag(status.Ready)
	if ref := status.InfraEnvRef; ref != nil {
		hub.Status.InfraEnvRef = &bootstrapv1.ObjectReference{Namespace: ref.Namespace, Name: ref.Name}
	}
	if ref := status.AgentRef; ref != nil {
		hub.Status.AgentRef = &bootstrapv1.ObjectReference{Name: ref.Name}
	}
	if status.FailureReason != "" || status.FailureMessage != "" || len(status.Conditions) > 0 {
		hub.Status.Deprecated = deprecatedConfig(bootstrapv1.OpenshiftAssistedConfigV1Beta1DeprecatedStatus{
			Conditions: status.Conditions, FailureReason: status.FailureReason, FailureMessage: status.FailureMessage,
		})
	}
	return project(spoke.Spec, &hub.Spec)
}

func configToV1Alpha1(hub *bootstrapv1.OpenshiftAssistedConfig, spoke *v1alpha1.OpenshiftAssistedConfig) error {
	old := oldConfigStatus(hub)
	spoke.Status = v1alpha1.OpenshiftAssistedConfigStatus{
		Ready:              given(hub.Status.Initialization.DataSecretCreated),
		DataSecretName:     pointerTo(hub.Status.DataSecretName),
		ObservedGeneration: hub.Status.ObservedGeneration,
		Conditions:         old.Conditions,
		FailureReason:      old.FailureReason,
		FailureMessage:     old.FailureMessage,
	}
	if ref := hub.Status.InfraEnvRef; ref != nil {
		spoke.Status.InfraEnvRef = &corev1.ObjectReference{
			APIVersion: "agent-install.openshift.io/v1beta1", Kind: "InfraEnv", Namespace: ref.Namespace, Name: ref.Name,
		}
	}
	if ref := hub.Status.AgentRef; ref != nil {
		spoke.Status.AgentRef = &corev1.LocalObjectReference{Name: ref.Name}
	}
	return project(hub.Spec, &spoke.Spec)
}

func deprecatedConfig(status bootstrapv1.OpenshiftAssistedConfigV1Beta1DeprecatedStatus) *bootstrapv1.OpenshiftAssistedConfigDeprecatedStatus {
	return &bootstrapv1.OpenshiftAssistedConfigDeprecatedStatus{V1Beta1: &status}
}

// oldConfigStatus is what the versions of contract v1beta1 show beside what today's status
// has: what is kept of it, or else what follows from today's conditions.
func oldConfigStatus(hub *bootstrapv1.OpenshiftAssistedConfig) bootstrapv1.OpenshiftAssistedConfigV1Beta1DeprecatedStatus {
	if kept := hub.Status.Deprecated; kept != nil && kept.V1Beta1 != nil {
		return *kept.V1Beta1
	}
	return bootstrapv1.OpenshiftAssistedConfigV1Beta1DeprecatedStatus{Conditions: oldConditions(hub.Status.Conditions)}
}
