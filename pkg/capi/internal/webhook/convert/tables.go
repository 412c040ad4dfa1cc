package convert

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

// tables are those of the older versions of each kind.
var tables = map[string]map[string]table{
	"OpenshiftAssistedConfig":         {"v1alpha1": configV1Alpha1, "v1alpha2": configV1Alpha2},
	"OpenshiftAssistedConfigTemplate": {"v1alpha1": template, "v1alpha2": template},
	"OpenshiftAssistedControlPlane":   {"v1alpha2": controlPlaneV1Alpha2, "v1alpha3": controlPlaneV1Alpha3},
	"AgentCluster":                    {"v1alpha1": agentCluster, "v1beta1": agentCluster},
	"AgentMachine":                    {"v1alpha1": agentMachine, "v1beta1": agentMachine},
	"AgentMachineTemplate":            {"v1alpha1": template, "v1beta1": template},
}

// machines is what Machines of a control plane are made of.
const machines = "spec.machineTemplate."

var (
	configV1Alpha1 = table{
		rows: []row{
			{older: "status.ready", hub: "status.initialization.dataSecretCreated", up: nonzero, down: nonzero},
			{older: "status.infraEnvRef", hub: "status.infraEnvRef", down: referenceTo("agent-install.openshift.io/v1beta1", "InfraEnv")},
		},
		deprecated: map[string]string{"conditions": "conditions", "failureReason": "failureReason", "failureMessage": "failureMessage"},
		zero:       map[string]any{"status.ready": false},
	}
	configV1Alpha2       = table{deprecated: map[string]string{"v1beta1Conditions": "conditions"}}
	controlPlaneV1Alpha2 = table{
		rows: []row{
			{older: "spec.replicas", hub: "spec.replicas", up: nonzero, down: nonzero},
			{older: machines + "nodeDrainTimeout", hub: machines + "spec.deletion.nodeDrainTimeoutSeconds", up: seconds, down: duration},
			{
				older: machines + "nodeVolumeDetachTimeout", hub: machines + "spec.deletion.nodeVolumeDetachTimeoutSeconds",
				up: seconds, down: duration,
			},
			{older: machines + "nodeDeletionTimeout", hub: machines + "spec.deletion.nodeDeletionTimeoutSeconds", up: seconds, down: duration},
			{older: machines + "infrastructureRef", hub: machines + "spec.infrastructureRef", up: versionlessReference, down: versionedReference},
			{older: "status.replicas", hub: "status.replicas", up: nonzero},
			{older: "status.readyReplicas", hub: "status.readyReplicas", up: nonzero},
			{older: "status.updatedReplicas", hub: "status.upToDateReplicas", up: nonzero},
			{older: "status.initialized", hub: "status.initialization.controlPlaneInitialized", up: nonzero, down: nonzero},
			{
				older: "status.clusterDeploymentRef", hub: "status.clusterDeploymentRef",
				down: referenceTo("hive.openshift.io/v1", "ClusterDeployment"),
			},
		},
		deprecated: map[string]string{
			"conditions": "conditions", "failureReason": "failureReason", "failureMessage": "failureMessage",
			"ready": "ready", "unavailableReplicas": "unavailableReplicas",
		},
		zero: map[string]any{
			"spec.distributionVersion": "", "spec.config.baseDomain": "",
			"status.ready": false, "status.initialized": false,
			"status.replicas": int64(0), "status.readyReplicas": int64(0),
			"status.updatedReplicas": int64(0), "status.unavailableReplicas": int64(0),
		},
	}
	controlPlaneV1Alpha3 = table{
		rows: []row{
			{older: "spec.replicas", hub: "spec.replicas", up: nonzero, down: nonzero},
			{older: machines + "infrastructureRef", hub: machines + "spec.infrastructureRef"},
			{older: machines + "deletion", hub: machines + "spec.deletion"},
		},
		zero: map[string]any{"spec.distributionVersion": "", "spec.config.baseDomain": ""},
	}
	agentCluster = table{
		rows: []row{{older: "status.ready", hub: "status.initialization.provisioned", up: nonzero, down: nonzero}},
		zero: map[string]any{"status.ready": false},
	}
	agentMachine = table{
		rows:       []row{{older: "status.ready", hub: "status.initialization.provisioned", up: nonzero, down: nonzero}},
		deprecated: map[string]string{"failureReason": "failureReason", "failureMessage": "failureMessage"},
		zero:       map[string]any{"status.ready": false},
	}
	template = table{zero: map[string]any{"spec.template.spec": map[string]any{}}}
)

