package convert

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	webhookconversion "sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1alpha2"
	"github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1alpha3"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

// ControlPlane converts OpenshiftAssistedControlPlanes.
func ControlPlane() Constructor {
	return webhookconversion.NewHubSpokeConverter(&controlplanev1.OpenshiftAssistedControlPlane{}, controlPlanes()...)
}

func controlPlanes() []webhookconversion.SpokeConverter[*controlplanev1.OpenshiftAssistedControlPlane] {
	hub := controlplanev1.GroupVersion()
	return []webhookconversion.SpokeConverter[*controlplanev1.OpenshiftAssistedControlPlane]{
		newConverter(hub, controlPlaneFromV1Alpha3, controlPlaneToV1Alpha3),
		newConverter(hub, controlPlaneFromV1Alpha2, controlPlaneToV1Alpha2),
	}
}

func controlPlaneFromV1Alpha3(spoke *v1alpha3.OpenshiftAssistedControlPlane, hub *controlplanev1.OpenshiftAssistedControlPlane) error {
	hub.Spec.Replicas = pointerTo(spoke.Spec.Replicas)
	hub.Spec.DistributionVersion = spoke.Spec.DistributionVersion
	machines := &hub.Spec.MachineTemplate
	machines.ObjectMeta = spoke.Spec.MachineTemplate.ObjectMeta
	machines.Spec.InfrastructureRef = spoke.Spec.MachineTemplate.InfrastructureRef
	machines.Spec.Deletion = spoke.Spec.MachineTemplate.Deletion
	if err := project(spoke.Spec.OpenshiftAssistedConfigSpec, &hub.Spec.OpenshiftAssistedConfigSpec); err != nil {
		return err
	}
	if err := project(spoke.Spec.Config, &hub.Spec.Config); err != nil {
		return err
	}
	return project(spoke.Status, &hub.Status)
}

func controlPlaneToV1Alpha3(hub *controlplanev1.OpenshiftAssistedControlPlane, spoke *v1alpha3.OpenshiftAssistedControlPlane) error {
	spoke.Spec.Replicas = valueOf(hub.Spec.Replicas)
	spoke.Spec.DistributionVersion = hub.Spec.DistributionVersion
	machines := &spoke.Spec.MachineTemplate
	machines.ObjectMeta = hub.Spec.MachineTemplate.ObjectMeta
	machines.InfrastructureRef = hub.Spec.MachineTemplate.Spec.InfrastructureRef
	machines.Deletion = hub.Spec.MachineTemplate.Spec.Deletion
	if err := project(hub.Spec.OpenshiftAssistedConfigSpec, &spoke.Spec.OpenshiftAssistedConfigSpec); err != nil {
		return err
	}
	if err := project(hub.Spec.Config, &spoke.Spec.Config); err != nil {
		return err
	}
	return project(hub.Status, &spoke.Status)
}

func controlPlaneFromV1Alpha2(spoke *v1alpha2.OpenshiftAssistedControlPlane, hub *controlplanev1.OpenshiftAssistedControlPlane) error {
	hub.Spec.Replicas = pointerTo(spoke.Spec.Replicas)
	hub.Spec.DistributionVersion = spoke.Spec.DistributionVersion
	from, to := spoke.Spec.MachineTemplate, &hub.Spec.MachineTemplate
	to.ObjectMeta = from.ObjectMeta
	to.Spec.Deletion = controlplanev1.MachineDeletionSpec{
		NodeDrainTimeoutSeconds:        seconds(from.NodeDrainTimeout),
		NodeVolumeDetachTimeoutSeconds: seconds(from.NodeVolumeDetachTimeout),
		NodeDeletionTimeoutSeconds:     seconds(from.NodeDeletionTimeout),
	}
	to.Spec.InfrastructureRef = versionless(from.InfrastructureRef)
	if from.InfrastructureRef != (corev1.ObjectReference{}) {
		data, err := json.Marshal(from.InfrastructureRef)
		if err != nil {
			return fmt.Errorf("keeping the reference to the infrastructure template: %w", err)
		}
		metav1.SetMetaDataAnnotation(&hub.ObjectMeta, controlplanev1.InfrastructureRefAnnotation, string(data))
	}
	if err := project(spoke.Spec.OpenshiftAssistedConfigSpec, &hub.Spec.OpenshiftAssistedConfigSpec); err != nil {
		return err
	}
	if err := project(spoke.Spec.Config, &hub.Spec.Config); err != nil {
		return err
	}
	hub.Status = statusFromV1Alpha2(spoke.Status)
	return nil
}

func controlPlaneToV1Alpha2(hub *controlplanev1.OpenshiftAssistedControlPlane, spoke *v1alpha2.OpenshiftAssistedControlPlane) error {
	spoke.Spec.Replicas = valueOf(hub.Spec.Replicas)
	spoke.Spec.DistributionVersion = hub.Spec.DistributionVersion
	from := hub.Spec.MachineTemplate
	spoke.Spec.MachineTemplate = v1alpha2.OpenshiftAssistedControlPlaneMachineTemplate{
		ObjectMeta:              from.ObjectMeta,
		InfrastructureRef:       versioned(from.Spec.InfrastructureRef, takeAnnotation(spoke, controlplanev1.InfrastructureRefAnnotation)),
		NodeDrainTimeout:        duration(from.Spec.Deletion.NodeDrainTimeoutSeconds),
		NodeVolumeDetachTimeout: duration(from.Spec.Deletion.NodeVolumeDetachTimeoutSeconds),
		NodeDeletionTimeout:     duration(from.Spec.Deletion.NodeDeletionTimeoutSeconds),
	}
	if err := project(hub.Spec.OpenshiftAssistedConfigSpec, &spoke.Spec.OpenshiftAssistedConfigSpec); err != nil {
		return err
	}
	if err := project(hub.Spec.Config, &spoke.Spec.Config); err != nil {
		return err
	}
	spoke.Status = statusToV1Alpha2(hub.Status)
	return nil
}

