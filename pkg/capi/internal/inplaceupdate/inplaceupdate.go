// Package inplaceupdate is the Runtime Extension that has Cluster API update Machines of OpenShift where
// they are, instead of making others: a version reaches a node by the upgrade of its whole cluster,
// which the control plane asks for, and which this package waits for.
//
// Cluster API asks it where its feature gates RuntimeSDK and InPlaceUpdates are on, and an
// ExtensionConfig ([Manifest]) names it.
package inplaceupdate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/clock"
)

// Kinds that are ours. One extension answers for all Machines of a management cluster, and does not concern itself with
// those of other providers.
const (
	bootstrapGroup = "bootstrap.cluster.x-k8s.io"
	bootstrapKind  = "OpenshiftAssistedConfig"
	templateKind   = bootstrapKind + clusterv1.TemplateSuffix

	controlPlaneGroup = "controlplane.cluster.x-k8s.io"
	controlPlaneKind  = "OpenshiftAssistedControlPlane"
)

// Extension answers the hooks of in-place updates. It is safe for concurrent use.
type Extension struct {
	// Management reads Machines, Clusters and control planes.
	Management client.Reader
	// Workload reads a Cluster's workload cluster, without a cache.
	Workload func(ctx context.Context, cluster types.NamespacedName) (dynamic.Interface, error)
	Clock    clock.Clock
	// RetryAfter is how often Cluster API asks about an update that goes on; 0 is 30 seconds. It
	// counts in whole seconds.
	RetryAfter time.Duration

	looks looks
}

// CanUpdateMachine says which changes of a Machine need no other Machine.
func (e *Extension) CanUpdateMachine(_ context.Context, request *runtimehooksv1.CanUpdateMachineRequest,
	response *runtimehooksv1.CanUpdateMachineResponse) {
	response.Status = runtimehooksv1.ResponseStatusSuccess
	if !isOurs(&request.Current.BootstrapConfig, bootstrapKind) || !isOurs(&request.Desired.BootstrapConfig, bootstrapKind) {
		return
	}
	current, desired := &request.Current.Machine, &request.Desired.Machine
	changed := current.DeepCopy()
	changed.Labels, changed.Annotations = desired.Labels, desired.Annotations
	apply(&changed.Spec, &desired.Spec)
	patch, err := difference(current, changed)
	if err != nil {
		response.Status, response.Message = runtimehooksv1.ResponseStatusFailure, err.Error()
		return
	}
	response.MachinePatch = patch
}

// CanUpdateMachineSet says which changes of a MachineSet need no other Machines.
func (e *Extension) CanUpdateMachineSet(_ context.Context, request *runtimehooksv1.CanUpdateMachineSetRequest,
	response *runtimehooksv1.CanUpdateMachineSetResponse) {
	response.Status = runtimehooksv1.ResponseStatusSuccess
	if !isOurs(&request.Current.BootstrapConfigTemplate, templateKind) || !isOurs(&request.Desired.BootstrapConfigTemplate, templateKind) {
		return
	}
	current, desired := &request.Current.MachineSet, &request.Desired.MachineSet
	changed := current.DeepCopy()
	changed.Spec.Template.Labels, changed.Spec.Template.Annotations = desired.Spec.Template.Labels, desired.Spec.Template.Annotations
	apply(&changed.Spec.Template.Spec, &desired.Spec.Template.Spec)
	patch, err := difference(current, changed)
	if err != nil {
		response.Status, response.Message = runtimehooksv1.ResponseStatusFailure, err.Error()
		return
	}
	response.MachineSetPatch = patch
}

// apply brings into a Machine's spec what reaches a Machine where it is: its version, which the upgrade
// of its cluster brings, and what Cluster API itself applies to Node and Machine.
func apply(spec, desired *clusterv1.MachineSpec) {
	spec.Version = desired.Version
	spec.Taints = desired.Taints
	spec.Deletion = desired.Deletion
}

// difference is the patch from one object to another; the zero Patch where they are equal.
func difference(from, to client.Object) (runtimehooksv1.Patch, error) {
	data, err := client.MergeFrom(from).Data(to)
	if err != nil {
		return runtimehooksv1.Patch{}, fmt.Errorf("compare what is with what is wanted: %w", err)
	}
	if string(data) == "{}" {
		return runtimehooksv1.Patch{}, nil
	}
	return runtimehooksv1.Patch{PatchType: runtimehooksv1.JSONMergePatchType, Patch: data}, nil
}

// isOurs reports whether an object is of one of our kinds, of whichever version.
func isOurs(object *runtime.RawExtension, kind string) bool {
	u := &unstructured.Unstructured{}
	switch is, typed := object.Object.(*unstructured.Unstructured); {
	case typed:
		u = is
	case len(object.Raw) == 0 || json.Unmarshal(object.Raw, &u.Object) != nil:
		return false
	}
	group, _, _ := strings.Cut(u.GetAPIVersion(), "/")
	return group == bootstrapGroup && u.GetKind() == kind
}

const (
	retryAfter = 30 * time.Second
	// freshFor is how long what was seen of a cluster holds: all its Machines ask at once.
	freshFor = 10 * time.Second
	// workloadTimeout is how long a workload cluster may take to answer; Cluster API waits for
	// hookTimeout.
	workloadTimeout = 15 * time.Second
	hookTimeout     = 20
)

// UpdateMachine reports whether a Machine has come to what it is to be.
func (e *Extension) UpdateMachine(ctx context.Context, request *runtimehooksv1.UpdateMachineRequest,
	response *runtimehooksv1.UpdateMachineResponse) {
	response.Status, response.RetryAfterSeconds = runtimehooksv1.ResponseStatusSuccess, 0
	desired := &request.Desired.Machine
	if !isOurs(&request.Desired.BootstrapConfig, bootstrapKind) {
		response.Status = runtimehooksv1.ResponseStatusFailure
		response.Message = fmt.Sprintf("Machine %s has no %s: it is none that oaictl updates", desired.Name, bootstrapKind)
		return
	}
	// The cluster may be waited for. A request may be large: only what is needed of it is kept meanwhile.
	asked := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: desired.Namespace, Name: desired.Name},
		Spec:       clusterv1.MachineSpec{Version: desired.Spec.Version},
	}
	*request = runtimehooksv1.UpdateMachineRequest{}
	switch a := e.progress(ctx, asked); {
	case a.failed:
		response.Status, response.Message = runtimehooksv1.ResponseStatusFailure, a.text
	case a.done:
		response.Message = a.text
	default:
		response.Message, response.RetryAfterSeconds = a.text, int32(cmp.Or(e.RetryAfter, retryAfter)/time.Second)
	}
}