// nonzero is a value that says something.
func nonzero(_ *unstructured.Unstructured, value any) (any, error) {
	if isZero(value) {
		return nil, nil
	}
	return value, nil
}

// referenceTo makes references that name a kind of references that do not.
func referenceTo(version, kind string) change {
	return func(_ *unstructured.Unstructured, value any) (any, error) {
		var ref corev1.ObjectReference
		if err := read(value, &ref); err != nil || value == nil {
			return nil, err
		}
		ref.APIVersion, ref.Kind = version, kind
		return runtime.DefaultUnstructuredConverter.ToUnstructured(&ref)
	}
}

// seconds are those of a duration, rounded up, so that no limit becomes none.
func seconds(_ *unstructured.Unstructured, value any) (any, error) {
	text, said := value.(string)
	if !said {
		return nil, nil
	}
	of, err := time.ParseDuration(text)
	if err != nil {
		return nil, err
	}
	return int64(min(math.MaxInt32, math.Ceil(max(0, of.Seconds())))), nil
}

// duration is a number of seconds as a duration.
func duration(_ *unstructured.Unstructured, value any) (any, error) {
	number, said := value.(int64)
	if !said {
		return nil, nil
	}
	return (time.Duration(number) * time.Second).String(), nil
}

// versionlessReference is a reference as today's contract has it, and notes on the object what it was.
func versionlessReference(o *unstructured.Unstructured, value any) (any, error) {
	var was corev1.ObjectReference
	if err := read(value, &was); err != nil || was == (corev1.ObjectReference{}) {
		return nil, err
	}
	written, err := json.Marshal(was)
	if err != nil {
		return nil, fmt.Errorf("keeping the reference to the infrastructure template: %w", err)
	}
	setAnnotation(o, controlplanev1.InfrastructureRefAnnotation, string(written))
	ref := versionless(was)
	return runtime.DefaultUnstructuredConverter.ToUnstructured(&ref)
}

// versionedReference is a reference as version v1alpha2 had it: the one that was written, if it still refers to the same,
// or else one with the version that contract v1beta1 uses.
func versionedReference(o *unstructured.Unstructured, value any) (any, error) {
	var ref clusterv1.ContractVersionedObjectReference
	if err := read(value, &ref); err != nil {
		return nil, err
	}
	var versioned corev1.ObjectReference
	written := takeAnnotation(o, controlplanev1.InfrastructureRefAnnotation)
	if json.Unmarshal([]byte(written), &versioned) != nil || versionless(versioned) != ref {
		versioned = corev1.ObjectReference{}
		if ref.IsDefined() {
			versioned.APIVersion, versioned.Kind = schema.GroupVersion{Group: ref.APIGroup, Version: "v1beta1"}.String(), ref.Kind
			versioned.Name = ref.Name
		}
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(&versioned)
}

// versionless is a reference as today's contract has it: Cluster API finds the version.
func versionless(ref corev1.ObjectReference) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{
		APIGroup: schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group, Kind: ref.Kind, Name: ref.Name,
	}
}

// read reads a value into one of a Go type.
func read(value, into any) error {
	fields, _ := value.(map[string]any)
	return runtime.DefaultUnstructuredConverter.FromUnstructured(fields, into)
}