func statusFromV1Alpha2(old v1alpha2.OpenshiftAssistedControlPlaneStatus) controlplanev1.OpenshiftAssistedControlPlaneStatus {
	status := controlplanev1.OpenshiftAssistedControlPlaneStatus{
		Selector:            old.Selector,
		Replicas:            pointerTo(old.Replicas),
		ReadyReplicas:       pointerTo(old.ReadyReplicas),
		UpToDateReplicas:    pointerTo(old.UpdatedReplicas),
		Version:             valueOf(old.Version),
		DistributionVersion: old.DistributionVersion,
	}
	status.Initialization.ControlPlaneInitialized = flag(old.Initialized)
	if ref := old.ClusterDeploymentRef; ref != nil {
		status.ClusterDeploymentRef = &bootstrapv1.ObjectReference{Namespace: ref.Namespace, Name: ref.Name}
	}
	deprecated := controlplanev1.OpenshiftAssistedControlPlaneV1Beta1DeprecatedStatus{
		Conditions: old.Conditions, FailureReason: old.FailureReason, FailureMessage: old.FailureMessage,
		Ready: old.Ready, UnavailableReplicas: old.UnavailableReplicas,
	}
	if derived := oldControlPlaneStatus(status); !sameOldStatus(deprecated, derived) {
		status.Deprecated = &controlplanev1.OpenshiftAssistedControlPlaneDeprecatedStatus{V1Beta1: &deprecated}
	}
	return status
}

func statusToV1Alpha2(status controlplanev1.OpenshiftAssistedControlPlaneStatus) v1alpha2.OpenshiftAssistedControlPlaneStatus {
	deprecated := oldControlPlaneStatus(status)
	old := v1alpha2.OpenshiftAssistedControlPlaneStatus{
		Selector:            status.Selector,
		Replicas:            valueOf(status.Replicas),
		ReadyReplicas:       valueOf(status.ReadyReplicas),
		UpdatedReplicas:     valueOf(status.UpToDateReplicas),
		UnavailableReplicas: deprecated.UnavailableReplicas,
		Version:             pointerTo(status.Version),
		DistributionVersion: status.DistributionVersion,
		Initialized:         given(status.Initialization.ControlPlaneInitialized),
		Ready:               deprecated.Ready,
		FailureReason:       deprecated.FailureReason,
		FailureMessage:      deprecated.FailureMessage,
		Conditions:          deprecated.Conditions,
	}
	if ref := status.ClusterDeploymentRef; ref != nil {
		old.ClusterDeploymentRef = &corev1.ObjectReference{
			APIVersion: "hive.openshift.io/v1", Kind: "ClusterDeployment", Namespace: ref.Namespace, Name: ref.Name,
		}
	}
	return old
}

// oldControlPlaneStatus is what version v1alpha2 shows beside what today's status has: what
// is kept of it, or else what follows from today's status.
func oldControlPlaneStatus(status controlplanev1.OpenshiftAssistedControlPlaneStatus) controlplanev1.OpenshiftAssistedControlPlaneV1Beta1DeprecatedStatus {
	if kept := status.Deprecated; kept != nil && kept.V1Beta1 != nil {
		return *kept.V1Beta1
	}
	return controlplanev1.OpenshiftAssistedControlPlaneV1Beta1DeprecatedStatus{
		Conditions:          oldConditions(status.Conditions),
		Ready:               isTrue(status.Conditions, clusterv1.AvailableCondition),
		UnavailableReplicas: max(0, valueOf(status.Replicas)-valueOf(status.AvailableReplicas)),
	}
}

func sameOldStatus(a, b controlplanev1.OpenshiftAssistedControlPlaneV1Beta1DeprecatedStatus) bool {
	return sameConditions(a.Conditions, b.Conditions) && a.Ready == b.Ready && a.UnavailableReplicas == b.UnavailableReplicas &&
		samePointer(a.FailureReason, b.FailureReason) && samePointer(a.FailureMessage, b.FailureMessage)
}

func samePointer(a, b *string) bool { return (a == nil) == (b == nil) && valueOf(a) == valueOf(b) }

// seconds are those of a duration, rounded up, so that no limit becomes none.
func seconds(of *metav1.Duration) *int32 {
	if of == nil {
		return nil
	}
	whole := int32(min(math.MaxInt32, math.Ceil(max(0, of.Seconds()))))
	return &whole
}

func duration(seconds *int32) *metav1.Duration {
	if seconds == nil {
		return nil
	}
	return &metav1.Duration{Duration: time.Duration(*seconds) * time.Second}
}

// versionless is a reference as today's contract has it: Cluster API finds the version.
func versionless(ref corev1.ObjectReference) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{
		APIGroup: schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group, Kind: ref.Kind, Name: ref.Name,
	}
}

// versioned is a reference as version v1alpha2 had it: the one that was written, if it still refers to the same, or
// else one with the version that contract v1beta1 uses.
func versioned(ref clusterv1.ContractVersionedObjectReference, written string) corev1.ObjectReference {
	var was corev1.ObjectReference
	if json.Unmarshal([]byte(written), &was) == nil && versionless(was) == ref {
		return was
	}
	if !ref.IsDefined() {
		return corev1.ObjectReference{}
	}
	return corev1.ObjectReference{
		APIVersion: schema.GroupVersion{Group: ref.APIGroup, Version: "v1beta1"}.String(), Kind: ref.Kind, Name: ref.Name,
	}
}
